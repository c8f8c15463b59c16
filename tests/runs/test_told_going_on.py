"""A told run goes on after a crash under its name: what was charged counts, whatever ended the program and when."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpviz
from dpviz.runs.claims import claim_of_record, claim_of_view
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.records import RunRecord
from dpviz.runs.store.store import Store, open_store
from dpviz.runs.told.watch import WatchedRun
from dpviz.runs.views import view_now
from tests.runs.test_told import KILLED, POISSON, STEP, exact, watched


def again(folder: Path, **changed: Any) -> WatchedRun:
    return watched(folder, go_on=True, **changed)


def latest(folder: Path) -> tuple[Store, RunRecord]:
    store = open_store(folder)
    return store, max(store.runs(), key=lambda record: record.created)


def crashes(run: WatchedRun, steps: int) -> None:
    """A program that fails after so many steps."""
    with pytest.raises(ZeroDivisionError), run:  # noqa: PT012
        for _ in range(steps):
            run.step(**STEP)
        raise ZeroDivisionError


def test_a_run_without_an_earlier_one_begins(tmp_path: Path) -> None:
    with again(tmp_path) as run:
        assert run.taken == 0
        run.step(**STEP)
    assert run.claim.epsilon == exact(1, "mixture")


def test_what_a_killed_program_was_charged_counts(tmp_path: Path) -> None:
    killed = KILLED.replace('"Killed"', '"Theirs"')
    subprocess.run([sys.executable, "-c", killed, str(tmp_path)], cwd=Path.cwd(), timeout=280, check=False)
    store, before = latest(tmp_path)
    with again(tmp_path) as run:
        taken = run.taken
        assert taken >= 25  # charged ahead, too
        run.step(**STEP)
        now = claim_of_view(view_now(store, latest(tmp_path)[1].id), store)
        assert now.epsilon >= exact(taken + 1, "mixture")
    store, record = latest(tmp_path)
    assert (record.name, record.state, record.id != before.id) == ("Theirs", "done", True)
    claim = claim_of_record(record, store)
    assert claim.epsilon == run.claim.epsilon == exact(taken + 1, "mixture")
    assert claim.epsilon > claim_of_record(store.run(before.id), store).epsilon
    copy = import_run(store, export_run(store, record.id))
    assert claim_of_record(copy, store).epsilon == claim.epsilon


def test_a_plan_is_that_of_all_programs_together(tmp_path: Path) -> None:
    crashes(watched(tmp_path, steps=40), 10)
    with again(tmp_path, steps=40) as run:
        for _ in range(run.taken, 40):
            run.step(**STEP)
    assert (run.taken, run.claim.covers, run.claim.epsilon) == (40, "plan", exact(40))
    store, record = latest(tmp_path)
    assert store.digest(record.id).facts["final"]["reason"] == "plan"
    with again(tmp_path, steps=40) as run:
        run.step(**STEP)
    assert run.claim.covers != "plan"
    assert run.claim.epsilon == exact(41, "mixture")


def test_a_budget_is_that_of_all_programs_together(tmp_path: Path) -> None:
    def until_full(run: WatchedRun) -> int:
        with pytest.raises(dpviz.BudgetExceeded), run:  # noqa: PT012
            while run.taken < 10_000:
                run.step(**STEP)
        return run.taken

    whole = until_full(watched(tmp_path / "whole", epsilon=2.0))
    crashes(watched(tmp_path, epsilon=2.0), 7)
    assert until_full(again(tmp_path, epsilon=2.0)) == whole


def test_a_program_that_dies_at_its_first_step_hides_nothing(tmp_path: Path) -> None:
    crashes(watched(tmp_path), 10)
    crashes(again(tmp_path), 0)
    crashes(again(tmp_path), 5)
    with again(tmp_path) as run:
        assert run.taken == 15
    store, record = latest(tmp_path)
    assert claim_of_record(record, store).epsilon == exact(15, "mixture")


def test_another_noise_before_is_kept_apart(tmp_path: Path) -> None:
    crashes(watched(tmp_path), 10)
    with again(tmp_path) as run:
        run.step(noise_multiplier=0.6, sample_rate=0.05)
    with watched(tmp_path / "one") as one:
        for _ in range(10):
            one.step(**STEP)
        one.step(noise_multiplier=0.6, sample_rate=0.05)
    assert run.claim.epsilon == pytest.approx(one.claim.epsilon, rel=1e-12)


def test_an_epoch_that_was_charged_stays_charged(tmp_path: Path) -> None:
    epochs = {"sampler": "shuffled", "adjacency": "zero_out"}
    crashes(watched(tmp_path, **epochs), 3)
    with again(tmp_path, **epochs) as run:
        run.step(**STEP)
    assert sum(count for _, count in run.settings.charged_before) == 1
    store, record = latest(tmp_path)
    with watched(tmp_path / "two", **epochs) as two:
        for _ in range(21):  # two epochs of 20 batches
            two.step(**STEP)
    assert claim_of_record(record, store).epsilon == two.claim.epsilon


def test_a_run_under_way_is_not_taken_over(tmp_path: Path) -> None:
    with watched(tmp_path) as run:
        run.step(**STEP)
        with pytest.raises(RuntimeError, match="to have ended, found it running"), again(tmp_path):
            pass


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    crashes(watched(tmp_path), 1)
    with pytest.raises(ValueError, match=r"found delta=1e-06 \(was 1e-05\)"), again(tmp_path, delta=1e-6):
        pass
    assert len(open_store(tmp_path).runs()) == 1


def test_norms_of_earlier_steps_cannot_go_on(tmp_path: Path) -> None:
    bayesian = {"max_grad_norm": 1.0, "steps": 20}
    crashes(watched(tmp_path, **bayesian), 1)
    with pytest.raises(ValueError, match="Bayesian costs need the norms"), again(tmp_path, **bayesian):
        pass


def test_an_imported_copy_is_not_gone_on_with(tmp_path: Path) -> None:
    crashes(watched(tmp_path), 3)
    store, record = latest(tmp_path)
    copy = import_run(store, export_run(store, record.id))
    store.delete(record.id)
    with again(tmp_path) as run:  # an imported copy is somebody else's word
        assert run.taken == 0
    assert POISSON["examples"] == copy.settings["examples"]
