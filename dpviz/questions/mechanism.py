"""The mechanism's settings, shared by every page that has one."""

from __future__ import annotations

from dpviz.fields import expression, numbers
from dpviz.fields.field import LEAST_DELTA, Number, log_ticks
from dpviz.training import events

SIGMA = Number(
    key="sigma",
    symbol="σ",
    label="Noise multiplier σ",
    default=4.0,
    low=1e-3,
    high=1e6,
    ticks=log_ticks(0.2, 200.0, 24),
    ends=("less noise", "more noise, more privacy"),
    example="0.5 to 10",
    help="Standard deviation of the noise added to the sum of clipped gradients, divided by the sensitivity "
    "(no unit). Private training uses 0.5 to 10.",
)
RATE = Number(
    key="q",
    symbol="q",
    label="Sampling rate q",
    default=0.01,
    low=1e-12,
    or_zero=True,
    high=1.0,
    ticks=log_ticks(1e-6, 1.0, 12),
    ends=("few examples a step", "all examples, every step"),
    example="0.01 or 256/60000",
    names=(expression.SIZE,),
    help="Probability with which each example joins a step's batch, independently (Poisson sampling): expected batch "
    "size ÷ size of the data set. Usual: 0.001 to 0.05. Fractions such as 256/60000 can be typed.",
)
SIZE = Number(
    key="n",
    symbol="N",
    label="Data set N",
    default=60_000.0,
    low=1.0,
    high=1e12,
    whole=True,
    example="60000",
    help="Number of examples in the data set. Beside a batch and epochs it keeps those and moves q and T; beside q and "
    "T it moves neither.",
)
STEPS = Number(
    key="steps",
    symbol="T",
    label="Steps T",
    default=10_000.0,
    low=1.0,
    high=1e12,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(1.0, 1e7, 16)),
    ends=("stop early", "train long"),
    example="10000",
    names=(expression.EPOCHS,),
    help="Number of steps (batches) taken. One epoch is 1/q steps: “30 epochs” can be typed.",
)
DELTA = Number(
    key="delta",
    symbol="δ",
    label="Failure probability δ",
    default=1e-5,
    low=LEAST_DELTA,
    high=1.0,
    open_high=True,
    ticks=log_ticks(1e-12, 0.1, 4),
    ends=("stricter", "weaker promise"),
    example="1e-5",
    names=(expression.SIZE,),
    help="Probability that the promise ε fails altogether. It should be well below 1/N; "
    "1e-5 is usual for 60 000 examples.",
)
FIELDS = (SIGMA, RATE, SIZE, STEPS, DELTA)

# For the assumptions of every page where q may be given as batch ÷ N.
PUBLIC_SIZE = f"- {events.PUBLIC_SIZE}\n"

SETTINGS = {"noise_multiplier": SIGMA, "sample_rate": RATE, "steps": STEPS, "delta": DELTA}


def in_words(sigma: float, rate: float, steps: float, delta: float) -> str:
    """The setting in one line."""
    return (
        f"σ = {numbers.plain(sigma)}, q = {numbers.plain(rate, digits=4)}, "
        f"T = {numbers.steps(steps)}, δ = {numbers.delta(delta)}"
    )
