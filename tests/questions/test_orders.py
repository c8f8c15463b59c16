"""Rényi orders: numbers and words of the questions."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import dpviz
from dpviz.fields import numbers
from dpviz.questions.orders import CONCENTRATED, DECIDING, ONE_STEP, THRESHOLDS
from dpviz.questions.orders.concentrated import truncated_epsilon
from dpviz.questions.orders.densities import DENSITIES
from dpviz.questions.orders.known import known_bounds
from tests.questions.asking import asked, asked_whole, lines, of_preset


class TestDeciding:
    def test_the_tight_interval_lies_below_every_order(self) -> None:
        a = asked_whole(DECIDING, steps="1000")
        assert a.facts.tight is not None
        for line in lines(a).values():
            if not line.approximate:
                assert np.nanmin(line.y) >= a.facts.tight.lower[-1]
        band = a.plot.bands[0]
        assert (np.asarray(band.lower)[0], np.asarray(band.upper)[-1]) == (a.facts.tight.lower, a.facts.tight.upper)
        assert a.plot.y.shown is not None
        assert a.plot.y.shown[0] < a.facts.tight.lower[-1]

    def test_the_table_has_round_orders_of_the_exact_curve_and_the_file_every_point(self) -> None:
        a = asked(DECIDING)
        drawn, table, data = lines(a), a.plot.table(), a.plot.data()
        assert {"2", "5", "10", "20"} <= set(table["order α"])
        assert "–" not in set(table["ε improved"])
        assert "ε asymptotic (no bound)" in table.columns
        for key, line in drawn.items():
            assert data[f"epsilon_{key}"].notna().sum() == np.isfinite(line.y).sum()


class TestOneStep:
    def test_closed_form_and_lemma_say_where_they_hold(self) -> None:
        a = asked(ONE_STEP, sigma="3")
        assert math.isnan(a.facts.closed_last)
        assert a.facts.asymptotic_last == 1 + math.floor(9 * math.log(1 / 0.03))
        assert a.plot.chart().notes == (), "that the closed form has no value is said by the notes"
        by = lines(asked(ONE_STEP))
        closed, exact = np.asarray(by["closed_form"].y), np.asarray(by["exact"].y)
        there = ~np.isnan(closed)
        assert there.any()
        assert (closed[there] > exact[there]).all()


class TestThresholds:
    def test_figure_5_is_the_moments_accountant_at_sigma_over_c(self) -> None:
        a = of_preset(THRESHOLDS, "bdp5")
        for (_, best), threshold in zip(a.facts.best, (0.1, 0.7, 1.0), strict=True):
            known = {"noise_multiplier": 1 / threshold, "sample_rate": 64 / 60000, "steps": 10_000, "delta": 1e-5}
            alone = dpviz.epsilon("moments", max_order=512, **known)
            assert best.value == pytest.approx(alone, rel=1e-3)  # not every λ above 64 is tried here
            assert best.value >= alone * (1 - 1e-12)
        assert a.facts.best[0][1].order > 399  # "much further on the real line"

    def test_bayesian_cost_of_fixed_distances_is_one_point_of_figure_5(self) -> None:
        cost = dpviz.bayesian_cost(
            np.full(100, 0.7), noise_std=1.0, sample_rate=64 / 60000, total_steps=10_000, orders=[20]
        )
        line = lines(of_preset(THRESHOLDS, "bdp5"))["C1"]
        value = float(np.asarray(line.y)[np.asarray(line.x) == 20.0][0])
        assert (10_000 * float(cost[0]) + math.log(1e5)) / 20 == pytest.approx(value, rel=1e-6)


class TestConcentrated:
    @pytest.mark.parametrize(("sigma", "rate"), [(4.0, 0.01), (1.0, 0.05), (0.5, 0.3), (20.0, 0.001)])
    def test_truncated_concentrated_dp_holds_between_the_orders_too(self, sigma: float, rate: float) -> None:
        facts = asked(CONCENTRATED, sigma=repr(sigma), q=repr(rate)).facts
        orders = np.random.default_rng(0).uniform(1.0001, facts.omega, 300)
        values = np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders))
        assert (values <= facts.rho * orders).all()
        whole = np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=[1e5]))
        assert float(whole[0]) / 1e5 == pytest.approx(0.5 / sigma**2, rel=0.1)  # no smaller ρ serves all orders

    @pytest.mark.parametrize(("sigma", "rate"), [(4.0, 0.01), (0.5, 0.3), (1.0, 1.0)])
    def test_the_mean_loss_is_an_integral_and_the_larger_direction(self, sigma: float, rate: float) -> None:
        facts = asked(CONCENTRATED, sigma=repr(sigma), q=repr(rate)).facts
        z = np.linspace(-12 * sigma, 1 + 12 * sigma, 40_001)
        without, shifted = norm.pdf(z, 0, sigma), norm.pdf(z, 1, sigma)
        mixed = (1 - rate) * without + rate * shifted
        loss = np.log1p(rate * np.expm1((2 * z - 1) / (2 * sigma**2)))
        removed, added = np.trapezoid(mixed * loss, z), -np.trapezoid(without * loss, z)
        assert facts.mean == pytest.approx(removed, rel=1e-6)
        assert removed >= added * (1 - 1e-9)


def test_the_truth_joins_the_known_bounds() -> None:
    a = asked_whole(DECIDING)
    shown = DECIDING.more["Known bounds"](a)[1]
    assert shown["bound"].tolist()[-1] == "PLD accountant"
    assert shown["ε at T"].tolist()[-1] == numbers.epsilon(float(a.facts.tight.upper[-1]), digits=4, up=True)
    assert len(known_bounds(asked(DECIDING))[1]) == len(shown) - 1  # type: ignore[arg-type]


class TestTruncated:
    @pytest.mark.parametrize(("rho", "omega"), [(0.0365, 145.0), (0.0365, 3.0), (2.0, 40.0)])
    def test_epsilon_of_rho_is_the_least_over_its_orders(self, rho: float, omega: float) -> None:
        orders = np.linspace(1.0001, omega, 200_001)
        least = float((rho * orders + math.log(1e5) / (orders - 1.0)).min())
        assert least == pytest.approx(truncated_epsilon(rho, omega, 1e-5), rel=1e-6)
        assert least >= truncated_epsilon(rho, omega, 1e-5) * (1 - 1e-12)

    def test_rho_alone_says_no_less_than_all_orders(self) -> None:
        for sigma, rate, steps in (("4", "0.01", "10000"), ("1", "0.05", "300"), ("2", "1", "20")):
            setting = {"sigma": sigma, "q": rate, "steps": steps}
            assert asked(CONCENTRATED, **setting).facts.epsilon >= asked(ONE_STEP, **setting).facts.epsilon


MIXTURES = [(4.0, 0.01, 2.0), (4.0, 0.01, 150.0), (1.0, 0.05, 3.5), (0.5, 0.2, 8.0), (20.0, 1.0, 30.0), (2.0, 0.0, 4.0)]


@pytest.mark.parametrize(("sigma", "rate", "order"), MIXTURES)
def test_the_area_below_the_ratio_to_the_power_gives_the_divergence(sigma, rate, order):
    f = asked(DENSITIES, sigma=str(sigma), q=str(rate), oalpha=str(order)).facts
    x, step = np.linspace(-9.0 * sigma, order + 9.0 * sigma, 400_001, retstep=True)
    p, moved = (norm.logpdf(x, middle, sigma) for middle in (0.0, 1.0))
    with np.errstate(divide="ignore"):
        q = np.logaddexp(np.log1p(-rate) + p, np.log(rate) + moved)
    heights = p + order * (q - p)
    area = math.log(step) + logsumexp(heights)
    assert f.divergence == pytest.approx(area / (order - 1.0), rel=1e-6, abs=1e-12)
    above = logsumexp(heights[x > f.half]) + math.log(step) - area
    assert math.exp(above) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(("sigma", "rate", "order"), [*MIXTURES, (0.001, 0.01, 2.0), (1.0, 0.01, 1e4)])
def test_all_three_areas_of_the_densities_are_one(sigma, rate, order):
    plot = asked(DENSITIES, sigma=str(sigma), q=str(rate), oalpha=str(order)).plot
    assert [line.key for line in plot.lines] == ["without", "with", "tilted"]
    for line in plot.lines:
        assert np.trapezoid(line.y, line.x) == pytest.approx(1.0, abs=1e-4), line.key
