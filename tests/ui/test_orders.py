"""The Orders page: every question at every preset and extreme, its numbers, its script, and bad input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.charts import numbers
from dpviz.ui.orders import explain, tables
from dpviz.ui.orders.curves import Orders, compute, read_and_compute, tight_part, with_tight
from dpviz.ui.orders.presets import PRESETS
from dpviz.ui.orders.script import script
from dpviz.ui.orders.settings import VIEW, Settings

APP = str(Path(__file__).parents[2] / "app.py")
VIEWS = tuple(VIEW.options)


def opened(**query: str) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    return at.switch_page("pages/orders.py").run()


def html(at: AppTest) -> str:
    return " ".join(block.proto.body for block in at.get("html"))


def result(**query: str) -> Orders:
    return read_and_compute(lambda field: field.parse(query[field.key]) if field.key in query else field.default)


def test_the_best_attack_is_told_by_the_whole_curve() -> None:
    found = result()
    assert explain.figures(found)[2][1:] == ("≤ 73.8 %", "by ε and δ alone; chance: 50 %")
    found = with_tight(found, tight_part(found))
    assert explain.figures(found)[2][1:] == ("≤ 55.1 %", "ε and δ alone: 73.8 %")


class TestPage:
    @pytest.mark.parametrize("view", VIEWS)
    def test_every_question_opens(self, view: str) -> None:
        at = opened(oview=view)
        assert not at.exception
        assert len(at.get("plotly_chart")) == 1
        assert len(at.slider) + len(at.select_slider) + len(at.text_input) <= 40

    @pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.key)
    def test_every_preset_opens(self, preset: Any) -> None:
        at = opened(**preset.values, preset=preset.key)
        assert not at.exception
        assert "dpviz-problem" not in html(at).split("</style>")[-1]

    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize(
        "extreme",
        [
            {"q": "0"},
            {"q": "1"},
            {"sigma": "0.01"},
            {"sigma": "1e6"},
            {"sigma": "1e-200", "steps": "1000000000000"},
            {"steps": "1000000000000", "delta": "1e-300"},
            {"omax": "2"},
            {"omax": "1000000", "ologx": "0", "ology": "1"},
            {"oc1": "1e-6", "oc2": "1e6", "oc3": "1e6"},
        ],
    )
    def test_extremes(self, view: str, extreme: dict[str, str]) -> None:
        at = opened(oview=view, **extreme)
        assert not at.exception

    def test_details(self) -> None:
        at = opened()
        for part in ("Table", "Formula", "Assumptions", "Known bounds", "Python", "Link and files"):
            at.session_state["orders.details"] = part
            at.run()
            assert not at.exception, part

    def test_bad_text_names_the_value_and_keeps_the_rest(self) -> None:
        at = opened(sigma="2")
        next(t for t in at.text_input if t.key == "text.omax").set_value("0.5").run()
        assert not at.exception
        assert "0.5 is outside ≥ 2 and ≤ 1000000; try 512." in html(at)
        assert at.session_state["value.sigma"] == 2.0


class TestNumbers:
    def test_the_moments_accountants_order(self) -> None:
        found = result()
        assert found.moments == (20.0, pytest.approx(1.258574741, rel=1e-9))
        assert found.exact.least()[1] == pytest.approx(
            dpviz.epsilon("renyi", noise_multiplier=4, sample_rate=0.01, steps=10_000, delta=1e-5), rel=1e-12
        )
        assert found.series[1].least()[1] <= found.moments[1]
        said = explain.sentence(found)
        assert "λ = 19" in said
        assert "1.26" in said

    def test_tight_interval_lies_below_every_order(self) -> None:
        found = result(steps="1000")
        found = with_tight(found, tight_part(found))
        assert found.tight is not None
        for series in found.series:
            if not series.approximate:
                assert np.nanmin(series.values) >= found.tight[0]

    def test_figure_5_is_the_moments_accountant_at_sigma_over_c(self) -> None:
        found = result(**PRESETS[0].values)
        for series, threshold in zip(found.series, (0.1, 0.7, 1.0), strict=True):
            alone = dpviz.epsilon(
                "moments",
                noise_multiplier=1 / threshold,
                sample_rate=64 / 60000,
                steps=10_000,
                delta=1e-5,
                max_order=512,
            )
            assert series.least()[1] == pytest.approx(alone, rel=1e-3)  # not every λ above 64 is tried here
            assert series.least()[1] >= alone * (1 - 1e-12)
        assert found.series[0].least()[0] > 400  # "much further on the real line"

    def test_bayesian_cost_of_fixed_distances_is_one_point_of_figure_5(self) -> None:
        found = result(**PRESETS[0].values)
        cost = dpviz.bayesian_cost(
            np.full(100, 0.7), noise_std=1.0, sample_rate=64 / 60000, total_steps=10_000, orders=[20]
        )
        value = float(found.series[1].values[found.series[1].orders == 21.0][0])
        assert (10_000 * float(cost[0]) + math.log(1e5)) / 20 == pytest.approx(value, rel=1e-6)

    @pytest.mark.parametrize(("sigma", "rate"), [(4.0, 0.01), (1.0, 0.05), (0.5, 0.3), (20.0, 0.001)])
    def test_truncated_concentrated_dp_holds_between_the_orders_too(self, sigma: float, rate: float) -> None:
        found = compute(Settings("concentrated", sigma, rate, 1, 1e-5, 512.0, ()))
        rho, omega = found.truncated
        orders = np.random.default_rng(0).uniform(1.0001, omega, 300)
        values = np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders))
        assert (values <= rho * orders).all()
        whole = np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=[1e5]))
        assert float(whole[0]) / 1e5 == pytest.approx(0.5 / sigma**2, rel=0.1)  # no smaller ρ serves all orders

    def test_closed_form_and_lemma_say_where_they_hold(self) -> None:
        found = result(oview="divergence", sigma="3")
        assert math.isnan(found.closed_last)
        assert "σ >= 4" in found.closed_reason
        assert found.asymptotic_last == math.floor(9 * math.log(1 / 0.03))
        closed, exact = result(oview="divergence").get("closed_form"), result(oview="divergence").exact
        assert closed is not None
        there = ~np.isnan(closed.values)
        assert (closed.values[there] > exact.values[there]).all()

    def test_known_bounds_are_the_librarys(self) -> None:
        shown = tables.known_bounds(result(oview="divergence"))
        assert shown["ε at T"].tolist()[1] == numbers.epsilon(1.258574741, digits=4, up=True)
        assert shown["holds at"].tolist()[0] == "whole λ ≤ 51"

    def test_nothing_is_released_at_q_0(self) -> None:
        found = result(q="0")
        assert (found.exact.values == 0).all()
        assert "ε" in explain.sentence(found)


class TestScript:
    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("more", [{}, {"sigma": "0.7", "q": "0.2", "omax": "40"}, {"q": "0"}])
    def test_reproduces_the_chart(self, view: str, more: dict[str, str]) -> None:
        found = result(oview=view, **more)
        ran: dict[str, Any] = {}
        exec(compile(script(found), "script", "exec"), ran)
        drawn = [s for s in found.series if s.orders.size]
        assert set(ran["curves"]) == {s.name for s in drawn}
        for series in drawn:
            orders, values = ran["curves"][series.name]
            np.testing.assert_allclose(orders, series.orders, rtol=1e-12)
            np.testing.assert_allclose(values, series.values, rtol=1e-9, atol=1e-15)


def test_data_holds_every_point() -> None:
    found = result()
    frame = tables.data(found)
    for series in found.series:
        assert frame[series.key].notna().sum() == np.isfinite(series.values).sum()
    assert tables.table(found).shape[1] == 1 + len(found.series)
