"""Where runs are computed: a local cluster in a child process, or the one at DASK_SCHEDULER_ADDRESS.

`Connection` is the scheduler's way to it: started or found, lost, and tried again ever more rarely.
"""

import contextlib
import importlib.util
import logging
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dpviz.runs.child import Child
from dpviz.runs.cluster.tls import security_with
from dpviz.runs.cluster.worker import PRELOAD_VARIABLE
from dpviz.runs.processes import Process, process_of
from dpviz.runs.store.folders import scratch_folder
from dpviz.runs.words import words

ADDRESS_VARIABLE = "DASK_SCHEDULER_ADDRESS"
WORKERS_VARIABLE = "DPVIZ_WORKERS"

# Seconds that a scheduler may take to answer.
CONNECT_LIMIT = 10.0

HOST_MODULE = "dpviz.runs.cluster.host"

TRAINING_MODULES = ("dpviz.training.loop",)


class ClusterError(RuntimeError):
    """No cluster can be had; the message says why and where more is written."""


def default_workers() -> int:
    """How many runs at once: DPVIZ_WORKERS, else one for every two cores that this process may use, at least 1."""
    chosen = os.environ.get(WORKERS_VARIABLE, "")
    if chosen:
        if not chosen.isdecimal() or int(chosen) < 1:
            raise ValueError(f"Expected {WORKERS_VARIABLE}={chosen!r} to be a whole number >= 1.")
        return int(chosen)
    return max(1, usable_cores() // 2)


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_environment(workers: int, preload: tuple[str, ...]) -> dict[str, str]:
    """Environment of host and workers: the cores shared out, threads that sleep while they wait, our import path."""
    threads = str(max(1, usable_cores() // workers))
    path = [str(Path(entry or ".").absolute()) for entry in sys.path if Path(entry or ".").exists()]
    return {
        **os.environ,
        # Threads that spin while they wait slow everything down beside another busy process. Must be set before
        # PyTorch is loaded.
        "OMP_WAIT_POLICY": "PASSIVE",
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false",
        "DASK_LOGGING__DISTRIBUTED": "warning",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONSAFEPATH": "1",  # and not the folder that the app happened to be started in
        PRELOAD_VARIABLE: ",".join(preload),
    }


# What a phase that a worker tells of is called while people wait for it: the stages after Dask and Python.
PHASES = {"loading": "loading PyTorch", "connecting": "connecting"}


@dataclass(slots=True)
class Start:
    """One start of `workers` worker processes, begun at `begun` on the monotonic clock.

    Attributes:
        scheduler: Whether the scheduler is up.
        phases: Latest phase by process id: "loading", "connecting", "up"; "ended" by a fault, "replaced" on purpose.
    """

    workers: int
    begun: float
    scheduler: bool = False
    phases: dict[int, str] = field(default_factory=dict)

    def changed(self, worker: int, phase: str, now: float) -> None:
        if phase in ("ended", "replaced") and self.count("up") <= 1:
            self.begun = now  # from here on the next one is waited for
        self.phases[worker] = phase

    def count(self, phase: str) -> int:
        """How many workers are in this phase."""
        return list(self.phases.values()).count(phase)

    def words(self, now: float) -> str:
        """What a run would wait for at time `now`; "" once a worker is up."""
        if self.count("up"):
            return ""
        stage, what = 1 + self.scheduler, ["Python starts" if self.scheduler else "loading Dask"]
        if coming := [phase for phase in PHASES if self.count(phase)]:
            stage = 3 + list(PHASES).index(coming[-1])  # of the foremost worker
            what = [f"{self.count(phase)} of {self.workers} {PHASES[phase]}" for phase in coming]
        failed = self.count("ended")
        again = f" {failed} ended and was started again." if failed else ""
        waited = f"The workers are starting, {now - self.begun:.0f} s so far:"
        return f"{waited} {', '.join(what)} (stage {stage} of {2 + len(PHASES)}).{again}"


class Host:
    """The child process with the local cluster; to be started from a thread that lives on.

    It has no time to keep: while it lives it is waited for, and `starting` says for what.

    Args:
        workers: Number of worker processes.
        log: File that its and the workers' messages go to.
        preload: Modules that workers load ahead.

    Attributes:
        process: The process.
    """

    def __init__(self, workers: int, log: Path, preload: tuple[str, ...] = TRAINING_MODULES) -> None:
        self._child = Child(["-m", HOST_MODULE, str(workers)], log, worker_environment(workers, preload))
        self.process = process_of(self._child.pid)
        self._start = Start(workers, time.monotonic())
        self._place: dict[str, Any] | None = None
        self._error = ""
        self._reader = threading.Thread(target=self._read, name="dpviz-host", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._child.output:
            for kind, content in self._child.messages():
                if kind == "cluster":
                    self._place = content
                    self._start.scheduler = True
                elif kind == "worker":
                    worker, phase = content
                    self._start.changed(worker, phase, time.monotonic())
                else:
                    self._error = content

    def connect(self) -> Any:
        """A Dask client; None while the cluster comes up.

        Raises:
            ClusterError: if it ended instead, or does not answer.
        """
        if not self.alive:
            self._reader.join(1.0)
            how = f"cannot start: {self._error}" if self._error else "ended while they started"
            raise ClusterError(f"The workers {how}; see {self._child.log}.")
        if self._place is None:
            return None
        with TemporaryDirectory(dir=scratch_folder(self._child.log)) as folder:  # for as long as OpenSSL reads it
            certificate = Path(folder, "certificate.pem")
            certificate.write_text(self._place["certificate"])
            return connect(self._place["address"], security_with(str(certificate)))

    @property
    def starting(self) -> str:
        """What the first run would wait for now, in words; "" once a worker is up."""
        words = self._start.words(time.monotonic())
        return f"{words} See {self._child.log}." if self._start.count("ended") and words else words

    @property
    def alive(self) -> bool:
        return self._child.alive

    def close(self, limit: float = 5.0) -> None:
        """End it and its workers: by closing its input, by force after `limit` seconds."""
        self._child.close(limit)
        self._reader.join(limit)


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
    # A scheduler that went is said by `dpviz.runs.cluster.scheduler`, in words and once.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    logging.getLogger("tornado.application").addFilter(_after_the_end)
    make: Any = Client
    name = f"dpviz-{threading.get_ident()}"
    try:
        return make(address, set_as_default=False, timeout=CONNECT_LIMIT, name=name, security=security)
    except Exception as error:
        facts = {"kind": type(error).__name__, "error": error, "variable": ADDRESS_VARIABLE}
        raise ClusterError(words("cluster", "no_answer", address=address, **facts)) from error


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
        self._equipped: set[str] = set()  # addresses at which dpviz was found last, "" the scheduler's
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

    # From its own thread

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
        return there if self._host is None else min(self._workers, there)

    def equipped(self) -> bool:
        """Whether everything in the cluster can import dpviz; `problem` says what cannot.

        To be asked before anything is sent: a scheduler that lacks it fails every run with words about something else,
        and a worker that lacks it ends without a word when a run arrives.
        """
        if self._host is not None:
            return True
        places = {"", *self.client.scheduler_info(n_workers=-1)["workers"]}
        if places <= self._equipped:
            self.problem = ""
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_AGAIN
            # A function of Python's own: they may have no other.
            question = (importlib.util.find_spec, "dpviz")
            specs = {"": self.client.run_on_scheduler(*question), **self.client.run(*question, on_error="return")}
            self._equipped = {place for place, spec in specs.items() if isinstance(spec, ModuleSpec)}
            lacking = [
                f"worker at {place}" if place else f"scheduler at {self.client.scheduler.address}"
                for place, spec in specs.items()
                if spec is None  # an error where a worker has gone meanwhile
            ]
            where = " and the ".join(lacking)
            self.problem = words("cluster", "not_equipped", where=where, waits=WAITS) if lacking else ""
        return not self.problem

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
