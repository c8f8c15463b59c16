"""ln A_α of one step against 40-digit arithmetic, its exact edges, and what other libraries make of it."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import dp_accounting
import mpmath as mp
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus.accountants.analysis.rdp import compute_rdp

from dpviz.mechanisms.log_moments import log_moment, renyi_divergence
from tests.accounting.references import geometric

REFERENCE = Path(__file__).with_name("reference")
TABLE: list[tuple[float, float, float, str]] = json.loads((REFERENCE / "log_moments.json").read_text())
PROMISED = 1e-11


def error(found: float, exact: mp.mpf | str) -> float:
    """Relative error of a double against a high-precision value, taken in high precision."""
    with mp.workdps(40):
        value = mp.mpf(exact)
        return float(abs(mp.mpf(float(found)) - value) / value)


def by_quadrature(sigma: float, rate: float, order: float) -> mp.mpf:
    """By another rule (Gauss-Legendre by mpmath) than the one that made the table."""
    with mp.workdps(45):
        s, q, a = mp.mpf(sigma), mp.mpf(rate), mp.mpf(order)
        excess = lambda x: mp.npdf(x) * ((1 + q * mp.expm1(x / s - 1 / (2 * s * s))) ** a - 1)  # noqa: E731
        return mp.log1p(mp.quad(excess, mp.linspace(-13, order / sigma + 13, 9)))


class TestAgainstHighPrecision:
    def test_whole_table(self) -> None:
        sigma, rate, order = (np.array([row[i] for row in TABLE]) for i in range(3))
        errors = [error(f, row[3]) for f, row in zip(log_moment(sigma, rate, order), TABLE, strict=True)]
        worst = int(np.argmax(errors))
        assert len(TABLE) > 300
        assert errors[worst] <= PROMISED, f"{TABLE[worst]}: {errors[worst]:.2e}"

    def test_table_reaches_the_tiny_and_the_overflowing(self) -> None:
        values = [mp.mpf(row[3]) for row in TABLE]
        assert min(values) < 1e-12
        assert max(values) > 710 * 100

    def test_two_ways_meet_where_one_takes_over(self) -> None:
        """Whole orders up to 256 are summed, others integrated; next to each other they agree as R(α) is smooth."""
        for sigma, rate in ((0.5, 0.01), (4.0, 0.01), (50.0, 0.3)):
            for order in (2.0, 3.0, 17.0, 256.0):
                summed, beside = log_moment(sigma, rate, [order, order * (1 + 4e-16)])
                assert beside == pytest.approx(summed, rel=1e-12)


class TestEdges:
    def test_no_sampling_is_free(self) -> None:
        assert (log_moment(1.0, 0.0, [1.01, 2.0, 1000.5]) == 0.0).all()

    @pytest.mark.parametrize("order", [1.01, 2.0, 2.5, 1024.0])
    @pytest.mark.parametrize("sigma", [0.01, 0.2, 4.0, 1e3])
    def test_full_sampling_is_the_gaussian(self, sigma: float, order: float) -> None:
        assert float(renyi_divergence(sigma, 1.0, order)) == pytest.approx(order / (2 * sigma**2), rel=1e-14)

    @pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 40.0, 300.5])
    @pytest.mark.parametrize("sigma", [0.3, 2.0, 200.0])
    def test_nearly_full_sampling(self, sigma: float, order: float) -> None:
        plain = order / (2 * sigma**2)
        found = float(renyi_divergence(sigma, 1 - 1e-9, order))
        # A_α ≥ q^α times the plain Gaussian's, and sampling never costs privacy.
        assert plain + order / (order - 1) * math.log1p(-1e-9) * (1 + 1e-6) <= found + 1e-15 * plain
        assert found <= plain

    @pytest.mark.parametrize(("sigma", "digits"), [(0.01, 1e-13), *((s, 1e-10) for s in (1e-3, 1e-6, 1e-12, 1e-100))])
    def test_hardly_any_noise_costs_no_time_and_stays_a_bound(self, sigma: float, digits: float) -> None:
        """Nothing is hidden but by sampling: R(α) ≈ α/(2σ²) + α/(α−1) ln q. Steps of σ/2 would be 10^8 nodes."""
        orders = np.array([2.0, 2.5, 7.3, 100.3, 1000.0])
        exact = orders / (2 * sigma * sigma) + orders / (orders - 1) * math.log(0.01)
        np.testing.assert_allclose(renyi_divergence(sigma, 0.01, orders), exact, rtol=digits)

    @pytest.mark.parametrize(("sigma", "rate", "order"), [(0.05, 1e-20, 2.5), (0.3, 1e-15, 30.5), (0.001, 1e-30, 50.5)])
    def test_however_rarely_an_example_is_drawn_its_losses_count(self, sigma: float, rate: float, order: float) -> None:
        """With little noise A_α ≈ q^α e^{α(α−1)/(2σ²)}."""
        exact = order * math.log(rate) + order * (order - 1) / (2 * sigma**2)
        assert float(log_moment(sigma, rate, order)) == pytest.approx(exact, rel=1e-12)

    def test_second_order_value_at_huge_noise(self) -> None:
        """A₂ − 1 = q²(e^{1/σ²} − 1) exactly."""
        for sigma, rate in ((1e3, 1e-9), (1e3, 0.5), (1e6, 1e-6), (0.2, 0.999), (3.0, 1e-12)):
            exact = math.log1p(rate**2 * math.expm1(1 / sigma**2))
            assert float(log_moment(sigma, rate, 2.0)) == pytest.approx(exact, rel=1e-13)

    def test_what_overflows_is_infinite_without_a_warning(self) -> None:
        assert float(renyi_divergence(1e-160, 0.5, 2.0)) == math.inf
        assert float(renyi_divergence(1e-3, 0.5, 1e6)) == pytest.approx(0.5e12, rel=1e-5)


sigmas = geometric(0.2, 200)
rates = geometric(1e-6, 1.0)
above_one = st.floats(math.log(0.01), math.log(1023)).map(lambda t: 1 + math.exp(t))


class TestProperties:
    @given(sigmas, rates, above_one)
    @settings(max_examples=100, deadline=None)
    def test_arrays_are_scalars_side_by_side(self, sigma: float, rate: float, order: float) -> None:
        orders = np.array([order, 2.0, math.ceil(order) + 1.0, order + 0.5])
        together = log_moment(np.array([sigma, 1.0])[:, None], rate, orders)
        assert together.shape == (2, 4)
        alone = [[float(log_moment(s, rate, a)) for a in orders] for s in (sigma, 1.0)]
        np.testing.assert_allclose(together, alone, rtol=1e-14)

    @given(sigmas, rates)
    @settings(max_examples=60, deadline=None)
    def test_log_moment_is_convex_in_the_order(self, sigma: float, rate: float) -> None:
        """ln E[L^α] is a cumulant generating function: chords lie above, over both ways of computing it."""
        orders = np.array([1.5, 2.0, 2.5, 3.0, 10.0, 100.5, 256.0, 257.0, 400.0])
        value = log_moment(sigma, rate, orders)
        slope = np.diff(value) / np.diff(orders)
        assert (slope[1:] >= slope[:-1] * (1 - 1e-10)).all()


def by_dp_accounting(sigma: float, rate: float, order: float) -> float:
    # The library guards the order's neighbours; one step of a mechanism is what it calls self-composition 1.
    accountant = RdpAccountant([order])
    accountant.compose(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)))
    return float(accountant._rdp[0])


def by_opacus(sigma: float, rate: float, order: float) -> float:
    return float(np.asarray(compute_rdp(q=rate, noise_multiplier=sigma, steps=1, orders=order)))


Setting = tuple[float, float, float]
# What others return ÷ what is right, measured: (σ, q, α), library, least relative error.
OFF: list[tuple[Setting, Callable[..., float], float]] = [
    ((5.0, 0.2, 1.1), by_dp_accounting, 5.2),  # 6.2 times the true value
    ((5.0, 0.2, 1.5), by_dp_accounting, 2.6),
    ((10.0, 0.1, 1.1), by_dp_accounting, 7.5),
    ((30.0, 0.3, 1.2), by_dp_accounting, 280.0),
    ((4.0, 0.01, 1.25), by_dp_accounting, 0.09),
    ((1.0, 0.01, 1.5), by_dp_accounting, 0.04),
    ((20.0, 0.01, 2.5), by_dp_accounting, 1.7e-3),
    ((100.0, 1e-6, 2.0), by_dp_accounting, 1.4e-5),
    ((5.0, 0.2, 1.1), by_opacus, 2.9e-10),
    ((10.0, 1e-3, 1.1), by_opacus, 7e-7),
    ((100.0, 1e-4, 10.5), by_opacus, 2e-6),
    ((100.0, 1e-6, 2.0), by_opacus, 0.5),  # less than half the true value: the unsafe side
]


class TestLibrariesReach1e4To6Times:
    """The series with alternating signs loses digits at fractional orders; positive terms do not."""

    @pytest.mark.parametrize(("setting", "library", "at_least"), OFF)
    @pytest.mark.one_of(3)
    def test_off_by(self, setting: Setting, library: Callable[..., float], at_least: float) -> None:
        exact = by_quadrature(*setting) / (mp.mpf(setting[2]) - 1)
        assert error(library(*setting), exact) >= at_least
        assert error(renyi_divergence(*setting), exact) <= PROMISED

    @pytest.mark.parametrize("order", [2.0, 8.0, 64.0])
    def test_all_agree_at_whole_orders_and_common_settings(self, order: float) -> None:
        ours = float(renyi_divergence(1.1, 0.01, order))
        assert by_dp_accounting(1.1, 0.01, order) == pytest.approx(ours, rel=1e-9)
        assert by_opacus(1.1, 0.01, order) == pytest.approx(ours, rel=1e-9)
