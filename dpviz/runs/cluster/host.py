"""The process that holds the local cluster: ``python -m dpviz.runs.cluster.host``, started by `launch`.

A scheduler and its workers, on the loopback address only, and only for who shows its certificate. It ends, and
everything it started with it, when its standard input closes: that happens whenever the app ends, however it ends.
A process of its own, because workers that are spawned from inside a Streamlit script would run the script again.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import NoReturn

from dpviz.runs.child import Parent
from dpviz.runs.cluster.tls import make_certificate, security_with, without_pages

# Seconds that a worker must have lived to be replaced at once.
SHORTEST_LIFE = 1.0

CONFIGURATION = {
    # 1: a run whose worker dies twice has failed. 0 would blame runs that only waited on that worker.
    "distributed.scheduler.allowed-failures": 1,
    # Batches of events that the scheduler keeps for each run; 1000 by default.
    "distributed.admin.low-level-log-length": 20_000,
    "distributed.admin.tick.limit": "60s",  # native code holds the interpreter for long: no warnings about it
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": None,  # a worker that is busy for minutes is not dead
    "distributed.diagnostics.nvml": False,
}


async def keep_worker(parent: Parent, place: Mapping[str, str]) -> NoReturn:
    """One worker process, and another whenever it ends; it tells its phases to the parent itself."""
    words = json.dumps({**place, "host": os.getpid()}).encode() + b"\n"
    while True:
        begun = time.monotonic()
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "dpviz.runs.cluster.worker", stdin=asyncio.subprocess.PIPE, stdout=parent.output
        )
        await child.communicate(words)
        await asyncio.sleep(begun + SHORTEST_LIFE - time.monotonic())
        parent.say("worker", (child.pid, "ended" if child.returncode else "replaced"))


async def serve(parent: Parent, workers: int) -> None:
    """Hold the cluster; the first message says where it is.

    Workers are not waited for: the first that is up can work while others load, and one that ends is replaced.
    """
    import dask
    from distributed import Scheduler

    dask.config.set(CONFIGURATION)
    certificate = make_certificate()
    async with without_pages(Scheduler)(
        host="127.0.0.1", port=0, protocol="tls://", security=security_with(certificate), dashboard=False
    ) as scheduler:
        place = {"address": scheduler.address, "certificate": certificate}
        parent.say("cluster", place)
        await asyncio.gather(*(keep_worker(parent, place) for _ in range(workers)))


def _end_with_input(parent: Parent) -> None:
    for _ in parent.messages():
        pass
    _end_all()


def _end_all() -> NoReturn:
    """Kill the process group, this process included: no worker stays behind."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    parent = Parent()
    threading.Thread(target=_end_with_input, args=(parent,), name="dpviz-parent", daemon=True).start()
    try:
        asyncio.run(serve(parent, workers=int(sys.argv[1])))
    except Exception as error:
        parent.say("error", f"{type(error).__name__}: {error}")
        print(repr(error), file=sys.stderr)
    _end_all()


if __name__ == "__main__":
    main()
