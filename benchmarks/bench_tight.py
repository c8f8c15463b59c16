"""Speed and widths of the tight accountant beside dp-accounting and prv-accountant, in one run.

pytest benchmarks/bench_tight.py --benchmark-only -s

dp-accounting is run on its default grid (1e-4) and prv-accountant at eps_error 0.02; ratios are theirs ÷ ours.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpviz.accounting import privacy_loss, tight_plan, two_scales
from dpviz.accounting.mechanism import SampledGaussian
from dpviz.accounting.tight import tight_epsilon

STEPS = np.unique(np.geomspace(1, 1e6, 16).round())
SETTINGS = [(4.0, 0.01, 1e-5), (10.0, 1e-4, 1e-5), (1.0, 0.01, 1e-5), (0.5, 1e-4, 1e-12), (100.0, 0.5, 1e-12)]
SETTINGS += [(0.65, 1e-6, 1e-12), (0.8, 1e-5, 1e-10), (0.57, 1e-4, 1e-6)]  # rare sampling, little noise


def uncached() -> None:
    privacy_loss.discretise.cache_clear()
    tight_plan._log_moments.cache_clear()
    two_scales._coarse_small.cache_clear()


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    uncached()
    begun = time.perf_counter()
    answer = work()
    return answer, time.perf_counter() - begun


def by_dp_accounting(sigma: float, q: float, steps: int, delta: float) -> tuple[float, float]:
    bounds = []
    for pessimistic in (False, True):
        one = pld.from_gaussian_mechanism(
            sigma, sampling_prob=q, pessimistic_estimate=pessimistic, use_connect_dots=pessimistic
        )
        bounds.append(float(one.self_compose(steps).get_epsilon_for_delta(delta)))
    return bounds[0], bounds[1]


def by_prv_accountant(sigma: float, q: float, steps: int, delta: float) -> tuple[float, float]:
    prv = pytest.importorskip("prv_accountant")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=sigma, sampling_probability=q)
        accountant = prv.PRVAccountant([one], max_self_compositions=[steps], eps_error=0.02, delta_error=delta / 1000)
        low, _, high = accountant.compute_epsilon(delta, [steps])
    return float(low), float(high)


@pytest.mark.parametrize(("sigma", "q", "delta"), SETTINGS)
def test_sixteen_step_counts(benchmark: Any, sigma: float, q: float, delta: float) -> None:
    mechanism = SampledGaussian(noise_multiplier=sigma, sample_rate=q)
    curve = lambda: tight_epsilon(mechanism, STEPS, delta)  # noqa: E731
    found = benchmark.pedantic(curve, setup=uncached, rounds=5, warmup_rounds=1)
    shown = found.upper <= 50
    width = ((found.upper - found.lower) / np.maximum(0.01 * found.lower, 0.005))[shown]
    print(f"\n  widest {width.max():.2f} of the promise {found.reason}")


@pytest.mark.parametrize(("sigma", "q", "steps", "delta"), [(4.0, 0.01, 10_000, 1e-5), (1.0, 0.01, 1_000, 1e-6)])
def test_beside_other_libraries(benchmark: Any, sigma: float, q: float, steps: int, delta: float) -> None:
    mechanism = SampledGaussian(noise_multiplier=sigma, sample_rate=q)
    benchmark.pedantic(lambda: tight_epsilon(mechanism, [steps], delta), setup=uncached, rounds=5, warmup_rounds=1)
    ours, seconds = timed(lambda: tight_epsilon(mechanism, [steps], delta))
    low, high = float(ours.lower[0]), float(ours.upper[0])
    print(f"\n  σ={sigma:g} q={q:g} T={steps} δ={delta:g}: ours [{low:.5f}, {high:.5f}] in {1e3 * seconds:.1f} ms")
    for name, other in (("dp-accounting", by_dp_accounting), ("prv-accountant", by_prv_accountant)):
        (their_low, their_high), theirs = timed(lambda other=other: other(sigma, q, steps, delta))
        print(
            f"  {name} [{their_low:.5f}, {their_high:.5f}] in {1e3 * theirs:.0f} ms: "
            f"time ×{theirs / seconds:.1f}, width ×{(their_high - their_low) / (high - low):.1f}"
        )
        assert their_low <= high
        assert low <= their_high
