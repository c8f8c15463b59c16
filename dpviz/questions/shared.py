"""Fields that several pages use and that belong to none."""

from __future__ import annotations

import math
from dataclasses import replace

from dpviz.fields.field import LEAST_DELTA, Choice, Flag, Number, log_ticks

IMAGE = Choice(
    key="image",
    label="Image format of the camera button",
    default="png",
    options={"png": "PNG", "svg": "SVG"},
    help="What the camera above the chart saves.",
)
LOG_X = Flag(key="logx", label="Log steps", default=False, help="Logarithmic axis of steps.")
LOG_Y = Flag(key="logy", label="Log ε", default=False, help="Logarithmic axis of ε.")
AMPLIFICATION = Choice(
    key="amp",
    label="Sampling in basic and strong",
    default="exact",
    options={"exact": "Exact", "linear": "Linear (qε₀)"},
    help="What sampling does to one step's ε₀. Exact: ln(1 + q(e^ε₀ − 1)). Linear: qε₀, as plotted by Abadi et al. "
    "2016: not a valid bound at the ε₀ of private training.",
)
CLIP = Choice(
    key="clip",
    label="Clip",
    default="both",
    options={"both": "Both", "dp": "DP only"},
    help="Both: gradients are clipped to C for DP and Bayesian DP. DP only: Bayesian DP sees unclipped gradients under "
    "the same noise (Triastcyn & Faltings 2020, Figs. 1 and 4).",
)
FAILURE_MU = Number(
    key="gdmu",
    symbol="δ_μ",
    label="δ_μ (Bayesian)",
    default=1e-5,
    low=LEAST_DELTA,
    high=1.0,
    open_high=True,
    ticks=log_ticks(1e-12, 0.1, 4),
    ends=("stricter", "weaker promise"),
    example="1e-5",
    help="Failure probability of the Bayesian promise, over the noise and over data drawn like the sample. "
    "1e-10 gives an ordinary δ = 1e-5 for 99.999 % of the data.",
)
DELTA_MU = replace(
    FAILURE_MU,
    key="dmu",
    default=math.inf,
    top="δ",
    ends=("stricter", "the same as δ"),
    help=f"{FAILURE_MU.help} It is δ unless it is set here.",
)
FAILURE = Number(
    key="gamma",
    symbol="γ",
    label="Estimator failure γ",
    default=1e-15,
    low=LEAST_DELTA,
    high=0.5,
    ticks=log_ticks(1e-18, 0.1, 1),
    ends=("cautious", "daring"),
    example="1e-15",
    help="Probability that the cost estimated from the sample is too low. It is taken out of δ_μ.",
)
