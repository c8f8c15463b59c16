"""Data sets of one's own from the folder to the exported run: trained, claimed, and passed on without a path."""

import gzip
import re
from pathlib import Path

import pytest

from dpviz.accounting.claims import Claim
from dpviz.runs.cluster.launch import worker_environment
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.views import view_of
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.live import check_run
from dpviz.training.data import catalogue
from dpviz.training.data.base import DataUnavailable
from dpviz.training.defaults import examples_of, recommended
from dpviz.training.loop import FreeRun, run
from dpviz.training.settings import RunSettings
from dpviz.ui.runs.report import html_report
from tests import own_sets
from tests.runs.exported import opened
from tests.ui.runs_made import events_of, fresh_engine, record

MADE = {"own:tea": own_sets.table, "own:signs": own_sets.arrays, "own:pets": own_sets.images}

PUBLIC = "scaling, sizes and classes of these data are public, as their owner declared"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "jane's data"
    found.mkdir()
    monkeypatch.setenv("DPVIZ_DATA", str(found))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


def settings(data: str, model: str, **changed: object) -> RunSettings:
    return RunSettings(data=data, model=model, batch_size=6, steps=3, learning_rate=0.05, threads=1).with_(**changed)


@pytest.mark.parametrize(
    ("data", "model", "examples"),
    [("own:tea", "mlp", 48), ("own:tea", "bayesian-logistic", 48), ("own:signs", "cnn", 40),
     ("own:signs", "scattering", 40), ("own:pets", "resnet", 12)],
)  # fmt: skip
def test_each_kind_is_trained_and_charged_with_what_was_declared(
    folder: Path, data: str, model: str, examples: int
) -> None:
    MADE[data](folder)
    events: list[dict] = []
    asked = settings(data, model, prior_std=1.0 if model == "bayesian-logistic" else 0.0)
    summary = run(asked, events.append, FreeRun())
    started = next(event for event in events if event["kind"] == "started")
    assert (summary["state"], summary["steps"]) == ("done", 3)
    assert started["examples"] == examples == examples_of(data)
    assert {q for _, q, _ in summary["mechanisms"]} == {6 / examples}
    assert summary["claim"] == planned_claim(asked, examples).to_json()
    assert any(text.startswith(f"on condition that {PUBLIC}") for text in started["claim"]["conditions"])
    assert re.fullmatch("[0-9a-f]{32}", started["data_mark"])
    assert not list(folder.parent.glob("cache/**/*.npy"))  # features of private images are kept nowhere


def test_files_that_changed_are_read_again(folder: Path) -> None:
    own_sets.table(folder)
    first = catalogue.load("own:tea")
    assert catalogue.load("own:tea") is first
    own_sets.table(folder, rows=["5,80,black,no"] * 60)
    second = catalogue.load("own:tea")
    assert second.mark != first.mark
    assert second.train_y.sum() == 0


def test_a_model_that_cannot_read_it_is_refused(folder: Path) -> None:
    own_sets.table(folder)
    with pytest.raises(ValueError, match="model='cnn' with images of at least 14"):
        run(settings("own:tea", "cnn"), print, FreeRun())


def test_settings_know_the_name_and_not_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPVIZ_DATA", raising=False)
    settings("own:tea", "mlp").check()
    with pytest.raises(DataUnavailable, match="not on the machine that trains"):
        run(settings("own:tea", "mlp"), print, FreeRun())
    with pytest.raises(ValueError, match="Expected data='own:tea' to be described here"):
        examples_of("own:tea")


def test_usual_settings_fit_a_small_set(folder: Path) -> None:
    own_sets.table(folder)
    found = recommended("own:tea", "mlp", target_epsilon=3.0)
    assert found.batch_size == 4
    check_run(found, 48)
    claim = planned_claim(found, 48)
    assert claim.holds
    assert claim.epsilon <= 3.0


def test_workers_of_this_machine_find_the_same_folder(folder: Path) -> None:
    assert worker_environment(1, preload=False)["DPVIZ_DATA"] == str(folder)


def test_an_exported_run_holds_name_and_mark_and_no_path_and_comes_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_sets.table(folder)
    asked = settings("own:tea", "logistic")
    events = events_of(asked)
    for engine in fresh_engine(tmp_path / "home", monkeypatch):
        kept = record(engine, asked, events)
        exported = export_run(engine.store, kept.id)
        text = gzip.decompress(exported).decode()
        mark = next(event.data["data_mark"] for event in events if event.kind == "started")
        assert opened(exported)["run"]["settings"]["data"] == "own:tea"
        assert mark in text
        view = view_of(engine.store.run(kept.id), engine.store.digest(kept.id))
        for told in (text, html_report(view, Claim.nothing("", 1e-5))):
            assert mark in told
            assert "jane" not in told
        # Where it is not: ε is worked out again from N as the file says, and the data are known by name only.
        monkeypatch.delenv("DPVIZ_DATA")
        copy = import_run(engine.store, exported)
        assert copy.settings["data"] == "own:tea"
        assert copy.summary["claim"] == kept.summary["claim"]
        assert not engine.store.events(copy.id)[-1].data["disputes"]


def test_a_file_that_is_wrong_ends_the_run_without_what_it_holds(folder: Path) -> None:
    own_sets.table(folder, rows=["hunter2,80,black,no"])
    with pytest.raises(ValueError, match=r"tea\.csv, line 2, column 'minutes': expected a number") as refused:
        run(settings("own:tea", "mlp"), print, FreeRun())
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
