"""The training loop of all methods: trains, accounts step by step, and reports in events (see `events`).

>>> summary = run(RunSettings(steps=20), print, FreeRun())
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

import torch

from dpviz.accounting.claims import Claim
from dpviz.training.accelerator import chosen_device
from dpviz.training.accounts.claims import RELEASED_NOTHING
from dpviz.training.accounts.live import check_run
from dpviz.training.attempts import Charged, Checkpoints
from dpviz.training.checkpoint import begin_again, can_be_saved, restore, save
from dpviz.training.data.catalogue import TrainingData, load
from dpviz.training.events import Event
from dpviz.training.networks.by_name import preparation, prepared, suits
from dpviz.training.progress import Progress, listening
from dpviz.training.session import Ended, Session
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing

Order = Literal["go", "pause", "stop", "step"]

POLL_EVERY = 0.25  # seconds between two questions to the control
TELL_EVERY = 0.5  # and between two events about how far the preparation is


class Control(Protocol):
    """How a run is held: asked at most four times a second while it runs, and at every step in slow motion.

    "go" runs on, "pause" waits, "step" takes one step (each answer "step" is one step, then it is asked again), "stop"
    ends the run, which then still writes its last events.
    """

    def poll(self) -> Order: ...


class FreeRun:
    """A control that lets the run go on to its end."""

    def poll(self) -> Order:
        return "go"


def run(
    settings: RunSettings,
    emit: Callable[[Event], None],
    control: Control,
    *,
    slow: float = 0.0,
    weights_to: str | Path | None = None,
    checkpoints: Checkpoints | None = None,
) -> dict[str, Any]:
    """Train as `settings` say and tell about it.

    Args:
        settings: What to do.
        emit: Called with each event, in order, from this thread; an exception in it ends the run.
        control: How the run is held.
        slow: Seconds to wait after each step (slow motion); each step is then an event of its own.
        weights_to: Where the parameters are saved at the end, for `start_from` and for attacks; None for nowhere.
        checkpoints: Where the run goes on from, if it was interrupted, and what it leaves on its way, at pauses and
            where it is stopped; None for neither. With one that cannot be used it begins at step 1, and says so.

    Returns:
        The summary, which the last event also holds (see `events`).

    Raises:
        ValueError: for settings that cannot work, and where earlier attempts left no budget; nothing was emitted then
            (but of features that were computed before `start_from` turned out to be another model's).
        DataUnavailable: if the data is not here; nothing was emitted then.
        Exception: whatever went wrong later, after an event "failed" told so.
    """
    settings.check()
    data = load(settings.data, settings.data_folder)
    examples = data.units(settings)
    check_run(settings, examples)
    suits(settings.model, data)
    chosen_device(settings.device)
    try:
        data = _prepared(settings, data, emit, control)
    except Ended:
        return _stopped_ahead(settings, examples, emit)
    session = _session(settings, data, emit, weights_to, checkpoints)
    session.start()
    keeper = _Keeper(checkpoints, session)
    pace = _Pace(control, slow, keeper.save)
    try:
        while True:
            session.advance(watch=pace.wait(session))
            keeper.stepped()
    except Ended as ended:
        return session.finish(keeper.at_the_end(ended))
    except Exception as error:
        session.finish(_failure(error))
        raise


def _session(
    settings: RunSettings,
    data: TrainingData,
    emit: Callable[[Event], None],
    weights_to: str | Path | None,
    checkpoints: Checkpoints | None,
) -> Session:
    if checkpoints is None or (checkpoints.latest is None and checkpoints.charged is None):
        return Session(settings, data, emit, weights_to=weights_to)
    saved, run, charged = checkpoints.latest, checkpoints.run, checkpoints.charged
    why = "No checkpoint was kept."
    if saved is not None:
        try:
            return restore(saved, settings, data, emit, run=run, weights_to=weights_to, charged=charged)
        except ValueError as error:
            why = f"Its checkpoint cannot be used. {error}"
    return begin_again(settings, data, emit, charged or Charged(), why=why, weights_to=weights_to)


def _failure(error: Exception) -> Ended:
    if isinstance(error, torch.OutOfMemoryError):  # the rest of its text is about PyTorch's own allocator
        reason = str(error).split(". ")[0].rstrip(".")
        return Ended(
            "memory",
            f"A step of this run needs more memory than there is: {reason}. Take a smaller batch, fewer views or a "
            "smaller model, or train on the CPU.",
        )
    return Ended("error", f"{type(error).__name__}: {error}")


def _prepared(
    settings: RunSettings, data: TrainingData, emit: Callable[[Event], None], control: Control
) -> TrainingData:
    """The data as the model reads it; what takes long is told, and held by the control.

    Raises:
        Ended: when the control says stop.
    """
    text = preparation(settings.model, data)
    if text:
        emit({"kind": "note", "step": 0, "time": 0.0, "text": text})
    began, latest = time.monotonic(), -math.inf

    def tell(progress: Progress) -> None:
        nonlocal latest
        now = time.monotonic()
        if now - latest >= TELL_EVERY or progress.done >= progress.total:
            latest = now
            at = {"done": progress.done, "total": progress.total, "left": progress.left}
            emit({"kind": "progress", "step": 0, "time": now - began, **at, "text": progress.words})
        while (order := control.poll()) == "pause":
            time.sleep(POLL_EVERY)
        if order == "stop":
            raise Ended("stopped", "Stopped after step 0.")

    with listening(tell):
        return prepared(settings.model, data)


def _stopped_ahead(settings: RunSettings, examples: int, emit: Callable[[Event], None]) -> dict[str, Any]:
    """The summary of a run that released nothing."""
    summary = closing(settings, None, examples=examples, state="stopped", reason="stopped", steps=0, seconds=0.0)
    summary |= {"weights": None, "text": "Stopped before the first step."}
    if settings.private:
        summary["claim"] = Claim.nothing(RELEASED_NOTHING, settings.delta).to_json()
    emit({"kind": "stopped", "step": 0, "time": 0.0, **summary})
    return summary


class _Keeper:
    """Saves a checkpoint as often as agreed, where a run can have one."""

    def __init__(self, checkpoints: Checkpoints | None, session: Session) -> None:
        self._checkpoints = checkpoints if can_be_saved(session.settings) else None
        self._session, self._step, self._saved, self._problem = session, session.step, time.monotonic(), ""

    def stepped(self) -> None:
        """After each step; raises as `save`."""
        if self._checkpoints is not None and time.monotonic() - self._saved >= self._checkpoints.every:
            self.save()

    def save(self) -> None:
        """A checkpoint of this step, unless one was made; a full disk costs the checkpoint, not the run.

        Raises:
            Ended: where a loss shows only now that the run is over.
        """
        if self._checkpoints is None or self._step == self._session.step:
            return
        saved = save(self._session, run=self._checkpoints.run)
        self._step, self._saved = self._session.step, time.monotonic()
        try:
            self._checkpoints.keep(saved)
            self._problem = ""
        except OSError as error:
            if self._problem != str(error):
                self._session.emit("note", text=f"No checkpoint could be kept: {error}.")
            self._problem = str(error)

    def at_the_end(self, ended: Ended) -> Ended:
        """Of a run that is stopped, so that it may go on later; why it is over, in any case."""
        try:
            if ended.state == "stopped":
                self.save()
        except Ended as broken:
            return broken
        return ended


class _Pace:
    """Asks the control as often as agreed and waits while it says so; `held` is called at a pause."""

    def __init__(self, control: Control, slow: float, held: Callable[[], None]) -> None:
        self._control, self._slow, self._held = control, slow, held
        self._asked = -POLL_EVERY
        self._due = 0.0
        self._last: Order = "go"

    def wait(self, session: Session) -> bool:
        """Returns when the next step may be taken, and whether it is to be watched: in slow motion, or by itself.

        Raises:
            Ended: when the control says stop.
        """
        held = self._slow > 0.0 or self._last in ("step", "pause")
        if not held and time.monotonic() - self._asked < POLL_EVERY:
            return False
        while True:
            self._asked = time.monotonic()
            order = self._last = self._control.poll()
            if order == "stop":
                raise Ended("stopped", f"Stopped after step {session.step}.")
            if order == "step" or (order == "go" and time.monotonic() >= self._due):
                break
            session.flush()
            if order == "pause":
                self._held()
            left = max(self._due - time.monotonic(), 0.0) if order == "go" else POLL_EVERY
            time.sleep(min(left, POLL_EVERY))
        self._due = time.monotonic() + self._slow
        return self._slow > 0.0 or order == "step"
