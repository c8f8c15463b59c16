"""One worker process: ``python -m dpviz.runs.cluster.worker PLACE``, started and started again by `cluster.host`.

Dask's own watcher of workers (the nanny) is not used: a worker that was killed while its watcher still waited for it to
come up was, on a busy machine, never replaced.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from dpviz.runs.child import end_with_parent
from dpviz.runs.cluster.local import CERTIFICATE
from dpviz.runs.cluster.tls import security_with, without_pages

# Whether to load PyTorch before the first run comes; set by who starts the cluster.
PRELOAD_VARIABLE = "DPVIZ_PRELOAD"


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
