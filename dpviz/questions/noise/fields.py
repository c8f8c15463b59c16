"""Settings of both questions."""

from __future__ import annotations

from dpviz.fields.field import Choice, Flag, Number, Several, log_ticks
from dpviz.questions import gradient_fields
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.layout import Expert, Groups, Item, Offered, Reader, experts, fields_of
from dpviz.questions.mechanism import DELTA, SETTINGS
from dpviz.questions.methods import OFFERED, RARE
from dpviz.questions.question import Setting
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, IMAGE

TARGET = Number(
    key="target",
    symbol="target ε",
    label="Target ε",
    default=2.0,
    low=1e-6,
    high=1e6,
    ticks=log_ticks(0.05, 50.0, 24),
    ends=("strict", "loose"),
    example="1 or 8",
    help="The ε to be kept, by DP and by Bayesian DP alike. Usual: 1 to 10.",
)
UNKNOWN = Choice(
    key="solvefor",
    label="Solve for",
    default="noise_multiplier",
    options={"noise_multiplier": "Noise σ", "steps": "Steps T", "sample_rate": "Rate q", "delta": "δ"},
    help="The one that is left out. The others are taken as they are set under Mechanism.",
)
METHODS = Several(
    key="noisecurves",
    label="Methods",
    default=("strong", "moments", "renyi_improved", "bayesian"),
    options=OFFERED,
    help="Which accountants are asked. All bound the same mechanism; the one that needs the least noise tells most.",
)
TIGHT = Flag(
    key="noisetight",
    label="Tight",
    default=True,
    help="Also ask the numerically tight accountant: what the mechanism itself needs, whatever the accountant. It "
    "comes a moment after the others.",
)
QUANTILES = Several(
    key="noiseq",
    label="Clipping quantiles (Bayesian)",
    default=("q95",),
    options={
        "q01": "0.01",
        "q05": "0.05",
        "q25": "0.25",
        "q50": "0.50",
        "q75": "0.75",
        "q95": "0.95",
        "q99": "0.99",
    },
    help="The clipping threshold C is this quantile of the gradient norms: one Bayesian curve each. The noise is σ "
    "times the sensitivity that C gives, so DP's curve is the same for all.",
)
LOW = Number(
    key="noisefrom",
    label="σ axis from",
    default=0.5,
    low=1e-3,
    high=1e5,
    example="0.5",
    help="Where the axis of σ starts.",
)
HIGH = Number(
    key="noiseto", label="to", default=50.0, low=1e-3, high=1e5, example="50", help="Where the axis of σ ends."
)
LOG_Y = Flag(key="noiselogy", label="Log ε", default=True, help="Logarithmic axis of ε.")

ASKED = Offered(METHODS, tuple(OFFERED), RARE)


def weak(get: Reader) -> bool:
    """Whether Bayesian DP is asked at all."""
    return "bayesian" in get(METHODS) and bool(get(QUANTILES))


SHARED: dict[str, Setting] = {
    **SETTINGS,
    "target_epsilon": TARGET,
    "methods": METHODS,
    "amplification": AMPLIFICATION,
    "quantiles": QUANTILES,
    "clip": CLIP,
    "delta_mu": DELTA_MU,
    "failure": FAILURE,
    "gradients": gradients_where(weak, laws=True),
}


def grouped(get: Reader, *, ask: tuple[Item, ...], mechanism: tuple[Item, ...], show: tuple[Item, ...]) -> Groups:
    """The controls of either question, with what the methods that are asked need beside its own."""
    groups: dict[str, tuple[Item, ...]] = {"Ask": ask, "Mechanism": mechanism}
    sample = get(gradient_fields.SOURCE) != "law"
    if "bayesian" in get(METHODS):
        drawn = (*gradient_fields.controls(get, laws=True), *(experts(CLIP) if sample else ()))
        groups["Data"] = (QUANTILES, *(drawn if weak(get) else ()))
    amplified = experts(AMPLIFICATION) if "basic" in get(METHODS) or "strong" in get(METHODS) else ()
    failures = (*((DELTA_MU,) if DELTA in fields_of(mechanism) else ()), *(experts(FAILURE) if sample else ()))
    return groups | {"Show": (*show, *(failures if weak(get) else ()), *amplified, Expert(IMAGE))}
