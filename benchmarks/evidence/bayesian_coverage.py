"""How often Bayesian DP's numbers are below the true cost: the estimate as printed and the certified bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting.bayesian.accountant import ORDERS, bayesian_cost
from dpviz.accounting.bayesian.costs import psi
from dpviz.accounting.bayesian.pool import Pool
from dpviz.gradients.law_truth import true_norms_epsilon

Array = npt.NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]

STEPS, NOISE_STD, RATE = 200, 1.0, 0.05
ORDER = 4  # λ, one for all: whether a number is too low is a question of its cost alone
SIZES = (20, 50, 100, 1000)
FAILURES = (0.5, 0.1, 0.01)
TRIALS = 400
_SCALE = 0.06  # of the Weibull norms: P(d = C) = 1.7 %


def _two_point(size: int, rng: np.random.Generator) -> Array:
    return (rng.random(size) < 1e-3).astype(np.float64)


def _weibull(size: int, rng: np.random.Generator) -> Array:
    return np.minimum(_SCALE * rng.weibull(0.5, size), 1.0)


def _uniform(size: int, rng: np.random.Generator) -> Array:
    return rng.random(size)


def _point(size: int, rng: np.random.Generator) -> Array:
    return np.full(size, 0.3)


DISTRIBUTIONS: dict[str, Draw] = {
    "P(d = C) = 0.001, else 0": _two_point,
    "Weibull(½), clipped": _weibull,
    "uniform on [0, C]": _uniform,
    "d = 0.3 C": _point,
}


def _true_cost(draw: Draw) -> float:
    """T·c(λ, T), never above the truth: exact, or a sum from below."""
    if draw is _weibull:
        found = true_norms_epsilon(
            "weibull",
            shape=0.5,
            scale=_SCALE,
            threshold=1.0,
            noise_std=NOISE_STD,
            sample_rate=RATE,
            steps=[STEPS],
            delta_mu=math.exp(-1.0),
            orders=[ORDER],
        )
        return float(found.lower[0]) * ORDER - 1.0
    values = {_two_point: np.array([0.0, 1.0]), _uniform: np.arange(20_000) / 20_000, _point: np.array([0.3])}[draw]
    masses = np.array([0.999, 0.001]) if draw is _two_point else np.full(values.size, 1.0 / values.size)
    grown = STEPS * psi((values / NOISE_STD) ** 2, RATE)[:, ORDER - 1]
    return float(grown[-1] + np.log(masses @ np.exp(grown - grown[-1])))


def _shares(draw: Draw, size: int, rng: np.random.Generator) -> dict[tuple[str, float], tuple[float, float]]:
    """(kind, γ) → share of samples too low, and the median of value ÷ truth."""
    truth = _true_cost(draw)
    found: dict[tuple[str, float], list[float]] = {}
    known: dict[str, Any] = {
        "noise_std": NOISE_STD,
        "sample_rate": RATE,
        "total_steps": STEPS,
        "orders": [ORDER],
    }
    for _ in range(TRIALS):
        distances = draw(size, rng)
        for failure in FAILURES:
            for kind, more in (("printed", {}), ("certified", {"largest_distance": 1.0})):
                cost = STEPS * float(bayesian_cost(distances, estimator_failure=failure, **known, **more)[0])
                found.setdefault((kind, failure), []).append(cost / truth)
    return {
        key: (float(np.mean(np.array(ratios) < 1.0 - 1e-9)), float(np.median(ratios))) for key, ratios in found.items()
    }


def _run_shares(failure: float, rng: np.random.Generator, trials: int = 300) -> float:
    """Share of runs whose bound is below the truth after any step; distances are large until one was seen."""
    total, wrong = 30, 0
    low, high = total * psi(np.array([0.04, 1.0]), 0.2)
    for _ in range(trials):
        pool, seen, truth, below = Pool(rate=0.2, total_steps=total, failure=failure), False, 0.0, False
        for _ in range(total):
            share = 0.0 if seen else 0.02
            distances = np.where(rng.random(1 + rng.poisson(9)) < share, 1.0, 0.2)
            seen = seen or bool((distances == 1.0).any())
            truth = truth + (np.logaddexp(np.log1p(-share) + low, np.log(share) + high) if share else low) / total
            below |= bool((pool.add(1.0, [distances])[-1] < truth * (1.0 - 1e-12)).any())
        wrong += below
    return wrong / trials


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def table() -> str:
    """A Markdown section: how often either number is too low, and how far above the truth the bound lies."""
    rng = np.random.default_rng(1)
    head = "| distances | m | " + " | ".join(f"printed, γ = {g:g} | certified, γ = {g:g}" for g in FAILURES)
    lines = [
        "## Coverage of the Bayesian bound",
        "",
        f"Share of {TRIALS} seeded samples of m distances whose cost T·ĉ(λ, T) is below the true cost (T = {STEPS}, "
        f"q = {RATE:g}, σ = {NOISE_STD:g} C, λ = {ORDER}; the true cost is exact or a sum from below). Printed: the "
        "asymptotic estimate of Triastcyn & Faltings 2020, Eq. 14. Certified: the certified bound, with the median of "
        "bound ÷ true cost in brackets.",
        "",
        head + " |",
        "|---|---|" + "---|" * (2 * len(FAILURES)),
    ]
    for name, draw in DISTRIBUTIONS.items():
        for size in SIZES:
            shares = _shares(draw, size, rng)
            cells = []
            for failure in FAILURES:
                cells.append(_percent(shares["printed", failure][0]))
                share, ratio = shares["certified", failure]
                cells.append(f"{_percent(share)} ({ratio:.3g})")
            lines.append(f"| {name} | {size} | " + " | ".join(cells) + " |")
    runs = ", ".join(f"{_percent(_run_shares(failure, rng))} at γ = {failure:g}" for failure in FAILURES)
    lines += [
        "",
        "Bounds of whole runs (distances of all steps together, read after every step; distances depend on earlier "
        f"results; {len(ORDERS)} orders): too low in {runs} of 300 simulated runs of 30 steps.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table())
