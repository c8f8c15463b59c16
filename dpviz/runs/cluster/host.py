"""The process that holds the local cluster: ``python -m dpviz.runs.cluster.host FOLDER WORKERS``, started by `local`.

A scheduler and its workers, on the loopback address only, and only for who shows its certificate, which lies in a
folder that only its owner may enter. It does not end with the app: runs go on. It ends when nothing has been computed
for a while, or when `local.stop` asks it to, and everything that it started ends with it. A process of its own, because
workers that are spawned from inside a Streamlit script would run the script again.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from dpviz.runs.cluster import memory
from dpviz.runs.cluster.local import CERTIFICATE, LOCK, PLACE, code, folder_of
from dpviz.runs.cluster.tls import security_with, temporary, without_pages
from dpviz.runs.processes import this_process
from dpviz.runs.store.folders import private_file
from dpviz.runs.store.lock import alone

# Seconds that a worker must have lived to be replaced at once.
SHORTEST_LIFE = 1.0

# Seconds without work after which the cluster ends, and between two looks at the memory of its workers.
IDLE = 300.0
LOOK = 2.0

CONFIGURATION = {
    # 1: a run whose worker dies twice has failed. 0 would blame runs that only waited on that worker.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.admin.tick.limit": "60s",  # native code holds the interpreter for long: no warnings about it
    "distributed.scheduler.worker-ttl": None,  # a worker that is busy for minutes is not dead
    "distributed.diagnostics.nvml": False,
}


async def keep_worker(place: Path) -> NoReturn:
    """One worker process, and another whenever it ends, or cannot be started: memory or processes may have run out."""
    command = [sys.executable, "-m", "dpviz.runs.cluster.worker", str(place)]
    while True:
        begun = time.monotonic()
        try:
            child = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL)
            await child.wait()
        except OSError as error:
            print(f"dpviz: a worker could not be started, and is tried again: {error}", file=sys.stderr)
        await asyncio.sleep(begun + SHORTEST_LIFE - time.monotonic())


async def replace_grown(scheduler: Any) -> NoReturn:
    """Let go of workers that run nothing and hold much memory; others come in their place.

    The scheduler does it, which knows that nothing is on its way to them.
    """
    while True:
        await asyncio.sleep(LOOK)
        for worker in list(scheduler.workers.values()):
            if not worker.processing and worker.metrics.get("memory", 0) > memory.MOST_MEMORY:
                await scheduler.retire_workers([worker.address], close_workers=True)


async def serve(folder: Path, workers: int) -> None:
    """Hold the cluster until nothing was computed for `IDLE` seconds; the file `PLACE` says where it is.

    Workers are not waited for: the first that is up can work while others load, and one that ends is replaced.
    """
    import dask
    from distributed import Scheduler

    dask.config.set(CONFIGURATION)
    certificate, place = folder / CERTIFICATE, folder / PLACE
    private_file(certificate)
    certificate.write_text(temporary())
    async with without_pages(Scheduler)(
        host="127.0.0.1",
        port=0,
        protocol="tls://",
        security=security_with(certificate),
        dashboard=False,
        idle_timeout=f"{IDLE} s",
    ) as scheduler:
        fresh = place.with_suffix(".new")
        private_file(fresh)
        described = {"address": scheduler.address, "process": this_process().to_json(), "code": code()}
        fresh.write_text(json.dumps(described))
        fresh.replace(place)
        kept = [asyncio.create_task(keep_worker(place)) for _ in range(workers)]
        kept.append(asyncio.create_task(replace_grown(scheduler)))
        await scheduler.finished()
        place.unlink(missing_ok=True)


def _end_all() -> NoReturn:
    """Kill the process group, this process included: no worker stays behind."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    folder = folder_of(Path(sys.argv[1]))
    with suppress(sqlite3.OperationalError), alone(folder / LOCK, 0.0):  # else there is one already
        signal.signal(signal.SIGTERM, lambda *_: _end_all())
        asyncio.run(serve(folder, workers=int(sys.argv[2])))
        _end_all()


if __name__ == "__main__":
    main()
