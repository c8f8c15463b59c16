"""The process that holds the local cluster: ``python -m dpviz.runs.cluster.host``, started by `launch`.

A scheduler and its workers, on the loopback address only, and only for who shows its certificate. It ends, and
everything it started with it, when its standard input closes: that happens whenever the app ends, however it ends.
A process of its own, because workers that are spawned from inside a Streamlit script would run the script again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import NoReturn

from dpviz.runs.child import Parent
from dpviz.runs.cluster.tls import Certificate, make_certificate, without_pages

# Seconds between two looks at the workers, and how long one must have lived to be replaced at once.
LOOK = 0.1
SHORTEST_LIFE = 1.0

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
    "distributed.diagnostics.nvml": False,
}


class Workers:
    """Worker processes, each replaced when it ends. They tell their phases to the parent themselves."""

    def __init__(self, parent: Parent, address: str, certificate: Certificate, count: int) -> None:
        self._parent = parent
        place = {"address": address, "host": os.getpid(), **certificate.to_json()}
        self._place = json.dumps(place).encode() + b"\n"
        self._begun = [0.0] * count
        self._children = [self._start(i) for i in range(count)]

    def _start(self, slot: int) -> subprocess.Popen[bytes]:
        self._begun[slot] = time.monotonic()
        command = [sys.executable, "-m", "dpviz.runs.cluster.worker"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self._parent.output)
        assert child.stdin is not None
        with contextlib.suppress(OSError), child.stdin as to_child:  # it may have ended already
            to_child.write(self._place)
        return child

    def replace(self) -> None:
        """Start those again that have ended; one that ended as soon as it began has to wait."""
        for slot, child in enumerate(self._children):
            if child.poll() is not None and time.monotonic() - self._begun[slot] > SHORTEST_LIFE:
                self._parent.say("worker", (child.pid, "ended" if child.returncode else "replaced"))
                self._children[slot] = self._start(slot)


async def serve(parent: Parent, workers: int) -> None:
    """Hold the cluster until the parent ends; the first message says where it is.

    Workers are not waited for: the first that is up can work while others load, and one that ends is replaced.
    """
    import dask
    from distributed import Scheduler

    dask.config.set(CONFIGURATION)
    certificate = make_certificate()
    async with without_pages(Scheduler)(
        host="127.0.0.1", port=0, protocol="tls://", security=certificate.security(), dashboard=False
    ) as scheduler:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def watch() -> None:
            for _ in parent.messages():
                pass
            loop.call_soon_threadsafe(ended.set)
            time.sleep(GRACE)
            _end_all()

        threading.Thread(target=watch, name="dpviz-parent", daemon=True).start()
        parent.say("cluster", {"address": scheduler.address, **certificate.to_json()})
        children = Workers(parent, scheduler.address, certificate, workers)
        while not ended.is_set():
            children.replace()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), LOOK)
    _end_all()


def _end_all() -> NoReturn:
    """Kill the process group, this process included: no worker stays behind."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    parent = Parent()
    try:
        asyncio.run(serve(parent, workers=int(sys.argv[1])))
    except Exception as error:
        parent.say("error", f"{type(error).__name__}: {error}")
        print(repr(error), file=sys.stderr)
    _end_all()


if __name__ == "__main__":
    main()
