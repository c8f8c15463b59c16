"""What a store of runs can do, where it lies, and what it says when it cannot.

One protocol, so that another database can stand beside SQLite; engine and pages know only this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from dpviz.runs.cluster.processes import Process
from dpviz.runs.store.records import Delivery, DesiredState, Event, News, Owner, RunRecord, State


class StoreError(RuntimeError):
    """The store cannot be read or written; the message names the place and the way out."""


class Store(Protocol):
    """Runs, their attempts and events. Safe to use from many threads and processes at once.

    A run that does not exist raises KeyError. Whatever was recorded stays, also when a process is killed in the midst.
    """

    @property
    def place(self) -> str:
        """Where it lies, for messages."""
        ...

    @property
    def notice(self) -> str:
        """What people should know of it: that a damaged one was set aside, and where; "" if there is nothing."""
        ...

    # Engines
    def heartbeat(self, owner: str, process: Process) -> None:
        """Make the owner known, and that it lives now."""
        ...

    def owners(self) -> list[Owner]: ...

    # Runs
    def create(
        self, *, target: str, settings: dict[str, Any], options: dict[str, Any], name: str, owner: str, run: str = ""
    ) -> RunRecord:
        """A new run in state "queued"; where there is one of id `run` already, that one, as it is."""
        ...

    def run(self, run: str) -> RunRecord: ...

    def runs(self, *, deleted: bool = False, states: Sequence[State] = ()) -> list[RunRecord]:
        """Newest first; those deleted only with `deleted`; all states if none is named."""
        ...

    def claim(self, owner: str, host: Process | None, limit: int) -> RunRecord | None:
        """Take the owner's oldest queued run and set it running, unless `limit` runs are active, anyone's."""
        ...

    def release(self, run: str) -> bool:
        """Put a run that was claimed but never began back into the queue; whether it was such a one."""
        ...

    def adopt(self, run: str, former: str, owner: str) -> bool:
        """Make a queued run of `former` one of `owner`; whether it was still his."""
        ...

    def host_of(self, run: str) -> Process | None:
        """The process that hosts the run's workers; None if it is not on this side."""
        ...

    def set_desired(
        self, run: str, desired: DesiredState, *, single_steps: int = 0, granted: int | None = None
    ) -> RunRecord:
        """Say what is wanted. A queued run that is to stop is stopped at once.

        With `granted`, single steps are added only to so many granted before: asked twice, they count once.
        """
        ...

    def change_state(self, run: str, state: State, reason: str = "", *, only: Sequence[State]) -> bool:
        """Set the state if it is one of `only`; whether it was."""
        ...

    # Events
    def record(self, batches: Sequence[Delivery]) -> list[bool]:
        """Add events, all in one transaction; what is already there is passed over. Final events end their run.

        Returns once they are on the disk, as everything written: for each batch whether it has a place here, which
        it has not where its run was removed, or ended before this execution began.
        """
        ...

    def events_since(self, run: str, seq: int = -1, attempt: int | None = None, limit: int | None = None) -> News:
        """Events after number `seq` of the latest attempt, all of it if that is not `attempt` (None: any)."""
        ...

    def events(self, run: str, attempt: int | None = None, kinds: Sequence[str] = ()) -> list[Event]:
        """Events of one attempt, the latest if None."""
        ...

    def event_count(self, run: str, execution: str) -> int: ...

    def attempts(self, run: str) -> list[dict[str, Any]]:
        """ "attempt", "execution", "worker", "started", "ended" and "outcome" of each attempt, oldest first."""
        ...

    # The user's words
    def rename(self, run: str, name: str) -> None: ...
    def annotate(self, run: str, note: str) -> None: ...
    def pin_baseline(self, run: str | None) -> None:
        """Make it the baseline, and no other; None: no run is."""
        ...

    def delete(self, run: str) -> None:
        """Hide it; `undelete` brings it back. An open run is refused with ValueError."""
        ...

    def undelete(self, run: str) -> None: ...
    def purge(self, run: str) -> None:
        """Remove a deleted run for good."""
        ...

    def insert(self, record: RunRecord, attempts: Sequence[dict[str, Any]], events: Sequence[Event]) -> RunRecord:
        """Add a run that ended elsewhere, under a new id and number."""
        ...

    def close(self) -> None: ...


def home() -> Path:
    """Where runs are kept: DPVIZ_HOME, else the folder for users' data of this system."""
    chosen = os.environ.get("DPVIZ_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "dpviz"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dpviz"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "dpviz"


def open_store(folder: Path | None = None) -> Store:
    """The store in `folder`, in `home()` if None; made if it is not there.

    Raises:
        StoreError: if the folder cannot be written or holds something else.
    """
    from dpviz.runs.store.sqlite import SqliteStore

    return SqliteStore((folder or home()) / "runs.sqlite")
