"""Requests as strangers send them: other origins, rebound names, frames, accounts; and everyday use beside them."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dpviz.runs.cluster.tls import temporary
from dpviz.ui.access import NOT_THE_OWNER
from tests.browser.driver import ROOT, TIMEOUT_MS, open_page, running_app
from tests.other_account import CAN_BE_OTHERS, by_another, needs_root

pytestmark = pytest.mark.sweep


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


@contextmanager
def served(pages: list[str]) -> Iterator[int]:
    """The port of a site whose every address is the last of `pages`."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages[-1].encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def stranger(app_url: str) -> Iterator[str]:
    """A page on another port of this machine that frames the app and opens its websocket."""
    with served([STRANGER.replace("{app}", app_url)]) as port:
        yield f"http://127.0.0.1:{port}"


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


# Statuses of the websocket and of every kind of address, with the right Host and Origin; what else may be sent.
KNOCK = """
port, more = int(sys.argv[1]), json.loads(sys.argv[2])
own = f"http://localhost:{port}"
try:
    websockets.sync.client.connect(
        f"ws://localhost:{port}/_stcore/stream", origin=own, subprotocols=["streamlit"], additional_headers=more,
        proxy=None,
    ).close()
    statuses = [101]
except websockets.exceptions.InvalidStatus as refused:
    statuses = [refused.response.status_code]
for method, path in (("GET", "/"), ("GET", "/_stcore/health"), ("GET", "/static/index.html"), ("GET", "/_dpviz/a/b"),
                     ("GET", "/?token=wrong"), ("PUT", "/_stcore/upload_file/a/b"), ("DELETE", "/media/a.png")):
    connection = http.client.HTTPConnection("localhost", port, timeout=20)
    connection.request(method, path, headers={"Origin": own, **more})
    statuses.append(connection.getresponse().status)
    connection.close()
print(json.dumps(statuses))
"""


@needs_root
@pytest.mark.parametrize("more", [{}, {"X-Forwarded-For": "127.0.0.1"}, {"Cookie": "dpviz-{port}=a"}])
def test_another_account_is_refused(app_url: str, more: dict[str, str]) -> None:
    port = urlsplit(app_url).port
    headers = json.dumps({name: value.replace("{port}", str(port)) for name, value in more.items()})
    assert json.loads(by_another(KNOCK, port, headers)) == [403] * 8


SQUAT = """
try:
    socket.socket(socket.AF_INET6).bind(("::1", int(sys.argv[1])))
except OSError:
    print("refused")
"""


@needs_root
def test_another_account_cannot_stand_where_browsers_look_first(app_url: str) -> None:
    assert by_another(SQUAT, urlsplit(app_url).port) == "refused"


TOKEN = "a-token-for-tests"


@pytest.fixture
def with_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPVIZ_TOKEN", TOKEN)
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))


@pytest.mark.usefixtures("with_token")
def test_with_a_token_it_opens_once_and_is_in_no_address(browser: Browser, tmp_path: Path) -> None:
    with running_app(ROOT / "app.py", tmp_path / "app.log") as url:
        own = {"Origin": url}
        assert shake_hands(url, **own) == 403
        tab = browser.new_context(base_url=url).new_page()
        tab.goto("/compose")
        assert tab.locator("body").inner_text() == NOT_THE_OWNER
        open_page(tab, "compose", sigma=3, token=TOKEN)
        assert "sigma=3" in tab.url
        assert "token" not in tab.url + tab.evaluate("() => document.cookie + document.referrer")
        open_page(tab, "orders")
        [cookie] = [one for one in tab.context.cookies() if one["name"].startswith("dpviz")]
        assert (cookie["httpOnly"], cookie["sameSite"], TOKEN in cookie["value"]) == (True, "Lax", False)
        by_cookie = {"Cookie": f"{cookie['name']}={cookie['value']}"}
        assert answer(url, "/", **own, **by_cookie).status == 200
        if CAN_BE_OTHERS:  # the token is for whoever holds it
            assert json.loads(by_another(KNOCK, urlsplit(url).port, json.dumps(by_cookie)))[0] == 101
        tab.context.close()
    assert TOKEN not in (tmp_path / "app.log").read_text()


@pytest.mark.usefixtures("with_token")
def test_with_a_token_it_shows_in_the_frames_of_a_named_site(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = tmp_path / "certificate.pem"
    certificate.write_text(temporary())
    flags = [f"--server.ssl{kind}File={certificate}" for kind in ("Cert", "Key")]
    pages = [""]
    with served(pages) as port:
        site = f"http://localhost:{port}"  # another site than 127.0.0.1
        monkeypatch.setenv("DPVIZ_FRAMED_BY", site)
        with running_app(ROOT / "app.py", tmp_path / "app.log", *flags, scheme="https") as url:
            pages.append(f'<iframe src="{url}/compose?embed=1&token={TOKEN}" width=900 height=700></iframe>')
            context = browser.new_context(ignore_https_errors=True)
            tab = context.new_page()
            tab.goto(site)
            tab.frame_locator("iframe").locator(".dpviz-headline").first.wait_for(timeout=TIMEOUT_MS)
            [cookie] = [one for one in context.cookies() if one["name"].startswith("dpviz")]
            assert (cookie["sameSite"], cookie["secure"], cookie["httpOnly"]) == ("None", True, True)
            assert "localhost" in cookie["partitionKey"]
            elsewhere = context.new_page()
            elsewhere.goto(f"{url}/compose")
            assert elsewhere.locator("body").inner_text() == NOT_THE_OWNER
            context.close()
