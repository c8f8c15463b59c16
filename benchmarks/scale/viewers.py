"""A hundred viewers of a live run: the real app, and a websocket for each viewer, as a browser without a screen has.

A browser runs the fragment with the charts again whenever its timer says so; so does a viewer here, each from the
moment on at which its page came. What travels is not drawn.
"""

import threading
import time
from collections import defaultdict
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.scale.stores import STRETCH, last, stretch, tell, under_way
from dpviz.fields import numbers
from dpviz.runs.cluster import local
from dpviz.runs.store.store import Store
from tests.browser.driver import ROOT, running_app
from tools.attack.crowd import PATIENCE, open_page, server_process, visitor

VIEWERS, UPDATES = 100, 6
BEFORE = 500_000  # steps that the run has taken when they come
REST = 3.0  # seconds before each update


@dataclass
class Watch:
    """What the viewers saw.

    Attributes:
        seen: Of each update, by its step, the moment at which each viewer had it.
        looks: Fragments that were drawn.
        faults: What went wrong.
        coming: The update that is looked for.
        over: Whether to stop.
    """

    seen: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    looks: int = 0
    faults: list[str] = field(default_factory=list)
    coming: int = 0
    over: bool = False


def viewer(url: str, run: str, there: threading.Semaphore, watch: Watch) -> None:
    """One viewer, from its page on."""
    try:
        with visitor(url) as own:
            page = open_page(own, "train", f"run={run}")
            ((fragment, interval),) = page.timers.items()
            there.release()
            due, known = time.monotonic() + interval, 0
            while not watch.over:
                time.sleep(max(0.0, due - time.monotonic()))
                due = max(due + interval, time.monotonic())
                request = BackMsg()
                request.rerun_script.query_string = f"run={run}"
                request.rerun_script.page_script_hash = page.script
                request.rerun_script.fragment_id = fragment
                request.rerun_script.is_auto_rerun = True
                own.send(request.SerializeToString())
                coming = watch.coming
                if _drawn(own, numbers.steps(coming)) and coming != known:
                    watch.seen[coming].append(time.monotonic())
                    known = coming
                watch.looks += 1
    except Exception as error:
        watch.faults.append(f"{type(error).__name__}: {error}")
        there.release()


def _drawn(own: object, words: str) -> bool:
    """Wait until a fragment was drawn; whether it says these words."""
    found = False
    while True:
        data = own.recv(timeout=PATIENCE)  # type: ignore[attr-defined]
        found |= words.encode() in data
        message = ForwardMsg()
        message.ParseFromString(data)
        if message.WhichOneof("type") == "script_finished":
            return found


def measured(folder: Path) -> dict[str, float]:
    """Seconds from an update until the last viewer has it, from the first viewer to the last, and of the processor."""
    run = under_way(folder, BEFORE)
    watch, there = Watch(), threading.Semaphore(0)
    try:
        with (
            running_app(ROOT / "app.py", folder / "app.log") as url,
            closing(Store(folder / "runs.sqlite")) as store,
        ):
            crowd = [threading.Thread(target=viewer, args=(url, run, there, watch)) for _ in range(VIEWERS)]
            for one in crowd:
                one.start()
            for _ in crowd:
                there.acquire(timeout=PATIENCE)
            time.sleep(2 * REST)
            server, told, step = server_process(url), last(store, run), BEFORE
            begun, cpu, looks, late, spread = time.monotonic(), _cpu(server), watch.looks, [], []
            for update in range(1, UPDATES + 1):
                time.sleep(REST + 0.137 * update)  # not in step with the viewers
                tell(store, run, told + update, [stretch(step + 1)])
                step += STRETCH
                now = time.monotonic()
                watch.coming = step
                while len(watch.seen[step]) < VIEWERS and time.monotonic() - now < PATIENCE and not watch.faults:
                    time.sleep(0.02)
                late.append(max(watch.seen[step], default=float("inf")) - now)
                spread.append(max(watch.seen[step], default=float("inf")) - min(watch.seen[step], default=0.0))
            cpu, looks, took = _cpu(server) - cpu, watch.looks - looks, time.monotonic() - begun
            watch.over = True
            for one in crowd:
                one.join(PATIENCE)
    finally:
        with suppress(OSError):
            local.stop(folder)
    if watch.faults:
        raise RuntimeError(watch.faults[0])
    return {
        "late": max(late),
        "spread": max(spread),
        "look": cpu / looks,
        "looks": looks / took,
        "cores": cpu / took,
    }


def _cpu(process: object) -> float:
    """Seconds of the processor so far."""
    times = process.cpu_times()  # type: ignore[attr-defined]
    return float(times.user + times.system)
