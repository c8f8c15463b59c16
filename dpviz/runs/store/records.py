"""The store's records of a run, as values that training, store and pages share."""

import uuid
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dpviz.runs.processes import Process

State = Literal["queued", "running", "paused", "restarted", "done", "stopped", "failed", "lost"]
DesiredState = Literal["go", "pause", "stop", "kill"]

# "restarted": its worker died, or it was asked to go on, and another attempt is under way.
ACTIVE: tuple[State, ...] = ("running", "paused", "restarted")
OPEN: tuple[State, ...] = ("queued", *ACTIVE)
ENDED: tuple[State, ...] = ("done", "stopped", "failed", "lost")
STATES: tuple[State, ...] = (*OPEN, *ENDED)

# Event kinds that end a run, and the state that they end it in.
FINAL_KINDS: dict[str, State] = {"done": "done", "stopped": "stopped", "failed": "failed"}
CONTROL_KIND = "control"
# Everything that may have been released from here on, before it is: the run's ledger.
CHARGED_KIND = "charged"
# What an attempt that knows of earlier ones begins with.
CONTINUED_KIND = "continued"
# Added to a run that came from a file: what it recorded that does not follow from its mechanisms.
IMPORTED_KIND = "imported"

# The target of real runs.
TRAINING = "dpviz.runs.work:train"

RESTARTED = "its worker ended; it goes on from its last checkpoint, or runs again from its first step"
GOES_ON = "it goes on from its last checkpoint"
# Outcome of an attempt of a worker's that was given up before everything it had written was read: it may have charged,
# and released, more than its events say.
UNREAD = "unread"


class StoreError(RuntimeError):
    """The store cannot be read or written; the message names the file and says what helps."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as recorded in the store.

    Attributes:
        id: Unique name.
        number: Counts up within one store; for people.
        name, note: The user's words.
        target: "module:function" that trains.
        settings, options: What it is called with; JSON values.
        state: One of STATES.
        reason: Why it ended, or what should be known about its state; "" if there is nothing to say.
        created, started, ended: Seconds since 1970; None if it has not come to that.
        attempt: Number of the latest attempt; 0 before the first.
        steps: Steps done in the latest attempt.
        desired: What the user wants: "go", "pause", "stop", or "kill" for a stop without waiting for training.
        granted: Single steps granted so far, all together.
        baseline: Whether others are compared with it.
        deleted: When it was deleted, None if it was not.
        imported: Whether it came from a file.
        owner: The program that runs it by itself; "" if workers do.
        summary: Final numbers (the last event), {} before the end.
    """

    id: str
    number: int = 0
    name: str = ""
    note: str = ""
    target: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    state: State = "queued"
    reason: str = ""
    created: float = 0.0
    started: float | None = None
    ended: float | None = None
    attempt: int = 0
    steps: int = 0
    desired: DesiredState = "go"
    granted: int = 0
    baseline: bool = False
    deleted: float | None = None
    imported: bool = False
    owner: str = ""
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    @property
    def over(self) -> bool:
        return self.state in ENDED

    @property
    def restarts(self) -> int:
        return max(0, self.attempt - 1)

    @property
    def title(self) -> str:
        """The name of the run on every page, chart and report."""
        return (self.name or f"Run {self.number}") + (" (imported)" if self.imported else "")


class Chosen(NamedTuple):
    """Which runs a list shows: those whose name, note or id hold a text, in one of some states, and with one of some
    data sets, methods and models; any where none is named."""

    text: str = ""
    states: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    model: tuple[str, ...] = ()


def new_id() -> str:
    """An id that no run has."""
    return uuid.uuid4().hex[:16]


class Event(NamedTuple):
    """One event of a run. `data` is the whole dict that training emitted, with "kind", "step" and "time"."""

    attempt: int
    seq: int
    kind: str
    step: int
    time: float
    data: dict[str, Any]


class EventRow(NamedTuple):
    """One event before it is stored: `text` is its JSON (`jsontext`)."""

    seq: int
    kind: str
    step: int
    time: float
    text: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """Events of one execution of a run, in order.

    Attributes:
        run: Id of the run.
        execution: Unique name of this call of the target; a worker that died leads to another one.
        worker: The worker's process as `Process.to_json`, with its Dask address under "address".
        rows: The events.
        begun: Seconds since 1970 when the execution began.
        earlier: Executions of the run that had begun before this one, as its scheduler knows, oldest first.
    """

    run: str
    execution: str
    worker: dict[str, Any]
    rows: tuple[EventRow, ...]
    begun: float
    earlier: tuple[str, ...] = ()


class Owner(NamedTuple):
    """The owner of runs: one program in one process. `heartbeat` in seconds since 1970."""

    id: str
    process: Process
    heartbeat: float
