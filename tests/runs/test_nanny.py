"""Why a worker's process is started again by the host of the cluster, and not by Dask's own nanny."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dpviz.runs.cluster import local
from tests.runs.conftest import Makes, kill, short_run, until

pytestmark = pytest.mark.sweep

# A nanny whose first worker is killed while it loads, as by a machine without memory; whether a worker comes after all.
NANNY = """
import asyncio, os, signal, sys
import dask, psutil
from distributed import Nanny, Scheduler

dask.config.set({"temporary-directory": sys.argv[1], "distributed.diagnostics.nvml": False})

async def kill_first():
    while not (workers := [p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline())]):
        await asyncio.sleep(0.01)
    os.kill(workers[0].pid, signal.SIGKILL)

async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        nanny = Nanny(scheduler.address, nthreads=1, host="127.0.0.1", dashboard=False, memory_limit=0)
        killing = asyncio.ensure_future(kill_first())
        try:
            await nanny
        except RuntimeError as error:
            print(error)
        await killing
        await asyncio.sleep(5.0)
        print(nanny.status.name, len(scheduler.workers))

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_nanny_gives_up_a_worker_that_is_killed_while_it_starts(tmp_path: Path) -> None:
    """If this fails, Dask has cured it: use its nanny, and remove `keep_worker` from the host."""
    script = tmp_path / "nanny.py"
    script.write_text(NANNY)
    ran = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert ran.stdout.splitlines() == ["Nanny failed to start.", "failed 0"], ran.stderr


def test_the_host_starts_another_worker_in_place_of_one_that_is_killed_while_it_starts(make_engine: Makes) -> None:
    engine = make_engine()
    engine.warm()
    cluster = until(lambda: local.find(engine.folder))
    host = psutil.Process(cluster.process.pid)
    [worker] = until(host.children)
    kill(worker.pid)
    assert short_run(engine).state == "done"
