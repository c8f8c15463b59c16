"""Attempts of a run that go on from its checkpoint: all that was ever released is charged, and nothing twice."""

import csv
import dataclasses
import io
import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.runs import claims
from dpviz.runs.attempts import Attempt
from dpviz.runs.dispatch import Dispatcher
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.disputes import disputes_of
from dpviz.runs.exchange.files import export_run, steps_csv
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.processes import Process, this_process
from dpviz.runs.store.records import ACTIVE, RunRecord
from dpviz.runs.store.store import KEPT, Store
from dpviz.runs.views import Live, view_now
from dpviz.runs.waiting import EventFile, Place, keep
from dpviz.runs.work import TRAINING, Sender, call
from dpviz.training.accounts.origins import lost
from dpviz.training.settings import RunSettings
from tests.runs.exported import closed, opened
from tests.ui.runs_made import TINY, fresh_engine

N = 3133  # of Abalone
PLAN = TINY.with_(noise_multiplier=0.8, steps=12)
STEP = SampledGaussian(0.8, 64 / N)
DEAD = dataclasses.replace(this_process(), mark="1")


class Killed(BaseException):
    """The process of an attempt ends at once."""


class Orders:
    """A control that pauses after some steps, where a checkpoint is kept, and ends after another."""

    def __init__(self, sender: Sender, pauses: Sequence[int], killed: int | None, stopped: int | None) -> None:
        self._sender, self._pauses, self._killed, self._stopped = sender, list(pauses), killed, stopped

    def poll(self) -> Any:
        step = self._sender.rows[-1].step if self._sender.rows else 0
        if self._pauses and step == self._pauses[0]:
            self._pauses.pop(0)
            return "pause"
        if step == self._killed:
            self._sender.flush()
            raise Killed
        return "stop" if step == self._stopped else "go"


class Runs:
    """Runs of a store, whose attempts this process computes one after the other."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder, self.place = store, folder, Place.of(folder)
        self.dispatcher = Dispatcher(store, folder, workers=1, preload=False)
        self.dispatcher.close()
        self.names = map(str, itertools.count())
        self.earlier: list[str] = []

    def new(self, settings: RunSettings = PLAN) -> str:
        self.earlier = []
        return self.store.create(target=TRAINING, settings=settings.to_json(), options={}).id

    def attempt(
        self,
        run: str,
        *,
        pauses: Sequence[int] = (),
        killed: int | None = None,
        stopped: int | None = None,
        worker: Process = DEAD,
        before: Any = None,
    ) -> str:
        """Compute an attempt, which ends after a step, and record what it told; the name of its execution."""
        name, settings = next(self.names), self.store.run(run).settings
        mine = Attempt(run, self.place, tuple(self.earlier), before, lambda: "")
        checkpoints = mine.checkpoints()  # as of before its own file is there
        head = {
            "run": run,
            "execution": name,
            "worker": worker.to_json(),
            "begun": time.time(),
            "earlier": self.earlier,
        }
        file = EventFile(self.place, head)
        sender = Sender(file.append)
        given = type("Given", (), {"checkpoints": lambda _: checkpoints, "place": self.place, "run": run})()
        try:
            control: Any = Orders(sender, pauses, killed, stopped)
            call(TRAINING, settings, {"attempt": given, "slow": 1e-9}, sender, control)
        except Killed:
            sender.rows.clear()
        sender.close()
        file.close()
        self.earlier = [*self.earlier, name]
        self.dispatcher.collect()
        return name

    def own(self, run: str) -> Counter[SampledGaussian]:
        """What every attempt took itself, read off its events of steps and counts one by one."""
        taken: Counter[SampledGaussian] = Counter()
        for attempt in self.store.attempts(run):
            for event in self.store.events(run, attempt["attempt"]):
                stored = event.data.get("mechanisms", ()) if event.kind == "step" else ()
                for sigma, rate, count in [*stored, *([event.data["mechanism"]] if event.kind == "count" else ())]:
                    taken[SampledGaussian(sigma, rate)] += count
        return taken

    def epsilon(self, run: str) -> float:
        return claims.claim_of_record(self.store.run(run), self.store).epsilon

    def continued(self, run: str) -> dict[str, Any]:
        return dict(self.store.digest(run).facts["continued"])


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture
def runs(engine: Engine) -> Runs:
    return Runs(engine.store, engine.folder)


def tight(steps: int, settings: RunSettings = PLAN) -> float:
    return float(tight_epsilon_of_events(((STEP, steps),), settings.delta).upper)


def settings_of_attempt(store: Store, record: RunRecord) -> RunSettings:
    started = store.digest(record.id).facts["started"]
    return RunSettings.from_json(started["settings"])


def test_a_killed_attempt_costs_the_steps_since_its_checkpoint(runs: Runs) -> None:
    run = runs.new()
    runs.attempt(run, pauses=[5], killed=8)
    assert runs.store.run(run).state == "running"
    runs.attempt(run)
    record = runs.store.run(run)
    assert (record.state, record.attempt, record.steps) == ("done", 2, 12)
    assert runs.own(run) == {STEP: 8 + 7}
    assert runs.epsilon(run) == tight(12 + 3)
    assert lost(settings_of_attempt(runs.store, record)) == ((STEP, 3),)
    assert re.search(r"after step 5 .*\b3 lost", runs.continued(run)["text"])
    assert not runs.place.checkpoint(run).exists()
    assert [path for path in runs.place.folder.iterdir() if run in path.name] == []


@pytest.mark.parametrize("kills", [[(5, 8), (9, 11)], [(5, 8), (None, 7), (None, 9)], [(3, 4), (6, 9), (None, 8)]])
def test_a_chain_of_attempts_is_charged_once(runs: Runs, engine: Engine, kills: list[tuple[int | None, int]]) -> None:
    """Whichever of them left the checkpoint: the claim is that of every step that was ever taken."""
    run = runs.new()
    for pause, killed in kills:
        runs.attempt(run, pauses=[pause] if pause else [], killed=killed)
        view = claims.claim_of_view(engine.look(run), runs.store)
        assert view.epsilon >= tight(runs.own(run)[STEP]) * (1 - 1e-9)
    runs.attempt(run)
    record = runs.store.run(run)
    assert (record.state, record.steps, record.attempt) == ("done", 12, len(kills) + 1)
    assert runs.epsilon(run) == tight(runs.own(run)[STEP])
    assert lost(settings_of_attempt(runs.store, record)) == ((STEP, runs.own(run)[STEP] - 12),)
    start = claims.start_of(run, runs.store, lambda _: Path(__file__))
    assert merge_events(start.origins[0].events) == ((STEP, runs.own(run)[STEP]),)


@pytest.mark.parametrize(
    ("kills", "taken_by"),
    [
        ([(5, 8)], [1] * 5 + [2] * 7),
        ([(5, 8), (9, 11)], [1] * 5 + [2] * 4 + [3] * 3),
        ([(5, 8), (None, 7), (None, 9)], [1] * 5 + [4] * 7),
        ([(3, 4), (6, 9), (None, 8)], [1] * 3 + [2] * 3 + [4] * 6),
        ([(None, 4), (6, 9)], [2] * 6 + [3] * 6),
    ],
)
def test_a_run_that_goes_on_shows_its_steps_from_the_first(
    runs: Runs, kills: list[tuple[int | None, int]], taken_by: list[int]
) -> None:
    """Each from the attempt whose checkpoint led on; the network is tested at each checkpoint once."""
    run = runs.new()
    live = Live(runs.store, max_age=0.0)
    for pause, killed in kills:
        runs.attempt(run, pauses=[] if pause is None else [pause], killed=killed)
        assert live.look(run).steps["step"].tolist() == list(range(1, killed + 1))
    runs.attempt(run)
    losses = {
        (attempt, event.data["first"] + at): loss
        for attempt in {*taken_by}
        for event in runs.store.events(run, attempt)
        if event.kind == "step"
        for at, loss in enumerate(event.data["loss"])
    }
    view = live.look(run)
    assert view.steps["step"].tolist() == list(range(1, 13))
    assert view.steps["loss"].tolist() == [losses[attempt, step] for step, attempt in enumerate(taken_by, 1)]
    assert (np.diff(view.steps["time"]) > 0).all()
    assert (np.diff(view.evaluations["step"]) > 0).all()
    assert {0, 6, 12} <= set(view.evaluations["step"].tolist())
    assert sum(count for *_, count in view.spent) == 12
    claimed = claims.claims_along(view, claims.claim_of_view(view, runs.store))
    assert (np.diff(claimed) >= 0).all()
    assert claimed[-1] <= runs.epsilon(run)
    now = view_now(runs.store, run)
    assert (now.notes, now.steps.keys()) == (view.notes, view.steps.keys())
    assert len([text for _, text in now.notes if "come from a new secret seed" in text]) == len({*taken_by}) - (
        1 in taken_by
    )
    rows = list(csv.reader(io.StringIO(steps_csv(runs.store, run).decode())))
    table = {name.split(" [")[0]: [float(row[at]) for row in rows[1:]] for at, name in enumerate(rows[0])}
    assert table["step"] == list(range(1, 13))
    assert (table["loss"], table["time"]) == (view.steps["loss"].tolist(), view.steps["time"].tolist())


def test_attempts_of_which_nothing_is_known_cost_their_plan(runs: Runs) -> None:
    """One whose file is not here, is damaged, or may still be written."""
    for how in ("not here", "damaged", "alive"):
        run = runs.new()
        name = runs.attempt(run, pauses=[5], killed=8, worker=this_process() if how == "alive" else DEAD)
        path = runs.place.folder / f"{run}-{name}.jsonl"
        if how == "not here":
            path.unlink()
        elif how == "damaged":
            path.write_bytes(b',"stop",'.join(path.read_bytes().rsplit(b',"step",', 1)))
        charged = Attempt(run, runs.place, (name,), None, lambda: "").charged
        assert charged is not None
        assert (charged.unread, charged.with_plans(PLAN, N).mechanisms) == (1, ((STEP, 12),))
        runs.attempt(run)
        record = runs.store.run(run)
        assert (record.state, record.steps) == ("done", 12)
        assert lost(settings_of_attempt(runs.store, record)) == ((STEP, 12 - 5),)
        assert runs.epsilon(run) >= tight(12 + 7)


def test_half_a_line_at_the_end_was_followed_by_nothing(runs: Runs) -> None:
    run = runs.new()
    name = runs.attempt(run, killed=3)
    path = runs.place.folder / f"{run}-{name}.jsonl"
    path.write_bytes(path.read_bytes() + b'[9,"step",4')
    charged = Attempt(run, runs.place, (name,), None, lambda: "").charged
    assert charged is not None
    assert (charged.through, charged.mechanisms, charged.unread) == (3, ((STEP, 3),), 0)


@pytest.mark.parametrize("how", ["torn", "of another version", "of another run", "none"])
def test_without_a_checkpoint_that_can_be_used_a_run_begins_again(runs: Runs, how: str) -> None:
    """It says why, and everything it was charged counts."""
    run, other = runs.new(), runs.new()
    runs.attempt(other, pauses=[5], killed=6)
    runs.earlier = []
    runs.attempt(run, pauses=[5], killed=8)
    path = runs.place.checkpoint(run)
    saved = path.read_bytes()
    changed = {
        "torn": saved[: len(saved) // 2],
        "of another version": saved.replace(b" 1 ", b" 9 ", 1),
        "of another run": runs.place.checkpoint(other).read_bytes(),
    }
    path.unlink() if how == "none" else path.write_bytes(changed[how])
    runs.attempt(run)
    record = runs.store.run(run)
    assert (record.state, record.steps) == ("done", 12)
    assert runs.own(run) == {STEP: 8 + 12}
    assert runs.epsilon(run) == tight(8 + 12)
    words = {
        "torn": "checksum",
        "of another version": "version 9",
        "of another run": repr(other),
        "none": "No checkpoint",
    }
    text = runs.continued(run)["text"]
    assert words[how] in text
    assert "begins at step 1 again; 8 lost steps" in text


def test_a_budget_holds_over_all_attempts(runs: Runs) -> None:
    """Also where an attempt begins again: it ends with the budget, and where nothing is left it does not begin."""
    budget = PLAN.with_(filter_epsilon=tight(60), steps=200)
    for checkpoint in (True, False):
        run = runs.new(budget)
        runs.attempt(run, pauses=[5], killed=8)
        if not checkpoint:
            runs.place.checkpoint(run).unlink()
        runs.attempt(run)
        record = runs.store.run(run)
        assert record.summary["reason"] == "budget"
        assert tight(runs.own(run)[STEP]) <= runs.epsilon(run) <= budget.filter_epsilon
    run = runs.new(budget)
    name = runs.attempt(run, killed=8)
    (runs.place.folder / f"{run}-{name}.jsonl").unlink()
    runs.attempt(run)
    assert runs.own(run)[STEP] == 8
    assert runs.epsilon(run) >= tight(8)


def test_a_policy_that_chooses_steps_needs_to_know_all_of_them(runs: Runs) -> None:
    adaptive = PLAN.with_(policy="adaptive_noise", batch_size=1000, steps=8)
    run = runs.new(adaptive)
    runs.attempt(run, pauses=[3], killed=5)
    runs.attempt(run)
    claim = claims.claim_of_record(runs.store.run(run), runs.store)
    assert (runs.store.run(run).state, claim.holds) == ("done", True)
    taken = tuple(runs.own(run).items())
    assert claim.epsilon >= float(tight_epsilon_of_events(taken, adaptive.delta).upper)
    run = runs.new(adaptive)
    name = runs.attempt(run, pauses=[3], killed=5)
    (runs.place.folder / f"{run}-{name}.jsonl").unlink()
    runs.attempt(run)
    record = runs.store.run(run)
    assert record.state == "failed"
    assert "no ε would cover what they released" in record.reason
    claim = claims.claim_of_record(record, runs.store)  # of the attempt before, for this one released nothing
    assert (claim.covers, claim.conditions[-1]) == ("adaptive", claims.GIVEN_UP)


def test_private_counts_are_charged_over_attempts(runs: Runs) -> None:
    counted = TINY.with_(
        batch_size=1000, steps=12, target_accuracy=0.99, target_measure="private", count_every=1, count_noise=5.0
    )
    run = runs.new(counted)
    runs.attempt(run, pauses=[5], killed=9)
    runs.attempt(run)
    record = runs.store.run(run)
    assert record.state == "done"
    everything = tuple(runs.own(run).items())
    assert runs.epsilon(run) == pytest.approx(float(tight_epsilon_of_events(everything, counted.delta).upper))


def test_an_attempt_heard_of_later_is_charged_beside_the_others(runs: Runs) -> None:
    run = runs.new()
    runs.attempt(run, pauses=[5], killed=8)
    runs.attempt(run)
    assert runs.epsilon(run) == tight(15)
    runs.store.expect(run, ["unseen"], {})
    assert runs.epsilon(run) == tight(15 + 12)


def test_a_run_from_a_seed_repeats_itself(runs: Runs) -> None:
    run = runs.new(PLAN.with_(secure_noise=False, seed=3))
    runs.attempt(run, pauses=[5], killed=8)
    runs.attempt(run)
    claim = claims.claim_of_record(runs.store.run(run), runs.store)
    assert claim.demonstration
    assert claim.shown.epsilon == tight(12)


# Going on when somebody asks for it.


def asked(runs: Runs, engine: Engine, run: str) -> Any:
    """Queue the run again; what its next attempt is told of those before."""
    record = runs.store.run(run)
    assert engine.can_go_on(record)
    assert runs.store.begin_again(run)
    runs.earlier = []
    return claims.charged_so_far(runs.store.run(run), runs.store).to_json()


@pytest.mark.parametrize("end", ["stopped", "lost", "hard stop"])
def test_a_run_that_ended_goes_on_when_asked(runs: Runs, engine: Engine, end: str) -> None:
    run = runs.new()
    if end == "stopped":
        runs.attempt(run, stopped=8)
    else:
        runs.attempt(run, pauses=[5], killed=8)
        runs.store.change_state(run, "lost" if end == "lost" else "stopped", "gone", only=ACTIVE)
        runs.dispatcher.collect()
    assert [path for path in runs.place.folder.iterdir() if run in path.name] == []
    before = asked(runs, engine, run)
    record = runs.store.run(run)
    assert (record.state, record.attempt, record.desired) == ("queued", 1, "go")
    runs.attempt(run, before=before, killed=10)
    assert runs.store.run(run).state == "restarted"
    assert view_now(runs.store, run).final == {}
    assert "goes on after step" in runs.store.run(run).reason
    runs.attempt(run, before=before)
    record = runs.store.run(run)
    assert (record.state, record.attempt, record.steps) == ("done", 3, 12)
    lost_at_first = 0 if end == "stopped" else 3
    assert runs.own(run)[STEP] == 12 + lost_at_first + 2 + (3 if end != "stopped" else 0)
    assert runs.epsilon(run) == tight(runs.own(run)[STEP])
    assert not engine.can_go_on(record)


def test_what_cannot_go_on(runs: Runs, engine: Engine) -> None:
    """A run without a checkpoint, one that is over as planned, deleted or from a file, and one that losses ended."""
    run = runs.new()
    runs.attempt(run, stopped=8)
    record = runs.store.run(run)
    assert engine.can_go_on(record)
    for changed in (
        {"state": "running"},
        {"state": "done"},
        {"deleted": 1.0},
        {"imported": True},
        {"summary": {"reason": "not finite"}},
    ):
        assert not engine.can_go_on(dataclasses.replace(record, **changed))
    copy = import_run(runs.store, export_run(runs.store, run))
    assert not runs.store.begin_again(copy.id)
    runs.place.checkpoint(run).unlink()
    assert not engine.can_go_on(record)
    assert engine.go_on(run).state == "stopped"


def test_a_run_that_is_stopped_before_it_goes_on_is_what_it_was(runs: Runs, engine: Engine) -> None:
    run = runs.new()
    runs.attempt(run, stopped=8)
    before, summary = runs.epsilon(run), runs.store.run(run).summary
    asked(runs, engine, run)
    runs.store.set_desired(run, "stop")
    record = runs.store.run(run)
    assert (record.state, record.summary) == ("stopped", summary)
    assert runs.epsilon(run) == before


def test_a_checkpoint_goes_with_its_run(runs: Runs, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the week in which a deleted run can be brought back, with what a killed process had begun to write."""
    run = runs.new()
    runs.attempt(run, stopped=8)
    path = runs.place.checkpoint(run)
    torn = path.with_name(f"{path.name}-123")
    torn.write_bytes(b"half")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    runs.store.delete(run)
    Engine(runs.folder)
    assert path.is_file()
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + KEPT + 60.0)
    Engine(runs.folder)
    assert (path.exists(), torn.exists()) == (False, False)


def test_elsewhere_a_checkpoint_lies_with_the_events_and_goes_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpviz.runs.waiting import remove

    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "far"))
    place = Place(str(tmp_path / "no store here"), "a-store")
    path = place.checkpoint("run")
    assert path.parent == place.folder
    keep(path, b"saved")
    remove(place, ["run-execution.jsonl"])
    assert not path.exists()


@pytest.mark.parametrize("changed", [{}, {"bayesian": True}, {"sampler": "allocation"}, {"sampler": "fixed"}])
def test_a_copy_in_a_file_claims_the_same(runs: Runs, changed: dict[str, Any]) -> None:
    settings = PLAN.with_(**changed)
    run = runs.new(settings)
    runs.attempt(run, pauses=[5], killed=8)
    runs.attempt(run, pauses=[9], killed=10)
    runs.attempt(run)
    copy = import_run(runs.store, export_run(runs.store, run))
    assert disputes_of(copy, runs.store) == ()
    assert runs.epsilon(copy.id) == pytest.approx(runs.epsilon(run), rel=1e-9)
    assert copy.summary["epsilon"] == pytest.approx(runs.store.run(run).summary["epsilon"])
    assert runs.store.digest(copy.id).facts["continued"]["text"] == runs.continued(run)["text"]


def test_a_file_that_says_too_little_was_lost_claims_all_of_it(runs: Runs) -> None:

    run = runs.new()
    runs.attempt(run, pauses=[5], killed=8)
    runs.attempt(run)
    file = opened(export_run(runs.store, run))
    for event in file["events"]:
        event["data"].pop("checksum", None)
        if event["kind"] == "started":
            event["data"]["settings"]["origins"] = []
    for attempt in file["attempts"]:
        attempt.pop("checksum", None)
    copy = import_run(runs.store, closed(file))
    assert runs.epsilon(copy.id) == tight(15)
    assert disputes_of(copy, runs.store)
