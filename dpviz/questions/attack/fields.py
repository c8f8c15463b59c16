"""Settings of the questions about attackers."""

from __future__ import annotations

from dpviz.fields.field import Choice, Flag, Number, even_ticks, log_ticks

EPSILON = Number(
    key="aeps",
    symbol="ε",
    label="ε of the promise",
    default=2.0,
    low=0.01,
    high=50.0,
    ticks=log_ticks(0.05, 20.0, 16),
    ends=("more noise, more privacy", "more useful"),
    example="2",
    help="The promise under attack: in the town, what the noise on the mean income keeps.",
)
PRIOR = Number(
    key="aprior",
    symbol="prior",
    label="Prior",
    default=0.5,
    low=1e-9,
    high=1.0,
    open_high=True,
    ticks=even_ticks(0.01, 0.99, 0.01),
    ends=("thought you were out", "thought you were in"),
    example="0.5",
    help="How likely the attacker thought your membership before seeing anything. 0.5 is a fair coin; else "
    "what may be believed and how often guesses are right are two curves.",
)
LARGEST = Number(
    key="amax",
    label="Largest ε shown",
    default=10.0,
    low=0.01,
    high=700.0,
    ticks=log_ticks(0.1, 100.0, 12),
    ends=("zoom in", "zoom out"),
    example="10",
    help="Where the ε axis ends.",
)
LOG_RATES = Flag(
    key="arocl",
    label="Log rates",
    default=False,
    help="Logarithmic axes of both rates: what an attacker can do who must hardly ever be wrong.",
)
NOISE = Choice(
    key="anoise",
    label="Noise",
    default="laplace",
    options={"laplace": "Laplace", "gaussian": "Gaussian"},
    help="Laplace noise keeps pure ε-DP, as in the paper; Gaussian noise keeps (ε, δ) with the least σ that does.",
)
RESIDENTS = Number(
    key="apeople",
    symbol="n",
    label="Residents",
    default=1000.0,
    low=10.0,
    high=100_000.0,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(10.0, 100_000.0, 6)),
    ends=("village", "city"),
    example="1000",
    help="People in town besides the outlier. The mean is a noisy sum divided by this public number.",
)
FACTOR = Number(
    key="afactor",
    symbol="outlier ×",
    label="Outlier ÷ median",
    default=1000.0,
    low=1.0,
    high=1e6,
    ticks=log_ticks(1.0, 10_000.0, 6),
    ends=("nobody special", "far out"),
    example="1000",
    help="The outlier's income in medians of the town. Incomes count up to this limit, so the noise must hide it.",
)
SHARE = Number(
    key="ashare",
    symbol="resident at",
    label="Resident at quantile",
    default=0.5,
    low=0.0,
    high=1.0,
    ticks=even_ticks(0.0, 1.0, 0.01),
    ends=("poorest", "richest"),
    example="0.5",
    help="Which resident stands for the typical one: 0.5 is the middle of the town.",
)
RELEASES = Number(
    key="aruns",
    label="Releases",
    default=100_000.0,
    low=100.0,
    high=1_000_000.0,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(100.0, 1_000_000.0, 3)),
    ends=("quick", "precise"),
    example="100000",
    help="How often the mean is released and guessed at, each time with a fresh coin and fresh noise.",
)
SEED = Number(
    key="aseed",
    label="Seed",
    default=1.0,
    low=0.0,
    high=2.0**32,
    whole=True,
    example="1",
    help="Starts the random numbers: the same seed, the same town and the same releases.",
)
