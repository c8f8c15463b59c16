"""ε of single examples in a run from a file: found again from the lengths in it, and nowhere taken on trust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpviz.runs.claims import claim_of_view
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.store import Store
from dpviz.runs.views import RunView, view_of
from dpviz.training.accounts.followed import COLUMNS, LENGTHS, SHARES
from dpviz.training.loop import FreeRun
from dpviz.training.loop import run as train
from dpviz.ui.runs.charts import followed
from dpviz.ui.train.look import Look
from dpviz.ui.train.words import notes
from tests.runs.conftest import batch, started
from tests.runs.exported import changed
from tests.training.small import ABALONE

FOLLOWED = ABALONE.with_(max_grad_norm=2.0, followed=8, steps=12, threads=1)


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    """Those of a run that follows eight examples."""
    made: list[dict[str, Any]] = []
    train(FOLLOWED, made.append, FreeRun())
    return made


@pytest.fixture
def original(store: Store, events: list[dict[str, Any]]) -> str:
    run = started(store, "", FOLLOWED.to_json())
    store.record([batch(run, *events)])
    return run


def of(store: Store, run: str) -> RunView:
    return view_of(store.run(run), store.digest(run))


def copied(store: Store, run: str, change: Callable[[Any], object]) -> RunView:
    return of(store, import_run(store, changed(change)(export_run(store, run))).id)


def said(store: Store, view: RunView) -> str:
    claim = claim_of_view(view, store)
    return " ".join(note.text for note in notes(Look(view, FOLLOWED, None, None, claim, 0, None)))


def each_step(change: Callable[[dict[str, Any]], object]) -> Callable[[Any], object]:
    def apply(tree: Any) -> None:
        for event in tree["events"]:
            if event["kind"] == "step":
                change(event["data"])

    return apply


def test_the_band_comes_back_from_the_lengths(store: Store, original: str) -> None:
    there, copy = of(store, original), copied(store, original, lambda tree: None)
    band = followed(copy)
    assert band is not None
    np.testing.assert_allclose(band, followed(there), rtol=1e-12)
    assert len(band[1]) == FOLLOWED.steps
    assert band[0][-1] < band[2][-1]
    assert not copy.disputes
    assert "the 8 followed examples have lost" in said(store, copy)


def test_what_the_file_says_is_not_believed(store: Store, original: str) -> None:
    less = each_step(lambda data: data.update({name: [0.001] * data["count"] for name in COLUMNS}))
    copy = copied(store, original, less)
    np.testing.assert_allclose(followed(copy), followed(of(store, original)), rtol=1e-12)
    assert any("followed examples" in dispute.words for dispute in copy.disputes)


def test_longer_gradients_cost_more_and_lengths_at_c_as_much_as_the_plan(store: Store, original: str) -> None:
    def longest(data: dict[str, Any]) -> None:
        data[LENGTHS] = [[SHARES] * 8 for _ in data[LENGTHS]]

    band, before = followed(copied(store, original, each_step(longest))), followed(of(store, original))
    assert band is not None
    assert before is not None
    assert band[0][-1] == band[2][-1] >= before[2][-1]
    assert band[0][-1] > before[0][-1]


@pytest.mark.parametrize("where", ["everywhere", "in the last stretch"])
def test_without_lengths_there_is_no_band_and_the_page_says_why(store: Store, original: str, where: str) -> None:
    def drop(tree: Any) -> None:
        steps = [event["data"] for event in tree["events"] if event["kind"] == "step"]
        for data in steps if where == "everywhere" else steps[-1:]:
            del data[LENGTHS]

    copy = copied(store, original, drop)
    band = followed(copy)
    assert band is None or np.isnan(band[1][-1])
    assert not copy.disputes
    assert "does not hold the gradient norms of the 8 followed examples" in said(store, copy)


@pytest.mark.parametrize("lengths", [[1] * 7, [*[1] * 7, SHARES + 1], [*[1] * 7, -1], [*[1] * 7, 0.5]])
def test_lengths_that_cannot_be_are_refused(store: Store, original: str, lengths: list[Any]) -> None:
    with pytest.raises(NotARun):
        copied(store, original, each_step(lambda data: data.update({LENGTHS: [lengths] * data["count"]})))


def test_other_runs_keep_none_of_it(store: Store, original: str) -> None:
    """Settings that follow nobody: what the file says of followed examples is left out."""

    def nobody(tree: Any) -> None:
        tree["run"]["settings"]["followed"] = 0
        for event in tree["events"]:
            if "settings" in event["data"]:
                event["data"]["settings"]["followed"] = 0

    copy = copied(store, original, nobody)
    assert followed(copy) is None
    assert not set(COLUMNS) & set(copy.steps)
