"""One worker process: ``python -m dpviz.runs.cluster.worker PLACE``, started and started again by `cluster.host`.

Dask's own watcher of workers (the nanny) is not used: one whose first worker is killed while it starts gives up, and no
other comes in its place (`tests/runs/test_nanny.py`).
"""

import asyncio
import ctypes
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from dpviz.runs.cluster.local import CERTIFICATE
from dpviz.runs.cluster.tls import security_with, without_pages

# Whether to load PyTorch before the first run comes; set by who starts the cluster.
PRELOAD_VARIABLE = "DPVIZ_PRELOAD"

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """On Linux the kernel kills this process when its parent ends, also when it is busy in native code; elsewhere a
    thread does it once Python runs again."""
    parent = os.getppid()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="dpviz-parent", daemon=True).start()


def preload() -> None:
    """Load PyTorch and the training before the first run comes. If they cannot be loaded, that run says so in words."""
    try:
        from dpviz.training import loop  # noqa: F401
    except Exception as error:
        print(f"dpviz worker: the training could not be loaded: {error!r}", file=sys.stderr)


async def serve(address: str, certificate: Path) -> None:
    """Work for the scheduler at `address` until it ends."""
    from distributed import Worker

    async with without_pages(Worker)(
        address,
        nthreads=1,
        host="127.0.0.1",
        dashboard=False,
        security=security_with(certificate),
        memory_limit=0,  # no watch over memory: it would hold a run for what PyTorch keeps to use again
    ) as worker:
        await worker.finished()


def main() -> None:
    end_with_parent()
    file = Path(sys.argv[1])
    place = json.loads(file.read_text())
    if os.getppid() != place["process"]["pid"]:  # it ended before this process could ask to end with it
        os._exit(1)
    if os.environ.get(PRELOAD_VARIABLE):
        preload()
    asyncio.run(serve(place["address"], file.with_name(CERTIFICATE)))


if __name__ == "__main__":
    main()
