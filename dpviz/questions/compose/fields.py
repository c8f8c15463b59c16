"""Settings of the question how ε grows with steps."""

from __future__ import annotations

from dpviz.questions import kinds
from dpviz.questions.fields import Choice, Number, Several, even_ticks
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.layout import Reader
from dpviz.questions.methods import OFFERED, left_out

CURVES = Several(
    key="curves",
    label="Curves",
    default=("strong", "moments", "renyi_improved", "closed_form", "bayesian", "tight"),
    options=OFFERED | {"tight": "tight interval"},
    help="Which accountants are drawn. All bound the same mechanism; the lowest valid one tells the most.",
)
# Those with a λ.
WITH_ORDERS = {"moments", "renyi_improved", "renyi_classic", "closed_form", "bayesian"}
QUANTILE = Number(
    key="quantile",
    symbol="quantile",
    label="Clipping quantile",
    default=0.5,
    low=0.0,
    high=1.0,
    ticks=even_ticks(0.0, 1.0, 0.01),
    ends=("clip nearly all", "clip none"),
    example="0.5",
    help="The clipping threshold C is this quantile of the gradient norms.",
)
ORDER = Choice(
    key="lam",
    label="Order λ",
    default="best",
    options={"best": "Best", "fixed": "Fixed"},
    help="Moments, Rényi and Bayesian bounds hold at every order λ = α − 1: take the best, or look at one.",
)
FIXED_ORDER = Number(
    key="lamfix",
    symbol="λ",
    label="λ",
    default=16.0,
    low=1.0,
    high=256.0,
    whole=True,
    ticks=tuple(float(i) for i in range(1, 65)),
    ends=("many steps", "few steps"),
    example="16",
    help="The order of the moments, Rényi, closed form and Bayesian curves, at every step count.",
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


GRADIENTS = gradients_where(lambda get: "bayesian" in drawn(get))
