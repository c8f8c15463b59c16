"""The Dask task of a run: calls the target, writes its events where an app finds them, and asks what its user wants."""

from __future__ import annotations

import threading
import time
import traceback
import uuid
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from dpviz._extras import extra
from dpviz.runs.cluster.memory import give_back
from dpviz.runs.exchange.checksums import KEY, checksum
from dpviz.runs.processes import this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import CHARGED_KIND, CONTROL_KIND, FINAL_KINDS, TRAINING, EventRow, StoreError
from dpviz.runs.waiting import EventFile, Place, remove_checkpoint
from dpviz.training.settings import RunSettings

if TYPE_CHECKING:
    from dpviz.runs.attempts import Attempt
    from dpviz.training.loop import Order

# Seconds: how long an event may wait for company, and how often at most the scheduler is asked what the user wants.
# Training asks us every 0.25 s: as long a pause here would leave out every other question.
FLUSH_INTERVAL = 0.1
POLL_INTERVAL = 0.2
PAUSED_POLL_INTERVAL = 0.1
# Seconds: between two tries to record, for how long a program tries before its training stops, and a worker, whose
# disk may be full for a while.
RETRY = 0.2
PATIENCE = 5.0
WORKER_PATIENCE = 600.0

# Seconds without the store's file after which nobody wants its runs: while a damaged one is set aside there is none.
STORE_GONE = 5.0

Event = dict[str, Any]
Send = Callable[[list[EventRow]], None]


def train(
    settings: Event, emit: Callable[[Event], None], control: AskedControl, *, attempt: Attempt, **options: Any
) -> None:
    """The target of real runs: `dpviz.training.loop.run`, imported here because only workers load torch.

    It keeps checkpoints until the run has come to its end.
    """
    with extra("train"):
        from dpviz.training.loop import run
    summary = run(RunSettings.from_json(settings), emit, control, checkpoints=attempt.checkpoints(), **options)
    if summary["state"] == "done":
        remove_checkpoint(attempt.place.checkpoint(attempt.run))


class NotRecorded(StoreError):
    """What a run gives away cannot be recorded, so the run must not go on."""


class Sender:
    """Numbers events and passes them on a few times a second, from a thread of its own.

    What cannot be passed on is tried again, in its order: no event is left out. After `patience` seconds the run ends.

    Args:
        send: Passes events on, in order; when it returns they are on a disk.
        patience: Seconds.

    Attributes:
        rows: Every event so far.
    """

    def __init__(self, send: Send, *, patience: float = PATIENCE) -> None:
        self.rows: list[EventRow] = []
        self._send, self._patience = send, patience
        self._sent = 0
        self._checksum = ""
        self._failing: tuple[float, Exception] | None = None  # since when nothing can be passed on, and why
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._news = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="dpviz-events", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        """Take one event; it is turned into text at once, so that the caller may change it afterwards.

        A charge is recorded when this returns: what it covers may be released then.

        Raises:
            NotRecorded: if a charge cannot be.
        """
        data = dict(event)
        data.setdefault("step", self.rows[-1].step if self.rows else 0)
        data.setdefault("time", time.monotonic() - self._begun)
        kind, seq = str(data["kind"]), len(self.rows)
        self._checksum = checksum(self._checksum, seq, jsontext.strict(data))
        text = jsontext.write(data | {KEY: self._checksum})
        with self._lock:
            self.rows.append(EventRow(seq, kind, int(data["step"]), float(data["time"]), text))
        self._news.set()
        if kind == CHARGED_KIND:
            self.insist()

    @property
    def ended(self) -> bool:
        """Whether a final event came."""
        return any(row.kind in FINAL_KINDS for row in self.rows)

    def _run(self) -> None:
        while not self._over or self._sent < len(self.rows):
            self._news.wait()
            with suppress(Exception):  # kept in `_failing`, and tried again
                self.flush()
            time.sleep(FLUSH_INTERVAL)  # more may come meanwhile: they travel together

    def flush(self) -> None:
        """Pass on what has come, once; what raises is still to be passed on."""
        with self._sending:
            with self._lock:
                self._news.clear()
                fresh = self.rows[self._sent :]
            try:
                if fresh:
                    self._send(fresh)
            except Exception as error:
                self._failing = self._failing or (time.monotonic(), error)
                self._news.set()
                raise
            self._sent += len(fresh)
            self._failing = None

    def insist(self) -> None:
        """Pass on what has come, however often it takes.

        Raises:
            NotRecorded: if it does not succeed within `patience`.
        """
        begun = time.monotonic()
        while True:
            try:
                return self.flush()
            except Exception as error:
                self._refuse(min(begun, self._failing[0]) if self._failing else begun, error)
            time.sleep(RETRY)

    def check(self) -> None:
        """Raise NotRecorded if nothing could be passed on for `patience`."""
        failing = self._failing
        if failing is not None:
            self._refuse(*failing)

    def _refuse(self, since: float, error: Exception) -> None:
        if time.monotonic() - since > self._patience:
            raise NotRecorded(
                f"The steps of this run could not be recorded for {self._patience:g} s, so it was stopped. {error}"
            ) from error

    def close(self) -> None:
        """Pass on the rest; where that fails the thread goes on trying."""
        self._over = True
        self._news.set()
        self.flush()


class AskedControl:
    """Tells training what the user wants: "go", "pause", "step" or "stop". Cheap to ask often.

    Args:
        ask: Returns the desired state and the number of single steps granted so far, all together.
        emit: Told when the run is held and when it goes on.
        flush: Sends at once what was emitted: whoever asked for it is looking at the screen.
    """

    def __init__(
        self,
        ask: Callable[[], tuple[str, int]],
        emit: Callable[[Event], None],
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        self._ask = ask
        self._emit, self._flush = emit, flush
        self._desired, self._granted = ask()
        # What was granted to an earlier attempt is used up.
        self._used = self._granted
        self._asked = time.monotonic()
        self._paused = False

    def _say(self, paused: bool) -> None:
        if paused != self._paused:
            self._paused = paused
            self._emit({"kind": CONTROL_KIND, "state": "paused" if paused else "running"})
            self._flush()

    def poll(self) -> Order:
        """What to do next; a paused caller is held for a moment, so that its waiting loop does not spin."""
        if time.monotonic() - self._asked >= (PAUSED_POLL_INTERVAL if self._paused else POLL_INTERVAL):
            self._asked = time.monotonic()
            # A scheduler or store that does not answer must not end hours of training: the last desired state stands.
            with suppress(OSError, TimeoutError, StoreError):
                self._desired, self._granted = self._ask()
        if self._desired == "pause":
            self._say(paused=True)
            if self._granted > self._used:
                self._used += 1
                return "step"
            time.sleep(0.05)
            return "pause"
        if self._desired == "go":
            self._used = self._granted
            self._say(paused=False)
            return "go"
        return "stop"


def _resolve(target: str) -> Any:
    with suppress(AttributeError, ValueError):
        if callable(function := resolve_name(target)):
            return function
    raise ValueError(f"Expected target={target!r} to be the name of a function, as in 'module:function'.")


def call(target: str, settings: Event, options: Event, sender: Sender, control: AskedControl) -> None:
    """Call the target so that exactly one final event comes, whatever it does."""
    last: Event = {"kind": "done", "reason": "end", "text": ""}
    try:
        _resolve(target)(settings, sender.emit, control, **options)
    except Exception as error:
        # Our own errors, and those about values, are written for people: the name of their type says nothing more.
        worded = isinstance(error, ValueError) or type(error).__module__.startswith("dpviz.")
        text = str(error) if worded else f"{type(error).__name__}: {error}"
        last = {"kind": "failed", "text": text, "traceback": traceback.format_exc()}
    if not sender.ended:
        sender.emit(last)


def desired_state(client: Any, run: str) -> Any:
    """The Dask variable that the run's worker asks a few times a second.

    It holds what the user wants ("go", "pause", "stop") and how many single steps were granted. The scheduler keeps it
    also while no app is there.
    """
    from distributed import Variable

    make: Any = Variable
    return make(f"dpviz-desired-{run}", client=client)


def begun_executions(client: Any, run: str) -> Any:
    """The Dask variable with the names of a run's executions that have begun, oldest first.

    Each adds its own before it does anything: what it then charges is missed where its events cannot be read.
    """
    from distributed import Variable

    make: Any = Variable
    return make(f"dpviz-begun-{run}", client=client)


def add_begun(begun: Any, execution: str, wanted: Callable[[], bool]) -> list[str]:
    """Add an execution to those that have begun, however long a busy scheduler takes; those that began before it.

    Raises:
        TimeoutError, OSError: if the scheduler did not answer, and the execution is not `wanted` any more.
    """
    while True:
        try:
            before = [name for name in begun.get(timeout=10) if name != execution]  # which may have been added before
            begun.set([*before, execution], timeout=10)
            return before
        except (TimeoutError, OSError):
            if not wanted():
                raise
            time.sleep(RETRY)


GIVEN_UP = "Nobody waits for this attempt any more: its cluster has ended, or another attempt has begun."


def executes(worker: Any, key: str) -> bool:
    """Whether Dask's worker computes the task, and its scheduler waits for that: of one given up it does not."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state in ("executing", "long-running") and worker.status.name == "running"


class Wanted:
    """Whether anybody still wants this execution of a run.

    Args:
        worker: Dask's.
        key: Of the task.
        place: Where its events wait.
    """

    def __init__(self, worker: Any, key: str, place: Place) -> None:
        self._worker, self._key, self._place = worker, key, place
        self._watched, self._seen = place.beside, time.monotonic()

    def why_not(self) -> str:
        """Why nobody does, in words; "" as long as somebody does."""
        now = time.monotonic()
        if not executes(self._worker, self._key):
            return GIVEN_UP
        if self._place.beside:
            self._seen = now
        if self._watched and now - self._seen > STORE_GONE:
            store = self._place.store
            return f"Nobody waits for this run any more: the folder {store} no longer holds the recorded runs."
        return ""


def work(
    run: str,
    key: str,
    cluster: str,
    place: Place,
    target: str,
    settings: Event,
    options: Event,
    before: Event | None = None,
) -> None:
    """The Dask task of one run, whose events wait in a file; `cluster` as the app that sent it calls it; `before`: as
    of `Attempt`."""
    from distributed import get_client, get_worker

    worker = get_worker()
    described = {**this_process().to_json(), "address": worker.address, "cluster": cluster}
    client, execution = get_client(), uuid.uuid4().hex
    earlier = add_begun(begun_executions(client, run), execution, lambda: executes(worker, key))
    head = {"run": run, "execution": execution, "worker": described, "begun": time.time(), "earlier": earlier}
    file = EventFile(place, head)
    desired, wanted = desired_state(client, run), Wanted(worker, key, place)

    sender = Sender(file.append, patience=WORKER_PATIENCE)
    if target == TRAINING:
        from dpviz.runs.attempts import Attempt  # only workers that train need what it stands on

        options = {**options, "attempt": Attempt(run, place, earlier, before, wanted.why_not)}

    def ask() -> tuple[str, int]:
        if why := wanted.why_not():
            sender.emit({"kind": "note", "text": why})
            return "stop", 0
        state, granted = desired.get(timeout=10)
        return str(state), int(granted)

    try:
        call(target, settings, options, sender, AskedControl(ask, sender.emit, sender.flush))
    finally:
        sender.close()
        file.close()
    sender.rows.clear()
    give_back()
