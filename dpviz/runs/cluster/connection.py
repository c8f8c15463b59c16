"""The way to the cluster: the local one, or the one at DASK_SCHEDULER_ADDRESS; found or started, lost, tried again."""

import contextlib
import importlib.util
import logging
import os
import subprocess
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from dpviz.runs.cluster import local
from dpviz.runs.cluster.launch import worker_environment
from dpviz.runs.cluster.tls import security_with

ADDRESS_VARIABLE = "DASK_SCHEDULER_ADDRESS"

# Packages, as they are imported: of the program that talks to a cluster, and of the workers.
NEEDED = ("distributed", "cryptography")
WORKERS_NEED = ("torch", "PIL")


def lacking() -> str:
    """What has to be installed here before a run can be computed, and how; "" if nothing.

    The workers of a scheduler of the user's own may have what they need elsewhere.
    """
    needed = NEEDED if chosen() else (*WORKERS_NEED, *NEEDED)
    absent = [package for package in needed if importlib.util.find_spec(package) is None]
    if not absent:
        return ""
    # Environments that uv makes have no pip.
    pip = importlib.util.find_spec("pip") is not None
    command = "pip install 'dpviz[train]'" if pip else "uvx --from 'dpviz[app,train]' dpviz app"
    names = " and ".join(filter(None, [", ".join(absent[:-1]), absent[-1]]))
    are = "is" if len(absent) == 1 else "are"
    return f"Training and measuring need {names}, which {are} not installed here: {command}."


def chosen() -> str:
    """The address of the user's own scheduler; "" where there is none."""
    return os.environ.get(ADDRESS_VARIABLE, "")


# Seconds that a scheduler may take to answer.
CONNECT_LIMIT = 10.0

# Longest pause in seconds between two tries to start or find the cluster; the first is SHORTEST_PAUSE, each next twice
# that.
LONGEST_PAUSE = 30.0
SHORTEST_PAUSE = 0.2

# Processes that are named where dpviz is missing.
NAMED = 3

# Seconds between two looks whether dpviz has come to a cluster that lacked it.
LOOK_AGAIN = 2.0

WAITS = "Runs that wait stay queued, and it is tried again."


class ClusterError(RuntimeError):
    """No cluster can be had; the message says why and where more is written."""


def not_equipped(where: str) -> str:
    """The problem of a cluster of which a part, as "worker at ADDRESS", has no dpviz."""
    return (
        f"dpviz cannot be imported by the Dask {where}: install it there, the same as here, with dpviz[train], and "
        f"start it again. {WAITS}"
    )


def _after_the_end(record: logging.LogRecord) -> bool:
    """Whether a message is worth reading: not that of a client that hears of a run while its program ends."""
    error = record.exc_info[1] if record.exc_info else None
    return "after interpreter shutdown" not in str(error)


def connect(address: str, security: Any = None) -> Any:
    """A Dask client of its own, not Dask's default one.

    Args:
        address: Of the scheduler.
        security: What it asks to be shown; None as Dask is configured, which is how a cluster of the user's says it.

    Raises:
        ClusterError: if nothing answers at the address.
    """
    import dask
    from distributed import Client

    # A connection that broke is tried for so long again: half a minute by default, while runs wait.
    dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_LIMIT} s"})
    # A scheduler that went is said by `dpviz.runs.dispatch`, in words and once.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    logging.getLogger("tornado.application").addFilter(_after_the_end)
    make: Any = Client
    try:
        return make(address, set_as_default=False, timeout=CONNECT_LIMIT, security=security)
    except Exception as error:
        raise ClusterError(
            f"No Dask scheduler answers at {address} ({type(error).__name__}: {error}). Start it, or unset "
            f"{ADDRESS_VARIABLE} to use a local one."
        ) from error


class Connection:
    """The Dask client and what it is connected to; only the thread that owns it changes them.

    Args:
        store: The folder of the store, whose local cluster it is.
        workers: How many runs at once, where a local cluster is started.
        preload: Whether its workers load PyTorch before the first run comes.
        log: File for messages of its workers.

    Attributes:
        client: The Dask client; None while there is no cluster.
        problem: Why the last try to start or find a cluster failed, or what that cluster lacks; "" if nothing is wrong.
        working: What each worker has been given, by its address: keys of tasks.
    """

    def __init__(self, store: Path, workers: int, preload: bool, log: Path) -> None:
        self.client: Any = None
        self.problem = ""
        self.working: dict[str, tuple[str, ...]] = {}
        self._store, self._workers, self._preload, self._log = store, workers, preload, log
        self._cluster: local.Cluster | None = None
        self._address = ""
        self._started: tuple[subprocess.Popen[bytes], float] | None = None  # and when, on the monotonic clock
        self._own: set[int] = set()  # hosts that this connection started
        self._tries = 0  # failed ones since the last that went well
        self._next_try = 0.0
        self._equipped: set[str] = set()  # addresses that had dpviz at the last look, "" the scheduler's
        self._next_look = 0.0

    # From any thread

    @property
    def starting(self) -> str:
        """What the first run waits for while the local cluster starts, in words; "" if it need not wait."""
        started = self._started
        if started is None:
            return ""
        what = "loading PyTorch" if self.client is not None else "loading Dask"
        return f"The workers are starting, {time.monotonic() - started[1]:.0f} s so far: {what}."

    @property
    def ready(self) -> bool:
        """Whether a run that is sent now starts at once."""
        return self.client is not None and bool(self.working)

    @property
    def local(self) -> bool:
        """Whether runs are computed by the store's own cluster."""
        return self._cluster is not None or (self.client is None and not chosen())

    # From its own thread

    @property
    def address(self) -> str:
        """Of the scheduler that is connected, as the user chose it; "" for the local one, or none."""
        return "" if self.client is None or self.local else self._address

    @property
    def alive(self) -> bool:
        """Whether there is a cluster that can be talked to."""
        return self.client is not None and self.client.status == "running"

    def open(self, *, start: bool) -> None:
        """Find the cluster, or start the local one if there is none and `start`, without waiting for it to come up.

        Raises:
            ClusterError: if there is none to be had now. Runs stay queued, and it is tried again, ever more rarely.
        """
        if self.client is not None or time.monotonic() < self._next_try:
            return
        try:
            if absent := lacking():
                raise ClusterError(absent)
            self._open(chosen(), start=start)
        except (ClusterError, OSError) as error:
            self.leave()
            self._next_try = time.monotonic() + min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**self._tries)
            self._tries = min(self._tries + 1, 10)
            self.problem = f"{error} {WAITS}"
            raise ClusterError(self.problem) from error

    def _open(self, address: str, *, start: bool) -> None:
        if address:
            self.client, self._address = connect(address), address
        elif cluster := local.find(self._store):
            self._cluster, self.client = cluster, connect(cluster.address, security_with(cluster.certificate))
        elif self._started is not None and (code := self._started[0].poll()) is not None:
            self._started = None
            if code:
                raise ClusterError(f"The workers ended while they started; see {self._log}.")
        elif start and self._started is None:
            environment = worker_environment(self._workers, preload=self._preload)
            self._started = local.start(self._store, self._workers, self._log, environment), time.monotonic()
            self._own.add(self._started[0].pid)
        if self.client is not None:
            self.problem, self._tries = "", 0

    @property
    def other_code(self) -> bool:
        """Whether the local cluster computes with another version of dpviz: it must be sent nothing more.

        Not asked of one that was started here: code that is edited meanwhile would have it started for ever.
        """
        cluster = self._cluster
        return cluster is not None and cluster.process.pid not in self._own and cluster.code != local.code()

    def end_cluster(self) -> None:
        """End the local cluster; `open` starts another."""
        self.leave()
        local.stop(self._store)

    def look(self) -> None:
        """See what the workers do.

        Raises:
            Exception: whatever Dask raises of a connection that is gone.
        """
        self.working = self.client.processing()
        if self.working:
            self._started = None

    def equipped(self) -> bool:
        """Whether everything in the cluster can import dpviz; `problem` says what cannot.

        To be asked before anything is sent: a scheduler that lacks it fails every run with words about something else,
        and a worker that lacks it ends without a word when a run arrives.
        """
        if self.local:
            return True
        places = {"", *self.working}
        if places <= self._equipped:
            self.problem = ""
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_AGAIN
            # A function of Python's own: they may have no other.
            question = (importlib.util.find_spec, "dpviz")
            specs = {"": self.client.run_on_scheduler(*question), **self.client.run(*question, on_error="return")}
            self._equipped = {place for place, spec in specs.items() if isinstance(spec, ModuleSpec)}
            lacking = [
                f"worker at {place}" if place else f"scheduler at {self.address}"
                for place, spec in specs.items()
                if spec is None  # an error where a worker has gone meanwhile
            ]
            others = len(lacking) - NAMED
            where = " and the ".join(lacking[:NAMED]) + f" and {others} more" * (others > 0)
            self.problem = not_equipped(where) if lacking else ""
        return not self.problem

    def leave(self) -> None:
        """Let go of the client; the cluster goes on."""
        client, self.client, self._cluster = self.client, None, None
        self.working = {}
        self._equipped.clear()
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=2)
