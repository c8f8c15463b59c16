"""One worker process: ``python -m dpviz.runs.cluster.worker``, started and started again by `dpviz.runs.cluster.host`.

Where the scheduler is and the certificate to show come as one line on standard input; how far it has come goes to
standard output, a line of JSON for each phase. Dask's own watcher of workers (the nanny) is not used: a worker that
was killed while its watcher still waited for it to come up was, on a busy machine, never replaced.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from typing import IO, Any

from dpviz.runs.cluster.child import end_with_parent, own_output
from dpviz.runs.cluster.tls import Certificate, without_pages

# Names of modules to load, with commas between; set by the host.
PRELOAD_VARIABLE = "DPVIZ_PRELOAD"


def load_ahead() -> None:
    """Import the modules that PRELOAD_VARIABLE names. One that fails to load fails its run later, in words."""
    for name in filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(",")):
        try:
            importlib.import_module(name)
        except Exception as error:
            print(f"dpviz worker: could not load {name} ahead: {error!r}", file=sys.stderr)


def say(phase: str, output: IO[bytes]) -> None:
    """How far it has come, to the host."""
    output.write(json.dumps({"worker": os.getpid(), "phase": phase}).encode() + b"\n")
    output.flush()


async def serve(address: str, certificate: Certificate, output: IO[bytes]) -> None:
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
        say("up", output)
        output.close()
        await worker.finished()


if __name__ == "__main__":
    end_with_parent()
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    with own_output() as output:
        say("loading", output)
        load_ahead()
        say("connecting", output)
        asyncio.run(serve(told["address"], Certificate.from_json(told), output))
