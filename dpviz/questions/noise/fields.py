"""Settings of both questions."""

from __future__ import annotations

from dpviz.fields.declared import choice, flag, number, several
from dpviz.questions import gradient_fields
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.layout import Expert, Groups, Item, Offered, Reader, experts, fields_of
from dpviz.questions.mechanism import DELTA, SETTINGS
from dpviz.questions.methods import OFFERED, RARE
from dpviz.questions.question import Setting
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, IMAGE

TARGET = number("target")
UNKNOWN = choice("solvefor")
METHODS = several("noisecurves", options=OFFERED)
TIGHT = flag("noisetight")
QUANTILES = several("noiseq")
LOW = number("noisefrom")
HIGH = number("noiseto")
LOG_Y = flag("noiselogy")

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
