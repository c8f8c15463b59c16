"""One worker process: ``python -m dpviz.runs.worker ADDRESS``, started and started again by `dpviz.runs.host`.

Dask's own watcher of workers (the nanny) is not used: a worker that was killed while its watcher still waited for it
to come up was, on a busy machine, never replaced.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from typing import Any

from dpviz.runs.preload import end_with_parent


def _watch_parent() -> None:
    """Where the kernel does not do it: end when the host has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="dpviz-parent", daemon=True).start()


async def serve(address: str) -> None:
    """Work for the scheduler at `address` until it ends."""
    from distributed import Worker

    make: Any = Worker
    async with make(
        address,
        nthreads=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,  # no watch over memory: it would hold a run for what PyTorch keeps to use again
        preload=["dpviz.runs.preload"],
    ) as worker:
        await worker.finished()


if __name__ == "__main__":
    end_with_parent()
    _watch_parent()
    asyncio.run(serve(sys.argv[1]))
