"""The Leakage page: runs of a store, a pinned network, the chooser, and what it says when it cannot measure."""

import pytest

from dpviz.questions.leakage.fields import NEWEST, SMALL
from dpviz.runs.engine import Engine
from tests.trained import recorded
from tests.ui.driver import charts, group, open_app, said

QUICK = "lkrun=small&lksteps=20&model=logistic&lkexamples=60"


def test_never_empty(engine: Engine) -> None:
    at = open_app("leakage", QUICK.removeprefix("lkrun=small&"))
    assert len(charts(at)) == 1
    assert any("There is no run with weights yet" in text for text in said(at, "caution"))
    assert any("not covered by ε" in text for text in said(at, "caution"))
    assert "p = " in said(at, "strip")[0] or "p < " in said(at, "strip")[0]


@pytest.mark.parametrize(("method", "view"), [("dp_sgd", "attack"), ("sgd", "attack")])
def test_newest_run(engine: Engine, method: str, view: str) -> None:
    recorded(engine, method, name="First <try>")
    at = open_app("leakage", f"lkexamples=60&lkview={view}")
    assert said(at, "headline")[0].startswith("First <try> :")
    assert not said(at, "problem")
    assert ("no ε limits better attacks" in said(at, "headline")[0]) == (method == "sgd")


def test_runs_are_offered_and_a_pinned_network_is_measured_too(engine: Engine) -> None:
    first = recorded(engine, name="one")
    recorded(engine, "sgd")
    gone = recorded(engine, "sgd", name="gone", told={"weights": None})
    engine.weights(gone).unlink()
    pin = "pin=lkrun%3Dsmall%26lksteps%3D3%26model%3Dlogistic%26lkexamples%3D40"
    at = open_app("leakage", f"lkexamples=40&lkrun={first}&lkview=attack&{pin}")
    assert "logistic regression, 3 plain steps" in str(charts(at)[0])
    chooser = group(at, "Network of")
    assert chooser.options == ["The newest run: Run 2", "Run 2", "one · run 1", "No run: a small network, no noise"]
    assert said(at, "headline")[0].startswith("one :")
    chooser.set_value(SMALL).run()
    assert at.session_state["value.lkrun"] == SMALL
    assert "plain steps" in said(at, "headline")[0]
    assert "Small network" in [group.label for group in at.get("button_group")]


def test_a_run_that_is_not_here_and_text_that_is_no_run(engine: Engine) -> None:
    at = open_app("leakage", "lkrun=nowhere")
    assert "“nowhere” is not among those" in said(at, "problem")[0]
    assert "nowhere (not here)" in group(at, "Network of").options
    at = open_app("leakage", QUICK.replace("small", "..%2F..%2Fetc"))
    assert "is not a run" in at.warning[0].value
    assert at.session_state["value.lkrun"] == NEWEST


def test_damaged_weights(engine: Engine) -> None:
    engine.weights(recorded(engine)).write_bytes(b"nonsense")
    at = open_app("leakage", "lkexamples=40&lkview=attack")
    assert "Nothing could be measured: Expected" in said(at, "problem")[0]
    assert "could not be measured" in said(at, "headline")[0]
    assert len(charts(at)) == 1
