"""Where runs are computed: a local cluster in a child process, or the one at DASK_SCHEDULER_ADDRESS."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpviz.runs.cluster.child import Child
from dpviz.runs.cluster.processes import Process, process_of
from dpviz.runs.cluster.start import Start
from dpviz.runs.cluster.tls import Certificate
from dpviz.runs.cluster.worker import PRELOAD_VARIABLE
from dpviz.runs.store.permissions import scratch_folder

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


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to send runs.

    Attributes:
        address: Of the scheduler.
        host: The child process that holds it; None for a cluster of the user's.
        certificate: What it asks to be shown; None for a cluster of the user's, which has Dask's own settings.
        scratch: The owner's folder for temporary files.
    """

    address: str
    host: Process | None
    certificate: Certificate | None = None
    scratch: Path | None = None


class Host:
    """The child process with the local cluster; to be started from a thread that lives on.

    It has no time to keep: while it lives it is waited for, and `starting` says for what.

    Args:
        workers: Number of worker processes.
        log: File that its and the workers' messages go to.
        preload: Modules that workers load ahead.
    """

    def __init__(self, workers: int, log: Path, preload: tuple[str, ...] = TRAINING_MODULES) -> None:
        self._child = Child(["-m", HOST_MODULE, "--workers", str(workers)], log, worker_environment(workers, preload))
        self._start = Start(workers, time.monotonic())
        self._cluster: Cluster | None = None
        self._error = ""
        self._reader = threading.Thread(target=self._read, name="dpviz-host", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Every line it says, until it ends: the cluster's address, an error, a worker's phase."""
        with self._child.output as lines:
            for line in lines:
                try:
                    told: dict[str, Any] = json.loads(line)
                except ValueError:  # a library that prints
                    continue
                if "address" in told:
                    host = process_of(self._child.pid)
                    self._cluster = Cluster(
                        told["address"], host, Certificate.from_json(told), scratch_folder(self._child.log)
                    )
                    self._start.scheduler = True
                elif "worker" in told:
                    self._start.told(int(told["worker"]), str(told["phase"]), time.monotonic())
                elif "error" in told:
                    self._error = str(told["error"])

    @property
    def cluster(self) -> Cluster | None:
        """Where it is; None while it comes up.

        Raises:
            ClusterError: if it ended instead.
        """
        if self._cluster is None and not self.alive:
            self._reader.join(1.0)
            if self._error:
                raise ClusterError(f"The workers cannot start: {self._error}; see {self._child.log}.")
            raise ClusterError(f"The workers ended while they started; see {self._child.log}.")
        return self._cluster

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


def connect(cluster: Cluster) -> Any:
    """A Dask client of its own, not Dask's default one.

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
    # None: as Dask is configured, which is how a cluster of the user's says its own.
    security = cluster.certificate.security(cluster.scratch) if cluster.certificate else None
    try:
        return make(
            cluster.address,
            set_as_default=False,
            timeout=CONNECT_LIMIT,
            name=f"dpviz-{threading.get_ident()}",
            security=security,
        )
    except Exception as error:
        raise ClusterError(
            f"No Dask scheduler answers at {cluster.address} ({type(error).__name__}: {error}). "
            f"Start it, or unset {ADDRESS_VARIABLE} to use a local one."
        ) from error
