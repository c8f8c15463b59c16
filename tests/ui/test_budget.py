"""The Budget page: every view at every preset and extreme, spending by hand, its scripts, and bad input."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.charts import numbers
from dpviz.ui.budget import policy, settings, spend, stop
from dpviz.ui.budget.blocks import MOST_BLOCKS, Block
from dpviz.ui.budget.policy import NAMES
from dpviz.ui.budget.presets import PRESETS
from dpviz.ui.budget.study import STUDY
from tests.ui.driver import open_app, said

VIEWS = tuple(settings.VIEW.options)
CIFAR = {"sigma": "1", "q": "512/50000", "n": "50000", "delta": "1e-6"}
BLOCKS = "1x0.01024x980~2x0.01024x1500~1x0.02x300"


def opened(**query: str) -> AppTest:
    return open_app("budget", urlencode(query))


def result(**query: str) -> Any:
    """The page's numbers for a link."""
    return STUDY.compute(lambda field: field.parse(query[field.key]) if field.key in query else field.default)


def click(at: AppTest, label: str) -> None:
    (button,) = [b for b in at.button if b.label.startswith(label)]
    button.click().run()
    assert not at.exception


class TestPage:
    @pytest.mark.parametrize("view", VIEWS)
    def test_every_view_opens_with_few_widgets(self, view: str) -> None:
        at = opened(bview=view)
        assert len(at.get("plotly_chart")) == 1
        widgets = (*at.select_slider, *at.text_input, *at.button, *at.toggle, *at.selectbox, *at.get("button_group"))
        assert len(widgets) <= 40
        assert not said(at, "problem")

    @pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.key)
    def test_every_preset_opens(self, preset: Any) -> None:
        at = opened(**preset.values, preset=preset.key)
        assert not said(at, "problem")
        drawn = at.get("plotly_chart")[0].proto.spec
        assert all(point.printed in json.dumps(json.loads(drawn), ensure_ascii=False) for point in preset.points)

    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize(
        "extreme",
        [
            {"q": "0"},
            {"q": "1"},
            {"sigma": "1e6"},
            {"sigma": "1e-200", "bcurves": "odometer.other.planned.filter.rogers"},
            {"steps": "1000000000000", "delta": "1e-300", "bcurves": "odometer.rogers"},
            {"steps": "1", "delta": "0.999"},
            {"beps": "1e-9"},
            {"beps": "1e6", "logy": "1", "logx": "1"},
            {"n": "1", "q": "1"},
            {"bcurves": "", "bpol": ""},
            {"bblocks": BLOCKS, "bepochs": "1"},
        ],
        ids=str,
    )
    def test_extremes(self, view: str, extreme: dict[str, str]) -> None:
        opened(bview=view, **extreme)

    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("part", ["Table", "Formula", "Assumptions", "Python", "Link and files"])
    def test_details(self, view: str, part: str) -> None:
        at = opened(bview=view, bblocks=BLOCKS)
        at.session_state["budget.details"] = part
        at.run()
        assert not at.exception

    def test_pins_of_every_view_fade_on_their_own(self) -> None:
        pin = urlencode({"sigma": "2", "bview": "stop"})
        at = opened(pin=pin)
        assert "odometer · σ 2" in json.dumps(json.loads(at.get("plotly_chart")[0].proto.spec), ensure_ascii=False)
        opened(bview="spend", pin=pin)
        opened(bview="policy", pin=urlencode({"bview": "policy", "beps": "1"}))

    def test_bad_blocks_in_a_link_are_named_and_the_good_ones_kept(self) -> None:
        at = opened(bview="spend", bblocks="1x0.01x10~nonsense~1x2x3~2x0.01x20")
        assert any("Blocks" in note.value for note in at.warning)
        assert at.session_state["value.bblocks"] == (Block(1.0, 0.01, 10), Block(2.0, 0.01, 20))

    def test_a_batch_below_one_example(self) -> None:
        at = opened(bview="policy", q="1e-6", n="1000")
        assert any("less than one example" in text for text in said(at, "problem"))


class TestStop:
    def test_sentence_has_the_librarys_numbers(self) -> None:
        (sentence,) = said(opened(**CIFAR, steps="4900", bodo="authors", beps="5.76"), "sentence")
        odometer = dpviz.odometer_epsilon(
            noise_multiplier=1, sample_rate=512 / 50_000, steps=4900, delta=1e-6, variant="authors"
        )
        assert numbers.epsilon(float(odometer), up=True) in sentence
        allowed = dpviz.Filter(target_epsilon=5.76, delta=1e-6).remaining_steps(
            dpviz.SampledGaussian(1.0, 512 / 50_000)
        )
        assert numbers.steps(allowed) in sentence

    def test_odometer_lies_above_the_plan_and_tight_below(self) -> None:
        found = result(**CIFAR, steps="4900", bodo="authors")
        found = found.with_slow(found.slow_part())
        assert isinstance(found, stop.Stop)
        assert (found.odometer.epsilon >= found.planned.epsilon - 1e-12).all()
        assert found.tight is not None
        assert found.tight.lower[-1] <= found.planned.epsilon[-1]

    def test_filter_ends_where_the_plan_crosses_the_budget(self) -> None:
        found = result(**CIFAR, steps="4900", beps="5")
        line = found.values("filter")
        np.testing.assert_array_equal(np.isfinite(line), found.planned.epsilon <= 5.0)

    def test_rogers_leaves_through_the_top(self) -> None:
        drawn = result(**CIFAR, steps="4900").drawing((), ())
        assert drawn.figure["layout"]["yaxis"]["range"][1] < 20


class TestSpend:
    def test_blocks_are_the_filters(self) -> None:
        found = result(**CIFAR, bview="spend", beps="5", bblocks=BLOCKS)
        assert isinstance(found, spend.Spend)
        budget, odometer = dpviz.Filter(target_epsilon=5.0, delta=1e-6), dpviz.Odometer(delta=1e-6)
        for entry in found.entries:
            assert entry.passed
            budget.spend(entry.block.mechanism, entry.block.steps)
            odometer.spend(entry.block.mechanism, entry.block.steps)
            assert entry.filled == pytest.approx(budget.epsilon(), rel=1e-12)
            assert entry.odometer == pytest.approx(odometer.epsilon(), rel=1e-12)
        assert found.steps[-1] == budget.steps == 2780

    def test_a_refused_block_stays_in_the_list_and_costs_nothing(self) -> None:
        found = result(**CIFAR, bview="spend", beps="3", bblocks="1x0.01024x980~1x0.01024x500~2x0.01024x10")
        assert [e.passed for e in found.entries] == [True, False, True]
        without = result(**CIFAR, bview="spend", beps="3", bblocks="1x0.01024x980~2x0.01024x10")
        assert found.filled[-1] == without.filled[-1]
        assert (
            found.entries[1].fits
            == dpviz.Filter(target_epsilon=3.0, delta=1e-6).remaining_steps(dpviz.SampledGaussian(1.0, 0.01024)) - 980
        )

    def test_add_undo_and_remove(self) -> None:
        at = opened(**CIFAR, bview="spend", beps="5", steps="980")
        click(at, "Add block")
        click(at, "Add block")
        assert at.session_state["value.bblocks"] == (Block(1.0, 0.01024, 980),) * 2
        click(at, "Undo")
        assert at.session_state["value.bblocks"] == (Block(1.0, 0.01024, 980),)
        at.button(key="budget.drop.0").click().run()
        assert at.session_state["value.bblocks"] == ()

    def test_refusal_says_what_fits_and_loses_nothing(self) -> None:
        at = opened(**CIFAR, bview="spend", beps="3", steps="2000", bblocks="1x0.01024x500")
        before = at.session_state["value.bblocks"]
        click(at, "Add block")
        assert at.session_state["value.bblocks"] == before
        left = dpviz.Filter(target_epsilon=3.0, delta=1e-6).remaining_steps(dpviz.SampledGaussian(1.0, 0.01024)) - 500
        assert any(f"{left} of them still fit" in text for text in said(at, "problem"))
        click(at, f"Add the {left}")
        assert at.session_state["value.bblocks"] == (*before, Block(1.0, 0.01024, int(left)))
        assert not said(at, "problem")

    def test_blocks_travel_in_the_link(self) -> None:
        value = settings.BLOCKS.parse(BLOCKS)
        assert settings.BLOCKS.write(value) == BLOCKS
        assert urlencode({"b": BLOCKS}) == f"b={BLOCKS}"
        with pytest.raises(ValueError, match=f"at most {MOST_BLOCKS}"):
            settings.BLOCKS.parse("~".join(["1x1x1"] * (MOST_BLOCKS + 1)))

    @pytest.mark.parametrize("bad", ["1x2", "0x0.1x5", "1x1.5x5", "1x0.1x0.5", "axbxc"])
    def test_bad_blocks(self, bad: str) -> None:
        with pytest.raises(ValueError, match=r"try|outside|not"):
            settings.BLOCKS.parse(bad)
        assert settings.BLOCKS.nearest(bad) == ()


class TestPolicies:
    def test_figure_1b(self) -> None:
        """The baseline ends after its 100 epochs; both policies go on for longer within the same budget."""
        found = result(**next(p for p in PRESETS if p.key == "fo1b").values)
        assert isinstance(found, policy.Policies)
        ends = {key: int(course.epochs[-1]) for key, course in found.courses.items()}
        assert ends["fixed"] == 100 < ends["batch"] < ends["noise"] < 300
        assert all(course.planned[-1] <= 8.22 for course in found.courses.values())
        sentence = found.sentence()
        assert all(NAMES[key] in sentence and f"<b>{end}</b>" in sentence for key, end in ends.items())

    def test_figure_2d(self) -> None:
        found = result(**next(p for p in PRESETS if p.key == "fo2d").values)
        tuned, fixed = found.courses["tune"], found.courses["fixed"]
        assert tuned.ended == "goal"
        assert tuned.odometer[-1] < 0.5 * fixed.odometer[int(tuned.epochs[-1])]

    def test_the_margin_is_a_setting_and_says_when_it_blocks(self) -> None:
        narrow, wide = (
            result(**CIFAR, bview="policy", bpol="noise", beps="3", bmargin=margin, bepochs="60")
            for margin in ("0", "90")
        )
        assert isinstance(narrow, policy.Policies)
        assert isinstance(wide, policy.Policies)
        assert narrow.courses["noise"].noise_multiplier.max() > 1.0 == wide.courses["noise"].noise_multiplier.max()
        said_so = [
            any("the margin under Show" in remark.text for remark in found.remarks()) for found in (narrow, wide)
        ]
        assert said_so == [False, True]

    def test_one_order_is_the_rule_and_the_papers_filter_says_what_it_lacks(self) -> None:
        proved, papers = (result(**CIFAR, bview="policy", bpol="noise", bunion=flag) for flag in ("1", "0"))
        assert result(**CIFAR, bview="policy", bpol="noise").settings == proved.settings  # type: ignore[attr-defined]
        said_so = [any("not proved" in remark.text for remark in found.remarks()) for found in (proved, papers)]
        assert said_so == [False, True]

    @pytest.mark.parametrize("shown", tuple(settings.SHOWN.options))
    @pytest.mark.parametrize("account", tuple(settings.ACCOUNT.options))
    def test_everything_can_be_drawn(self, shown: str, account: str) -> None:
        at = opened(bview="policy", bshow=shown, bread=account, bpol="fixed.noise.batch.tune", bepochs="30")
        assert len(at.get("plotly_chart")) == 1


class TestScripts:
    """Each view's script runs with the library alone and leaves the chart's numbers."""

    @staticmethod
    def run(source: str) -> dict[str, Any]:
        scope: dict[str, Any] = {"__name__": "script"}
        exec(compile(source, "script", "exec"), scope)
        return scope

    @pytest.mark.parametrize(
        "query", [{}, {"steps": "50", "bodo": "authors"}, {"logx": "1", "bconv": "improved", "q": "0"}]
    )
    def test_stop(self, query: dict[str, str]) -> None:
        found = result(**{**CIFAR, **query})
        scope = self.run(found.script())
        for key, name in stop.NAMES.items():
            np.testing.assert_allclose(scope["curves"][name], found.values(key), rtol=1e-12)

    def test_spend(self) -> None:
        found = result(**CIFAR, bview="spend", beps="4", bblocks=BLOCKS, steps="77")
        scope = self.run(found.script())
        np.testing.assert_allclose(scope["filled"][1:], [e.filled for e in found.entries], rtol=1e-12)
        np.testing.assert_allclose(scope["spent"][1:], [e.odometer for e in found.entries], rtol=1e-12)
        assert scope["left"] == found.left
        assert not all(e.passed for e in found.entries)

    @pytest.mark.parametrize("account", ["filter", "odometer"])
    def test_policy(self, account: str) -> None:
        found = result(**CIFAR, bview="policy", bread=account, bpol="fixed.noise.batch.tune", bepochs="40", beps="5")
        scope = self.run(found.script())
        for key, course in found.courses.items():
            np.testing.assert_array_equal(scope["curves"][NAMES[key]], found.account(course))
