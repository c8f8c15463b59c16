"""Questions without threads, processes, psutil and Linux's files about processes: what Python in a browser lacks."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from dpviz import ask
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.frames import made_of_values, movable
from dpviz.questions.layout import SettingsSnapshot, of_texts
from dpviz.runs import processes

OF_RUNS = {"expected", "leakage", "membership"}  # they look for runs of this machine


def refused(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("A thread or a process was started.")


@pytest.fixture
def as_in_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing can be started, and no file or package tells of processes."""
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.setattr(processes, "_text", lambda _: "")
    processes.this_machine.cache_clear()
    yield
    processes.this_machine.cache_clear()


@pytest.mark.parametrize("key", sorted(OF_RUNS))
@pytest.mark.usefixtures("as_in_a_browser")
def test_a_question_about_runs_answers_and_makes_its_frames_with_one_thread(key: str) -> None:
    """The networks of other frames are trained on the spot, by this thread."""
    answers_and_makes_its_frames(key)


@pytest.mark.parametrize("key", sorted(QUESTIONS.keys() - OF_RUNS))
@pytest.mark.one_of(8)
@pytest.mark.usefixtures("as_in_a_browser")
def test_a_question_answers_and_makes_its_frames_with_one_thread(key: str) -> None:
    answers_and_makes_its_frames(key)


def answers_and_makes_its_frames(key: str) -> None:
    question = QUESTIONS[key]
    asked = ask(key)
    assert asked.headline
    get = SettingsSnapshot(of_texts(question.texts(asked.answer.given)))
    for field, _, values in movable(question, get):
        stop = next(tick for tick in field.ticks if tick != get(field))
        assert made_of_values(key, field.key, values, False, field.write(stop)).kept, field.key


def test_where_no_thread_can_be_started_none_is(as_in_a_browser: None) -> None:
    with pytest.raises(RuntimeError, match="was started"):
        threading.Thread(target=print).start()
    with pytest.raises(RuntimeError, match="was started"):
        subprocess.Popen(["true"])
