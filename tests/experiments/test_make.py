"""Records are made from nothing, kept part by part, and finished once all is there."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest

from dpviz.experiments import make
from dpviz.experiments.experiment import TRAINED, Experiment, training_arm
from dpviz.experiments.make import finish, keep, kept
from dpviz.experiments.record import ExperimentRecord, recorded
from tests.experiments.same import same_settings

ROOT = Path(__file__).resolve().parents[2]

TINY = Experiment(
    key="tiny",
    title="Logistic regression on digits, five steps",
    arms={
        "more": training_arm(model="logistic", steps=5, noise_multiplier=2.0, evaluation_every=0),
        "less": training_arm(model="logistic", steps=5, noise_multiplier=1.0, evaluation_every=0),
    },
    seeds=(0, 1),
    measure=TRAINED,
)


@pytest.fixture(autouse=True)
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that runs a page leaves it as the main module, which processes that are started would run again."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


def made(tmp_path: Path, experiment: Experiment, **options: Any) -> tuple[bool, list[str]]:
    """Whether all could be made, and what was said."""
    lines: list[str] = []
    folders = {"parts": tmp_path / "parts", "into": tmp_path / "records"} | options
    return make.make([experiment], jobs=1, say=lines.append, **folders), lines


def test_a_record_from_nothing(tmp_path: Path) -> None:
    complete, lines = made(tmp_path, TINY)
    record = ExperimentRecord.from_text(text := (tmp_path / "records" / "tiny.json").read_text())
    assert complete
    assert same_settings(TINY, record)
    assert record.of("more")[1] == replace(TINY.run("more", 1), seconds=record.of("more")[1].seconds), "seeds decide"
    assert record.values("more", "test_accuracy").tolist() != record.values("less", "test_accuracy").tolist()
    assert (record.values("more", "epsilon") < record.values("less", "epsilon")).all()
    assert record.of("less")[0].found["schedule"] == [[1.0, 1024, 5]]
    assert list((tmp_path / "parts").iterdir()) == [], "the next call begins from nothing"
    assert lines[0] == "4 runs to make."
    for number, line in enumerate(lines[1:5], 1):
        assert (f"{number} of 4" in line, "left" in line) == (True, number < 4)
    assert record.to_text() == text
    assert json.loads(text)["experiment"] == "tiny"
    assert record.made.startswith("2 seeds, CPU, ")
    with pytest.raises(ValueError, match="record of an experiment"):
        ExperimentRecord.from_text("{}")


def part_of(tmp_path: Path, experiment: Experiment, arm: str, seed: int) -> None:
    keep(experiment, replace(TINY.run("more", 0), arm=arm, seed=seed), tmp_path)


@pytest.mark.sweep
def test_it_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    for arm, seed in TINY.trials[:-1]:
        part_of(tmp_path, TINY, arm, seed)
    assert not finish(TINY, tmp_path, tmp_path), "one is missing"
    assert not (tmp_path / "tiny.json").exists()
    _, lines = made(tmp_path, TINY, parts=tmp_path, into=tmp_path)
    assert lines[0] == "1 runs to make, 3 are kept from before."
    assert len(ExperimentRecord.from_text((tmp_path / "tiny.json").read_text()).trials) == 4


def test_parts_of_other_settings_are_not_taken(tmp_path: Path) -> None:
    part_of(tmp_path, TINY, "more", 0)
    assert kept(TINY, "more", 0, tmp_path) is not None
    other: dict[str, Any] = {**TINY.arms, "more": training_arm(model="logistic", steps=6)}
    assert kept(replace(TINY, arms=other), "more", 0, tmp_path) is None
    assert kept(replace(TINY, measure="elsewhere:train"), "more", 0, tmp_path) is None


@pytest.mark.sweep
def test_what_needs_data_that_is_not_here_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # no mirror answers
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "tiny.json").write_text(before := recorded("teachers").to_text())
    away = replace(TINY, arms={"whole": dict(TINY.arms["more"]) | {"data": "svhn"}}, seeds=(0,))
    complete, lines = made(tmp_path, away)
    assert complete, "that is no failure"
    assert any("tiny, whole, seed 0: left out, svhn is not here" in line for line in lines)
    assert (tmp_path / "records" / "tiny.json").read_text() == before


def test_what_fails_is_said_and_the_rest_is_kept(tmp_path: Path) -> None:
    broken = dict(TINY.arms["more"]) | {"batch_size": 20_000}
    experiment = replace(TINY, arms={"more": TINY.arms["more"], "broken": broken}, seeds=(0,))
    complete, lines = made(tmp_path, experiment)
    assert not complete
    assert any("broken, seed 0: failed, ValueError: Expected batch_size=20000" in line for line in lines)
    assert kept(experiment, "more", 0, tmp_path / "parts") is not None
    assert not (tmp_path / "records" / "tiny.json").exists()


def test_an_unknown_name_is_said_and_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert make.main(["nowhere"]) == 2
    assert "Expected experiment='nowhere' to be one of budget_cnn," in capsys.readouterr().err


def test_settings_that_are_the_same() -> None:
    settings = {arm: dict(each) for arm, each in TINY.arms.items()}
    trials = tuple(replace(TINY.run("more", 0), arm=arm, seed=seed) for arm, seed in TINY.trials)
    record = ExperimentRecord(key="tiny", command="make papers", settings=settings, trials=trials)
    assert same_settings(TINY, record)
    assert not same_settings(TINY, replace(record, trials=trials[1:]))
    later = {arm: {name: v for name, v in each.items() if name != "friction"} for arm, each in settings.items()}
    assert same_settings(TINY, replace(record, settings=later)), "it came later, and has its default"
    assert not same_settings(TINY, replace(record, settings=settings | {"less": settings["more"]}))


SLOW = """
import sys, time
from pathlib import Path
from dpviz.experiments.experiment import Experiment
from dpviz.experiments.make import make

def wait(settings, seed):
    Path(sys.argv[1], "begun").touch()
    time.sleep(60)

if __name__ == "__main__":
    one = Experiment(key="slow", title="Slow", arms={"one": {}}, seeds=(0,), measure="slow:wait")
    make([one], jobs=1, parts=Path(sys.argv[1]), into=Path(sys.argv[1]))
"""


def test_a_killed_call_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    within = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    call = subprocess.Popen([sys.executable, tmp_path / "slow.py", tmp_path], env=within, stdout=subprocess.DEVNULL)
    try:
        until(lambda: (tmp_path / "begun").exists())
        workers = psutil.Process(call.pid).children()
    finally:
        call.kill()
        call.wait()
    assert workers
    until(lambda: not any(lives(worker) for worker in workers))


def lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
