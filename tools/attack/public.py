"""A stranger against a public server, over the wire: ``python -m tools.attack.public``.

One address holds all sessions that it may have and sends each of them 200 requests for a page at once, while others
open pages in turn. Meanwhile every address of training and runs is asked for in many spellings.
"""

import http.client
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from dpviz.questions.catalogue import PAGES
from dpviz.ui.public.limits import SOCKETS_OF_ADDRESS
from tests.public_server import public_server
from tools.attack.crowd import PATIENCE, open_page, visitor

REQUESTS = 200  # of each session, at once
SECONDS = 60.0
OTHER = "203.0.113.7"  # where the others come from, as a proxy before the server says
OPEN = [page.key for page in PAGES if not page.trains]
CLOSED = [*(page.key for page in PAGES if page.trains), "runs"]
WAYS = (
    "/{}",
    "//{}",
    "/{}/",
    "/./{}",
    "/compose/../{}",
    "/%2e%2e/{}",
    "/{}?embed=true",
    "/{}%00",
    "/{}/_stcore/health",
)
OTHERS = (
    "/_stcore/metrics",
    "/_stcore/upload_file/a/b",
    "/component/dpviz.follow/a.js",
    "/app/static/a",
    "/_dpviz/runs",
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def table() -> str:
    """How long others wait, and what of training was answered."""
    with tempfile.TemporaryDirectory() as name, public_server(Path(name)) as url:
        quiet = [opened(url, page) for page in OPEN]
        with stranger(url):
            refused = one_more(url)
            waited = list(others(url))
            asked, answered = knocks(url)
        after = opened(url, OPEN[0])
        stored = (Path(name) / "home").exists()
    return "\n".join(
        [
            "## A stranger at a public server",
            "",
            f"One address holds {SOCKETS_OF_ADDRESS} sessions and sends each {REQUESTS} requests for a page at once.",
            "",
            "| | |",
            "|---|---|",
            f"| one session more | {'refused' if refused else 'let in'} |",
            f"| {len(quiet)} first visits from another address before: median and longest wait | {waits(quiet)} |",
            f"| {len(waited)} visits meanwhile | {waits(waited)} |",
            f"| the first page after the stranger left | {after:.1f} s |",
            f"| requests for pages and addresses of training and runs | {asked} |",
            f"| of these answered | {answered} |",
            f"| a store of runs was opened | {'yes' if stored else 'no'} |",
        ]
    )


def waits(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} s, {max(seconds):.1f} s"


def opened(url: str, page: str) -> float:
    """Seconds until a page of another address is drawn, at most `PATIENCE`."""
    begun = time.monotonic()
    try:
        with visitor(url, {"X-Forwarded-For": OTHER}) as session:
            assert open_page(session, page).sound
    except TimeoutError:
        return PATIENCE
    return time.monotonic() - begun


def others(url: str) -> Iterator[float]:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for page in OPEN:
            if time.monotonic() < end:
                yield opened(url, page)


def one_more(url: str) -> bool:
    """Whether a session beyond those that an address may have is refused."""
    try:
        visitor(url).close()
    except InvalidStatus:
        return True
    return False


@contextmanager
def stranger(url: str) -> Iterator[None]:
    """All sessions of one address, each with its requests, from a process of their own."""
    context = get_context("spawn")
    held = context.Event()
    process = context.Process(target=hold, args=(url, held), daemon=True)
    process.start()
    try:
        assert held.wait(PATIENCE)
        yield
    finally:
        process.kill()
        process.join()


def hold(url: str, held: Event) -> None:
    sessions = [visitor(url) for _ in range(SOCKETS_OF_ADDRESS)]
    threads = [threading.Thread(target=flood, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    held.set()
    for thread in threads:
        thread.join()


def flood(session: ClientConnection) -> None:
    """Ask for pages in turn, all at once; the server may end the session."""
    with suppress(ConnectionClosed, OSError):
        for turn in range(REQUESTS):
            request = BackMsg()
            request.rerun_script.page_name = OPEN[turn % len(OPEN)]
            session.send(request.SerializeToString())
        while True:
            session.recv()


def knocks(url: str) -> tuple[int, int]:
    """How many requests for what is not there were sent, and how many had another answer than 404."""
    paths = [way.format(page) for way in WAYS for page in CLOSED] + list(OTHERS)
    statuses = [status(url, method, path) for method, path in product(METHODS, paths)]
    return len(statuses), sum(one != http.client.NOT_FOUND for one in statuses)


def status(url: str, method: str, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=120)
    connection.request(method, path, headers={"X-Forwarded-For": OTHER})
    found = connection.getresponse().status
    connection.close()
    return found


if __name__ == "__main__":
    print(table())
