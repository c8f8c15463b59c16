"""Fifty visitors at once, each over a websocket of its own: ``python -m tests.attack.crowd``.

Every visitor opens pages in turn as a browser would and waits for each to be drawn; said are the times, how many saw
an exception, and what the app's memory grew by.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.browser.driver import ROOT, running_app

VISITORS = 50
SECONDS = 90.0
PATIENCE = 120.0
PAGES = ("compose", "orders", "noise", "budget", "langevin", "attack", "runs")


def open_page(visitor: Any, page: str) -> bool:
    """Ask for a page and wait until its script has run; whether it showed no exception."""
    asked = BackMsg()
    asked.rerun_script.query_string = ""
    asked.rerun_script.page_name = page
    visitor.send(asked.SerializeToString())
    sound = True
    while True:
        told = ForwardMsg()
        told.ParseFromString(visitor.recv(timeout=PATIENCE))
        if told.WhichOneof("type") == "delta" and told.delta.new_element.WhichOneof("type") == "exception":
            sound = False
        # A script that is begun again at once, to follow its link, says that it finished early.
        if told.WhichOneof("type") == "script_finished" and told.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            return sound


def visit(url: str, number: int, end: float, times: list[float], faults: list[str]) -> None:
    """One visitor, until `end` on the monotonic clock."""
    port = urlsplit(url).port
    own = f"http://127.0.0.1:{port}"
    try:
        with connect(
            f"ws://127.0.0.1:{port}/_stcore/stream",
            origin=own,  # type: ignore[arg-type]
            subprotocols=["streamlit"],  # type: ignore[list-item]
            open_timeout=PATIENCE,
            max_size=None,
            proxy=None,
        ) as visitor:
            turn = number
            while time.monotonic() < end:
                begun = time.monotonic()
                if not open_page(visitor, page := PAGES[turn % len(PAGES)]):
                    faults.append(f"exception on {page}")
                times.append(time.monotonic() - begun)
                turn += 1
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")


def resident(url: str) -> float:
    """MB that the process holds which listens at the app's port."""
    port = urlsplit(url).port
    for process in psutil.process_iter(["name"]):
        try:
            if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in process.net_connections()):
                return float(process.memory_info().rss) / 1e6
        except psutil.Error:
            continue
    return float("nan")


def table(visitors: int = VISITORS, seconds: float = SECONDS) -> str:
    """Pages drawn, how long they took, faults and memory."""
    times: list[float] = []
    faults: list[str] = []
    with (
        tempfile.TemporaryDirectory() as name,
        patch.dict(os.environ, DPVIZ_HOME=str(Path(name) / "home")),
        running_app(ROOT / "app.py", Path(name) / "app.log") as url,
    ):
        visit(url, 0, time.monotonic() + 1.0, [], faults)  # what the first visitor loads stays
        before = resident(url)
        end = time.monotonic() + seconds
        crowd = [threading.Thread(target=visit, args=(url, i, end, times, faults)) for i in range(visitors)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join(seconds + 2 * PATIENCE)
        after = resident(url)
        visit(url, 0, time.monotonic() + 1.0, [], faults)  # it still answers
    ordered = sorted(times) or [float("nan")]
    return "\n".join(
        [
            "## A crowd",
            "",
            f"{visitors} websocket visitors open pages for {seconds:.0f} s, each the next one as soon as one is drawn.",
            "",
            "| visitors | pages drawn | median | 95th percentile | faults | memory before | after |",
            "|---|---|---|---|---|---|---|",
            f"| {visitors} | {len(times)} | {statistics.median(ordered):.1f} s | "
            f"{ordered[int(0.95 * (len(ordered) - 1))]:.1f} s | {len(faults)} | {before:.0f} MB | {after:.0f} MB |",
            *([""] + [f"- {fault}" for fault in sorted(set(faults))] if faults else []),
        ]
    )


if __name__ == "__main__":
    print(table())
