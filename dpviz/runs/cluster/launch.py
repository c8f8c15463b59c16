"""The environment of worker processes: how many, and how the cores are shared out."""

import os
import sys
from pathlib import Path

from dpviz.runs.cluster.worker import PRELOAD_VARIABLE

WORKERS_VARIABLE = "DPVIZ_WORKERS"


def default_workers() -> int:
    """How many runs at once: DPVIZ_WORKERS, else one for every two cores that this process may use, at least 1."""
    chosen = os.environ.get(WORKERS_VARIABLE, "")
    if chosen:
        if not (chosen.isascii() and chosen.isdecimal()) or int(chosen) < 1:
            raise ValueError(f"Expected {WORKERS_VARIABLE}={chosen!r} to be a whole number >= 1.")
        return int(chosen)
    return max(1, usable_cores() // 2)


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_environment(workers: int, *, preload: bool) -> dict[str, str]:
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
        PRELOAD_VARIABLE: "1" if preload else "",
    }
