"""Settings of the question how ε grows with steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpviz.fields.declared import choice, number, several
from dpviz.questions import kinds
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.layout import Reader
from dpviz.questions.methods import OFFERED, left_out

CURVES = several("curves", options=OFFERED | {"tight": "tight interval"})
QUANTILE = number("quantile")
ORDER = number("lam")
DEFINITION = choice("bdef")
SAMPLES = number("m")
READING = choice("reading")
PSI = choice("psi")


def offered(get: Reader) -> tuple[str, ...]:
    """The curves that there are under the chosen mechanism."""
    without = left_out(CURVES.options, kinds.read(get))
    return tuple(key for key in CURVES.options if key not in without)


def drawn(get: Reader) -> tuple[str, ...]:
    """Those of them that are switched on."""
    return tuple(key for key in get(CURVES) if key in offered(get))


GRADIENTS = gradients_where(lambda get: "bayesian" in drawn(get), laws=True)


def orders_of(order: int | None) -> range:
    """The moment orders λ that are tried."""
    return range(1, 33) if order is None else range(order, order + 1)


def failure_of(given: Mapping[str, Any]) -> float:
    """δ_μ, which is δ unless it is set."""
    failure: float = given["delta"] if given["delta_mu"] is None else given["delta_mu"]
    return failure
