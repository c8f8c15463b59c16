"""What runs in a worker: the target is called, its events are sent in batches, its control asks the scheduler."""

from __future__ import annotations

import importlib
import threading
import time
import traceback
import uuid
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dpviz._extras import extra
from dpviz.runs import jsontext
from dpviz.runs.memory import give_back
from dpviz.runs.processes import this_process
from dpviz.runs.records import CONTROL_KIND, FINAL_KINDS, EventRow

TRAINING = "dpviz.runs.work:train"

# Seconds: how long an event may wait for company, and how often at most the scheduler is asked what the user wants.
# Training asks us every 0.25 s: as long a pause here would leave out every other question.
FLUSH_INTERVAL = 0.1
POLL_INTERVAL = 0.2
PAUSED_POLL_INTERVAL = 0.1

Event = dict[str, Any]
Send = Callable[[list[EventRow]], None]


def train(settings: Event, emit: Callable[[Event], None], control: AskedControl, **options: Any) -> None:
    """The target of real runs: `dpviz.training.loop.run`, imported here because only workers load torch."""
    with extra("train"):
        loop = importlib.import_module("dpviz.training.loop")
    loop.run(loop.RunSettings.from_json(settings), emit, control, **options)


class Sender:
    """Numbers events and passes them on a few times a second, from a thread of its own.

    Attributes:
        rows: Every event so far.
    """

    def __init__(self, send: Send) -> None:
        self.rows: list[EventRow] = []
        self._send = send
        self._sent = 0
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._news = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="dpviz-events", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        """Take one event; it is turned into text at once, so that the caller may change it afterwards."""
        data = dict(event)
        data.setdefault("step", self.rows[-1].step if self.rows else 0)
        data.setdefault("time", time.monotonic() - self._begun)
        text = jsontext.write(data)
        with self._lock:
            self.rows.append(EventRow(len(self.rows), str(data["kind"]), int(data["step"]), float(data["time"]), text))
        self._news.set()

    @property
    def ended(self) -> bool:
        """Whether a final event came."""
        return any(row.kind in FINAL_KINDS for row in self.rows)

    def _run(self) -> None:
        while not self._over:
            self._news.wait()
            self.flush()
            time.sleep(FLUSH_INTERVAL)  # more may come meanwhile: they travel together

    def flush(self) -> None:
        with self._sending:
            with self._lock:
                self._news.clear()
                fresh = self.rows[self._sent :]
                self._sent = len(self.rows)
            if fresh:
                self._send(fresh)

    def close(self) -> None:
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

    def _look(self, interval: float) -> None:
        if time.monotonic() - self._asked >= interval:
            self._asked = time.monotonic()
            # A scheduler that does not answer now must not end hours of training: the last desired state stands.
            with suppress(OSError, TimeoutError):
                self._desired, self._granted = self._ask()

    def _say(self, paused: bool) -> None:
        if paused != self._paused:
            self._paused = paused
            self._emit({"kind": CONTROL_KIND, "state": "paused" if paused else "running"})
            self._flush()

    def poll(self) -> str:
        """What to do next; a paused caller is held for a moment, so that its waiting loop does not spin."""
        self._look(PAUSED_POLL_INTERVAL if self._paused else POLL_INTERVAL)
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
        return self._desired


def _resolve(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    found = getattr(importlib.import_module(module), name, None)
    if not callable(found):
        raise ValueError(f"Expected target={target!r} to be the name of a function, as in 'module:function'.")
    return found  # type: ignore[no-any-return]


def call(target: str, settings: Event, options: Event, sender: Sender, control: AskedControl) -> None:
    """Call the target so that exactly one final event comes, whatever it does."""
    try:
        _resolve(target)(settings, sender.emit, control, **options)
    except Exception as error:
        if not sender.ended:
            # Our own errors, and those about values, are written for people: the name of their type says nothing more.
            worded = isinstance(error, ValueError) or type(error).__module__.startswith("dpviz.")
            text = str(error) if worded else f"{type(error).__name__}: {error}"
            sender.emit({"kind": "failed", "text": text, "traceback": traceback.format_exc()})
    if not sender.ended:
        sender.emit({"kind": "done", "reason": "end", "text": ""})


def variable_name(run: str) -> str:
    return f"dpviz-desired-{run}"


def work(run: str, topic: str, target: str, settings: Event, options: Event) -> tuple[str, dict[str, Any], bytes]:
    """The Dask task of one run.

    Returns:
        The execution's name, the worker, and all rows as compressed JSON, to fill gaps from.
    """
    from distributed import Variable, get_client, get_worker

    worker = get_worker()
    execution = uuid.uuid4().hex
    begun = time.time()
    described = {**this_process().to_json(), "address": worker.address}
    head = {"run": run, "execution": execution, "worker": described, "begun": begun}

    def send(rows: list[EventRow]) -> None:
        worker.log_event(topic, jsontext.write({**head, "rows": rows}))

    # An empty batch first: it says that this execution began, and where.
    send([])
    variable: Any = Variable
    desired_states = variable(variable_name(run), client=get_client())

    def ask() -> tuple[str, int]:
        desired, granted = desired_states.get(timeout=10)
        return str(desired), int(granted)

    sender = Sender(send)
    try:
        call(target, settings, options, sender, AskedControl(ask, sender.emit, sender.flush))
    finally:
        sender.close()
    history = zlib.compress(jsontext.write({**head, "rows": sender.rows}).encode(), 1)
    sender.rows.clear()
    give_back()
    return execution, described, history
