"""Where runs are computed: a local cluster in a child process, or the one at DASK_SCHEDULER_ADDRESS."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpviz.runs.preload import PRELOAD_VARIABLE
from dpviz.runs.processes import Process, process_of

ADDRESS_VARIABLE = "DASK_SCHEDULER_ADDRESS"
WORKERS_VARIABLE = "DPVIZ_WORKERS"

# Seconds that the host may take to come up: loading PyTorch on a busy machine with a cold disk.
START_LIMIT = 60.0
# Seconds that a scheduler may take to answer.
CONNECT_LIMIT = 10.0

HOST_MODULE = "dpviz.runs.host"

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
    path = [entry for entry in sys.path if entry and Path(entry).exists()]
    return {
        **os.environ,
        # Threads that spin while they wait slow everything down beside another busy process. Must be set before
        # PyTorch is loaded.
        "OMP_WAIT_POLICY": "PASSIVE",
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false",
        "DASK_LOGGING__DISTRIBUTED": "warning",
        "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *path]),
        PRELOAD_VARIABLE: ",".join(preload),
    }


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to send runs.

    Attributes:
        address: Of the scheduler.
        host: The child process that holds it; None for a cluster of the user's.
    """

    address: str
    host: Process | None


class Host:
    """The child process with the local cluster; to be started from a thread that lives on.

    Args:
        workers: Number of worker processes.
        log: File that its and the workers' messages go to.
        preload: Modules that workers load ahead.
    """

    def __init__(self, workers: int, log: Path, preload: tuple[str, ...] = TRAINING_MODULES) -> None:
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as messages:
            self._child = subprocess.Popen(
                [sys.executable, "-m", HOST_MODULE, "--workers", str(workers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=worker_environment(workers, preload),
                # A process group of its own: Ctrl-C in the app's terminal goes to the app alone, which then closes us.
                start_new_session=True,
            )
        try:
            self.cluster = self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> Cluster:
        assert self._child.stdout is not None
        line, end = b"", time.monotonic() + START_LIMIT
        while not line.endswith(b"\n"):
            if time.monotonic() > end:
                raise ClusterError(f"The workers did not start within {START_LIMIT:.0f} s; see {self._log}.")
            if not _readable(self._child.stdout.fileno(), 0.2):
                continue
            piece = os.read(self._child.stdout.fileno(), 4096)
            if not piece:
                raise ClusterError(f"The workers ended while they started; see {self._log}.")
            line += piece
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ClusterError(f"The workers cannot start: {answer['error']}; see {self._log}.")
        return Cluster(answer["address"], process_of(self._child.pid))

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def close(self, limit: float = 5.0) -> None:
        """End it and its workers: by closing its input, by force after `limit` seconds."""
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._child.wait(limit)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def _readable(descriptor: int, seconds: float) -> bool:
    if os.name == "nt":  # pipes cannot be waited for there: the read itself waits
        return True
    return bool(select.select([descriptor], [], [], seconds)[0])


def _after_the_end(record: logging.LogRecord) -> bool:
    """Whether a message is worth reading: not that of a client that hears of a run while its program ends."""
    error = record.exc_info[1] if record.exc_info else None
    return "after interpreter shutdown" not in str(error)


def connect(cluster: Cluster) -> Any:
    """A Dask client of its own, not Dask's default one.

    Raises:
        ClusterError: if nothing answers at the address.
    """
    from distributed import Client

    # A scheduler that went is said by the keeper, in words and once.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    logging.getLogger("tornado.application").addFilter(_after_the_end)
    make: Any = Client
    try:
        return make(cluster.address, set_as_default=False, timeout=CONNECT_LIMIT, name=f"dpviz-{threading.get_ident()}")
    except Exception as error:
        raise ClusterError(
            f"No Dask scheduler answers at {cluster.address} ({type(error).__name__}: {error}). "
            f"Start it, or unset {ADDRESS_VARIABLE} to use a local one."
        ) from error
