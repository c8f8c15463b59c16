"""One worker process: ``python -m dpviz.runs.cluster.worker``, started and started again by `dpviz.runs.cluster.host`.

Where the scheduler is and the certificate to show come as one line on standard input; how far it has come goes to
standard output, a line of JSON for each phase. Dask's own watcher of workers (the nanny) is not used: a worker that
was killed while its watcher still waited for it to come up was, on a busy machine, never replaced.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from typing import Any

from dpviz.runs.cluster.preload import end_with_parent, load_ahead
from dpviz.runs.cluster.tls import Certificate, without_pages


def _watch_parent() -> None:
    """Where the kernel does not do it: end when the host has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="dpviz-parent", daemon=True).start()


class Phases:
    """Standard output as the host knows it; what training prints goes to the log from here on."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        os.dup2(2, 1)

    def say(self, phase: str) -> None:
        os.write(self._out, json.dumps({"worker": os.getpid(), "phase": phase}).encode() + b"\n")

    def close(self) -> None:
        os.close(self._out)


async def serve(address: str, certificate: Certificate, phases: Phases) -> None:
    """Work for the scheduler at `address` until it ends."""
    from distributed import Worker

    async with without_pages(Worker)(
        address,
        nthreads=1,
        host="127.0.0.1",
        dashboard=False,
        security=certificate.security(),
        memory_limit=0,  # no watch over memory: it would hold a run for what PyTorch keeps to use again
    ) as worker:
        phases.say("up")
        phases.close()
        await worker.finished()


if __name__ == "__main__":
    end_with_parent()
    _watch_parent()
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    progress = Phases()
    progress.say("loading")
    load_ahead()
    progress.say("connecting")
    asyncio.run(serve(told["address"], Certificate.from_json(told), progress))
