"""Where runs are computed: a local cluster in a child process, or the one at DASK_SCHEDULER_ADDRESS."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.runs.child import Child
from dpviz.runs.cluster.tls import Certificate
from dpviz.runs.cluster.worker import PRELOAD_VARIABLE
from dpviz.runs.processes import process_of
from dpviz.runs.store.folders import scratch_folder

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


# What a phase that a worker tells of is called while people wait for it.
PHASES = {"loading": "loading PyTorch", "connecting": "connecting"}
# Stages of a start: Dask, Python, then these.
ORDER = tuple(PHASES)
STAGES = 2 + len(ORDER)


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
        if phase in ("ended", "replaced") and self.up <= 1:
            self.begun = now  # from here on the next one is waited for
        self.phases[worker] = phase

    @property
    def up(self) -> int:
        return sum(phase == "up" for phase in list(self.phases.values()))

    @property
    def failed(self) -> int:
        """How many workers have ended."""
        return sum(phase == "ended" for phase in list(self.phases.values()))

    @property
    def stage(self) -> int:
        """How far the foremost worker is, from 1 to STAGES."""
        reached = [ORDER.index(phase) for phase in list(self.phases.values()) if phase in ORDER]
        return 3 + max(reached) if reached else 1 + self.scheduler

    def words(self, now: float) -> str:
        """What a run would wait for at time `now`; "" once a worker is up."""
        if self.up:
            return ""
        waited = f"The workers are starting, {now - self.begun:.0f} s so far:"
        phases = list(self.phases.values())
        counts = {words: phases.count(phase) for phase, words in PHASES.items()}
        coming = [f"{count} of {self.workers} {words}" for words, count in counts.items() if count]
        what = ", ".join(coming) or ("Python starts" if self.scheduler else "loading Dask")
        again = f" {self.failed} ended and was started again." if self.failed else ""
        return f"{waited} {what} (stage {self.stage} of {STAGES}).{again}"


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
        security = Certificate.from_json(self._place).security(scratch_folder(self._child.log))
        return connect(self._place["address"], security)

    @property
    def starting(self) -> str:
        """What the first run would wait for now, in words; "" once a worker is up."""
        words = self._start.words(time.monotonic())
        return f"{words} See {self._child.log}." if self._start.failed and words else words

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
        raise ClusterError(
            f"No Dask scheduler answers at {address} ({type(error).__name__}: {error}). "
            f"Start it, or unset {ADDRESS_VARIABLE} to use a local one."
        ) from error
