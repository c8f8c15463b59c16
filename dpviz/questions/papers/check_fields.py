"""Settings of a claim that is checked."""

from __future__ import annotations

from dpviz.fields.field import Choice, Number, Several, log_ticks
from dpviz.questions.mechanism import DELTA, SIZE

BATCH = Number(
    key="kbatch",
    symbol="batch",
    label="Batch",
    default=256.0,
    low=1.0,
    high=1e12,
    whole=True,
    example="256",
    help="Examples a step: the expected number with Poisson sampling.",
)
EPOCHS = Number(
    key="kepochs",
    symbol="epochs",
    label="Epochs",
    default=60.0,
    low=1e-6,
    high=1e9,
    ticks=log_ticks(1.0, 1000.0, 16),
    ends=("stop early", "train long"),
    example="60",
    help="Passes over the data. One epoch is N ÷ batch steps; steps are rounded up.",
)
NOISE = Number(
    key="ksigma",
    symbol="σ",
    label="Noise multiplier σ",
    default=1.1,
    low=1e-3,
    high=1e6,
    ticks=tuple(sorted({*log_ticks(0.2, 50.0, 24), 1.1})),
    ends=("less noise", "more noise, more privacy"),
    example="1.1",
    help="Standard deviation of the noise on the sum of clipped gradients ÷ clipping norm C, as Opacus, TensorFlow "
    "Privacy and jax_privacy count it.",
)
CLAIM = Number(
    key="kclaim",
    symbol="claimed ε",
    label="Claimed ε",
    default=2.6,
    low=1e-6,
    high=1e9,
    ticks=tuple(sorted({*log_ticks(0.1, 50.0, 24), 2.6})),
    ends=("strict", "loose"),
    example="2.6",
    help="What the paper or the report says.",
)
SAMPLER = Choice(
    key="ksampler",
    label="How batches are made, as described",
    default="poisson",
    options={
        "poisson": "Poisson: each example with probability q",
        "fixed": "Fixed size, drawn anew each step",
        "shuffled": "Shuffled, every example once an epoch",
        "unsaid": "Not said",
    },
    tall=True,
    help="What is written, not what the accountant assumed: most accountants assume Poisson sampling, and most data "
    "loaders shuffle.",
)
ADJACENCY = Choice(
    key="kadj",
    label="Which data sets must look alike",
    default="add_remove",
    options={"add_remove": "With and without one example", "replace": "One example replaced", "unsaid": "Not said"},
    tall=True,
    help="Where batches have a fixed size or are shuffled, “without” is read as: an example that contributes nothing "
    "stands in its place.",
)
UNSETTLED = Several(
    key="kopen",
    label="Not settled by the code",
    default=(),
    options={
        SIZE.key: "N",
        BATCH.key: "batch",
        NOISE.key: "σ",
        EPOCHS.key: "epochs",
        DELTA.key: "δ",
        CLAIM.key: "claimed ε",
        "clip": "clipping norm",
        "accumulation": "gradient accumulation",
        "engines": "several private engines",
        "trainings": "several trainings",
        "unread": "lines that may set any value",
    },
    help="While one of these is on, there is no verdict. A value that you enter switches it off.",
)
