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

import dpviz
from dpviz._remember import MEMORY
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian

STEPS = np.unique(np.geomspace(1, 1e6, 16).round())
SETTINGS = [(4.0, 0.01, 1e-5), (10.0, 1e-4, 1e-5), (1.0, 0.01, 1e-5), (0.5, 1e-4, 1e-12), (100.0, 0.5, 1e-12)]
SETTINGS += [(0.65, 1e-6, 1e-12), (0.8, 1e-5, 1e-10), (0.57, 1e-4, 1e-6)]  # rare sampling, little noise


def uncached() -> None:
    MEMORY.clear()


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


@pytest.mark.parametrize(("sigma", "q", "delta"), SETTINGS)
def test_many_counts_beside_one(benchmark: Any, sigma: float, q: float, delta: float) -> None:
    """16 and 200 step counts up to 10⁶ ÷ one count in their middle: processor time, which other work disturbs least."""
    mechanism = SampledGaussian(noise_multiplier=sigma, sample_rate=q)
    seconds = {}
    for count in (1, 16, 200):
        steps = np.array([1e4]) if count == 1 else np.unique(np.geomspace(1, 1e6, count).round())
        uncached()
        begun = time.process_time()
        tight_epsilon(mechanism, steps, delta)
        seconds[count] = time.process_time() - begun
    benchmark.pedantic(lambda: tight_epsilon(mechanism, STEPS, delta), setup=uncached, rounds=1)
    ratios = ", ".join(f"{count} counts ×{seconds[count] / seconds[1]:.1f}" for count in (16, 200))
    print(f"\n  σ={sigma:g} q={q:g} δ={delta:g}: one {1e3 * seconds[1]:.1f} ms; {ratios}")


def test_solving_for_steps(benchmark: Any) -> None:
    """solve("steps", "tight") over random settings ÷ one interval at the same (σ, q, δ) after 10⁴ steps."""
    generator = np.random.default_rng(7)
    low, high = np.log([0.2, 1e-9, 1e-15, 1e-2]), np.log([1000.0, 1.0, 1e-2, 20.0])
    settings = np.exp(generator.uniform(low, high, size=(100, 4))).tolist()
    slowest, ratios = [], []
    for sigma, q, delta, target in settings:
        uncached()
        begun = time.process_time()
        tight_epsilon(SampledGaussian(sigma, q), [10_000], delta)
        middle = time.process_time()
        uncached()
        try:
            dpviz.solve(
                "steps", method="tight", target_epsilon=target, noise_multiplier=sigma, sample_rate=q, delta=delta
            )
        except ValueError:
            continue
        slowest.append(time.process_time() - middle)
        ratios.append(slowest[-1] / (middle - begun))
    benchmark.pedantic(uncached, rounds=1)
    shares = np.quantile(slowest, [0.5, 0.9, 1.0])
    print(f"\n  seconds: median {shares[0]:.3f}, nine in ten {shares[1]:.3f}, slowest {shares[2]:.3f}")
    print(f"  ÷ one interval: median {np.median(ratios):.1f}")
