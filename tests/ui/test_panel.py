"""What experts move is out of sight only while it is at its default, and never untold; what changed is told anew."""

import re

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpviz.questions.acting import acting
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import SettingsSnapshot, fields_of, in_sight, moved_of
from dpviz.questions.links import PRESETS
from dpviz.questions.mechanism import FIELDS
from dpviz.questions.question import Question
from dpviz.ui import panel
from dpviz.ui.state import Keys
from tests.ui.driver import components, controls, enter, html_of, open_app, open_part, press

pytestmark = pytest.mark.usefixtures("without_slow_parts")


def labels(at: AppTest) -> set[str]:
    return {widget.label for kind in ("selectbox", "toggle", "button_group") for widget in at.get(kind)}


def way(at: AppTest) -> str:
    [found] = [button for button in at.button if str(button.key).startswith("depth.")]
    return str(found.label)


def test_a_normal_user_sees_what_is_usually_moved_and_how_much_is_left_out() -> None:
    at = open_app("compose")
    assert {"sigma", "q", "steps", "n", "lam", "quantile", "dmu", "delta"} <= controls(at).keys()
    assert "Mechanism" not in labels(at)
    assert re.fullmatch(r"[1-9]\d* expert settings at defaults", way(at))
    at.button(key="depth.expert").click().run()
    assert "Mechanism" in labels(at)
    assert "expert=1" in html_of(at), "the address says it"
    assert way(at) == "Fewer settings"
    at.button(key="depth.tool").click().run()
    assert "Mechanism" not in labels(at)
    assert "expert=1" not in html_of(at)


def test_what_is_set_stays_in_sight_even_when_it_goes_back() -> None:
    at = open_app("compose", "gamma=1e-9&source=vectors&curves=moments.basic.bayesian")
    groups = ["Mechanism", "Gradients", "Show"]
    open_part(at, "compose.group", groups, "Gradients")
    assert "gamma" in controls(at)
    enter(at, "gamma", "1e-15")
    assert "gamma" in controls(at), "no control vanishes under the hand that moves it"
    open_part(at, "compose.group", groups, "Show")
    [curves] = [pills for pills in at.get("button_group") if pills.label == "Curves"]
    assert "basic" in curves.options
    assert "Rényi classic" not in curves.options
    press(at, "Reset everything")
    open_part(at, "compose.group", groups, "Gradients")
    assert "gamma" not in controls(at)


def test_what_a_link_or_a_preset_names_is_shown_though_it_is_at_its_default() -> None:
    assert "Mechanism" in labels(open_app("compose", "mech=gaussian"))
    key, preset = next((k, p) for k, p in PRESETS.items() if p.values.get("amp") == "linear")
    at = open_app("compose", f"preset={key}")
    assert preset in QUESTIONS["compose"].presets
    open_part(at, "compose.group", ["Mechanism", "Gradients", "Show"], "Show")
    assert "Sampling in basic and strong" in labels(at)


def test_undo_pins_and_reset_know_nothing_of_it() -> None:
    at = open_app("compose", "expert=1&sigma=3")
    press(at, "Pin this state")
    assert "expert" not in at.session_state["pins"][0]
    assert not any("expert" in state for state in at.session_state["history"].states)
    press(at, "Reset everything")
    assert way(at) == "Fewer settings"


NOT_ALL = "expert settings at defaults"


@pytest.mark.parametrize(
    ("page", "query", "words"),
    [
        *(("orders", f"expert={no}", f"3 {NOT_ALL}") for no in ("", "0", "false")),
        ("compose", "embed=1", rf"\d+ {NOT_ALL}"),
    ],
)
def test_a_link_that_does_not_ask_for_all(page: str, query: str, words: str) -> None:
    assert re.fullmatch(words, way(open_app(page, query)))


ALL = [question for page in PAGES for question in page.questions]


@pytest.mark.parametrize("question", ALL, ids=lambda q: q.key)
def test_what_is_left_out_is_at_its_default_and_still_told(question: Question) -> None:
    """Every expert field in turn is moved: it is in sight then; settings tell it whether it is or not."""
    fields = {field.key: field for field in question.fields}
    usual = {key: field.default for key, field in fields.items()}

    def left_out(values: dict) -> set[str]:
        def get(field):  # type: ignore[no-untyped-def]
            return values.get(field.key, field.default)

        items = [item for group in question.groups(get).values() for item in group]
        kept = moved_of(fields_of(items), get)
        seen, out = in_sight(items, kept)
        assert not kept & set(out)
        assert {f.key for f in fields_of(seen)} | set(out) >= {f.key for f in acting(question, get)}
        return set(out)

    plain = {"quantile", "lam", "leta", "steps", "target", *(field.key for field in FIELDS)}
    out = left_out(usual)
    assert not plain & out
    for key in out & fields.keys():
        stops = getattr(fields[key], "ticks", ()) or getattr(fields[key], "options", ()) or (not usual[key],)
        other = next((stop for stop in stops if stop != usual[key]), None)
        value = other if other is not None else fields[key].parse("7")
        assert key not in left_out(usual | {key: value})


# --- what is told anew ------------------------------------------------------------------------------------------------


def test_what_differs_from_the_drawing_is_told_each_time_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that has two answers at once looks at the last one alone; what is as it was drawn again is told too."""
    says = {"sigma": {"label": "σ", "text": "1"}, "q": {"label": "q", "text": "0.01"}}
    monkeypatch.setattr(st, "session_state", {})
    now = SettingsSnapshot(lambda field: field.default)
    monkeypatch.setattr(panel, "messages", lambda _, now: {key: dict(one) for key, one in says.items()})
    panel.draw([], now)
    assert panel.changed_messages([], now) == {}
    says["sigma"]["text"] = "2"
    assert panel.changed_messages([], now) == {"sigma": {"text": "2"}}
    says["q"]["text"] = "0.02"
    assert panel.changed_messages([], now) == {"sigma": {"text": "2"}, "q": {"text": "0.02"}}
    says["sigma"]["text"] = "1"
    assert panel.changed_messages([], now) == {"sigma": {"text": "1"}, "q": {"text": "0.02"}}
    panel.draw([], now)
    assert panel.changed_messages([], now) == {}
    assert st.session_state[Keys.MESSAGES]["q"]["text"] == "0.02"


@pytest.mark.parametrize("page", [one.key for one in PAGES])
@pytest.mark.parametrize("expert", ["0", "1"])
@pytest.mark.one_of(2)
def test_a_setting_that_two_groups_name_is_drawn_once(page: str, expert: str) -> None:
    at = open_app(page, f"expert={expert}")
    assert "could not be drawn" not in html_of(at)
    keys = [one["field"] for one in components(at, "dpviz.number")]
    assert len(keys) == len(set(keys))
