"""Curves of the accountants, uncached, beside the same points by dp-accounting and Opacus.

Run by ``make bench``. All three compute the divergences of one step once a curve, and convert T times those at each
point. What differs then is tightness: each library has default orders of its own, and dpviz rounds up.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from opacus.accountants import RDPAccountant
from opacus.accountants.analysis.rdp import compute_rdp, get_privacy_spent

import dpviz
from dpviz._remember import MEMORY

QUICK = ("moments", "renyi", "closed_form", "strong")
SIGMA, RATE, DELTA = 4.0, 0.01, 1e-5
STEPS = np.linspace(200, 40_000, 200).astype(int)
TARGET_SECONDS = 0.025


def uncached() -> None:
    MEMORY.clear()


def curves(steps: Any = STEPS, methods: tuple[str, ...] = QUICK) -> dict[str, Any]:
    uncached()
    return {m: dpviz.epsilon(m, noise_multiplier=SIGMA, sample_rate=RATE, steps=steps, delta=DELTA) for m in methods}


def by_dp_accounting(steps: Any = STEPS) -> list[float]:
    """The divergences of one step once, times T: those of its accountant after one step, and its own conversion."""
    accountant = RdpAccountant()
    accountant.compose(dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(SIGMA)))
    orders, one_step = accountant._orders, accountant._rdp
    return [float(compute_epsilon(orders, count * one_step, DELTA)[0]) for count in steps]


def by_opacus(steps: Any = STEPS) -> list[float]:
    orders = RDPAccountant.DEFAULT_ALPHAS
    one_step = np.asarray(compute_rdp(q=RATE, noise_multiplier=SIGMA, steps=1, orders=orders))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [float(get_privacy_spent(orders=orders, rdp=count * one_step, delta=DELTA)[0]) for count in steps]


OTHERS = {"Opacus": by_opacus, "dp-accounting": by_dp_accounting}


def best_of(times: int, work: Callable[[], Any]) -> float:
    """Seconds of the processor, which other work on the machine disturbs least."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("methods", [QUICK, *((m,) for m in (*QUICK, "basic"))], ids="+".join)
def test_200_points(benchmark: Any, methods: tuple[str, ...]) -> None:
    benchmark(curves, STEPS, methods)


@pytest.mark.parametrize("steps", [100, 10**9], ids="{:.0e} steps".format)
def test_one_point(benchmark: Any, steps: int) -> None:
    benchmark(curves, steps)


def test_ratios(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """All in one run: a 200-point Rényi curve by each library."""
    ours_all = best_of(20, curves)
    ours = best_of(20, lambda: curves(methods=("renyi",)))
    few, many = (best_of(20, lambda t=t: curves(t)) for t in (100, 10**9))
    lines = [
        f"moments + renyi + closed_form + strong, {STEPS.size} points: {ours_all * 1e3:.1f} ms"
        f" (target {TARGET_SECONDS * 1e3:.0f} ms)",
        f"renyi alone: {ours * 1e3:.1f} ms; T = 10^9 ÷ T = 100: {many / few:.2f}",
    ]
    rows = [("dpviz, rounded up", ours, curves(methods=("renyi",))["renyi"])]
    rows += [(name, best_of(20, other), np.asarray(other())) for name, other in OTHERS.items()]
    lines += [
        f"\nLoad {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n",
        f"| Rényi, default orders, {STEPS.size} points | processor ms | ÷ dpviz | ε at T = {STEPS[0]} | "
        f"ε at T = {STEPS[-1]} | largest excess over dpviz |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {name} | {1e3 * seconds:.1f} | {seconds / ours:.1f} | {epsilon[0]:.6f} | {epsilon[-1]:.6f} | "
        f"{100 * np.max(epsilon / rows[0][2] - 1.0):.2f} % |"
        for name, seconds, epsilon in rows
    ]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert STEPS.size == 200
    benchmark.pedantic(curves, rounds=3)
