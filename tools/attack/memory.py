"""What strangers leave behind in memory: ``python -m tools.attack.memory``. Random links, then dropped uploads.

Every link and every upload comes in a session of its own, over a websocket, and leaves as soon as its page is drawn.
Said is what the app's process holds before, and after the sessions have ended.
"""

import argparse
import http.client
import io
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode, urlsplit

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

from dpviz.questions.gradient_fields import COUNT, DIMENSIONS, PAIRING, SOURCE, VECTORS
from dpviz.ui import server
from dpviz.ui.page import ADDRESSES
from dpviz.ui.registry import FIELDS
from tests.browser.driver import ROOT, running_app
from tests.questions.test_every_question import value
from tools.attack import crowd

LINKS, UPLOADS = 200, 20
ROWS = 2_000_000  # of each upload: 16 MB as a file, and again as numbers
VISITORS = 4  # at a time
SECONDS = 180.0  # for all links, and for all uploads
PATIENCE = 60.0  # for one page
SETTLE = 30.0  # for the app to let go of sessions, beyond the time in which their visitors may come back
PAGES = ("", *ADDRESSES)


class Visitor:
    """A session over a websocket, as a browser holds one."""

    def __init__(self, socket: Any, port: int) -> None:
        self.socket, self.port, self.session = socket, port, ""
        self.taken = False  # a file of this visitor's is in use
        self.elements: dict[str, str] = {}  # kind → id of the first widget of that kind
        self.urls: Any = None

    def ask(self, page: str, query: str, *states: Callable[[Any], None]) -> None:
        """Have a page drawn, with widgets as `states` set them, and wait until it is."""
        asked = BackMsg()
        asked.rerun_script.query_string, asked.rerun_script.page_name = query, page
        for state in states:
            state(asked.rerun_script.widget_states.widgets.add())
        self.socket.send(asked.SerializeToString())
        self._until(
            lambda told: (
                told.WhichOneof("type") == "script_finished"
                and told.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            )
        )

    def give(self, name: str, data: bytes) -> Any:
        """Send a file as the uploader does; what to say of it afterwards."""
        asked = BackMsg()
        asked.file_urls_request.request_id = "1"
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self.session
        self.socket.send(asked.SerializeToString())
        self._until(lambda told: told.WhichOneof("type") == "file_urls_response")
        edge = "a-part-of-a-form"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        own = f"127.0.0.1:{self.port}"
        body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
        token = generate_xsrf_token_string()
        headers = {
            "Content-Type": f"multipart/form-data; boundary={edge}",
            "Origin": f"http://{own}",
            "X-Xsrftoken": token,
            "Cookie": f"_streamlit_xsrf={token}",
        }
        connection.request("PUT", self.urls.upload_url, body, headers)
        status = connection.getresponse().status
        assert status == 204, f"the upload was answered with {status}"
        return self.urls

    def _until(self, done: Callable[[Any], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            told = ForwardMsg()
            told.ParseFromString(self.socket.recv(timeout=max(end - time.monotonic(), 0.0)))
            kind = told.WhichOneof("type")
            if kind == "new_session":
                self.session = told.new_session.initialize.session_id
            elif kind == "file_urls_response":
                self.urls = told.file_urls_response.file_urls[0]
            elif kind == "delta":
                element = told.delta.new_element
                which = element.WhichOneof("type") or ""
                if which == "exception":
                    raise AssertionError(f"{element.exception.type}: {element.exception.message}")
                self.taken |= which == "html" and "In use: " in element.html.body
                held = getattr(element, which, None)
                if getattr(held, "label", "") in ("Controls", "Norms or distances"):
                    self.elements[held.label] = held.id
            if done(told):
                return


@contextmanager
def visitor(url: str) -> Iterator[Visitor]:
    with crowd.visitor(url) as socket:
        yield Visitor(socket, urlsplit(url).port or 0)


def link(draw: random.Random) -> tuple[str, str]:
    """A page with any legal settings; where it draws gradients, half of the time as many as may be asked for."""
    values = {field.key: field.write(value(field, draw)) for field in FIELDS}
    values[SOURCE.key] = draw.choice([key for key in SOURCE.options if key not in ("upload", "measured")])
    values |= {"lkrun": "small", "model": "logistic", "lksteps": str(draw.randint(1, 40))}
    if draw.random() < 0.5:
        values[COUNT.key] = f"{COUNT.high:.0f}"
        values |= draw.choice(
            [
                {PAIRING.key: "disjoint", VECTORS.key: f"{VECTORS.high:.0f}", DIMENSIONS.key: "20"},
                {PAIRING.key: "all", VECTORS.key: "2000", DIMENSIONS.key: "50"},
            ]
        )
    return draw.choice(PAGES), urlencode({"curves": "moments.bayesian", **values, "noisecurves": "moments.bayesian"})


def open_link(url: str, number: int, seed: int) -> None:
    page, query = link(random.Random(f"{seed} {number}"))
    with visitor(url) as one:
        one.ask(page, query)


def drop_upload(url: str, number: int, seed: int, rows: int = ROWS) -> None:
    """A file of one's own on a page that reads it; then the session ends."""
    held = io.BytesIO()
    np.save(held, np.random.default_rng([seed, number]).weibull(2.0, rows))
    page, curves = [("compose", "curves"), ("noise", "noisecurves")][number % 2]
    query = urlencode({"source": "upload", curves: "moments.bayesian", "steps": "1000"})
    with visitor(url) as one:
        one.ask(page, query)
        of = held.getvalue()
        told = one.give("norms.npy", of)

        def data(state: Any) -> None:
            state.id = one.elements["Controls"]
            state.string_array_value.data.append("Data")

        def file(state: Any) -> None:
            state.id = one.elements["Norms or distances"]
            info = state.file_uploader_state_value.uploaded_file_info.add()
            info.name, info.size, info.file_id = "norms.npy", len(of), told.file_id
            info.file_urls.CopyFrom(told)

        one.ask(page, query, data)
        one.ask(page, query, data, file)
        assert one.taken, "the file is not in use"


def all_of(work: Callable[[int], None], count: int) -> tuple[int, list[str]]:
    """Do so many, a few at a time, as long as there is time; how many were sound, and what went wrong."""
    numbers, lock, sound, faults = iter(range(count)), threading.Lock(), [0], []
    end = time.monotonic() + SECONDS

    def visit() -> None:
        while time.monotonic() < end:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                work(number)
                sound[0] += 1
            except Exception as error:
                faults.append(f"{type(error).__name__}: {error}"[:200])

    visitors = [threading.Thread(target=visit) for _ in range(VISITORS)]
    for one in visitors:
        one.start()
    for one in visitors:
        one.join()
    return sound[0], faults


def settled(url: str) -> float:
    """MB that the app holds once the sessions that ended are gone: the least of what is seen."""
    least, end = crowd.resident(url), time.monotonic() + server.AWAY + SETTLE
    while time.monotonic() < end:
        time.sleep(5.0)
        least = min(least, crowd.resident(url))
    return least


def table(links: int = LINKS, uploads: int = UPLOADS, seed: int = 1) -> str:
    """Memory before, after the links, and after the uploads."""
    with (
        tempfile.TemporaryDirectory() as name,
        patch.dict(os.environ, DPVIZ_HOME=str(Path(name) / "home")),
        running_app(ROOT / "app.py", Path(name) / "app.log") as url,
    ):
        for page in PAGES:  # what the first visitor of each page loads stays
            with visitor(url) as one:
                one.ask(page, "lkrun=small&lksteps=2&model=logistic")
        before, rows = settled(url), []
        for kind, work, count in (
            ("random links", lambda n: open_link(url, n, seed), links),
            (f"dropped uploads of {ROWS:,} numbers", lambda n: drop_upload(url, n, seed), uploads),
        ):
            begun = time.monotonic()
            sound, faults = all_of(work, count)
            took, at_once = time.monotonic() - begun, crowd.resident(url)
            after = settled(url)
            rows.append(
                f"| {kind} | {sound} of {count} | {took:.0f} s | {before:.0f} MB | {at_once:.0f} MB | {after:.0f} MB | "
                f"{after - before:+.0f} MB |"
            )
            rows += [f"\n- {fault}" for fault in sorted(set(faults))]
    return "\n".join(
        [
            "## Memory",
            "",
            f"Each in a session of its own, {VISITORS} at a time. *Before* is after a visit to every page; *after* is "
            "when the sessions have ended.",
            "",
            "| what | drawn without an exception | took | before | at its end | after | grown |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=LINKS)
    parser.add_argument("--uploads", type=int, default=UPLOADS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(table(asked.links, asked.uploads, asked.seed))
