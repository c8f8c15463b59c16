"""Settings of the questions about single statements on Bayesian DP."""

from __future__ import annotations

from dpviz.fields.field import LEAST_DELTA, Number, log_ticks

_COUNTS = tuple(float(round(n)) for n in log_ticks(10.0, 1e6, 12))
ZEROS = Number(
    key="rzeros",
    symbol="N₀",
    label="Distances of 0",
    default=100.0,
    low=0.0,
    high=1e9,
    whole=True,
    ticks=(0.0, 1.0, 2.0, 5.0, *_COUNTS),
    ends=("small sample", "large sample"),
    example="100",
    help="Examples of the sample that did not move the sum at all.",
)
ONES = Number(
    key="rones",
    symbol="N₁",
    label="Distances of C",
    default=0.0,
    low=0.0,
    high=1e9,
    whole=True,
    ticks=(0.0, 1.0, 2.0, 3.0, 5.0, *_COUNTS),
    ends=("none seen", "many seen"),
    example="0",
    help="Examples of the sample that moved the sum by as much as clipping allows.",
)
BINARY_FAILURE = Number(
    key="rgamma",
    symbol="γ",
    label="Estimator failure γ",
    default=1e-15,
    low=LEAST_DELTA,
    high=0.5,
    ticks=log_ticks(1e-18, 0.1, 1),
    ends=("cautious", "daring"),
    example="1e-15",
    help="Probability that ρ is larger than the estimate. The paper's figures use 1e-15, its example 0.99^101.",
)
EACH = Number(
    key="geps",
    symbol="ε_μ",
    label="ε_μ of one",
    default=0.5,
    low=1e-6,
    high=1e3,
    ticks=log_ticks(0.01, 10.0, 16),
    ends=("strict", "loose"),
    example="0.5",
    help="What one mechanism promises one example, with δ_μ.",
)
MANY = Number(
    key="gk",
    symbol="k",
    label="How many, k",
    default=5.0,
    low=1.0,
    high=1e6,
    whole=True,
    ticks=tuple(float(k) for k in (*range(1, 21), 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)),
    ends=("one", "many"),
    example="5",
    help="Mechanisms that are run on the same data, or examples of one family, household or person.",
)
