"""Settings of the question how ε grows with steps."""

from __future__ import annotations

import math

from dpviz.fields.field import Choice, Number, Several, log_ticks
from dpviz.questions import kinds
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.layout import Reader
from dpviz.questions.methods import OFFERED, left_out

CURVES = Several(
    key="curves",
    label="Curves",
    default=("moments", "renyi_improved", "bayesian", "tight"),
    options=OFFERED | {"tight": "tight interval"},
    help="Which accountants are drawn. All bound the same mechanism; the lowest valid one tells the most.",
)
# Those with a λ.
WITH_ORDERS = {"moments", "renyi_improved", "renyi_classic", "closed_form", "bayesian"}
QUANTILE = Number(
    key="quantile",
    symbol="quantile",
    label="Clipping quantile",
    default=0.95,
    low=0.0,
    high=1.0,
    ticks=tuple(sorted(round(1.0 - rest, 12) for rest in log_ticks(1e-4, 0.95, 10))),
    ends=("clip nearly all", "clip hardly any"),
    example="0.95",
    help="The clipping threshold C is this quantile of the gradient norms, and the noise is σC: a higher quantile "
    "makes most gradients small beside the noise, and the noise large beside them.",
)
ORDER = Number(
    key="lam",
    symbol="λ",
    label="Order λ",
    default=math.inf,
    low=1.0,
    high=256.0,
    whole=True,
    top="best",
    ticks=tuple(float(i) for i in (*range(1, 33), *range(36, 65, 4), *range(72, 129, 8), *range(144, 257, 16))),
    ends=("many steps", "few steps, and the best"),
    example="16",
    help="The order of the moments, Rényi, closed form and Bayesian curves at every step count: a whole number λ = "
    "α − 1. Their bounds hold at every order, and “best” takes the smallest.",
)
DEFINITION = Choice(
    key="bdef",
    label="Bayesian DP is meant as",
    default="2",
    options={"2": "Guarantee", "1": "Strong form"},
    help="Triastcyn & Faltings 2020. Guarantee: Definition 2, about the probability of every set of outputs, as (ε, δ)"
    "-DP states it. Strong form: Definition 1, about the tail of the privacy loss, which implies it and costs more.",
)
SAMPLES = Number(
    key="m",
    symbol="m",
    label="Norms sampled, m",
    default=math.inf,
    low=2.0,
    high=1e7,
    whole=True,
    top="all",
    ticks=tuple(float(round(m)) for m in log_ticks(100.0, 1e7, 8)),
    ends=("few norms", "many, and all there are"),
    example="10000",
    help="“All” is the distribution itself. Whoever does not know it has m norms drawn from it: the chart then shows "
    "what these certify, and the estimate as printed (Triastcyn & Faltings 2020, Eq. 14).",
)
READING = Choice(
    key="reading",
    label="Bayesian curve",
    default="planned",
    tall=True,
    options={"planned": "Planned: t is the whole plan", "running": "Running: T is the plan"},
    help="The cost of a step depends on how many are planned in all. Planned: every point is a plan of its own. "
    "Running: what a run planned for T has spent after t steps.",
)
PSI = Choice(
    key="psi",
    label="Cost ψ of a step",
    default="left",
    options={"left": "ψ_L", "printed": "As printed"},
    help="ψ_L: the moment of a removed example, never below that of an added one (Mironov, Talwar, Zhang 2019, Theorem "
    "5). As printed: the larger of ψ_L and ψ_R (Triastcyn & Faltings 2020, Theorem 3), where the bound ψ_R is of first "
    "order in q and loses what sampling gains.",
)


def offered(get: Reader) -> tuple[str, ...]:
    """The curves that there are under the chosen mechanism."""
    without = left_out(CURVES.options, kinds.read(get))
    return tuple(key for key in CURVES.options if key not in without)


def drawn(get: Reader) -> tuple[str, ...]:
    """Those of them that are switched on."""
    return tuple(key for key in get(CURVES) if key in offered(get))


GRADIENTS = gradients_where(lambda get: "bayesian" in drawn(get), laws=True)
