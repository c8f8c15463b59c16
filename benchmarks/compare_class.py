"""A class at once: sixty visitors on six links pull a slider at the same moment; when has each its whole sweep?

    PYTHONPATH=. python benchmarks/compare_class.py

Every visitor is a client of the wire protocol (`tools/attack/crowd.py`): it opens its page over a websocket of its own
and, when all have theirs, asks for the frames of 30 stops as `dpviz/charts/browser/frames.js` does, until it has all.
A second round asks for the same stops again: what the class has asked for is there. In a second class, on a server of
its own, ten seconds pass between the opening of the pages and the pull.
"""

import argparse
import os
import random
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil

from dpviz.questions.catalogue import PAGES
from tests.browser.driver import ROOT, running_app
from tests.public_server import public_server
from tools.attack.crowd import PATIENCE, open_page, server_process, streamed, times, visitor

VISITORS = 60
STOPS = 30
REST = 10.0  # seconds that the second class looks at its pages
LINKS = (
    ("compose", "", "sigma"),
    ("compose", "q=0.0123&delta=3e-6", "sigma"),
    ("noise", "steps=7000&delta=2e-6", "target"),
    ("orders", "q=0.03", "sigma"),
    ("langevin", "lview=cost&delta=3e-6&n=70000", "leta"),
    ("budget", "steps=3000&q=0.015", "sigma"),
)


@dataclass
class Sweeps:
    """What the visitors of one link saw: seconds until the sweep was there, between its pieces, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    pieces: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def sweep(port: int, token: str, moved: str, stops: list[str], seen: Sweeps) -> None:
    """Ask for all of them in the order of the movement, and wait until all are there."""
    begun, missing = time.monotonic(), set(stops)
    waits = begun
    try:
        for frames in streamed(port, token, moved, stops):
            seen.pieces.append(time.monotonic() - waits)
            missing -= frames.keys()
            waits = time.monotonic()
    except OSError as problem:
        seen.faults.append(str(problem))
    seen.faults += [f"{moved}: {stop} is missing" for stop in missing]
    seen.seconds.append(time.monotonic() - begun)


def attend(url: str, number: int, together: threading.Barrier, rounds: list[list[Sweeps]]) -> None:
    """One visitor: its page, then a sweep in every round."""
    page, query, moved = LINKS[number % len(LINKS)]
    port, rng = urlsplit(url).port or 0, random.Random(number)
    with visitor(url) as connection:
        drawn = open_page(connection, page, query)
        stops = drawn.stops[moved]
        start = rng.randrange(len(stops) - STOPS)
        passed = stops[start : start + STOPS][:: rng.choice((-1, 1))]
        for seen in rounds:
            together.wait(PATIENCE)
            sweep(port, drawn.tokens[moved], moved, passed, seen[number % len(LINKS)])


def first_pages(url: str) -> str:
    """How long each page takes to be drawn where no visitor was before, one after the other, in a sentence."""
    seconds = {}
    with visitor(url) as connection:
        for page in (page.key for page in PAGES if not page.trains):
            begun = time.monotonic()
            open_page(connection, page)
            seconds[page] = time.monotonic() - begun
    return f"First visits: {', '.join(f'{page} {took:.2f} s' for page, took in seconds.items())}."


def memory_of(server: psutil.Process) -> float:
    """MB of a server and the processes beside it; what they share counts once."""
    return float(sum(each.memory_full_info().pss for each in (server, *server.children(recursive=True)))) / 1e6


def table(visitors: int, names: tuple[str, ...], rest: float, *, public: bool) -> str:
    """Seconds until everybody had the sweep, by link and round, and the server's CPU seconds of each round.

    Args:
        names: of the rounds.
        rest: seconds before the first one.
        public: whether a public server is measured, of which each page was opened before.
    """
    rounds = [[Sweeps() for _ in LINKS] for _ in names]
    cpu: list[float] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(patch.dict(os.environ, DPVIZ_HOME=str(folder / "home")))
        app = public_server(folder) if public else running_app(ROOT / "app.py", folder / "app.log")
        url = stack.enter_context(app)
        server = server_process(url)
        opened = first_pages(url) if public else ""

        def spent() -> None:
            cpu.append(sum(sum(each.cpu_times()[:2]) for each in (server, *server.children())))

        def ready() -> None:
            time.sleep(0.0 if cpu else rest)
            spent()

        together = threading.Barrier(visitors, action=ready)
        crowd = [threading.Thread(target=attend, args=(url, i, together, rounds)) for i in range(visitors)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        spent()
        memory = memory_of(server)
    lines = ["| round | link | visitors | sweep there, median | 95th percentile | last | piece, median | faults |"]
    lines.append("|---|---|" + "--:|" * 6)
    for name, seen in zip(names, rounds, strict=True):
        for (page, query, moved), one in zip(LINKS, seen, strict=True):
            last, piece = max(one.seconds), statistics.median(one.pieces)
            lines.append(
                f"| {name} | {page}?{query} ({moved}) | {len(one.seconds)} | {times(one.seconds)} | {last:.2f} s "
                f"| {piece:.2f} s | {len(one.faults)} |"
            )
    shares = ", ".join(
        f"{after - before:.1f} s {name}" for name, before, after in zip(names, cpu, cpu[1:], strict=False)
    )
    return "\n".join(
        [
            *lines,
            "",
            f"CPU of the server: {shares}. Memory: {memory:.0f} MB. {opened}",
            f"Load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores.",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=VISITORS)
    parser.add_argument("--public", action="store_true", help="measure a public server")
    given = parser.parse_args()
    print(table(given.visitors, ("at once", "again"), rest=0.0, public=given.public))
    print(table(given.visitors, (f"{REST:.0f} s after it opened",), rest=REST, public=given.public))
