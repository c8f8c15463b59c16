"""WebKit and Firefox by the commands of W3C WebDriver: over HTTP to WebKitWebDriver, over Marionette to Firefox."""

import base64
import io
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.driver import IDLE_SCRIPT, end_group, free_port

# Command → its name in Marionette, its method and path in HTTP.
COMMANDS = {
    "new session": ("WebDriver:NewSession", "POST", ""),
    "navigate": ("WebDriver:Navigate", "POST", "/url"),
    "script": ("WebDriver:ExecuteScript", "POST", "/execute/sync"),
    "actions": ("WebDriver:PerformActions", "POST", "/actions"),
    "release": ("WebDriver:ReleaseActions", "DELETE", "/actions"),
    "window": ("WebDriver:SetWindowRect", "POST", "/window/rect"),
    "screenshot": ("WebDriver:TakeScreenshot", "GET", "/screenshot"),
}
PATIENCE = 150  # seconds; some pages compute for long where other tests run beside
UNANSWERED = 30  # seconds; WebKit loses a script's answer where a page's process ends for the next one's
MINI_BROWSER = "lib*/**/webkit2gtk-4.1/MiniBrowser"
PREFERENCES = {
    "app.normandy.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "marionette.port": 0,  # any free one
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "ui.allPointerCapabilities": 6,  # a mouse, which a machine without a screen may lack
    "ui.primaryPointerCapabilities": 6,
}
KEYS = {"Enter": "\ue007", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}

# Neither engine tells its console: the page collects what is called an error, from before the app is drawn on.
LISTEN = """
if (window.dpvizLeft || location.protocol === 'about:' || !document.documentElement) return null;
if (!window.dpvizErrors) {
  const errors = window.dpvizErrors = [];
  const log = console.error;
  console.error = (...told) => { errors.push(told.join(' ')); log(...told); };
  const missing = element => `${element.src ?? element.href}: not loaded`;
  addEventListener('error', event => errors.push(event.message ?? missing(event.target)), true);
  addEventListener('unhandledrejection', event => errors.push(String(event.reason)));
  addEventListener('securitypolicyviolation', event => errors.push(`${event.violatedDirective}: ${event.blockedURI}`));
}
return !document.querySelector('[data-testid="stApp"], .dpviz-chart');
"""


class WebDriverError(Exception):
    """A command failed; the message is the browser's."""


class Http:
    """A session's commands and their answers; `send` raises `WebDriverError` if one fails."""

    def __init__(self, port: int) -> None:
        self.session = f"http://127.0.0.1:{port}/session"

    def send(self, command: str, body: dict[str, Any]) -> Any:
        _, method, path = COMMANDS[command]
        text = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.session + path, text, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=UNANSWERED if command == "script" else PATIENCE) as answer:
                value = json.load(answer)["value"]
        except TimeoutError:
            raise WebDriverError(f"No answer to {body or command}.") from None
        except urllib.error.HTTPError as error:
            raise WebDriverError(error.read().decode()) from None
        if command == "new session":
            self.session += f"/{value['sessionId']}"
        return value


class Marionette:
    """The same; messages are JSON behind their length: [0, number, command, body] and [1, number, error, result]."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.stream = self.socket.makefile("rb")
        self._receive()  # which protocol it speaks

    def _receive(self) -> Any:
        length = b""
        while (character := self.stream.read(1)) != b":":
            if not character:
                raise ConnectionError("Firefox has closed the connection.")
            length += character
        return json.loads(self.stream.read(int(length)))

    def send(self, command: str, body: dict[str, Any]) -> Any:
        text = json.dumps([0, 0, COMMANDS[command][0], body]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._receive()
        if error:
            raise WebDriverError(json.dumps(error))
        return result.get("value", result)

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


class Browser:
    """One tab, 1280 × 800, with a mouse and a keyboard.

    Args:
        send: sends a command to a running browser without a session.
        options: capabilities of the session beside the usual ones.
    """

    def __init__(self, send: Callable[[str, dict[str, Any]], Any], options: dict[str, Any]) -> None:
        self._send = send
        self._send("new session", {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "none", **options}}})
        self.resize(1280, 800)

    def resize(self, width: int, height: int) -> None:
        """Give the window's inside this size, in pixels."""
        self._send("window", {"x": 0, "y": 0, "width": width, "height": height + 100})
        self.wait("Math.abs(innerHeight - arguments[0]) < 150", height + 50)  # it takes a moment
        inside, high = self.script("return [innerWidth, innerHeight]")
        self._send("window", {"x": 0, "y": 0, "width": 2 * width - inside, "height": 2 * height + 100 - high})

    def script(self, body: str, *arguments: Any) -> Any:
        """What a function with this body returns."""
        return self._send("script", {"script": body, "args": list(arguments)})

    def wait(self, expression: str, *arguments: Any) -> Any:
        """The value of an expression of `arguments` as soon as it is true."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self.script(f"return ({expression})", *arguments)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expression} did not become true for {arguments}.")
            time.sleep(0.03)
        return value

    def open(self, address: str) -> None:
        """Go to a page, listen to its errors before anything of ours is drawn, and wait until it is idle."""
        for _ in range(5):
            if self._opened(address):
                return self.wait_idle() if address.startswith("http") else None
        raise TimeoutError(f"{address}: drawn before its errors could be listened to, five times.")

    def _opened(self, address: str) -> bool:
        self.script("window.dpvizLeft = true")
        if address.startswith("http"):  # at once, where Firefox's command waits until the page is there
            self.script("location.href = arguments[0]", address)
        else:
            self._send("navigate", {"url": address})
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                in_time: bool | None = self.script(LISTEN)
            except WebDriverError:  # between two documents
                in_time = None
            if in_time is not None:
                return in_time
        raise TimeoutError(f"{address} did not open.")

    def wait_idle(self) -> None:
        self.script("window.__idleSince = null")
        self.wait(f"({IDLE_SCRIPT})(arguments[0])", 300)

    def box(self, selector: str) -> dict[str, float]:
        """{"x", "y", "width", "height"} of an element, in pixels of the window."""
        box: dict[str, float] = self.wait(
            "document.querySelector(arguments[0])?.getBoundingClientRect().toJSON()", selector
        )
        return box

    def mouse(
        self, *places: tuple[float, float], press: bool = False, release: bool = False, kind: str = "mouse"
    ) -> None:
        """Move through these places, with the button pressed at the first and released at the last.

        Args:
            kind: "touch" for a finger, which WebKitWebDriver does not know.
        """
        moves: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y)} for x, y in places]
        pressed = [*moves[:1], {"type": "pointerDown", "button": 0}, *moves[1:]] if press else moves
        steps = [*pressed, {"type": "pointerUp", "button": 0}] if release else pressed
        hand = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": steps}
        self._send("actions", {"actions": [hand]})

    def keys(self, *keys: str) -> None:
        """Press these keys one after the other: characters, or names of `KEYS`."""
        strokes = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self._send("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def end(self) -> list[str]:
        """Let go of what is pressed; what the console called an error, was not caught or did not load since `open`."""
        self._send("release", {})
        errors: list[str] = self.script("return window.dpvizErrors")
        return errors

    def screenshot(self) -> Image.Image:
        """What the window shows, a pixel of the picture for each of the window."""
        picture = Image.open(io.BytesIO(base64.b64decode(self._send("screenshot", {"full": False}))))
        return picture.convert("RGB")


@contextmanager
def _process(command: list[str | Path], home: Path, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process with all that it starts, until the end of the block; its output is in `home`."""
    with (home / f"{Path(command[0]).name}.log").open("wb") as log:
        environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), **more.pop("env", {})}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True, **more
        )
    try:
        yield process
    finally:
        end_group(process)


def _answer(ask: Any, process: subprocess.Popen[bytes]) -> Any:
    """What `ask` returns once it returns something and raises no OSError."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if value := ask():
                return value
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} did not come up.")


def programs(engine: str) -> dict[str, str | Path | None]:
    """The programs by which an engine is driven: their places, None where one is missing."""
    if engine == "firefox":
        return {"firefox-esr": shutil.which("firefox-esr") or shutil.which("firefox")}
    mini = next(iter(sorted(Path("/usr").glob(MINI_BROWSER))), None)
    return {"MiniBrowser": mini} | {name: shutil.which(name) for name in ("WebKitWebDriver", "Xvfb")}


@contextmanager
def webkit(home: Path) -> Iterator[Browser]:
    """WebKitGTK's own small browser, on a screen of its own; `home` is an empty folder."""
    reader, writer = os.pipe()
    screen: list[str | Path] = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
    with _process(screen, home, pass_fds=[writer]), os.fdopen(reader) as displays:
        os.close(writer)
        display, port = f":{displays.readline().strip()}", free_port()
        with _process(["WebKitWebDriver", f"--port={port}"], home, env={"DISPLAY": display}) as driver:
            _answer(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5).read(), driver)
            options = {"binary": str(programs("webkit")["MiniBrowser"]), "args": ["--automation"]}
            yield Browser(Http(port).send, {"webkitgtk:browserOptions": options})


@contextmanager
def firefox(home: Path) -> Iterator[Browser]:
    """Firefox without a screen; `home` is an empty folder."""
    profile = home / "profile"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    program = str(programs("firefox")["firefox-esr"])
    command: list[str | Path] = [program, "--headless", "--no-remote", "--marionette", "--profile", profile]
    with _process(command, home) as process:
        port = int(_answer((profile / "MarionetteActivePort").read_text, process))
        with closing(Marionette(port)) as marionette:
            yield Browser(marionette.send, {})
