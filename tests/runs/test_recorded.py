"""A training of one's own on the pages: the same claims, live, held and stopped from there; what fails is charged."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.runs import program, work
from dpviz.runs import recorded as recorded_module
from dpviz.runs.claims import claim_of_record, claim_of_view, has_gap, mechanisms
from dpviz.runs.exchange.disputes import disputes_of
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.reconcile import reconcile
from dpviz.runs.recorded import recorded
from dpviz.runs.store.store import Store, open_store
from dpviz.runs.views import view_of
from dpviz.runs.work import NotRecorded
from dpviz.training import PrivateTraining
from dpviz.training.accounts import earlier
from dpviz.training.private import Step
from tests.runs.conftest import FullDisk, until
from tests.training.steps import own_training
from tools.attack.kills import Programs


@pytest.fixture(autouse=True)
def _no_earlier_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "ledger", [])


def training(**changed: Any) -> PrivateTraining:
    return own_training(**{"steps": 8} | changed)


def only(folder: Path) -> tuple[Store, Any]:
    store = open_store(folder)
    (record,) = store.runs()
    return store, record


def first_step(folder: Path, **changed: Any) -> tuple[PrivateTraining, Iterator[Step], Store, Any]:
    """A training after its first step, its further ones, and where it is recorded."""
    mine = training(**changed)
    steps = recorded(mine, folder=folder)
    next(steps)
    return mine, steps, *only(folder)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "RETRY", 0.01)
    monkeypatch.setattr(program, "PATIENCE", 0.1)


@pytest.mark.parametrize(("left_at", "state", "steps"), [(9, "done", 8), (3, "stopped", 3)])
def test_it_claims_what_the_training_claims(tmp_path: Path, left_at: int, state: str, steps: int) -> None:
    mine = training()
    for step in recorded(mine, name="Mine", folder=tmp_path):
        if step.number == left_at:
            break
    store, record = only(tmp_path)
    assert (record.state, record.steps, record.name) == (state, steps, "Mine")
    assert claim_of_record(record, store) == mine.claim
    assert mine.claim.holds
    again = import_run(store, export_run(store, record.id))
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
    again = import_run(store, export_run(store, record.id))
    assert claim_of_record(again, store).epsilon == pytest.approx(claim.epsilon, rel=1e-9)
    assert claim_of_record(again, store).conditions == claim.conditions
    assert disputes_of(again, store) == ()


def test_a_step_that_fails_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, steps, store, record = first_step(tmp_path)
    monkeypatch.setattr(mine._optimiser, "step", Mock(side_effect=RuntimeError("no memory")))
    with pytest.raises(RuntimeError, match="no memory"):
        next(steps)
    record = store.run(record.id)
    assert (record.state, record.summary["mechanisms"]) == ("failed", [[1.5, 0.1, 2]])
    assert claim_of_record(record, store) == mine.claim


def test_a_page_stops_it(tmp_path: Path) -> None:
    _, steps, store, record = first_step(tmp_path, steps=100_000)
    assert record.state == "running"
    store.set_desired(record.id, "stop")
    assert sum(1 for _ in steps) < 99_999
    assert store.run(record.id).state == "stopped"


def test_not_in_the_middle(tmp_path: Path) -> None:
    mine = training()
    next(mine)
    with pytest.raises(ValueError, match="1 steps taken"):
        recorded(mine, folder=tmp_path)


def test_a_training_that_goes_on_is_recorded_with_all_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = training()
    for _ in range(3):
        next(first)
    state = first.state_dict()
    monkeypatch.setattr(earlier, "ledger", [])
    mine = training()
    mine.load_state_dict(state, taken=4)
    assert [step.number for step in recorded(mine, folder=tmp_path)] == [4, 5, 6, 7, 8]
    store, record = only(tmp_path)
    assert (record.state, charged(store, record.id)) == ("done", 8)
    assert claim_of_record(record, store) == mine.claim
    assert mine.claim.epsilon >= cost(mine, 9)
    with pytest.raises(ValueError, match="before recorded"):
        mine.load_state_dict(state)


def charged(store: Store, run: str) -> int:
    return sum(count for _, count in mechanisms(store.digest(run)))


def cost(mine: PrivateTraining, steps: int) -> float:
    return float(tight_epsilon(mine.mechanism, steps, mine.settings.delta).lower) if steps else 0.0


def test_no_step_is_seen_before_it_is_charged(tmp_path: Path) -> None:
    """At every moment the store, and what a page says, cover the weights that the program has."""
    mine = training(steps=100)
    for step in recorded(mine, folder=tmp_path):
        store, record = only(tmp_path)
        assert charged(store, record.id) >= step.number
        if step.number % 20 == 1:
            now = claim_of_view(view_of(record, store.digest(record.id)), store)
            assert now.epsilon >= cost(mine, step.number)
            assert now.covers == "plan" or now.steps >= step.number
        store.close()


def test_steps_that_the_loop_did_not_ask_for(tmp_path: Path) -> None:
    """Within it they are charged and counted; after it there are none."""
    mine = training(steps=100)
    for step in recorded(mine, folder=tmp_path):
        for _ in range(5):
            last = next(mine)
            store, record = only(tmp_path)
            assert charged(store, record.id) >= last.number
            store.close()
        if step.number > 20:
            break
    store, record = only(tmp_path)
    assert (record.steps, charged(store, record.id)) == (mine.done, mine.done)
    assert claim_of_record(record, store) == mine.claim
    with pytest.raises(RuntimeError, match="no step after the record of this training ended, at step 30"):
        next(mine)


def test_killed_programs_claim_what_was_seen(tmp_path: Path) -> None:
    with Programs() as programs:
        kills = [programs.kill(tmp_path / str(at), 0.004 * at, after=1 + 3 * at) for at in range(0, 12, 2)]
    for kill in kills:
        assert kill.seen <= kill.charged
        assert kill.true <= kill.claimed
        assert kill.claimed == kill.imported


@pytest.mark.parametrize(
    ("step", "write", "steps", "ahead"), [(0.001, 0.004, 2_000, 400), (2.0, 0.004, 30, 1), (0.25, 0.3, 500, 120)]
)
def test_charging_costs_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: float, write: float, steps: int, ahead: int
) -> None:
    """A hundredth of the time that steps take, by a clock that only steps and charges move."""
    clock, charges = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, time=lambda: 0.0), []
    for module in (program, recorded_module):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(program.AskedControl, "poll", lambda control: "go")
    monkeypatch.setattr(recorded_module, "TELLS", 1e9)
    emit = work.Sender.emit

    def slow(self: work.Sender, event: dict[str, Any]) -> None:
        if event["kind"] == "charged":
            charges.append(event["through"] - event["step"])
            clock.now += write
        emit(self, event)

    monkeypatch.setattr(work.Sender, "emit", slow)
    mine = training(steps=steps)
    monkeypatch.setattr(PrivateTraining, "__next__", lambda self: taken(self))

    def taken(self: PrivateTraining) -> Any:
        if self.done == steps:
            raise StopIteration
        self._before_step()
        self._done += 1
        clock.now += step
        return Step(self.done, 0, torch.zeros(1), torch.zeros(1), self)

    for _ in recorded(mine, folder=tmp_path):
        pass
    assert charges[0] == 1
    assert all(later <= 2 * earlier for earlier, later in itertools.pairwise(charges))
    assert max(charges) <= ahead + 1
    assert charges[-2] == pytest.approx(ahead, abs=1)
    assert write <= 0.011 * charges[-2] * step


def test_a_disk_that_is_full_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits, goes on, and leaves nothing out."""
    mine = training(steps=300)
    disk = FullDisk(monkeypatch, when=lambda number, _: 4 <= number < 9)
    assert sum(1 for _ in recorded(mine, folder=tmp_path)) == 300
    store, record = only(tmp_path)
    assert disk.calls > 10
    assert (record.state, record.steps, has_gap(store.digest(record.id))) == ("done", 300, False)
    assert claim_of_record(record, store) == mine.claim


@pytest.mark.usefixtures("impatient")
def test_a_disk_that_stays_full_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, seen = training(steps=5_000), []
    with monkeypatch.context() as patch:
        FullDisk(patch, when=lambda number, _: number >= 4)
        with pytest.raises(NotRecorded, match="could not be recorded for 0.1 s.*disk is full"):
            seen.extend(iter(step.number for step in recorded(mine, folder=tmp_path)))
        store, record = only(tmp_path)
        assert record.state == "running"
        assert 0 < mine.done == seen[-1] <= charged(store, record.id)
    # There is room again, and the program still runs.
    until(lambda: store.run(record.id).state != "running", 20.0)
    record = store.run(record.id)
    assert (record.state, record.steps, charged(store, record.id)) == ("failed", mine.done, mine.done)


@pytest.mark.usefixtures("impatient")
def test_its_end_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, steps, store, record = first_step(tmp_path)
    with monkeypatch.context() as patch:
        FullDisk(patch)
        with pytest.warns(UserWarning, match="end of this run could not be recorded: it claims all.*disk is full"):
            steps.close()  # type: ignore[attr-defined]
        assert charged(store, record.id) >= 1


@pytest.mark.usefixtures("impatient")
def test_a_run_that_was_removed_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, steps, store, record = first_step(tmp_path, steps=5_000)
    store.change_state(record.id, "lost", only=("running",))
    store.delete(record.id)
    store.purge(record.id)
    with pytest.raises(NotRecorded, match="no longer in .*: it was removed"):
        sum(1 for _ in steps)
    monkeypatch.setattr(Store, "record", lambda self, batches: [True] * len(batches))  # its thread may end


FULL = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from dpviz.runs import program
from dpviz.runs import recorded as module
from dpviz.runs.store.records import StoreError
from tests.runs.test_recorded import training
program.PATIENCE = 0.2
folder, seen = Path(sys.argv[1]), 0
try:
    for step in module.recorded(training(steps=2_000), folder=folder):
        seen = step.number
        if seen == 1:
            size = (folder / "runs.sqlite-wal").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))
except StoreError as error:
    print(seen, error)
"""


@pytest.mark.sweep
def test_files_that_may_not_grow_stop_it(tmp_path: Path) -> None:
    """A real limit of the system, in a process of its own, which then ends."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, timeout=120)
    seen, _, words = done.stdout.partition(" ")
    assert "could not be recorded" in words, done
    assert str(tmp_path) in words
    store, record = only(tmp_path)
    reconcile(store)
    claim = claim_of_record(store.run(record.id), store)
    assert store.run(record.id).state in ("lost", "failed")  # its last words may have found room
    assert 1 <= int(seen) <= charged(store, record.id)
    assert claim.epsilon >= cost(training(), int(seen))
