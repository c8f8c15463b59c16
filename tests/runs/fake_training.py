"""Training functions without any training: fast, free of torch, for the engine's tests."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpviz.training.progress import advance, task


def plain(settings: dict[str, Any], emit: Callable[[dict[str, Any]], None], control: Any, **options: Any) -> None:
    """`steps` steps of `pause` seconds each, held by the control."""
    emit({"kind": "started", "step": 0, "time": 0.0, "settings": settings, "options": options, "pid": os.getpid()})
    step = 0
    while step < settings.get("steps", 5):
        order = control.poll()
        if order == "stop":
            emit({"kind": "stopped", "step": step, "text": f"Stopped after step {step}."})
            return
        if order == "pause":
            continue
        step += 1
        time.sleep(settings.get("pause", 0.0))
        emit({"kind": "step", "step": step, "loss": 1.0 / step, "sent": time.time()})
    emit({"kind": "done", "step": step, "text": "All steps done.", "test_accuracy": 0.5})


def counted(count: int, pause: float = 0.0, note: str = "") -> dict[str, Any]:
    """A measurement that counts, notes each number at the end of the file `note`, and says who counted."""
    with task("counting", "sheep", count):
        for number in range(count):
            time.sleep(pause)
            advance()
            if note:
                with Path(note).open("a") as file:
                    file.write(f"{number} ")
    return {"count": count, "pid": os.getpid()}


def content(path: str) -> tuple[str, str]:
    """A measurement of a file: what is in it, and where it lay."""
    return Path(path).read_text(), path


def not_counted(kind: str) -> None:
    """A measurement that comes to nothing."""
    raise {"value": ValueError, "other": RuntimeError}[kind]("out of luck")


def releasing(settings: dict[str, Any], emit: Any, control: Any, weights_to: str, waiting: str) -> None:
    """Charges its steps, then leaves parameters in a file if that charge is on the disk."""
    emit({"kind": "started", "step": 0})
    emit({"kind": "charged", "step": 9, "through": 9, "mechanisms": [[2.0, 0.1, 9]]})
    if any("charged" in file.read_text() for file in Path(waiting).glob("*.jsonl")):
        Path(weights_to).write_text("weights")
    time.sleep(settings.get("pause", 0.0))
    emit({"kind": "done", "step": 9, "text": "All steps done."})


def refusing(settings: dict[str, Any], emit: Any, control: Any) -> None:
    raise ValueError(f"Expected steps={settings['steps']} to be something else.")


def breaking(settings: dict[str, Any], emit: Any, control: Any) -> None:
    emit({"kind": "step", "step": 1, "loss": float("nan")})
    raise RuntimeError("out of luck")


def silent(settings: dict[str, Any], emit: Any, control: Any) -> None:
    """Ends without a word."""


def deaf(settings: dict[str, Any], emit: Any, control: Any) -> None:
    """Never asks the control."""
    emit({"kind": "started", "step": 0, "pid": os.getpid()})
    while True:
        time.sleep(0.05)


def failing_in_words(settings: dict[str, Any], emit: Any, control: Any) -> None:
    emit({"kind": "failed", "text": "in its own words"})
    raise RuntimeError("and then as every exception")


def unavailable(settings: dict[str, Any], emit: Any, control: Any) -> None:
    """An error of a module of ours."""
    raise type("Unavailable", (RuntimeError,), {"__module__": "dpviz.training.data.base"})("The digits are not here.")
