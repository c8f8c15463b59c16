"""The Train form's fields: one a setting, each with its legal range, its words and its place on a slider."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from dpviz.accounting.adaptive.policies import POLICIES
from dpviz.accounting.methods import PROVERS
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields.field import Choice, Field, Flag, Number, even_ticks, log_ticks
from dpviz.questions import shared
from dpviz.questions.layout import Reader
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.models.base import image
from dpviz.training.settings import MOST_VIEWS, RunSettings
from dpviz.ui import mechanism
from dpviz.ui.train.facts import Titles, data_of

DEFAULT = RunSettings()


@dataclass(frozen=True)
class Id(Field[str]):
    """A run's id; empty for none."""

    def parse(self, text: str) -> str:
        if not re.fullmatch(r"[0-9a-zA-Z-]{0,64}", text):
            raise ValueError(f"{self.label}: “{text[:40]}” is no run's id.")
        return text

    def write(self, value: str) -> str:
        return value


def _whole_ticks(low: float, high: float, per_decade: int) -> tuple[float, ...]:
    return tuple(sorted({float(round(tick)) for tick in log_ticks(low, high, per_decade)}))


DATA = Choice(
    key="t_data",
    label="Data set",
    default=DEFAULT.data,
    options=Titles(),
    help="What is learned. The 10k digits, Adult and Abalone come with dpviz; the others are looked for on this "
    "machine and else downloaded, with their checksums. Data sets of your own appear when the folder DPVIZ_DATA "
    "describes them (README, “Data sets of one’s own”).",
)
MODEL = Choice(
    key="t_model",
    label="Model",
    default=DEFAULT.model,
    options={key: model.title for key, model in MODELS.items()},
    help="What is trained. Scattering features are fixed, so they cost no privacy; whitened ones are seen from the "
    "directions in which curves drawn by chance differ.",
)
METHOD = Choice(
    key="t_method",
    label="Method",
    default=DEFAULT.method,
    options={key: kind.label for key, kind in METHODS.items()},
    help=" ".join(kind.words for kind in METHODS.values()),
)
START = Id(
    key="t_from",
    label="Start from",
    default="",
    help="Random weights, or those that a finished run with the same model left. What that run spent on the same data "
    "is part of this run's ε; of other data it has an ε of its own.",
)
TRAINED = Choice(
    key="t_train",
    label="Trained",
    default=DEFAULT.trained,
    options={"all": "whole network", "last": "last layer"},
    help="Fine-tuning the last layer leaves the others as they start: fewer numbers bear noise.",
)
NOISE_BY = Choice(
    key="t_by",
    label="Noise",
    default="target",
    options={"target": "from a target ε", "sigma": "σ by hand"},
    help="Either say what the whole plan may cost and the noise is solved for, or set the noise.",
)
TARGET = Number(
    key="t_eps",
    label="Target ε of the plan",
    default=3.0,
    low=1e-6,
    high=1000.0,
    ticks=log_ticks(0.1, 20.0, 16),
    ends=("more private", "more accurate"),
    example="3",
    help="The noise is the least with which all planned steps cost at most this ε at δ. 1 to 8 is usual.",
)
SOLVER = Choice(
    key="t_solver",
    label="Solved with",
    default=Tight.name,
    options={each.name: PROVERS[each.name] for each in (Tight, Renyi, Moments)},
    help="The accountant that proves the target: the tight one needs the least noise; moments, the oldest, the most.",
)
# σ, δ and δ_μ are those of the what-if pages, with values of their own: a plan is not the setting looked at there.
SIGMA = replace(
    mechanism.SIGMA,
    key="t_sigma",
    symbol="",
    default=DEFAULT.noise_multiplier,
    ticks=log_ticks(0.2, 50.0, 24),
    help="Standard deviation of the noise on the sum of clipped gradients, divided by C (no unit).",
)
DELTA = replace(
    mechanism.DELTA,
    key="t_delta",
    symbol="",
    default=DEFAULT.delta,
    help="Probability that the promise ε fails altogether: well below 1/N.",
)
CLIP = Number(
    key="t_clip",
    label="Clipping threshold C",
    default=DEFAULT.max_grad_norm,
    low=1e-6,
    high=1e6,
    ticks=log_ticks(0.01, 100.0, 12),
    ends=("clip nearly all", "clip few"),
    example="0.1 to 10",
    help="Each example's gradient is shortened to at most this length (in the gradient's units). What C is does not "
    "change ε of DP-SGD, only what the noise drowns.",
)
BATCH = Number(
    key="t_batch",
    label="Expected batch",
    default=float(DEFAULT.batch_size),
    low=1.0,
    high=1e7,
    whole=True,
    ticks=tuple(float(2**power) for power in range(4, 14)) + (16384.0,),
    ends=("few examples a step", "many"),
    example="256",
    help="Each example joins a step with probability q = batch ÷ N, independently (Poisson sampling).",
)
VIEWS = Number(
    key="t_views",
    label="Views of an image",
    default=float(DEFAULT.views),
    low=1.0,
    high=float(MOST_VIEWS),
    whole=True,
    ticks=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    ends=("the image itself", "slower, smoother"),
    example="8",
    help="A step reads each image so many times, shifted by up to 4 pixels (and mirrored, where the data allow it), "
    "and clips the mean gradient (De et al. 2022). It costs no privacy, but as much time as so many images.",
)
STEPS = Number(
    key="t_steps",
    label="Steps T",
    default=float(DEFAULT.steps),
    low=1.0,
    high=1e6,
    whole=True,
    ticks=_whole_ticks(1, 10_000, 16),
    ends=("stop early", "train long"),
    example="150",
    help="The plan, fixed ahead; one epoch is N ÷ batch steps.",
)
RATE = Number(
    key="t_lr",
    label="Learning rate",
    default=DEFAULT.learning_rate,
    low=1e-12,
    high=1e6,
    ticks=log_ticks(0.001, 100.0, 8),
    ends=("small steps", "large steps"),
    example="0.5",
    help="Step size η; of the Langevin methods the first step size η₁, from which their noise follows.",
)
DECAY = Number(
    key="t_decay",
    label="Left of it at the end",
    default=DEFAULT.learning_rate_end,
    low=0.0,
    high=1.0,
    ticks=even_ticks(0.0, 1.0, 0.05),
    ends=("down to nothing", "constant"),
    example="0.2",
    help="Share of the learning rate that is left at the plan's last step, reached in a straight line.",
)
OPTIMISER = Choice(
    key="t_opt",
    label="Optimiser",
    default=DEFAULT.optimiser,
    options={"sgd": "SGD", "adam": "Adam"},
    help="What is done with the noisy mean gradient; it costs no privacy either way.",
)
MOMENTUM = Number(
    key="t_mom",
    label="Momentum",
    default=DEFAULT.momentum,
    low=0.0,
    high=1.0,
    open_high=True,
    ticks=even_ticks(0.0, 0.95, 0.05),
    ends=("none", "long memory"),
    example="0.9",
    help="How much of the last steps' direction is kept.",
)
EXPONENT = Choice(
    key="t_exp",
    label="Step size",
    default="third",
    options={"third": "η₁ t^(−1/3)", "fixed": "fixed"},
    help="How the Langevin step size falls; the noise follows it.",
)
FRICTION = Number(
    key="t_fric",
    label="Friction β",
    default=DEFAULT.friction,
    low=1e-6,
    high=1.0,
    ticks=even_ticks(0.05, 1.0, 0.05),
    ends=("glide", "no momentum"),
    example="0.1",
    help="How fast the momentum is forgotten; of DP-SGNHT at first, and of its noise throughout.",
)
PRIOR = Number(
    key="t_prior",
    label="Prior's standard deviation",
    default=1.0,
    low=1e-6,
    high=1e6,
    ticks=log_ticks(0.01, 100.0, 6),
    ends=("strong prior", "weak prior"),
    example="1",
    help="Of the Gaussian prior on the parameters.",
)
BURN_IN = Number(
    key="t_burn",
    label="Burn-in steps",
    default=0.0,
    low=0.0,
    high=1e6,
    whole=True,
    example="50",
    help="Steps before posterior samples are averaged.",
)
BAYESIAN = Choice(
    key="t_bdp",
    label="Bayesian DP beside it",
    default="auto",
    options={"auto": "Auto", "1": "On", "0": "Off"},
    help="Measures gradients of some examples at each step and accounts for what data like these cost. The "
    "measurements themselves are not protected. Auto: on, but where every step has a noise of its own, for there it "
    "takes more than a tenth of a step's time.",
)
DEFINITION = Choice(
    key="t_bdef",
    label="Definition",
    default=str(DEFAULT.definition),
    options={"2": "2: as Rényi", "1": "1: a tail"},
    help="Of Triastcyn and Faltings (2020). 2 is the guarantee they state, converted as Rényi is; 1 bounds a tail, "
    "converted as moments are.",
)
DISTANCES = Choice(
    key="t_bdist",
    label="Distances",
    default=DEFAULT.bayesian_distances,
    options={"norms": "Norms", "pairs": "Pairs"},
    help="Norms: from nothing to an example's clipped gradient, which is what one example more or less changes. Pairs: "
    "between two examples' gradients, as Triastcyn and Faltings (2020) measure them.",
)
PAIRS = Number(
    key="t_pairs",
    label="Pairs a step",
    default=float(DEFAULT.pairs),
    low=2.0,
    high=1e5,
    whole=True,
    ticks=_whole_ticks(4, 512, 8),
    ends=("rough", "precise"),
    example="32",
    help="Disjoint pairs of examples of the batch; norms are taken of both of each pair.",
)
DELTA_MU = replace(shared.DELTA_MU, key="t_dmu", symbol="", label="δ_μ")
POLICY = Choice(
    key="t_policy",
    label="Policy",
    default=DEFAULT.policy,
    options={key: kind.label for key, kind in POLICIES.items()},
    help="Adaptive noise and batch follow private counts of correct predictions (Lécuyer 2021, §5.1); fine-tuning "
    "stops early by such a count (§5.2). Each count is charged.",
)
COUNT_NOISE = Number(
    key="t_cnoise",
    label="Noise of a count",
    default=DEFAULT.count_noise,
    low=1e-3,
    high=1e9,
    ticks=log_ticks(1.0, 1000.0, 8),
    ends=("dear and exact", "cheap and rough"),
    example="100",
    help="Standard deviation of the noise on a count of correct predictions, in examples.",
)
COUNT_EVERY = Number(
    key="t_cevery",
    label="Epochs between counts",
    default=float(DEFAULT.count_every),
    low=0.0,
    high=1e6,
    whole=True,
    example="1",
    help="0: as in the paper, every 10 epochs (fine-tuning: every epoch).",
)
MARGIN = Number(
    key="t_margin",
    label="Epochs that must be left",
    default=float(DEFAULT.margin_epochs),
    low=0.0,
    high=1e6,
    whole=True,
    example="2",
    help="Adaptive noise and batch save budget only while what is left lasts for more epochs than this (the paper: "
    "50, of some 100 that it lasts for).",
)
BUDGET_ON = Flag(
    key="t_bud",
    label="Stop at a budget",
    default=False,
    help="A privacy filter refuses the step that would exceed it. Adaptive policies always run under one: off, its "
    "budget is the target ε, or what the plan costs if the policy changes nothing.",
)
BUDGET = Number(
    key="t_budget",
    label="Filter budget ε",
    default=3.0,
    low=1e-6,
    high=1000.0,
    ticks=log_ticks(0.1, 20.0, 16),
    ends=("stop early", "spend more"),
    example="3",
    help="The run ends before the step that this Rényi filter would not allow.",
)
GOAL_ON = Flag(key="t_goal", label="Stop at an accuracy", default=False, help="Ends once this accuracy is measured.")
GOAL = Number(
    key="t_acc",
    label="Target accuracy",
    default=0.93,
    low=1e-6,
    high=1.0,
    open_high=True,
    ticks=even_ticks(0.5, 0.99, 0.01),
    ends=("stop early", "train long"),
    example="0.93",
    help="Share of right predictions.",
)
MEASURE = Choice(
    key="t_measure",
    label="Measured",
    default=DEFAULT.target_measure,
    options={"test": "on public test data", "private": "by a private count"},
    help="On public test data the measuring costs no privacy; a count on the training data is charged.",
)
PAST = Choice(
    key="t_past",
    label="After the plan",
    default=DEFAULT.past_plan,
    options={"stop": "Stop", "replan": "Re-plan"},
    help="Re-plan: go on with another T steps, and say so.",
)
MOST = Number(
    key="t_most",
    label="Steps at most",
    default=300.0,
    low=1.0,
    high=1e6,
    whole=True,
    example="300",
    help="Where a re-planned run ends.",
)
SEED = Number(
    key="t_seed",
    label="Seed",
    default=0.0,
    low=0.0,
    high=2.0**53,
    whole=True,
    example="7",
    help="Of everything random; with secret noise only of where training starts.",
)
SECURE = Flag(
    key="t_secure",
    label="Secret noise",
    default=DEFAULT.secure_noise,
    help="Batches and noise from a seed of the system's cryptographic source, which is not kept. Off: a demonstration, "
    "whose noise can be replayed from the seed below and protects nobody.",
)
DEVICE = Choice(
    key="t_dev",
    label="Device",
    default=DEFAULT.device,
    options={"auto": "auto", "cpu": "CPU", "cuda": "GPU"},
    help="auto takes a GPU if there is one.",
)
SLOW = Choice(
    key="t_slow",
    label="Slow motion",
    default="0",
    options={"0": "off", "0.5": "½ s a step", "1": "1 s", "3": "3 s"},
    help="Waits after each step and shows what was clipped and how much noise came: for lectures. A run can also be "
    "paused and stepped at any time.",
)
EVALUATE = Number(
    key="t_eval",
    label="Steps between tests",
    default=float(DEFAULT.evaluation_every or 0),
    low=0.0,
    high=1e6,
    whole=True,
    example="10",
    help="How often the model is tested on test data. 0: every 10 steps, or less often where the tests would take more "
    "than a tenth of the time. More steps than the run has: at the end only.",
)

FIELDS: tuple[Field[Any], ...] = (
    DATA,
    MODEL,
    METHOD,
    START,
    TRAINED,
    NOISE_BY,
    TARGET,
    SOLVER,
    SIGMA,
    DELTA,
    CLIP,
    BATCH,
    VIEWS,
    STEPS,
    RATE,
    DECAY,
    OPTIMISER,
    MOMENTUM,
    EXPONENT,
    FRICTION,
    PRIOR,
    BURN_IN,
    BAYESIAN,
    DEFINITION,
    DISTANCES,
    PAIRS,
    DELTA_MU,
    POLICY,
    COUNT_NOISE,
    COUNT_EVERY,
    MARGIN,
    BUDGET_ON,
    BUDGET,
    GOAL_ON,
    GOAL,
    MEASURE,
    PAST,
    MOST,
    SEED,
    SECURE,
    DEVICE,
    SLOW,
    EVALUATE,
)

# Which control a message of `RunSettings.check` belongs to.
CONTROL_OF: dict[str, Field[Any]] = {
    "data": DATA,
    "model": MODEL,
    "method": METHOD,
    "start_from": START,
    "trained": TRAINED,
    "policy": POLICY,
    "optimiser": OPTIMISER,
    "learning_rate": RATE,
    "learning_rate_end": DECAY,
    "momentum": MOMENTUM,
    "step_exponent": EXPONENT,
    "friction": FRICTION,
    "prior_std": PRIOR,
    "max_grad_norm": CLIP,
    "noise_multiplier": SIGMA,
    "target_epsilon": TARGET,
    "batch_size": BATCH,
    "views": VIEWS,
    "steps": STEPS,
    "most_steps": MOST,
    "delta": DELTA,
    "delta_mu": DELTA_MU,
    "pairs": PAIRS,
    "definition": DEFINITION,
    "filter_epsilon": BUDGET,
    "target_accuracy": GOAL,
    "target_measure": MEASURE,
    "count_every": COUNT_EVERY,
    "count_noise": COUNT_NOISE,
    "margin_epochs": MARGIN,
    "burn_in": BURN_IN,
    "evaluation_every": EVALUATE,
    "seed": SEED,
    "device": DEVICE,
}


def reads(get: Reader) -> frozenset[str]:
    """The settings that the chosen method and model read, of those that not all do."""
    model, found = MODELS[get(MODEL)], METHODS[get(METHOD)].reads | MODELS[get(MODEL)].reads
    shifted = model.features is None and image(data_of(get(DATA)).shape)
    return found if shifted else found - {"views"}
