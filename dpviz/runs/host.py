"""The process that holds the local cluster: ``python -m dpviz.runs.host``, started by `dpviz.runs.cluster`.

A scheduler and its workers, on the loopback address only. It ends, and everything it started with it, when its
standard input closes: that happens whenever the app ends, however it ends. A process of its own, because workers
that are spawned from inside a Streamlit script would run the script again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from typing import Any, NoReturn

# Longest polite end in seconds; then the whole process group is killed.
GRACE = 1.5

CONFIGURATION = {
    # 1: a run whose worker dies twice has failed. 0 would blame runs that only waited on that worker.
    "distributed.scheduler.allowed-failures": 1,
    # Batches of events that the scheduler keeps for each run; 1000 by default.
    "distributed.admin.low-level-log-length": 20_000,
    "distributed.admin.tick.limit": "60s",  # native code holds the interpreter for long: no warnings about it
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": None,  # a worker that is busy for minutes is not dead
    "distributed.worker.profile.enabled": False,
    "distributed.diagnostics.nvml": False,
}


async def serve(workers: int) -> None:
    """Hold the cluster until standard input ends; the first line on standard output says where it is."""
    import dask
    from distributed import LocalCluster

    dask.config.set(CONFIGURATION)
    make: Any = LocalCluster
    async with make(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        memory_limit=0,  # no watch over memory: it would kill a run for what PyTorch keeps to use again
        preload=["dpviz.runs.preload"],
        asynchronous=True,
        silence_logs=30,
    ) as cluster:
        _answer({"address": cluster.scheduler_address, "pid": os.getpid()})
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        _on_end_of_input(lambda: loop.call_soon_threadsafe(ended.set))
        await ended.wait()


def _answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def _on_end_of_input(action: Any) -> None:
    def watch() -> None:
        while os.read(0, 1024):
            pass
        action()
        threading.Timer(GRACE, _end_all).start()

    threading.Thread(target=watch, name="dpviz-stdin", daemon=True).start()


def _end_all() -> NoReturn:
    """Kill the process group, this process included: no worker stays behind."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    workers = parser.parse_args().workers
    try:
        asyncio.run(serve(workers))
    except Exception as error:
        _answer({"error": f"{type(error).__name__}: {error}"})
        print(repr(error), file=sys.stderr)
    _end_all()


if __name__ == "__main__":
    main()
