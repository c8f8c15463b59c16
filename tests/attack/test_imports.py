"""A seeded part of the attack by mutated run files, and that the attack notices what breaks."""

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpviz.runs.claims import GAP, claim_of_record
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.disputes import MISMATCH
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.training.settings import RunSettings
from tests.runs.exported import closed, opened, read
from tests.ui.driver import open_app, said
from tests.ui.runs_made import TINY, events_of, fresh_engine, record
from tools.attack.imports import KINDS, attack, originals, show_everywhere
from tools.attack.run_files import spoilt

FEW = {kind: KINDS[kind] for kind in ("secret", "private counts", "after another", "plain")}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture
def trees(engine: Engine) -> list[Any]:
    return originals(engine, FEW)


def test_mutants_are_refused_or_harmless(engine: Engine, trees: list[Any]) -> None:
    found = attack(engine, trees, count=90, seed=7, seconds=90.0)  # ended earlier only on a busy machine
    assert not found.broken, found.broken
    assert found.refused > 5
    assert found.harmless > 5
    assert found.memory < 300 * 2**20


def test_what_breaks_is_noticed(engine: Engine, trees: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.attack.imports.html_report", lambda *_: 1 // 0)
    assert attack(engine, trees, count=60, seed=1).broken.total() > 0  # one of four is taken in


def test_no_two_mutants_are_alike(trees: list[Any]) -> None:
    rng = random.Random(0)
    assert len({spoilt(trees[-1], rng) for _ in range(50)}) > 45


@pytest.mark.parametrize("kind", ["started", "step"])
def test_a_run_with_a_gap_is_shown_everywhere(engine: Engine, trees: list[Any], kind: str) -> None:
    """It has no readings; its claim is the plan's, in words, or none where its beginning is lost."""
    for tree in trees:
        gone = next(event for event in tree["events"] if event["kind"] == kind)
        tree["events"].remove(gone)
        copy = import_run(engine.store, closed(tree))
        found = claim_of_record(copy, engine.store)
        trained = RunSettings.from_json(copy.settings)
        if kind == "step" and trained.private:
            assert GAP in found.conditions
        else:
            assert not found.holds
        show_everywhere(engine, copy)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 10**8, "mechanisms": [[2.0, 0.1, 10**8]], "first": 1},
        {"mechanisms": [[2.0, 0.1, 10**8]]},
        {"norms": {"step": 1, "edges": list(range(900)), "counts": [10**11] * 899, "max_grad_norm": 1.0}},
        {"distances": [[1.0] * 10_000] * 6},
    ],
)
def test_a_small_file_costs_little(trees: list[Any], change: dict[str, Any]) -> None:
    """What a file asks for is bounded by what it holds, before any of it is made."""
    for event in trees[0]["events"]:
        if event["kind"] == "step":
            event["data"].update(change)
            break
    content = closed(trees[0])
    tracemalloc.start()
    try:
        read(content)
    except NotARun:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 50 * 2**20


def test_claims_that_do_not_match_are_said_everywhere(engine: Engine) -> None:
    settings = TINY.with_(secure_noise=True)
    run = record(engine, settings, events_of(settings))
    content = opened(export_run(engine.store, run.id))
    for event in content["events"]:
        if event["kind"] == "done":
            event["data"]["claim"]["epsilon"] = 0.125
    copy = import_run(engine.store, closed(content))
    honest = import_run(engine.store, export_run(engine.store, run.id))
    page = open_app("train", f"run={copy.id}")
    assert any(MISMATCH in text and "recorded 0.125" in text for text in said(page, "problem"))
    assert "0.125" not in said(page, "headline")[0]
    assert "(imported)" in str([element.proto.body for element in page.get("html")])
    fair = open_app("train", f"run={honest.id}")
    assert said(fair, "problem") == []
    assert any("Imported from a file" in text for text in said(fair, "caution"))
    runs = open_app("runs", f"runs={copy.id}.{honest.id}")
    table = runs.dataframe[0].value.set_index("run")
    assert [by.startswith(MISMATCH) for by in table["by"]] == [False, True, False]
    assert all("(imported)" in name for name in table.index)
    assert any(MISMATCH in text for text in said(runs, "note"))
    show_everywhere(engine, copy)


def test_names_that_are_unknown_here_are_said_to_be(engine: Engine, trees: list[Any]) -> None:
    """A data set of one's own, a method of a later version: shown as far as it can be, and no ε is believed."""
    tree = trees[0]
    for settings in (
        tree["run"]["settings"],
        *(e["data"]["settings"] for e in tree["events"] if e["kind"] == "started"),
    ):
        settings |= {"data": "mars rocks", "method": "dp_new"}
    copy = import_run(engine.store, closed(tree))
    page = open_app("train", f"run={copy.id}")
    assert any("data='mars rocks'" in text for text in said(page, "caution"))
    assert "ε ≤" not in said(page, "headline")[0]
    row = open_app("runs", f"runs={copy.id}").dataframe[0].value.iloc[0]
    assert (row["data"], row["method"]) == ("mars rocks (unknown)", "dp_new (unknown)")
    show_everywhere(engine, copy)
