"""The last model's bound is never below the exact divergence where that can be computed, and stops growing."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import binom

import dpviz
from dpviz.accounting.langevin.cost import Langevin
from dpviz.accounting.langevin.last_iterate import (
    LAST_ORDERS,
    ConvexLoss,
    _divergences,
    _shifted,
    last_iterate_bound,
    not_covered,
)

ORDERS = np.array(LAST_ORDERS)
FLAT = {"smoothness": 1e-9}  # a linear loss has any smoothness
FULL = Langevin(100, 100, 2.0)


def divergence(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    """R(α) of two laws on the same cells."""
    there = (p > 1e-250) & (q > 1e-250)
    return float(logsumexp(alpha * np.log(p[there]) + (1 - alpha) * np.log(q[there]))) / (alpha - 1)


def moved(setting: Langevin, eta: float) -> tuple[float, float]:
    """What one example moves a step, and the noise's standard deviation."""
    return eta * setting.clip / setting.batch_size, math.sqrt(eta / setting.n)


@given(st.floats(1e-3, 1.0), st.floats(0.0, 0.9), st.integers(1, 10_000), st.booleans())
@settings(max_examples=60, deadline=None)
def test_exact_for_a_quadratic_loss_on_all_data(eta: float, shrink: float, steps: int, replaced: bool) -> None:
    """Means differ by s(1 + c + …), the variance is v(1 + c² + …)."""
    setting = replace(FULL, adjacency="replace_one" if replaced else "add_remove")
    powers = (1 - shrink) ** np.arange(steps)
    s, std = moved(setting, eta)
    exact = ORDERS * (s * (1 + replaced) * powers.sum()) ** 2 / (2 * std**2 * (powers**2).sum())
    r = _divergences(setting, eta, ConvexLoss(**FLAT, strong_convexity=shrink / eta), np.array([float(steps)]))[0]
    assert (r >= exact * (1 - 1e-9)).all()
    np.testing.assert_allclose(r, exact, rtol=1e-6 if shrink else 1e-9)


@pytest.mark.parametrize("shrink", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("steps", [1, 4, 9])
@pytest.mark.parametrize("clip", [2.0, 12.0])
def test_above_the_exact_divergence_of_sampled_steps(shrink: float, steps: int, clip: float) -> None:
    """A quadratic loss: the last model is a mixture of Gaussians over who was sampled when; both directions."""
    setting, eta = Langevin(100, 30, clip), 0.5
    s, std = moved(setting, eta)
    powers = (1 - shrink) ** np.arange(steps)
    spread = std * math.sqrt((powers**2).sum())
    x = np.linspace(-12.0, 12.0 + s * powers.sum() / spread, 4001)
    law = np.zeros_like(x)
    for picks in itertools.product((0, 1), repeat=steps):
        weight = 0.3 ** sum(picks) * 0.7 ** (steps - sum(picks))
        law += weight * np.exp(-0.5 * (x - s * float(powers @ picks) / spread) ** 2)
    without = np.exp(-0.5 * x**2)
    law, without = law / law.sum(), without / without.sum()
    loss = ConvexLoss(**FLAT, strong_convexity=shrink / eta)
    r = dict(zip(LAST_ORDERS, _divergences(setting, eta, loss, np.array([float(steps)]))[0], strict=True))
    for alpha in (2.0, 3.0, 6.0):
        exact = max(divergence(law, without, alpha), divergence(without, law, alpha))
        assert exact * (1 - 1e-6) <= r[alpha]
        assert r[alpha] <= 2.5 * exact, "and not far above"


@pytest.mark.parametrize("shift", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("sigma", [0.8, 3.0])
@pytest.mark.parametrize("rate", [0.01, 0.4, 1.0])
def test_one_step_that_also_hides_a_shift(shift: float, sigma: float, rate: float) -> None:
    """The formula against the laws themselves; the other direction, and shifts that are not parallel, cost less."""
    x = np.linspace(-30.0, 30.0, 6001)
    orders = np.array([1.5, 2.0, 3.7, 6.0])

    def law(mean: float) -> np.ndarray:
        density = np.exp(-0.5 * (x - mean / sigma) ** 2)
        return np.asarray(density / density.sum())

    p, q = rate * law(shift + 1.0) + (1 - rate) * law(shift), law(0.0)
    across = rate * law(1.0) + (1 - rate) * law(0.0)
    r = _shifted(np.array([[shift]]), sigma, rate, orders)[0]
    for alpha, bound in zip(orders.tolist(), r.tolist(), strict=True):
        assert bound == pytest.approx(divergence(p, q, alpha), rel=1e-6, abs=1e-12)
        assert divergence(q, p, alpha) <= bound * (1 + 1e-6) + 1e-12
        assert divergence(across, q, alpha) + alpha * shift**2 / (2 * sigma**2) <= bound * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("rate", [0.2, 1.0])
@pytest.mark.parametrize("diameter", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("start", [-0.5, 0.5])
@pytest.mark.one_of(3)
def test_above_the_exact_divergence_of_projected_steps(rate: float, diameter: float, start: float) -> None:
    """A linear loss on an interval, computed on a grid: the example pushes, the walls hold, both directions."""
    setting, eta = Langevin(100, 100 * rate, 10.0 * rate), 0.5
    s, std = moved(setting, eta)
    cells = np.linspace(-diameter / 2, diameter / 2, 241)
    width = cells[1] - cells[0]

    def kernel(push: float) -> np.ndarray:
        x = (cells[None, :] - cells[:, None] - push) / std
        inside = np.exp(-0.5 * x**2) * width / (std * math.sqrt(2 * math.pi))
        low = np.array([0.5 * math.erfc((c + push + diameter / 2 + width / 2) / (std * math.sqrt(2))) for c in cells])
        high = np.array([0.5 * math.erfc((diameter / 2 + width / 2 - c - push) / (std * math.sqrt(2))) for c in cells])
        inside[:, 0] += low
        inside[:, -1] += high
        return inside / inside.sum(axis=1, keepdims=True)

    away, pushed = kernel(0.0), rate * kernel(s) + (1 - rate) * kernel(0.0)
    p = q = np.eye(cells.size)[round((start + 0.5) * (cells.size - 1))]
    steps, tops = np.arange(1.0, 121.0), []
    loss = ConvexLoss(**FLAT, diameter=diameter)
    r = _divergences(setting, eta, loss, steps)
    for t in range(steps.size):
        p, q = p @ pushed, q @ away
        for alpha in (2.0, 5.0):
            exact = max(divergence(p, q, alpha), divergence(q, p, alpha))
            assert exact <= r[t, LAST_ORDERS.index(alpha)] * (1 + 1e-3)
        tops.append(exact)
    if diameter < 1.0 and rate == 1.0:
        assert r[-1, 0] == r[30, 0], "it stopped growing"
        assert tops[-1] == pytest.approx(tops[30], rel=0.02)


@pytest.mark.parametrize("smoothness", [0.05, 1.0])
@given(st.integers(1, 10**5), st.floats(1e-3, 1.0), st.floats(0.01, 0.9))
@settings(max_examples=40, deadline=None)
def test_at_most_what_chourasia_et_al_prove(smoothness: float, steps: int, eta: float, share: float) -> None:
    """α S²/(m σ² n²) (1 − e^{−mηK/2}) with noise N(0, 2ησ²), for η < 1/β and strong convexity m < β."""
    m, size, clip = share * smoothness, FULL.n, FULL.clip
    eta = min(eta, 0.99 / smoothness)
    sigma2 = 1 / (2 * size)  # 2ησ² = η/n
    printed = ORDERS * clip**2 / (m * sigma2 * size**2) * -math.expm1(-m * eta * steps / 2)
    r = _divergences(FULL, eta, ConvexLoss(smoothness, m), np.array([float(steps)]))[0]
    assert (r <= printed * (1 + 1e-9)).all()


def test_it_is_never_above_composition_and_stops_growing() -> None:
    setting = Langevin(10_000, 1000, 1.0)
    marks = 10.0 ** np.arange(7)
    composed = dpviz.langevin_epsilon([0.5] * 10_000, n=10_000, batch_size=1000, clip=1.0, delta=1e-5, marks=marks[:5])
    for loss in (ConvexLoss(0.25, diameter=0.1), ConvexLoss(0.25, 0.01), ConvexLoss(0.25, 0.01, 0.1)):
        last = last_iterate_bound(setting, 0.5, loss, marks=marks, delta=1e-5).epsilon
        assert (last[:5] <= np.asarray(composed) * 1.02).all()  # it has fewer orders
        assert last[-1] == pytest.approx(last[-2], rel=1e-6)
        assert (np.diff(last) >= 0.0).all()
    smaller = [
        last_iterate_bound(setting, 0.5, ConvexLoss(0.25, diameter=d), marks=[1e6], delta=1e-5).epsilon[0]
        for d in (0.01, 0.1, 1.0)
    ]
    assert smaller == sorted(smaller)


def test_batches_too_large_for_the_smoothness_are_paid_with_delta_or_refused() -> None:
    """The chance that a batch has more than 2τ/(ηβ) examples, against the binomial law itself."""
    setting = Langevin(1000, 100, 1.0)
    sizes = np.arange(1001)
    for eta, m in ((2.0, 0.0), (4.0, 0.0), (4.0, 0.05), (5.0, 0.0), (3.0, 0.1)):
        loss = ConvexLoss(0.25, m)
        curved = np.abs(1 - eta * (m + 0.25 * sizes / 100)) > 1 - eta * m + 1e-12
        tail = 50 * float(binom.pmf(sizes[curved], 1000, 0.1).sum())
        failure = loss.failure(setting, eta, 50)
        assert tail <= failure <= 1e4 * tail + 1e-300
    assert ConvexLoss(0.25).failure(setting, 0.8, 50) == 0.0, "all data fit"
    assert ConvexLoss(0.25).failure(setting, 8.0, 50) == 1.0, "an average batch does not"
    assert "step_size=8" in not_covered(setting, 8.0, ConvexLoss(0.25), 50, 1e-5)
    with pytest.raises(ValueError, match="without momentum"):
        last_iterate_bound(replace(setting, friction=0.1), 0.1, ConvexLoss(0.25), marks=[9], delta=1e-5)
    paid = last_iterate_bound(setting, 4.9, ConvexLoss(0.25), marks=[50], delta=1e-5).epsilon
    free = last_iterate_bound(setting, 4.9, ConvexLoss(0.01), marks=[50], delta=1e-5).epsilon
    assert free < paid


@pytest.mark.parametrize(
    "bad", [{"smoothness": 0.0}, {"strong_convexity": -1.0}, {"diameter": 0.0}, {"diameter": math.nan}]
)
def test_assumptions_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"Expected {next(iter(bad))}"):
        ConvexLoss(**{"smoothness": 1.0, **bad})
