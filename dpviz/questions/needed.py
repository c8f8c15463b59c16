"""The missing one of σ, T, q and δ for a target ε, by one DP method: what pages solve for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.solve import NoAnswer
from dpviz.fields import numbers
from dpviz.questions.methods import called

SYMBOLS = {"noise_multiplier": "σ", "steps": "T", "sample_rate": "q", "delta": "δ"}
MOST_TIGHT_STEPS = 1e7  # the tight accountant's grids grow with T: beyond, an answer takes seconds to minutes
TOLERANCE = 4e-4  # of σ and q: three digits are shown

Known = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Need:
    """The missing number, on the safe side; None where there is none, and why if there is a reason to tell.

    `waits`: there is none yet.
    """

    value: float | None
    why: str = ""
    waits: bool = False


def left(given: Mapping[str, Any], unknown: str) -> Known:
    """The three that are known, by name."""
    return tuple((name, float(given[name])) for name in SYMBOLS if name != unknown)


@remembered
def dp_need(key: str, amplification: str, unknown: str, target: float, known: Known) -> Need:
    """The answer of one DP method, or of "tight", which takes a tenth of a second."""
    if key == Tight.name and tight_steps(unknown, target, known) > MOST_TIGHT_STEPS:
        return Need(None, f"beyond {numbers.steps(MOST_TIGHT_STEPS)} steps the tight accountant takes too long")
    name, options = called(key, amplification)
    asked: dict[str, Any] = {"target_epsilon": target, "tolerance": TOLERANCE, **options, **dict(known)}
    try:
        return Need(dpviz.solve(unknown, method=name, **asked))
    except NoAnswer as none:
        return Need(None, none.why)


def tight_steps(unknown: str, target: float, known: Known) -> float:
    """How many steps the tight accountant would meet: those given, or nearly those that Rényi allows."""
    if unknown == "steps":
        return dp_need(Renyi().family, "", unknown, target, known).value or 0.0
    return dict(known)["steps"]
