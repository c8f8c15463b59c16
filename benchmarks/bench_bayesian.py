"""The Bayesian curve: the convex table against the direct evaluation, in the same run.

pytest benchmarks/bench_bayesian.py --benchmark-only -s
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import t as student

from dpviz.accounting.bayesian.accountant import bayesian_epsilon
from dpviz.accounting.bayesian.costs import step_costs

SAMPLES = {
    "clipped Weibull": np.minimum(np.random.default_rng(0).weibull(0.5, 100_000), 1.0),
    "Weibull": np.random.default_rng(0).weibull(0.5, 100_000),
    "half-normal": np.abs(np.random.default_rng(0).normal(size=100_000)),
    "uniform": np.random.default_rng(0).random(100_000),
}
STEPS = np.geomspace(1, 1e9, 200).round()
ORDERS = np.arange(1, 33)
STD, RATE, DELTA, FAILURE = 4.0, 0.01, 1e-5, 1e-15


def direct(distances: npt.NDArray[np.float64], steps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """ε_μ from every sample at every order and number of steps."""
    psi = step_costs((distances / STD) ** 2, ORDERS, RATE)
    top = psi.max(axis=0)
    tau = student.isf(FAILURE, distances.size - 1) / math.sqrt(distances.size - 1)
    found = []
    for planned in steps:
        x = np.exp(planned * (psi - top))
        moments = planned * top + np.log(x.mean(axis=0) + tau * x.std(axis=0))
        found.append(((moments - math.log(DELTA - FAILURE)) / ORDERS).min())
    return np.array(found)


@pytest.mark.parametrize("name", SAMPLES)
def test_curve_of_200_points(benchmark: Any, name: str) -> None:
    distances = SAMPLES[name]

    def curve() -> Any:
        return bayesian_epsilon(distances, noise_std=STD, sample_rate=RATE, steps=STEPS, delta_mu=DELTA)

    found = benchmark(curve)
    part = slice(0, 200, 40)  # the direct evaluation of all 200 takes half a minute
    start = time.perf_counter()
    truth = direct(distances, STEPS[part])
    whole = (time.perf_counter() - start) * STEPS.size / truth.size
    excess = found[part] / truth - 1.0
    benchmark.extra_info["direct_seconds"] = whole
    benchmark.extra_info["largest_excess"] = float(excess.max())
    print(
        f"\n{name}: direct {whole:.1f} s for 200 points (from {truth.size}); largest excess {excess.max():.1e},"
        f" smallest {excess.min():.1e}",
        end="",
    )
    if benchmark.stats is not None:
        print(f"; table {benchmark.stats['median'] * 1e3:.1f} ms, {whole / benchmark.stats['median']:.0f} times faster")
    assert excess.min() > -1e-12
    assert excess.max() < 1e-3


@pytest.mark.parametrize("last", [1e3, 1e9])
def test_cost_does_not_grow_with_steps(benchmark: Any, last: float) -> None:
    steps = np.geomspace(1, last, 200).round()
    benchmark(
        lambda: bayesian_epsilon(
            SAMPLES["clipped Weibull"], noise_std=STD, sample_rate=RATE, steps=steps, delta_mu=DELTA
        )
    )
