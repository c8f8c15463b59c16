"""A run whose steps a program tells: charged before they return, claimed as told and never as certified."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.claims import TOLD, Claim
from dpviz.runs import program
from dpviz.runs.claims import claim_of_record, claim_of_view, claims_along, claims_of_shorter_plans, mechanisms
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.disputes import disputes_of
from dpviz.runs.exchange.files import export_run, steps_csv
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.reconcile import reconcile
from dpviz.runs.store.records import RunRecord
from dpviz.runs.store.store import Store, open_store
from dpviz.runs.told.settings import ADJACENCIES, SAMPLERS, ToldSettings, assumptions
from dpviz.runs.told.watch import RunStopped, WatchedRun
from dpviz.runs.views import view_now
from dpviz.runs.work import NotRecorded
from tests.runs.conftest import FullDisk
from tests.runs.exported import changed

N, SIGMA, RATE, DELTA = 1000, 1.3, 0.05, 1e-5
POISSON: dict[str, Any] = {"examples": N, "delta": DELTA, "sampler": "poisson", "adjacency": "add_remove"}
STEP = {"noise_multiplier": SIGMA, "sample_rate": RATE}


def watched(folder: Path, **changed: Any) -> WatchedRun:
    return dpviz.watch("Theirs", **{**POISSON, "folder": folder, **changed})


def ended(folder: Path, steps: int = 10, **changed: Any) -> tuple[Store, RunRecord, Claim]:
    """A run of equal steps that has ended, and its claim."""
    with watched(folder, **changed) as run:
        for _ in range(steps):
            run.step(**STEP)
    return only(folder)


def only(folder: Path) -> tuple[Store, RunRecord, Claim]:
    store = open_store(folder)
    (record,) = store.runs()
    return store, record, claim_of_record(record, store)


def exact(steps: int, method: str = "tight") -> float:
    return float(dpviz.epsilon(method, steps=steps, delta=DELTA, **STEP))  # type: ignore[call-overload]


# --- what is charged, and when ----------------------------------------------------------------------------------------


def test_the_store_has_the_cost_of_a_step_when_it_returns(tmp_path: Path) -> None:
    with watched(tmp_path) as run:
        for number in range(1, 40):
            run.step(**STEP)
            store, record, _ = only(tmp_path)
            charged = sum(count for _, count in mechanisms(store.digest(record.id)))
            assert charged >= number
            now = claim_of_view(view_now(store, record.id), store)
            assert now.epsilon >= exact(number, "mixture")
            store.close()


def test_nothing_is_charged_for_a_step_that_cannot_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PATIENCE", 0.1)
    with pytest.raises(NotRecorded, match="disk is full"), watched(tmp_path) as run:  # noqa: PT012
        run.step(**STEP)
        with monkeypatch.context() as patch:
            FullDisk(patch)
            for _ in range(1_000):
                run.step(noise_multiplier=SIGMA + 0.001 * run.taken, sample_rate=RATE)
    assert run.taken < 1_000


KILLED = """
import os, sys
import dpviz
told = dict(examples=1000, delta=1e-5, sampler="poisson", adjacency="add_remove")
with dpviz.watch("Killed", **told, folder=sys.argv[1]) as run:
    for number in range(1, 26):
        run.step(noise_multiplier=1.3, sample_rate=0.05)
    os.kill(os.getpid(), 9)
"""


def test_a_killed_program_claims_at_least_what_it_told(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=Path.cwd(), timeout=120, check=False)
    assert done.returncode == -9
    store, record, _ = only(tmp_path)
    reconcile(store)
    record = store.run(record.id)
    assert (record.state, record.reason) == ("lost", "the program that ran it has ended")
    claim = claim_of_record(record, store)
    assert exact(25, "mixture") <= claim.epsilon < exact(80, "mixture")
    assert claim.as_told
    copy = import_run(store, export_run(store, record.id))
    assert claim_of_record(copy, store).epsilon == claim.epsilon


def test_it_needs_neither_torch_nor_the_app(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in {'torch', 'distributed', 'dask', 'streamlit', 'pandas', 'plotly',"
        " 'jinja2', 'pydantic', 'psutil', 'pyarrow', 'cryptography'}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import dpviz\n"
        "with dpviz.watch('Light', examples=1000, delta=1e-5, sampler='poisson', adjacency='add_remove', epsilon=2.0,\n"
        "                 steps=5, max_grad_norm=1.0, folder=sys.argv[1]) as run:\n"
        "    for _ in range(5):\n"
        "        run.step(noise_multiplier=1.3, sample_rate=0.05, norms=[0.2, 3.0], loss=1.0)\n"
    )
    found = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert only(tmp_path)[1].state == "done"


# --- what is claimed --------------------------------------------------------------------------------------------------


def test_without_a_plan_the_odometer_is_claimed(tmp_path: Path) -> None:
    _, record, claim = ended(tmp_path)
    assert (claim.covers, claim.accountant) == ("any_end", "mixture")
    assert claim.epsilon == pytest.approx(exact(10, "mixture"), rel=1e-12)
    assert (record.state, record.summary["reason"], record.steps) == ("done", "end", 10)


def test_a_plan_that_is_kept_has_its_numerical_epsilon(tmp_path: Path) -> None:
    _, record, claim = ended_plan(tmp_path, 10, 10)
    assert (claim.covers, claim.accountant, claim.steps) == ("plan", "tight", 10)
    assert claim.epsilon == exact(10)
    assert record.summary["reason"] == "plan"


def ended_plan(folder: Path, planned: int, taken: int, **last: Any) -> tuple[Store, RunRecord, Claim]:
    with watched(folder, steps=planned) as run:
        for number in range(taken):
            run.step(**{**STEP, **(last if number == taken - 1 else {})})
    return only(folder)


def test_an_earlier_end_claims_the_plan_or_the_odometer(tmp_path: Path) -> None:
    _, _, claim = ended_plan(tmp_path, 400, 2)
    assert claim.epsilon == min(exact(400), exact(2, "mixture"))


@pytest.mark.parametrize("last", [{"noise_multiplier": 1.2}, {"sample_rate": 0.04}])
def test_other_noise_than_planned_leaves_the_plan(tmp_path: Path, last: dict[str, float]) -> None:
    _, _, claim = ended_plan(tmp_path, 10, 10, **last)
    assert claim.covers == "any_end"
    assert claim.epsilon > exact(10)


def test_more_steps_than_planned_leave_the_plan(tmp_path: Path) -> None:
    _, _, claim = ended_plan(tmp_path, 5, 6)
    assert claim.epsilon == pytest.approx(exact(6, "mixture"), rel=1e-12)


def test_the_budget_refuses_a_step_before_it_is_charged(tmp_path: Path) -> None:
    with pytest.raises(dpviz.BudgetExceeded), watched(tmp_path, epsilon=1.0) as run:  # noqa: PT012
        for _ in range(10_000):
            run.step(**STEP)
    store, record, claim = only(tmp_path)
    assert run.taken == record.steps == sum(count for _, count in mechanisms(store.digest(record.id)))
    assert exact(run.taken, "renyi") <= 1.0 < exact(run.taken + 40, "renyi")
    assert claim.epsilon <= 1.0
    assert (record.state, record.summary["reason"]) == ("done", "budget")


def test_a_budget_holds_for_noise_that_results_choose(tmp_path: Path) -> None:
    with watched(tmp_path, epsilon=2.0) as run:
        for number in range(1, 10_000):
            try:
                run.step(noise_multiplier=SIGMA + 0.05 * (number % 3), sample_rate=RATE)
            except dpviz.BudgetExceeded:
                break
    _, _, claim = only(tmp_path)
    assert (claim.covers, claim.epsilon) == ("adaptive", 2.0)
    assert claim.order is not None


def test_no_step_without_room(tmp_path: Path) -> None:
    with pytest.raises(dpviz.BudgetExceeded), watched(tmp_path, epsilon=0.01) as run:
        run.step(noise_multiplier=0.5, sample_rate=1.0)
    store, record, claim = only(tmp_path)
    assert (record.steps, mechanisms(store.digest(record.id)), claim.holds) == (0, (), False)


@pytest.mark.parametrize(
    ("sampler", "adjacency", "rate", "mechanism", "events"),
    [
        ("poisson", "zero_out", 0.05, dpviz.SampledGaussian(SIGMA, 0.05), 8),
        ("poisson", "replace_one", 0.05, dpviz.ReplaceOneGaussian(SIGMA, 0.05), 8),
        ("fixed", "replace_one", 0.05, dpviz.FixedSize(SIGMA, N, 50), 8),
        ("shuffled", "zero_out", 0.25, dpviz.Shuffled(SIGMA, 4), 2),
        ("shuffled", "zero_out", 0.3, dpviz.Shuffled(SIGMA, 3), 3),
        ("any", "zero_out", 0.05, dpviz.SampledGaussian(SIGMA, 1.0), 8),
        ("any", "replace_one", 0.05, dpviz.ReplaceOneGaussian(SIGMA, 1.0), 8),
    ],
)
def test_each_sampler_has_its_own_cost(
    tmp_path: Path, sampler: str, adjacency: str, rate: float, mechanism: dpviz.Mechanism, events: int
) -> None:
    with watched(tmp_path, sampler=sampler, adjacency=adjacency) as run:
        for _ in range(8):
            run.step(noise_multiplier=SIGMA, sample_rate=rate)
    store, record, claim = only(tmp_path)
    assert mechanisms(store.digest(record.id)) == ((mechanism, events),)
    found = dpviz.accountant("mixture").of_events([(mechanism, events)], DELTA)
    assert claim.epsilon == pytest.approx(float(found.epsilon), rel=1e-12)
    assert any(ADJACENCIES[adjacency].name in text for text in assumptions(run.settings))
    copy = import_run(store, export_run(store, record.id))
    assert claim_of_record(copy, store) == claim
    assert disputes_of(copy, store) == ()


def test_every_sampler_has_a_test_of_its_cost() -> None:
    marks = test_each_sampler_has_its_own_cost.pytestmark  # type: ignore[attr-defined]
    tested = {case[:2] for case in marks[0].args[1]} | {("poisson", "add_remove")}
    assert tested == {(key, adjacency) for key, each in SAMPLERS.items() for adjacency in each.mechanisms}


def test_a_shuffled_epoch_keeps_its_noise(tmp_path: Path) -> None:
    with watched(tmp_path, sampler="shuffled", adjacency="zero_out") as run:
        run.step(noise_multiplier=SIGMA, sample_rate=0.25)
        with pytest.raises(ValueError, match="keep noise_multiplier and sample_rate"):
            run.step(noise_multiplier=5.0, sample_rate=0.25)
    assert run.taken == 1


def test_no_claim_is_certified(tmp_path: Path) -> None:
    """Whatever was told, the claim says that it was told, and rests on what nobody here saw."""
    for number, more in enumerate(({}, {"steps": 10}, {"epsilon": 5.0}, {"epsilon": 4.0, "steps": 10})):
        folder = tmp_path / str(number)
        with watched(folder, **more) as run:
            assert claim_of_view(view_now(*_first(folder)), open_store(folder)).as_told
            for _ in range(2):
                run.step(**STEP)
        _, record, claim = only(folder)
        assert claim.as_told
        assert claim.name.endswith(TOLD)
        assert Claim.from_json(json.loads(json.dumps(record.summary["claim"]))) == claim
        for text in ("every step that used the data was told", "Poisson batches", "A divisor that follows"):
            assert any(text in one for one in assumptions(run.settings)), text
    assert not Claim.nothing("nothing").as_told


def _first(folder: Path) -> tuple[Store, str]:
    store, record, _ = only(folder)
    return store, record.id


# --- what a page asks -------------------------------------------------------------------------------------------------


def test_a_stop_on_a_page_raises_at_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match="do not take this step"), watched(tmp_path) as run:  # noqa: PT012
        run.step(**STEP)
        store, record, _ = only(tmp_path)
        store.set_desired(record.id, "stop")
        for _ in range(100_000):
            run.step(**STEP)
    record = store.run(record.id)
    assert (record.state, record.steps, dpviz.RunStopped) == ("stopped", run.taken, RunStopped)
    with pytest.raises(RuntimeError, match="within the watch's with block"):
        run.step(**STEP)


def test_a_loop_that_fails_is_recorded_as_failed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), watched(tmp_path) as run:  # noqa: PT012
        run.step(**STEP)
        raise ZeroDivisionError("division by zero")
    _, record, claim = only(tmp_path)
    assert (record.state, record.summary["text"]) == ("failed", "ZeroDivisionError: division by zero")
    assert claim.epsilon == exact(1, "mixture")


def test_curves_of_a_page_end_at_the_claim(tmp_path: Path) -> None:
    with watched(tmp_path, steps=30) as run:
        for _ in range(30):
            run.step(**STEP, loss=0.5)
        run.tell(test_accuracy=0.5)
    store, record, claim = only(tmp_path)
    view = view_now(store, record.id)
    assert view.steps["epsilon.renyi"][-1] == pytest.approx(exact(30, "renyi"), rel=1e-12)
    assert view.steps["epsilon.moments"][-1] == pytest.approx(exact(30, "moments"), rel=1e-12)
    along = claims_along(view, claim)
    assert along[-1] == claim.epsilon == exact(30)
    assert claims_of_shorter_plans(view, claim, np.array([30.0])).tolist() == [claim.epsilon]
    assert np.all(np.diff(along) >= 0.0)
    assert record.summary["test_accuracy"] == 0.5


def test_what_a_library_reports_stands_at_the_step_it_speaks_of(tmp_path: Path) -> None:
    with watched(tmp_path) as run:
        for number in range(3):
            run.step(**STEP, reported_epsilon=0.1 * number if number else None)
        run.tell(reported_epsilon=0.7)
    store, record, _ = only(tmp_path)
    assert view_now(store, record.id).steps["reported_epsilon"].tolist() == [0.1, 0.2, 0.7]


def test_norms_make_a_bayesian_epsilon_and_are_marked_as_private(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    with watched(tmp_path, steps=40, max_grad_norm=1.0) as run:
        for _ in range(40):
            run.step(**STEP, norms=random.uniform(0.0, 0.2, 300))
        with pytest.raises(ValueError, match="at most steps=40"):
            run.step(**STEP)
    store, record, claim = only(tmp_path)
    bayesian = record.summary["epsilon"]["bayesian"]
    assert 0.0 < bayesian < 0.8 * record.summary["epsilon"]["renyi"]
    assert claim.epsilon == exact(40)
    heading = steps_csv(store, record.id).decode().splitlines()[0]
    assert "epsilon.bayesian [not covered by ε]" in heading
    assert "loss [not covered by ε]" in heading
    (lengths,) = {len(step) for event in store.events(record.id) for step in event.data.get("distances") or ()}
    assert lengths == 100  # of 300
    copy = import_run(store, export_run(store, record.id))
    assert copy.summary["epsilon"]["bayesian"] == pytest.approx(bayesian, rel=1e-9)
    assert disputes_of(copy, store) == ()


# --- files ------------------------------------------------------------------------------------------------------------


def file_with(store: Store, record: RunRecord, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file of a run, edited by somebody who left no checksum in it."""

    def edit(tree: Any) -> None:
        for part in (*tree["events"], *tree["attempts"]):
            part.get("data", part).pop("checksum", None)
        change(tree["run"]["summary"])
        for event in tree["events"]:
            change(event["data"])

    return changed(edit)(export_run(store, record.id))


def test_an_imported_claim_is_worked_out_anew(tmp_path: Path) -> None:
    store, record, claim = ended(tmp_path)

    def lower(data: dict[str, Any]) -> None:
        if isinstance(data.get("claim"), dict):
            data["claim"] |= {"epsilon": 0.01, "as_told": False}

    copy = import_run(store, file_with(store, record, lower))
    assert claim_of_record(copy, store) == claim
    assert [dispute.recorded for dispute in disputes_of(copy, store)] == [0.01]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["fixed", SIGMA, N, 50], "mechanisms of the told sampler"),
        (["replace", SIGMA, RATE], "mechanisms of the told sampler"),
        (["shuffled", SIGMA, 4], "mechanisms of the told sampler"),
    ],
)
def test_a_file_with_mechanisms_of_another_sampler_is_refused(tmp_path: Path, wrong: list[Any], words: str) -> None:
    store, record, _ = ended(tmp_path)

    def put(data: dict[str, Any]) -> None:
        if data.get("kind") == "step":
            data["mechanisms"] = [[*wrong, data["count"]]]

    with pytest.raises(NotARun, match=words):
        import_run(store, file_with(store, record, put))


def test_a_file_with_fewer_charges_than_steps_is_refused(tmp_path: Path) -> None:
    with watched(tmp_path, sampler="shuffled", adjacency="zero_out") as run:
        for _ in range(8):
            run.step(noise_multiplier=SIGMA, sample_rate=0.25)
    store, record, _ = only(tmp_path)

    def leave_out(data: dict[str, Any]) -> None:
        if data.get("kind") == "step":
            data["mechanisms"] = []

    with pytest.raises(NotARun, match="one mechanism for each step, or for each epoch"):
        import_run(store, file_with(store, record, leave_out))


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sampler": None}, 'sampler to be given. Choose "poisson": each example joins each step'),
        ({"adjacency": None}, 'adjacency to be given. Choose "add_remove": add or remove one example; "zero_out"'),
        ({"sampler": "DPDataLoader"}, "sampler='DPDataLoader' to be one of them"),
        ({"sampler": "shuffled"}, "adjacency='add_remove' to be \"zero_out\""),
        ({"examples": 0}, "examples"),
        ({"delta": 1.0}, "delta"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"steps": 0}, "steps"),
        ({"max_grad_norm": 1.0}, "Expected steps with max_grad_norm"),
        ({"max_grad_norm": 1.0, "steps": 5, "adjacency": "replace_one"}, "Leave it out"),
    ],
)
def test_a_watch_that_cannot_be_priced_is_refused(tmp_path: Path, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        watched(tmp_path, **wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"sample_rate": 1.5}, "sample_rate"),
        ({"norms": [1.0]}, "no norms without C"),
        ({"reported_epsilon": -1.0}, "reported_epsilon"),
    ],
)
def test_a_step_that_cannot_be_priced_is_not_charged(tmp_path: Path, wrong: dict[str, Any], words: str) -> None:
    with watched(tmp_path) as run, pytest.raises(ValueError, match=words):
        run.step(**{**STEP, **wrong})
    store, record, claim = only(tmp_path)
    assert (record.steps, mechanisms(store.digest(record.id)), claim.reason) == (0, (), "no step was told")


def test_settings_of_another_version_are_unknown() -> None:
    stored = ToldSettings(examples=N, delta=DELTA, sampler="poisson", adjacency="add_remove").to_json()
    with pytest.raises(ValueError, match="of version 1"):
        ToldSettings.from_json({**stored, "watched": 2})
    with pytest.raises(ValueError, match="of version 1"):
        ToldSettings.from_json({**stored, "more": 2})
