"""The scheduler's way to the cluster: started or found, lost, and tried again ever more rarely."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from dpviz.runs.cluster.launch import ADDRESS_VARIABLE, ClusterError, Host, connect
from dpviz.runs.processes import Process

# Longest pause in seconds between two tries to start or find the cluster; the first is SHORTEST_PAUSE, each next twice
# that.
LONGEST_PAUSE = 30.0
SHORTEST_PAUSE = 0.2

# Seconds that a scheduler may take to answer whether it is there.
ANSWER_LIMIT = 2.0

# Seconds between two looks whether dpviz has come to a cluster that lacked it.
LOOK_AGAIN = 2.0

WAITS = "Runs that wait stay queued, and it is tried again."


class Connection:
    """Host and Dask client; only the thread that owns it changes them.

    Args:
        workers: How many runs at once.
        preload: Modules that workers load ahead.
        log: File for messages of the workers.

    Attributes:
        client: The Dask client; None while there is no cluster.
        problem: Why the last try to start or find a cluster failed, or what that cluster lacks; "" if nothing is wrong.
    """

    def __init__(self, workers: int, preload: tuple[str, ...], log: Path) -> None:
        self.client: Any = None
        self.problem = ""
        self._workers, self._preload, self._log = workers, preload, log
        self._host: Host | None = None
        self._tries = 0  # failed ones since the last that went well
        self._next_try = 0.0
        self._equipped: set[str] = set()  # addresses at which dpviz is, "" the scheduler's
        self._next_look = 0.0

    # From any thread

    @property
    def starting(self) -> str:
        """What the first run waits for, in words; "" if it need not wait, or if nothing is starting."""
        host = self._host
        return host.starting if host is not None else ""

    @property
    def ready(self) -> bool:
        """Whether a run that is sent now starts at once."""
        return self.client is not None and not self.starting

    @property
    def host(self) -> Process | None:
        """The process of the local cluster; None for a cluster of the user's, or while there is none."""
        return self._host.process if self._host is not None else None

    @property
    def local(self) -> bool:
        return self._host is not None

    # From its own thread

    @property
    def broken(self) -> bool:
        """Whether a cluster that was there has gone."""
        return self.client is not None and not self.alive

    @property
    def alive(self) -> bool:
        """Whether there is a cluster that can be talked to."""
        if self.client is None:
            return False
        return self._host.alive if self._host is not None else self.client.status in ("running", "connecting")

    def open(self) -> None:
        """Start or find the cluster, without waiting for one that is coming up.

        Raises:
            ClusterError: if there is none to be had now. Runs stay queued, and it is tried again, ever more rarely.
        """
        if self.client is not None or time.monotonic() < self._next_try:
            return
        try:
            address = os.environ.get(ADDRESS_VARIABLE, "")
            if not address:
                self._host = self._host or Host(self._workers, self._log, self._preload)
            self.client = self._host.connect() if self._host is not None else connect(address)
            if self.client is not None:
                self.problem, self._tries = "", 0
        except (ClusterError, OSError) as error:
            self.leave()
            self._next_try = time.monotonic() + min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**self._tries)
            self._tries = min(self._tries + 1, 10)
            self.problem = f"{error} {WAITS}"
            raise ClusterError(self.problem) from error

    def capacity(self) -> int:
        """How many runs may be active: those that a worker is there for."""
        there = len(self.client.scheduler_info(n_workers=-1)["workers"])
        return min(self._workers, there) if self.local else there

    def equipped(self) -> bool:
        """Whether everything in the cluster can import dpviz; `problem` says what cannot.

        To be asked before anything is sent: a scheduler that lacks it fails every run with words about something else,
        and a worker that lacks it ends without a word when a run arrives.
        """
        if self.local:
            return True
        places = {"", *self.client.scheduler_info(n_workers=-1)["workers"]}
        self._equipped &= places
        if places <= self._equipped:
            self.problem = ""
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_AGAIN
            self._look(sorted(places - self._equipped))
        return not self.problem

    def _look(self, places: list[str]) -> None:
        """Ask these workers, and at "" the scheduler; with a function of Python's own: they may have no other."""
        question = (importlib.util.find_spec, "dpviz")
        workers = [address for address in places if address]
        specs = self.client.run(*question, workers=workers, on_error="return") if workers else {}
        if "" in places:
            specs = {"": self.client.run_on_scheduler(*question), **specs}
        self._equipped |= {place for place, spec in specs.items() if isinstance(spec, ModuleSpec)}  # or it has gone
        lacking = [
            f"worker at {place}" if place else f"scheduler at {self.client.scheduler.address}"
            for place, spec in specs.items()
            if spec is None
        ]
        self.problem = (
            f"dpviz cannot be imported by the Dask {' and the '.join(lacking)}: "
            f"install it there, the same as here, with dpviz[train], and start it again. {WAITS}"
            if lacking
            else ""
        )

    def answers(self) -> bool:
        """Whether the Dask scheduler is there and listens."""
        try:
            self.client.sync(self.client.scheduler.identity, n_workers=0, callback_timeout=ANSWER_LIMIT)
        except Exception:  # whatever Dask raises of a connection that is gone
            return False
        return self.alive

    def leave(self) -> None:
        """Let go of the client and end the local cluster."""
        client, host = self.client, self._host
        self.client = self._host = None
        self._equipped.clear()
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=2)
        if host is not None:
            host.close()
