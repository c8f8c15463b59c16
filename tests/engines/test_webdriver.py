"""The driver itself: a page opens though the browser loses an answer between two documents."""

import http.server
import json
import threading

import pytest

from tests.engines import webdriver


class Forgetful(http.server.BaseHTTPRequestHandler):
    """Answers every command, except the first script that listens to a page's errors."""

    forgotten = False
    awake = threading.Event()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        script = body.get("script", "")
        if script == webdriver.LISTEN and not Forgetful.forgotten:
            Forgetful.forgotten = True
            self.awake.wait(webdriver.PATIENCE)
            return
        value = {"sessionId": "1"} if "capabilities" in body else [1280, 800] if "innerWidth" in script else True
        text = json.dumps({"value": value}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is told."""


def test_an_answer_that_is_lost_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webdriver, "UNANSWERED", 0.2)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        webdriver.Browser(webdriver.Http(server.server_port).send, {}).open("http://127.0.0.1/")
        Forgetful.awake.set()
        server.shutdown()
    assert Forgetful.forgotten
