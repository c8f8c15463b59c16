"""The Runs page: filters, comparison, words of the user's, undo, import and export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpviz.charts.training import accuracies_shown
from dpviz.runs.claims import claim_of_view
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_json
from dpviz.ui import state
from dpviz.ui.runs import listing, page
from dpviz.ui.runs.overlay import overlay, titles
from dpviz.ui.runs.report import html_report
from tests.ui.driver import charts, open_app, said
from tests.ui.runs_made import TINY, events_of, fresh_engine, record


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def events() -> list[Any]:
    return events_of(TINY)


@pytest.fixture
def three(engine: Engine, events: list[Any]) -> list[Any]:
    """A plain one, a named one on other data, one that failed."""
    return [
        record(engine, TINY, events),
        record(engine, TINY.with_(data="adult"), events, name="wide", note="for the talk"),
        record(engine, TINY, events[:-1], state="failed", reason="out of luck", summary={}),
    ]


def test_an_empty_store_says_what_to_do(engine: Engine) -> None:
    assert "No run was recorded yet" in said(open_app("runs"), "headline")[0]


def test_the_table_holds_the_final_numbers_rounded_up(engine: Engine, three: list[Any]) -> None:
    table = listing.table(engine.runs(), {}, engine.store)
    assert table["state"].tolist() == ["failed: out of luck", "done", "done"]
    exact = three[0].summary["claim"]["epsilon"]
    assert exact <= table["ε claimed"].iloc[-1] <= exact * 1.01
    # What a run released before it failed is claimed as well.
    assert exact <= table["ε claimed"].iloc[0] <= exact * 1.01
    assert not open_app("runs").exception


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("r_text=WIDE", [1]),
        ("r_text=talk", [1]),
        ("r_state=failed", [2]),
        ("r_data=adult", [1]),
        ("r_method=dp_sgd", [0, 1, 2]),
        ("r_method=sgd", []),
    ],
)
def test_filters(engine: Engine, three: list[Any], query: str, kept: list[int]) -> None:
    found = listing.chosen_by(engine.runs(), state.reader(query))
    assert {r.id for r in found} == {three[i].id for i in kept}
    assert not open_app("runs", query).exception


@pytest.mark.parametrize("view", ["epsilon", "accuracy", "frontier"])
def test_runs_are_drawn_together(engine: Engine, three: list[Any], view: str) -> None:
    at = open_app("runs", f"runs={three[0].id}.{three[1].id}.{three[2].id}&r_view={view}")
    assert not at.exception
    assert len(charts(at)) == 1
    views = [engine.look(r.id) for r in three]
    claims = [claim_of_view(view, engine.store) for view in views]
    _, lines = overlay(views, claims, view, "claim")
    assert len(lines) == 3
    if view == "frontier":
        assert lines[0].y[-1] == three[0].summary["test_accuracy"]
        np.testing.assert_allclose(lines[0].x[-1], three[0].summary["claim"]["epsilon"], rtol=1e-12)


@pytest.mark.parametrize(
    ("test", "posterior", "useless"), [(0.5, None, True), (0.4, None, True), (0.51, None, False), (0.4, 0.6, False),
     (0.6, 0.4, True)],
)  # fmt: skip
def test_an_accuracy_that_the_largest_class_explains_is_said(
    engine: Engine, events: list[Any], test: float, posterior: float | None, useless: bool
) -> None:
    """On Train, on Runs alone and compared, and in the report."""
    measured = {"test_accuracy": test, "posterior_accuracy": posterior, "majority": 0.5}
    changed = [
        event._replace(data=event.data | {name: value for name, value in measured.items() if name in event.data})
        for event in events
    ]
    run = record(engine, TINY, changed, summary=events[-1].data | measured)
    words = "no more than always answering with their most frequent class (50.0 %)"
    for where, query in (("train", f"run={run.id}"), ("runs", ""), ("runs", f"runs={run.id}")):
        assert any(words in text for text in said(open_app(where, query), "caution")) == useless
    view = engine.look(run.id)
    assert (words in html_report(view, claim_of_view(view, engine.store))) == useless


def test_equal_names_are_told_apart(engine: Engine, events: list[Any]) -> None:
    twins = [record(engine, TINY, events, name="same") for _ in range(2)]
    found = titles([engine.look(r.id) for r in twins])
    assert len(set(found)) == 2


def test_naming_pinning_deleting_and_undo(engine: Engine, three: list[Any]) -> None:
    run = three[0].id
    at = open_app("runs", f"runs={run}")
    at.text_input(key=f"Name.{run}").set_value("first").run()
    at.text_input(key=f"Note.{run}").set_value("σ by hand").run()
    at.button(key=f"pin.{run}").click().run()
    kept = engine.run(run)
    assert (kept.name, kept.note, kept.baseline) == ("first", "σ by hand", True)
    assert listing.chosen_by(engine.runs(), state.reader(""))[0].id == run
    at.button(key=f"delete.{run}").click().run()
    assert run not in {r.id for r in engine.runs()}
    at.button(key="r.undo").click().run()
    assert run in {r.id for r in engine.runs()}
    assert not at.exception


def test_cloning_leads_to_the_form_with_these_settings(engine: Engine, three: list[Any]) -> None:
    run = three[0].id
    at = open_app("runs", f"runs={run}")
    at.button(key=f"clone.{run}").click().run()
    assert not at.exception
    assert at.session_state["value.t_data"] == "abalone"
    assert at.session_state["value.t_batch_size"] == 64


class _File:
    def __init__(self, name: str, content: bytes) -> None:
        self.name, self._content = name, content

    def getvalue(self) -> bytes:
        return self._content


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b'{"format": "dpviz-run", "version": 99}'])
def test_a_file_that_is_no_run_is_said_and_changes_nothing(
    engine: Engine, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: dict[str, Any] = {page.UPLOADS: 0, "up": _File("x.json", content)}
    monkeypatch.setattr("streamlit.session_state", session)
    page._imported(engine, "up")
    assert session[page.MESSAGES][0][1] == "problem"
    assert "Nothing was imported" in session[page.MESSAGES][0][0]
    assert engine.runs() == []


def test_an_exported_run_comes_back(engine: Engine, three: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, Any] = {page.UPLOADS: 0, "up": _File("run.json", export_json(engine.store, three[0].id))}
    monkeypatch.setattr("streamlit.session_state", session)
    page._imported(engine, "up")
    fresh = engine.runs()[0]
    assert fresh.imported
    assert fresh.title.endswith("(imported)")
    assert fresh.summary["epsilon"] == pytest.approx(three[0].summary["epsilon"], rel=1e-9)
    assert open_app("runs", f"runs={fresh.id}").expander[0].label.endswith("(imported)")


def test_accuracies_are_drawn_where_they_differ(engine: Engine, three: list[Any]) -> None:
    """All begin at guessing: drawn from there, eight runs that end alike would lie on one another."""
    views = [engine.look(run.id) for run in three[:2]]
    lines = overlay(views, [claim_of_view(view, engine.store) for view in views], "accuracy", "claim")[1]
    low, high = accuracies_shown([np.asarray(line.y) for line in lines])
    ends = [line.y[-1] for line in lines]
    assert 0.0 <= low < min(ends)
    assert high >= max(line.y.max() for line in lines)
    assert high - low < 1.0


def test_trouble_with_the_store_is_said(engine: Engine, three: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "problem", "The disk is full.")
    assert said(open_app("runs"), "problem") == ["The disk is full."]
