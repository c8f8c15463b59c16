"""A hundred viewers of a live run: the real app, and for each viewer what a browser without a screen has: a websocket,
over which its page came, and a connection over which it asks for what is new, as often as its page says.

What travels is not drawn.
"""

import http.client
import json
import threading
import time
import zlib
from collections import defaultdict
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

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
        looks: Times that somebody asked for what is new.
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
        with (
            visitor(url) as own,
            closing(http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=PATIENCE)) as server,
        ):
            data = open_page(own, "train", f"run={run}").follows
            there.release()
            address, every = f"{data['at']}/updates/{data['token']}", 1e-3 * data["every"]
            known = mark = ""
            while not watch.over:
                server.request("GET", address, headers={"If-None-Match": mark})
                reply = server.getresponse()
                content, mark = reply.read(), reply.headers.get("ETag", mark)
                if reply.status not in (200, 304):
                    raise OSError(f"what is new: {reply.status}")
                coming = numbers.steps(watch.coming)
                if content and coming != known:
                    shown = json.loads(zlib.decompress(content, wbits=31))
                    if coming in shown["headline"]:
                        watch.seen[watch.coming].append(time.monotonic())
                        known = coming
                watch.looks += 1
                time.sleep(every)
    except Exception as error:
        watch.faults.append(f"{type(error).__name__}: {error}")
        there.release()


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
