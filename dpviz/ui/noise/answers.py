"""What each method answers when one of (σ, T, q, δ) is left out: the second view's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dpviz.accounting.bayesian_solve import solve_bayesian
from dpviz.accounting.solve import NoAnswer, solve
from dpviz.charts import numbers
from dpviz.ui.noise.curves import scene
from dpviz.ui.noise.settings import Settings
from dpviz.ui.sources import Sample

MOST_TIGHT_STEPS = 1e7  # the tight accountant's grids grow with T: beyond, an answer takes seconds to minutes
TOLERANCE = 2e-4  # of σ and q: three digits are shown
_BAYESIAN_NAME = {
    "noise_multiplier": "noise_std",
    "steps": "steps",
    "sample_rate": "sample_rate",
    "delta": "delta_mu",
}


@dataclass(frozen=True)
class Answer:
    """The missing number, on the safe side; None where there is none, and why if there is a reason to tell."""

    value: float | None
    why: str = ""


def dp_answer(key: str, settings: Settings) -> Answer:
    """The answer of one DP method, or of "tight"."""
    known = {
        "noise_multiplier": settings.sigma,
        "steps": float(settings.steps),
        "sample_rate": settings.rate,
        "delta": settings.delta,
    }
    del known[settings.unknown]
    return _dp_answer(key, settings.amplification, settings.unknown, settings.target, tuple(known.items()))


@lru_cache(maxsize=1024)
def _dp_answer(
    key: str, amplification: str, unknown: str, target: float, known: tuple[tuple[str, float], ...]
) -> Answer:
    if key == "tight" and _too_long(unknown, target, known):
        return Answer(None, f"beyond {numbers.steps(MOST_TIGHT_STEPS)} steps the tight accountant takes too long")
    name, _, conversion = key.partition("_") if key.startswith("renyi_") else (key, "", "")
    options: dict[str, Any] = {"conversion": conversion} if conversion else {}
    if key in ("basic", "strong"):
        options = {"amplification": amplification}
    try:
        return Answer(solve(unknown, target_epsilon=target, method=name, tolerance=TOLERANCE, **dict(known), **options))
    except NoAnswer as none:
        return Answer(None, none.why)


def _too_long(unknown: str, target: float, known: tuple[tuple[str, float], ...]) -> bool:
    """Whether the tight accountant would meet too many steps: those given, or nearly those that Rényi allows."""
    steps = dict(known).get("steps")
    if unknown == "steps":
        steps = _dp_answer("renyi_improved", "", unknown, target, known).value or 0.0
    return steps is not None and steps > MOST_TIGHT_STEPS


@lru_cache(maxsize=1024)
def bayesian_answer(quantile: str, settings: Settings, sample: Sample) -> Answer:
    """The answer of Bayesian DP at one clipping quantile; noise as a multiple of the sensitivity, as DP's σ is."""
    chosen = settings.bayesian
    assert chosen is not None
    distances, sensitivity = scene(sample, quantile, chosen.clip)
    known: dict[str, Any] = {
        "noise_std": settings.sigma * sensitivity,
        "steps": float(settings.steps),
        "sample_rate": settings.rate,
        "delta_mu": chosen.delta_mu,
    }
    missing = _BAYESIAN_NAME[settings.unknown]
    del known[missing]
    try:
        found = solve_bayesian(
            missing,
            distances,
            target_epsilon=settings.target,
            estimator_failure=chosen.failure,
            tolerance=TOLERANCE,
            **known,
        )
    except NoAnswer as none:
        return Answer(None, none.why)
    return Answer(found / sensitivity * (1.0 + 2.0**-50) if missing == "noise_std" else found)
