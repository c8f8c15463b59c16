"""Settings of the questions about budgets."""

from __future__ import annotations

from dpviz.accounting.adaptive.trajectory import MARGIN_EPOCHS
from dpviz.fields.field import Choice, Flag, Number, Several, even_ticks, log_ticks
from dpviz.questions.budget.blocks import Blocks

TARGET = Number(
    key="beps",
    symbol="budget",
    label="Budget ε",
    default=2.0,
    low=1e-6,
    high=1e6,
    ticks=log_ticks(0.05, 50.0, 16),
    ends=("small", "large"),
    example="2",
    help="The filter promises this ε at δ for whatever it lets pass, and refuses the step that would exceed it.",
)
VARIANT = Choice(
    key="bodo",
    label="Odometer",
    default="paper",
    options={"paper": "As in the paper", "authors": "As its plots", "powers": "Powers of two"},
    tall=True,
    help="Paper: orders 1.25–10, 16, 32, first filter ln(2|Λ|/δ)/(α − 1). The authors' own plots start with a quarter "
    "of that, on orders 2.25–10, 16, 32: finer at small ε. Powers of two: orders 2, 4, …, 2^32, the paper's choice for "
    "the best rate in the size of the data.",
)
CONVERSION = Choice(
    key="bconv",
    label="Filter's conversion",
    default="classic",
    options={"classic": "Classic", "improved": "Improved"},
    help="From Rényi divergence to ε, for the filter and the planned curve. Classic: as in the paper. Improved: "
    "Canonne, Kamath, Steinke 2020, which allows more steps.",
)
CURVES = Several(
    key="bcurves",
    label="Curves",
    default=("odometer", "planned", "filter", "rogers", "tight"),
    options={
        "odometer": "odometer",
        "other": "the other odometer",
        "planned": "as if planned",
        "filter": "filter",
        "rogers": "Rogers odometer",
        "tight": "tight interval",
    },
    help="What is drawn. Odometers hold at any stop; “as if planned” and the tight interval hold for a number of "
    "steps fixed in advance.",
)
BLOCKS = Blocks(
    key="bblocks",
    label="Blocks",
    default=(),
    help="What was spent: σ x q x steps of each block, with ~ between blocks.",
)
POLICIES = Several(
    key="bpol",
    label="Policies",
    default=("fixed", "noise", "batch"),
    options={"fixed": "fixed", "noise": "noise", "batch": "batch", "tune": "tuning"},
    help="Fixed: the settings as they are. Noise, batch: every 10 epochs a private count decides. "
    "Tuning: starts at twice the noise, and lowers it after every epoch without a significant rise.",
)
SHOWN = Choice(
    key="bshow",
    label="Draw",
    default="epsilon",
    options={"epsilon": "ε", "noise": "σ", "batch": "Batch", "accuracy": "Accuracy"},
    help="What is drawn against epochs.",
)
ACCOUNT = Choice(
    key="bread",
    label="Account",
    default="filter",
    options={"filter": "Filter", "odometer": "Odometer"},
    help="Filter: training ends when the budget refuses; the curve is how full it is. Odometer: no budget; the curve "
    "is what was spent whenever one stops.",
)
ONE_ORDER = Flag(
    key="bunion",
    label="One order, fixed ahead",
    default=True,
    help="The filter keeps to the Rényi order at which the budget holds the most epochs of the fixed policy, with the "
    "improved conversion: proved whatever the results choose, and what training here does. Off: all orders of the "
    "odometer at once, as in the paper's plots, which is not proved where results choose noise or batch.",
)
MARGIN = Number(
    key="bmargin",
    label="Epochs that must be left",
    default=float(MARGIN_EPOCHS),
    low=0.0,
    high=1e6,
    whole=True,
    example="50",
    help="A policy saves budget only while the filter would still let pass more epochs than this (the paper: 50).",
)
EPOCHS = Number(
    key="bepochs",
    label="Epochs at most",
    default=300.0,
    low=1.0,
    high=1000.0,
    whole=True,
    ticks=tuple(float(e) for e in (10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000)),
    ends=("short", "long"),
    example="300",
    help="Where the scenario ends if no budget and no goal ended it before.",
)
NOISE_STEP = Number(
    key="bnstep",
    label="σ changes by",
    default=0.1,
    low=1e-6,
    high=1e3,
    example="0.1",
    help="What a policy adds to or takes from σ at a time (the paper: 0.1).",
)
BATCH_STEP = Number(
    key="bbstep",
    label="Batch changes by",
    default=128.0,
    low=1.0,
    high=1e9,
    whole=True,
    example="128",
    help="What a policy takes from or gives back to the batch at a time, down to 256 (the paper: 128).",
)
TOP = Number(
    key="btop",
    label="Accuracy tends to",
    default=0.6,
    low=0.0,
    high=1.0,
    ticks=even_ticks(0.1, 1.0, 0.02),
    ends=("hard data", "easy data"),
    example="0.6",
    help="Assumed: training accuracy that σ = 1 with batches of 512 tends to. More noise per example lowers it.",
)
PACE = Number(
    key="bpace",
    label="Pace",
    default=0.04,
    low=1e-6,
    high=1.0,
    ticks=log_ticks(0.005, 1.0, 12),
    ends=("slow", "fast"),
    example="0.04",
    help="Assumed: share of the way to that accuracy that an epoch covers.",
)
GOAL = Number(
    key="bgoal",
    label="Stop at accuracy",
    default=0.8,
    low=0.0,
    high=1.0,
    example="0.8",
    help="Fine-tuning stops once the private count reaches this share of the data; 0 never stops.",
)
RUNS = Choice(
    key="brun",
    label="Recorded runs",
    default="budget",
    options={"budget": "One budget", "early": "To 80 %"},
    help="One budget: what a fixed plan costs, spent by each policy. To 80 %: trained until a private count says so.",
)
NETWORK = Choice(
    key="bnet",
    label="Network",
    default="cnn",
    options={"cnn": "CNN", "scattering": "Scattering"},
    help="A small convolutional network trained from scratch, or a linear one on fixed scattering features.",
)
SEED = Number(
    key="bseed",
    label="Seed",
    default=0.0,
    low=0.0,
    high=1e9,
    whole=True,
    example="0",
    help="Of the scenario's chance: the accuracy's wobble and the counts' noise.",
)
