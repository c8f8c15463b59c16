"""Fifty visitors at once, each over a websocket of its own: ``python -m tools.attack.crowd``.

Every visitor opens pages in turn as a browser would, waits for each to be drawn, and pulls one of its sliders for a
second: it asks for its frames as `dpviz/charts/browser/frames.js` does. Said are the times, what went
wrong, and what the app's memory grew by.
"""

import http.client
import json
import os
import random
import statistics
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode, urlsplit

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.browser.driver import ROOT, running_app

VISITORS = 50
SECONDS = 60.0
PATIENCE = 120.0
PAGES = ("compose", "orders", "noise", "budget", "langevin", "attack", "runs")
PULL = 1.0  # seconds


@dataclass
class Page:
    """What a visitor sees of a page.

    Attributes:
        sound: Whether it showed no exception.
        tokens: Of the chart's frames, by the field that may move.
        stops: Of each slider, by field.
        follows: What a page that goes on changing tells its browser: where it asks for what is new, and how often.
    """

    sound: bool = True
    tokens: dict[str, str] = field(default_factory=dict)
    stops: dict[str, list[str]] = field(default_factory=dict)
    follows: dict[str, Any] = field(default_factory=dict)

    def add(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        self.sound &= kind != "exception"
        if kind == "bidi_component" and element.bidi_component.component_name.startswith("dpviz."):
            data = json.loads(element.bidi_component.json)
            self.tokens |= data.get("frames") or {}
            if element.bidi_component.component_name == "dpviz.follow":
                self.follows = data
            if data.get("stops") and "field" in data:
                self.stops[data["field"]] = data["stops"]


@dataclass
class Seen:
    """What the crowd saw: seconds of every page and between pieces of frames, frames, and what went wrong."""

    pages: list[float] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    frames: int = 0
    faults: list[str] = field(default_factory=list)


def visitor(url: str, headers: Mapping[str, str] | None = None) -> ClientConnection:
    """A websocket of one's own to the app; `headers`: what else it says."""
    port = urlsplit(url).port
    return connect(
        f"ws://127.0.0.1:{port}/_stcore/stream",
        origin=f"http://127.0.0.1:{port}",  # type: ignore[arg-type]
        subprotocols=["streamlit"],  # type: ignore[list-item]
        open_timeout=PATIENCE,
        max_size=None,
        ping_interval=None,  # a page that takes long is no lost visitor
        proxy=None,
        additional_headers=dict(headers or {}),
    )


def open_page(visitor: ClientConnection, page: str, query: str = "") -> Page:
    """Ask for a page and wait until its script has run."""
    request = BackMsg()
    request.rerun_script.query_string = query
    request.rerun_script.page_name = page
    visitor.send(request.SerializeToString())
    drawn = Page()
    while True:
        message = ForwardMsg()
        message.ParseFromString(visitor.recv(timeout=PATIENCE))
        kind = message.WhichOneof("type")
        if kind == "delta":
            drawn.add(message.delta.new_element)
        # A script that is begun again at once, to follow its link, says that it finished early.
        if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            return drawn


def streamed(port: int, token: str, moved: str, stops: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Frames by their texts, as the server sends them.

    Raises:
        OSError: it refuses.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    query = urlencode({"field": moved, "at": ",".join(stops)})
    with closing(connection):
        connection.request("GET", f"/_dpviz/frames/{token}?{query}")
        reply = connection.getresponse()
        if reply.status != 200:
            raise OSError(f"frames of {moved}: {reply.status}")
        unzip, rest = zlib.decompressobj(wbits=31), b""
        while piece := reply.read1(2**16):
            *lines, rest = (rest + unzip.decompress(piece)).split(b"\n")
            for line in lines:
                yield json.loads(line)["frames"]


def pull(port: int, page: Page, rng: random.Random, seen: Seen) -> None:
    """Pull a slider over its range for a moment: all its frames are asked for, in the order of the movement."""
    movable = sorted(page.tokens.keys() & page.stops.keys())
    if not movable:
        return
    moved = rng.choice(movable)
    begun, waits = time.monotonic(), time.monotonic()
    for frames in streamed(port, page.tokens[moved], moved, page.stops[moved][:: rng.choice((-1, 1))]):
        seen.requests.append(time.monotonic() - waits)
        seen.frames += sum(frame is not None for frame in frames.values())
        if time.monotonic() - begun > PULL:
            break
        waits = time.monotonic()


def visit(url: str, number: int, end: float, seen: Seen) -> None:
    """One visitor, until `end` on the monotonic clock."""
    port = urlsplit(url).port or 0
    try:
        with visitor(url) as own:
            turn, rng = number, random.Random(number)
            while time.monotonic() < end:
                begun = time.monotonic()
                drawn = open_page(own, page := PAGES[turn % len(PAGES)])
                if not drawn.sound:
                    seen.faults.append(f"exception on {page}")
                seen.pages.append(time.monotonic() - begun)
                pull(port, drawn, rng, seen)
                turn += 1
    except Exception as error:
        seen.faults.append(f"{type(error).__name__}: {error}")


def server_process(url: str) -> psutil.Process:
    """The process that listens at the app's port."""
    port = urlsplit(url).port
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error):
            if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in process.net_connections()):
                return process
    raise LookupError(f"Nobody listens at {url}.")


def resident(url: str) -> float:
    """MB that the app holds."""
    return float(server_process(url).memory_info().rss) / 1e6


def table(visitors: int = VISITORS, seconds: float = SECONDS) -> str:
    """Pages drawn and frames answered, how long they took, faults and memory."""
    first, seen = Seen(), Seen()
    with (
        tempfile.TemporaryDirectory() as name,
        patch.dict(os.environ, DPVIZ_HOME=str(Path(name) / "home")),
        running_app(ROOT / "app.py", Path(name) / "app.log") as url,
    ):
        visit(url, 0, time.monotonic() + 1.0, first)  # what the first visitor loads stays
        before = resident(url)
        end = time.monotonic() + seconds
        crowd = [threading.Thread(target=visit, args=(url, i, end, seen)) for i in range(visitors)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join(seconds + 2 * PATIENCE)
        after = resident(url)
        visit(url, 0, time.monotonic() + 1.0, first)  # it still answers
    faults = [*first.faults, *seen.faults, *([] if seen.frames else ["nobody got a frame"])]
    return "\n".join(
        [
            "## A crowd that drags",
            "",
            f"{visitors} websocket visitors open pages for {seconds:.0f} s and pull a slider of each for {PULL:g} s.",
            "",
            "| | answered | median | 95th percentile |",
            "|---|---|---|---|",
            f"| pages | {len(seen.pages)} | {times(seen.pages)} |",
            f"| pieces of frames, {seen.frames} frames in all | {len(seen.requests)} | {times(seen.requests)} |",
            "",
            f"Faults: {len(faults)}. Memory: {before:.0f} MB before, {after:.0f} MB after.",
            *([""] + [f"- {fault}" for fault in sorted(set(faults))] if faults else []),
        ]
    )


def times(seconds: list[float]) -> str:
    """Median and 95th percentile, as two columns."""
    ordered = sorted(seconds) or [float("nan")]
    return f"{statistics.median(ordered):.2f} s | {ordered[int(0.95 * (len(ordered) - 1))]:.2f} s"


if __name__ == "__main__":
    print(table())
