"""Whatever fails inside a page is said in words with a way on; the console gets a traceback that nobody can forge."""

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.testing.v1 import AppTest, local_script_runner

from dpviz._remember import MEMORY
from dpviz.questions import frames
from dpviz.questions.answer import Slow
from dpviz.questions.catalogue import PAGES
from dpviz.questions.mechanism import SIGMA
from dpviz.questions.orders import DECIDING, ORDERS
from dpviz.runs.engine import Engine
from dpviz.ui import boundary, details, home, page, panel, render
from dpviz.ui.runs import page as runs_page
from dpviz.ui.train import plan
from tests.ui.driver import charts, controls, open_app, press, put, said, set_to

FORGED = "a stranger's words\nERROR nobody wrote this \x1b[31m"


@pytest.fixture(autouse=True)
def own_home(engine: Engine) -> None:
    MEMORY.clear()


def breaks(*_: Any, **__: Any) -> Any:
    raise RuntimeError(FORGED)


def spoken(at: AppTest) -> list[str]:
    """What is said to have failed; no red traceback anywhere."""
    assert not at.exception
    return [text for text in said(at, "problem") if "because of an error" in text]


@pytest.mark.parametrize(
    ("name", "where", "part"),
    [
        ("attack", render, "compute"),
        ("attack", frames, "rendered"),
        ("attack", panel, "show"),
        ("attack", details, "details"),
        ("attack", page, "_pins"),
        *(("home", home, part) for part in ("_told", "_answers")),
        *(("train", plan, part) for part in ("compute", "missing")),
        *(("runs", runs_page, part) for part in ("_headline", "_import")),
    ],
)
def test_a_fault_in_a_part_of_a_page(name: str, where: Any, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, part, breaks)
    at = open_app(name, "q=0.02")
    assert spoken(at)
    assert at.session_state["value.q"] == 0.02
    assert at.code[-1].value.startswith(f"dpviz, page {name}")
    assert "nobody wrote this" not in at.code[-1].value.splitlines()
    if name == "attack":
        assert len(spoken(at)) == 1
        assert len(charts(at)) == (part not in ("compute", "rendered"))


def test_ways_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back to the last state that worked, or the page's own fields reset; the other pages' stay."""
    drawn = frames.rendered

    def only_small(question: Any, answer: Any, plot: Any, *, slide: bool) -> dict[str, Any]:
        return drawn(question, answer, plot, slide=slide) if answer.given["noise_multiplier"] < 9 else breaks()

    monkeypatch.setattr(frames, "rendered", only_small)
    at = open_app("orders", "sigma=3&leta=0.2")
    assert not spoken(at)
    assert len(spoken(put(at, "value.sigma", 20.0))) == 1
    press(at, "Back to the last state that worked")
    assert not spoken(at)
    assert at.session_state["value.sigma"] == 3.0
    put(at, "value.sigma", 20.0)
    press(at, "Reset this page")
    assert not spoken(at)
    assert set_to(at, SIGMA) == 4.0
    assert at.session_state["value.leta"] == 0.2


def test_a_way_on_runs_more_than_the_fragment_of_its_button(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser runs a button's fragment alone, here that of the answer: controls would keep the values that failed."""
    drawn, fragments = frames.rendered, list[str | None]()

    def only_small(question: Any, answer: Any, plot: Any, *, slide: bool) -> dict[str, Any]:
        if answer.given["noise_multiplier"] < 9:
            return drawn(question, answer, plot, slide=slide)
        fragments.append(ThreadState.get().fragment_id)
        return breaks()

    monkeypatch.setattr(frames, "rendered", only_small)
    at = open_app("orders", "sigma=3")
    put(at, "value.sigma", 20.0)
    request = partial(local_script_runner.RerunData, fragment_id=fragments[-1])
    monkeypatch.setattr(local_script_runner, "RerunData", request)
    press(at, "Back to the last state that worked")
    assert not spoken(at)
    assert controls(at)["sigma"]["value"] == 3.0


def test_a_pin_that_breaks_costs_the_pin_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = render.compute

    def fails_at_7(question: Any, get: Any) -> Any:
        return breaks() if get(SIGMA) == 7.0 else compute(question, get)

    monkeypatch.setattr(render, "compute", fails_at_7)
    at = open_app("orders", "pin=sigma%3D7&pin=sigma%3D3")
    assert not spoken(at)
    names = [note["text"] for note in charts(at)[0]["layout"]["annotations"]]
    assert any("σ 3" in text for text in names)
    assert not any("σ 7" in text for text in names)


def test_a_slow_part_that_fails_is_said_and_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    def work(_: Any) -> Any:
        done.append(1)
        return breaks() if len(done) == 1 else "part"

    slow = (Slow(lambda _: "key", work, lambda answer, _: answer),)
    page = replace(ORDERS, questions=(replace(DECIDING, slow=slow), *ORDERS.questions[1:]))
    monkeypatch.setattr("dpviz.ui.page.PAGES", tuple(page if one is ORDERS else one for one in PAGES))
    at = open_app("orders")
    assert any("could not be computed" in text for text in said(at, "problem"))
    assert len(charts(at)) == 1
    press(at, "Try again")
    assert len(done) == 2
    assert not said(at, "problem")


def test_what_no_boundary_holds_is_said_in_words_too(caplog: pytest.LogCaptureFixture) -> None:
    def action() -> None:
        from dpviz.ui.boundary import uncaught

        assert uncaught(ValueError("a stranger's <b>words</b>"))

    at = AppTest.from_function(action).run()
    assert not at.exception
    assert "load the page again" in at.get("html")[0].proto.body
    assert "stranger" not in at.get("html")[0].proto.body
    assert 'ValueError: "a stranger\'s <b>words</b>"' in at.code[0].value
    assert "stranger" in caplog.text
    assert "on_script_error=uncaught" in (Path(__file__).parents[2] / "app.py").read_text()


def test_the_console_gets_the_place_and_no_forged_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger=boundary.__name__):
        try:
            try:
                breaks()
            except RuntimeError as error:
                raise ValueError("second") from error
        except ValueError as error:
            boundary.log("orders", error)
    text = caplog.text
    assert "in breaks" in text
    assert "ValueError: 'second'" in text
    assert "\x1b" not in text
    assert not any(line.startswith("ERROR nobody") for line in text.splitlines())
