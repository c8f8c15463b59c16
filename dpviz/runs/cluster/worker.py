"""One worker process: ``python -m dpviz.runs.cluster.worker``, started and started again by `dpviz.runs.cluster.host`.

Where the scheduler is and the certificate to show come as one message; it tells how far it has come. Dask's own watcher
of workers (the nanny) is not used: a worker that was killed while its watcher still waited for it to come up was, on a
busy machine, never replaced.
"""

import asyncio
import importlib
import os
import sys
from collections.abc import Callable

from dpviz.runs.child import Parent, end_with_parent
from dpviz.runs.cluster.tls import security_with, without_pages

# Names of modules to load, with commas between; set by the host.
PRELOAD_VARIABLE = "DPVIZ_PRELOAD"


def load_ahead() -> None:
    """Import the modules that PRELOAD_VARIABLE names. One that fails to load fails its run later, in words."""
    for name in filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(",")):
        try:
            importlib.import_module(name)
        except Exception as error:
            print(f"dpviz worker: could not load {name} ahead: {error!r}", file=sys.stderr)


async def serve(address: str, certificate: str, on_up: Callable[[], None]) -> None:
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
        on_up()
        await worker.finished()


def main() -> None:
    end_with_parent()
    parent = Parent()

    def say(phase: str) -> None:
        parent.say("worker", (os.getpid(), phase))
        if phase == "up":  # the last word: who listens to the host is not to wait for a worker that outlives it
            parent.output.close()

    place = next(parent.messages())
    if os.getppid() != place["host"]:  # it ended before this process could ask to end with it
        os._exit(1)
    say("loading")
    load_ahead()
    say("connecting")
    asyncio.run(serve(place["address"], place["certificate"], lambda: say("up")))


if __name__ == "__main__":
    main()
