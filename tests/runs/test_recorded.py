"""A training of one's own on the pages: the same claims, live, held and stopped from there; what fails is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dpviz.runs.claims import claim_of_record
from dpviz.runs.disputes import disputes_of
from dpviz.runs.exchange import export_json, import_json
from dpviz.runs.recorded import recorded
from dpviz.runs.store import Store, open_store
from dpviz.training import PrivateTraining, earlier

N = 300


@pytest.fixture(autouse=True)
def _no_earlier_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "_ledger", [])


def training(**changed: Any) -> PrivateTraining:
    draw = torch.Generator().manual_seed(1)
    network = nn.Linear(6, 3)
    data = torch.randn(N, 6, generator=draw), torch.randint(0, 3, (N,), generator=draw)
    given = {"batch_size": 30, "steps": 8, "noise_multiplier": 1.5} | changed
    return PrivateTraining(network, data, torch.optim.SGD(network.parameters(), lr=0.1), **given)


def only(folder: Path) -> tuple[Store, Any]:
    store = open_store(folder)
    (record,) = store.runs()
    return store, record


def test_it_claims_what_the_training_claims(tmp_path: Path) -> None:
    mine = training()
    seen = [step.number for step in recorded(mine, name="Mine", folder=tmp_path)]
    store, record = only(tmp_path)
    assert (seen, record.state, record.steps, record.name) == ([*range(1, 9)], "done", 8, "Mine")
    assert claim_of_record(record, store) == mine.claim
    assert mine.claim.holds
    again = import_json(store, export_json(store, record.id))
    assert claim_of_record(again, store).epsilon == pytest.approx(mine.claim.epsilon, rel=1e-9)


def test_its_claim_includes_the_trainings_before_it(tmp_path: Path) -> None:
    list(training())
    demonstration = training(seed=3)
    list(demonstration)
    mine, other = training(), training()
    steps = recorded(mine, folder=tmp_path)  # from here on what began before is settled
    next(other)
    list(steps)
    store, record = only(tmp_path)
    claim = claim_of_record(record, store)
    assert claim == mine.claim
    assert claim.epsilon == training(steps=16, disjoint_data=True).planned.epsilon
    assert "1 training before it" in claim.conditions[0]
    again = import_json(store, export_json(store, record.id))
    assert claim_of_record(again, store).epsilon == pytest.approx(claim.epsilon, rel=1e-9)
    assert claim_of_record(again, store).conditions == claim.conditions
    assert disputes_of(again, store) == ()


def test_a_loop_that_is_left_ends_the_run_there(tmp_path: Path) -> None:
    mine = training()
    for step in recorded(mine, folder=tmp_path):
        if step.number == 3:
            break
    store, record = only(tmp_path)
    assert (record.state, record.steps) == ("stopped", 3)
    assert claim_of_record(record, store) == mine.claim


def test_a_step_that_fails_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = training()
    steps = recorded(mine, folder=tmp_path)
    next(steps)

    def fails() -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(mine._optimiser, "step", fails)
    with pytest.raises(RuntimeError, match="no memory"):
        next(steps)
    store, record = only(tmp_path)
    assert (record.state, record.summary["mechanisms"]) == ("failed", [[1.5, 0.1, 2]])
    assert claim_of_record(record, store) == mine.claim


def test_a_page_stops_it(tmp_path: Path) -> None:
    mine = training(steps=100_000)
    steps = recorded(mine, folder=tmp_path)
    next(steps)
    store, record = only(tmp_path)
    assert record.state == "running"
    store.set_desired(record.id, "stop")
    assert sum(1 for _ in steps) < 99_999
    assert store.run(record.id).state == "stopped"


def test_not_in_the_middle(tmp_path: Path) -> None:
    mine = training()
    next(mine)
    with pytest.raises(ValueError, match="1 steps taken"):
        recorded(mine, folder=tmp_path)
