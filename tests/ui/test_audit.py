"""The audit's button for further runs: progress, the link that holds them, and where there are none."""

from types import SimpleNamespace

import pytest

from dpviz._public import NO_TRAINING
from dpviz.questions.attack.audit import FAULT, MORE, RUNS
from dpviz.questions.attack.audit_runs import HUNDRED, recorded_scores
from dpviz.runs.engine import Engine
from dpviz.ui import measuring
from tests.ui.driver import open_app, press, said, set_to

BUTTON = "A hundred more"


def labels(at: object) -> list[str]:
    return [button.label for button in at.button]  # type: ignore[attr-defined]


@pytest.mark.sweep
def test_a_hundred_more_runs_are_made_shown_and_in_the_link(measurer: Engine) -> None:
    there = len(recorded_scores("clip").without)
    at = press(open_app("attack", "aview=audit&aufault=clip"), BUTTON)
    assert (set_to(at, MORE), set_to(at, RUNS), set_to(at, FAULT)) == (1, there + HUNDRED, "clip")
    assert f"{there + HUNDRED} runs" in said(at, "headline")[0]
    assert not said(at, "problem")
    again = open_app("attack", f"aview=audit&aufault=clip&aumore=1&auruns={there + HUNDRED}")
    assert said(again, "headline") == said(at, "headline")


def test_without_pytorch_the_page_names_the_command(measurer: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.runs.cluster.connection.NEEDED", ("not_there_at_all",))
    at = open_app("attack", "aview=audit&aufault=order&aumore=7")
    (problem,) = said(at, "problem")
    assert problem.startswith("The further runs are not there.")
    assert "pip install 'dpviz[train]'" in problem
    assert "1000 runs" in said(at, "headline")[0], "the recorded ones are shown all the same"


def test_a_public_server_makes_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.ui.offered.PUBLIC", True)
    monkeypatch.setattr(measuring, "engines", SimpleNamespace(current=lambda: pytest.fail("the store was opened")))
    monkeypatch.setattr(measuring, "measured", lambda key: None)
    at = open_app("attack", "aview=audit&aumore=9&auruns=2900")
    assert BUTTON not in labels(at)
    assert NO_TRAINING in said(at, "problem")[0]
