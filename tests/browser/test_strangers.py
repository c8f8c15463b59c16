"""Requests as strangers send them: other origins, rebound names, frames; and everyday use beside them."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.browser.driver import open_page


def shake_hands(url: str, **headers: str) -> int:
    """HTTP status that the websocket's handshake is answered with; 101 is welcome."""
    port = urlsplit(url).port
    host, origin = headers.get("Host", f"127.0.0.1:{port}"), headers.get("Origin")
    try:
        with connect(
            f"ws://{host}/_stcore/stream",
            sock=socket.create_connection(("127.0.0.1", port or 0), timeout=20),
            origin=origin,  # type: ignore[arg-type]
            subprotocols=["streamlit"],  # type: ignore[list-item]
            proxy=None,
        ):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def answer(url: str, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=20)
    connection.request(method, path, headers=headers)
    found = connection.getresponse()
    found.read()
    connection.close()
    return found


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "LOCALHOST", "localhost."])
def test_the_page_itself_is_welcome(app_url: str, name: str) -> None:
    host = f"{name}:{urlsplit(app_url).port}"
    assert shake_hands(app_url, Host=host, Origin=f"http://{host}") == 101
    assert answer(app_url, "/", Host=host).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://127.0.0.1:1",
        "http://localhost:8000",
        "http://localhost",
        "http://evil.example",
        "null",
        "http://127.0.0.1:{port}.evil.example",
        "http://localhost:{port}",  # another name of this machine is another origin
        None,
    ],
)
def test_another_origin_is_refused(app_url: str, origin: str | None) -> None:
    port = urlsplit(app_url).port
    headers = {} if origin is None else {"Origin": origin.replace("{port}", str(port))}
    assert shake_hands(app_url, **headers) == 403
    if headers:
        for method, path in (("GET", "/_stcore/host-config"), ("PUT", "/_stcore/upload_file/a/b"), ("POST", "/")):
            assert answer(app_url, path, method, **headers).status == 403


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example@localhost", "127.0.0.2", ""])
def test_a_rebound_name_is_refused(app_url: str, host: str) -> None:
    named = f"{host}:{urlsplit(app_url).port}"
    for path in ("/", "/_stcore/health", "/_stcore/host-config"):
        assert answer(app_url, path, Host=named).status == 403
    if "@" not in host and host:
        assert shake_hands(app_url, Host=named, Origin=f"http://{named}") == 403


def test_nobody_may_frame_or_embed_it(app_url: str) -> None:
    found = answer(app_url, "/")
    assert found.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert found.headers["X-Frame-Options"] == "DENY"
    assert found.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert found.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert found.headers["Access-Control-Allow-Origin"] is None


STRANGER = """<iframe src="{app}/compose"></iframe><script>
const socket = new WebSocket("{app}/_stcore/stream".replace("http", "ws"), ["streamlit"]);
socket.onopen = () => document.title = "open";
socket.onclose = () => document.title ||= "refused";
</script>"""


@pytest.fixture
def stranger(app_url: str) -> Iterator[str]:
    """A page on another port of this machine that frames the app and opens its websocket."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(STRANGER.replace("{app}", app_url).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_strangers_page_in_a_real_browser(browser: Browser, stranger: str) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(stranger)
    tab.wait_for_function("() => document.title")
    assert tab.title() == "refused"
    tab.wait_for_load_state("load")
    [frame] = tab.frames[1:]
    assert frame.url.startswith("chrome-error:")  # what Chromium shows in place of a page that wants no frame
    context.close()


def test_by_its_other_name_it_works(page: Page, app_url: str) -> None:
    open_page(page, "compose")
    named = app_url.replace("127.0.0.1", "localhost")
    context = page.context.browser.new_context(base_url=named)  # type: ignore[union-attr]
    tab = context.new_page()
    open_page(tab, "compose")
    assert tab.url.startswith(named)
    context.close()
