"""Stores of earlier formats are taken over once, whole, with a copy beside them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpviz.accounting.claims import Claim
from dpviz.mechanisms import SampledGaussian
from dpviz.runs import claims
from dpviz.runs.exchange.files import export_run
from dpviz.runs.store import events
from dpviz.runs.store.copies import KEPT
from dpviz.runs.store.rescue import PREFIX
from dpviz.runs.store.store import Store
from dpviz.runs.views import view_of
from dpviz.runs.work import Sender
from dpviz.training.accounts.claims import odometer_reading, planned_claim
from dpviz.training.settings import RunSettings
from tests.runs.conftest import Opens, batch, started, steps
from tests.runs.exported import read

N = 10_000
PLAN = RunSettings(steps=9, noise_multiplier=2.0, batch_size=1_000)


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store that has no blocks yet."""
    monkeypatch.setattr(events, "FULL", 10**9)
    monkeypatch.setattr(events, "REST", 10**9)
    with closing(Store(tmp_path / "runs.sqlite")) as store:
        yield store


def as_format(store: Store, version: int) -> Path:
    """The closed file, without what came later."""
    store.close()
    with closing(sqlite3.connect(store.file.path, isolation_level=None)) as db:
        db.execute("DROP TABLE blocks")
        for column in ("runs DROP COLUMN checksum", "attempts DROP COLUMN checksum", "runs DROP COLUMN anchor")[
            : 4 - version if version < 3 else 0
        ]:
            db.execute(f"ALTER TABLE {column}")
        db.execute(f"PRAGMA user_version = {version}")
    store.file.path.with_name("runs-backup.sqlite").unlink()
    return store.file.path


@pytest.mark.parametrize("version", [1, 2, 3])
def test_it_keeps_all_that_it_held(before: Store, version: int, opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    long, short = started(before, "long"), started(before, "short")
    before.record([batch(long, *steps(3_000)), batch(short, *steps(3), execution="two")])
    held = {run: before.events(run) for run in (long, short)}
    path = as_format(before, version)
    monkeypatch.undo()
    store = opens(path)
    assert {record.id: store.events(record.id) for record in store.runs()} == held
    assert len(store.file.fetch("SELECT 1 FROM blocks")) == 2
    [kept] = path.parent.glob(f"{KEPT}*.sqlite")
    assert str(kept) in store.notice
    with closing(sqlite3.connect(kept)) as copy:
        assert copy.execute("SELECT COUNT(*) FROM events").fetchone() == (3_003,)
        assert copy.execute("PRAGMA user_version").fetchone() == (version,)
    store.record([batch(short, *steps(1, 4), first=3, execution="two")])
    store.close()
    again = opens(path)
    assert len(again.events(short)) == 4
    assert [*path.parent.glob(f"{KEPT}*.sqlite")] == [kept]
    assert not [*path.parent.glob(f"{PREFIX}*")]
    again.change_state(long, "stopped", only=("running",))
    again.delete(long)
    again.purge(long)
    assert long.encode() not in b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert short.encode() in kept.read_bytes()


def test_one_that_is_damaged_is_set_aside(before: Store, opens: Opens) -> None:
    runs = [started(before, name) for name in ("changed", "whole")]
    before.record([batch(run, *steps(9), {"kind": "done", "step": 9}, execution=run) for run in runs])
    path = as_format(before, 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM events WHERE run = ? AND seq = 4", (runs[0],))
    store = opens(path)
    assert {record.name: record.state for record in store.runs()} == {"changed": "lost", "whole": "done"}
    assert len(store.events(runs[1])) == 10


def told(settings: RunSettings, claim: Claim | None, *, ended: bool = True) -> list[dict[str, Any]]:
    """What a worker of an earlier version told of a run of nine steps."""
    said = {} if claim is None else {"claim": claim.to_json()}
    spent = [float(odometer_reading(((SampledGaussian(2.0, 0.1), n),), settings.delta)) for n in range(1, 10)]
    story: list[dict[str, Any]] = [
        {"kind": "started", "settings": settings.to_json(), "examples": N, **said},
        {"kind": "step", "step": 9, "first": 1, "count": 9, "mechanisms": [[2.0, 0.1, 9]], "distances": None,
         "epsilon": {"odometer": spent, "renyi": [1.0] * 9}},
        {"kind": "done", "step": 9, "reason": "plan", "text": "", "epsilon": {"odometer": spent[-1]}, **said},
    ]  # fmt: skip
    sender = Sender(lambda rows: None)
    for event in story if ended else story[:-1]:
        sender.emit(event)
    sender.close()
    return [json.loads(row.text) for row in sender.rows]


@pytest.mark.parametrize("spoilt", [False, True])
def test_its_claims_are_what_holds_now(before: Store, opens: Opens, spoilt: bool) -> None:
    """Also of those that are read out of a file in which another run is damaged."""
    adaptive, seeded = PLAN.with_(policy="adaptive_noise", secure_noise=True), PLAN.with_(secure_noise=False)
    claim = planned_claim(PLAN.with_(secure_noise=True), N)
    stories = {
        "no budget": told(adaptive, None),
        "seeded": told(seeded, claim),
        "seeded, running": told(seeded, claim, ended=False),
    }
    for name, story in stories.items():
        run = started(before, name, story[0]["settings"])
        before.record([replace(batch(run, *story, execution=name))])
    other = started(before, "other")
    before.record([batch(other, *steps(9), {"kind": "done", "step": 9}, execution="other")])
    path = as_format(before, 3)
    if spoilt:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("DELETE FROM events WHERE run = ? AND seq = 4", (other,))
    store = opens(path)
    assert (store.run(other).state, bool(store.notice)) == (("lost" if spoilt else "done"), True)
    runs = {record.name: record for record in store.runs() if record.id != other}
    unbounded = claims.claim_of_record(runs["no budget"], store)
    assert unbounded.covers == "any_end"
    assert unbounded.epsilon == odometer_reading(((SampledGaussian(2.0, 0.1), 9),), PLAN.delta)
    for name in ("seeded", "seeded, running"):
        view = view_of(runs[name], store.digest(runs[name].id))
        assert claims.claim_of_view(view, store).demonstration
        assert "epsilon.odometer" not in view.steps
        assert view.steps["epsilon.mixture"][-1] == stories[name][1]["epsilon"]["odometer"][-1]
    for record in runs.values():
        read(export_run(store, record.id))  # its checksums are those of what it holds now
