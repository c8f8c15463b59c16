"""Undo and redo: settled states, in the order in which things were asked for."""

import itertools
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.questions.mechanism import SIGMA
from dpviz.ui import history
from dpviz.ui.registry import PRESETS
from tests.ui.driver import components, controls, enter, go_to, group, open_app, press, put, set_to

pytestmark = pytest.mark.usefixtures("without_slow_parts")

_LATER = itertools.count(1)


def asked(at: AppTest, *steps: int) -> AppTest:
    """Undo (-1) or redo (1), as the browser tells it: those of before are told again."""
    told = at.session_state["history.steps"].get("entry")
    old: list[Any] = told["steps"] if told else []
    new = [[1e6 + next(_LATER), by] for by in steps]
    return put(at, "history.steps", {"entry": {"steps": [*old, *new]}})


def sigma(at: AppTest) -> float:
    found: float = controls(at)["sigma"]["value"]
    return found


def test_undo_and_redo_step_through_states() -> None:
    at = open_app("compose", "curves=moments")
    for text in ("2", "3", "5"):
        enter(at, "sigma", text)
    assert [sigma(asked(at, -1)) for _ in range(4)] == [3, 2, 4, 4]
    assert [sigma(asked(at, 1)) for _ in range(4)] == [2, 3, 5, 5]
    assert sigma(asked(at, -1, -1)) == 2, "two in one run are two"
    at.run()
    enter(at, "delta", "1e-6")
    assert sigma(at) == 2, "a step is taken once though it is told again"
    enter(at, "sigma", "7")
    assert sigma(asked(at, 1)) == 7, "a new entry cuts what was undone"
    assert sigma(asked(at, -1)) == 2


def test_undo_brings_back_preset_pins_units_and_all() -> None:
    at = open_app("compose", "curves=")
    chooser = group(at, "Preset")
    before = at.session_state["history"].states[-1]
    chooser.set_value(PRESETS["compose"][0].key).run()
    chosen = at.session_state["history"].states[-1]
    assert "preset=" in chosen
    press(at, "Pin this state")
    press(at, "Reset everything")
    assert at.session_state["pins"] == []
    asked(at, -1)
    assert len(at.session_state["pins"]) == 1
    assert group(at, "Preset").value
    asked(at, -1)
    assert at.session_state["pins"] == []
    assert at.session_state["history"].states[at.session_state["history"].place] == chosen
    asked(at, -1)
    assert at.session_state["value.curves"] == (), "an empty choice is one too"
    assert at.session_state["history"].states[0] == before
    assert not group(at, "Preset").value


def test_every_state_comes_back_as_it_was() -> None:
    at = open_app("compose", "curves=moments&q=0.123456789012345&steps=9999&units=person")
    enter(at, "batch", "256")
    enter(at, "epochs", "30")
    put(at, "value.units", "mechanism")
    states = at.session_state["history"].states
    assert len(states) == 4
    asked(at, -1, -1, -1)
    assert (at.session_state["value.q"], at.session_state["value.steps"]) == (0.123456789012345, 9999)
    asked(at, 1, 1, 1)
    assert at.session_state["history"] == history.Past(states, 3, ("compose",) * 4), (
        "going there and back made no state"
    )


def test_an_entry_before_an_undo_is_what_it_undoes_and_one_after_stays() -> None:
    at = open_app("compose", "curves=moments")
    at.session_state["entry.sigma"] = {"entry": {"text": "2", "n": 1e6}}
    assert sigma(asked(at, -1)) == 4
    assert sigma(asked(at, 1)) == 2
    at.session_state["entry.sigma"] = {"entry": {"text": "9", "n": 1e12}}
    assert sigma(asked(at, -1)) == 9
    assert sigma(asked(at, -1)) == 4


def test_at_most_a_hundred_states_are_kept() -> None:
    at = open_app("compose", "curves=moments")
    states = tuple(f"sigma={k}&curves=moments&v=3" for k in range(1, 101))
    at.session_state["history"] = history.Past(states, 99, ("compose",) * 100)
    put(at, "value.sigma", 200.0)
    kept = at.session_state["history"]
    assert (len(kept.states), kept.place) == (100, 99)
    assert kept.states == (*states[1:], "sigma=200&curves=moments&v=3")
    assert sigma(asked(at, *[-1] * 50)) == 51 + 100 - 100


def test_pages_share_one_past() -> None:
    at = open_app("compose", "curves=moments")
    enter(at, "sigma", "2")
    go_to(at, "noise").run()
    assert len(at.session_state["history"].states) == 2, "to look at a page is no change"
    enter(at, "target", "3")
    assert at.session_state["page"] == "noise"
    for by, page, sigma_there in ((-1, "noise", 2), (-1, "compose", 4), (1, "compose", 2), (1, "noise", 2)):
        asked(at, by)
        assert (at.session_state["page"], set_to(at, SIGMA)) == (page, sigma_there)
    assert at.session_state["value.target"] == 3


def test_the_buttons_know_what_there_is_even_after_a_preset() -> None:
    at = open_app("compose", "curves=moments")
    assert room(at) == [0, 0]
    group(at, "Preset").set_value(PRESETS["compose"][0].key).run()
    assert room(at) == [1, 0]
    asked(at, -1)
    assert room(at) == [0, 1]


def room(at: AppTest) -> Any:
    (one,) = components(at, "dpviz.history")
    return one["room"]
