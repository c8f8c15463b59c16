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

MEASURED = {"leakage", "membership"}  # their frames train other networks


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


@pytest.mark.parametrize("key", sorted(QUESTIONS, key=lambda key: (key not in {"expected", *MEASURED}, key)))
@pytest.mark.one_of(8)
@pytest.mark.usefixtures("as_in_a_browser")
def test_a_question_answers_and_makes_its_frames_with_one_thread(key: str) -> None:
    question = QUESTIONS[key]
    asked = ask(key)
    assert asked.headline
    get = SettingsSnapshot(of_texts(question.texts(asked.answer.given)))
    for field, _, values in movable(question, get):
        if key in MEASURED:
            break
        stop = next(tick for tick in field.ticks if tick != get(field))
        assert made_of_values(key, field.key, values, False, field.write(stop)).kept, field.key


def test_the_three_that_look_for_runs_need_no_psutil(as_in_a_browser: None) -> None:
    """There are no runs where nothing can record one."""
    with pytest.raises(RuntimeError, match="was started"):
        threading.Thread(target=print).start()
    assert ask("expected").headline.startswith("At ε ≤ 2")
