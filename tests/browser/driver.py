"""The real app and a real Chromium, as plain functions, for the fixtures of ``conftest.py`` and for benchmarks.

A page test reads::

    def test_more_noise_costs_less(page: Page) -> None:
        open_page(page, "compose", noise_multiplier=2)
        slider(page, "sigma").press("ArrowRight")
        wait_idle(page)
        assert chart_data(page)["data"][0]["y"][-1] < 1
"""

import base64
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Browser, ConsoleMessage, FloatRect, Locator, Page, Route, expect

import dpviz
from dpviz.questions.links import TODAY, VERSION
from dpviz.runs.cluster import local
from dpviz.runs.store.folders import home

ROOT = Path(__file__).resolve().parents[2]

# A 2-core machine with all tests running is slow; a page that is not done by then is broken.
TIMEOUT_MS = 150_000  # other tests run beside it


# How a page is shown, as options of a browser's context; the fixture ``page`` takes one.
# Each theme and each size, and not every pair of them: a page costs seconds.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
    {"color_scheme": "dark", "viewport": {"width": 1920, "height": 1080}},
)
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

CHROMIUMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# Chromium looks its maker's servers up at every start; these keep a test run on this machine.
CHROMIUM_FLAGS = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Idle: connected, the app answers, no script run under way, nothing faded or still loading, every chart drawn; and so
# for `settle` ms on end, because a key press starts its run a moment later.
IDLE_SCRIPT = """
settle => {
  const app = document.querySelector('[data-testid="stApp"]');
  const main = document.querySelector('[data-testid="stMain"]');
  const busy = !app || !main
    || app.getAttribute('data-test-connection-state') !== 'CONNECTED'
    || document.documentElement.classList.contains('dpviz-away')
    || app.getAttribute('data-test-script-state') !== 'notRunning'
    || !main.querySelector('[data-testid="stElementContainer"], [data-testid="stException"]')
    || main.querySelector('[data-testid="stSkeleton"], [data-stale="true"], [data-slow]')
    || document.documentElement.hasAttribute('data-dpviz-pending')
    || [...main.querySelectorAll('[data-testid="stBidiComponentRegular"]')].some(
         one => !one.querySelector('.dpviz-number, .dpviz-run, .dpviz-play, .dpviz-steps, .dpviz-images')
           && !one.querySelector('.dpviz-follow[data-over]')
           && !one.querySelector('.dpviz-chart[data-state="drawn"]'));
  if (busy) { window.__idleSince = null; return false; }
  window.__idleSince ??= performance.now();
  return performance.now() - window.__idleSince >= settle;
}
"""

DRAWN = '.dpviz-chart[data-state="drawn"]'

# The chart's component.
MOUNTED = """() => {
  let at = document.querySelector('.dpviz-chart');
  while (!at.dpvizChart) at = at.parentElement;
  return at.dpvizChart;
}"""

# Typed arrays become lists; NaN and infinities become null, as in all JSON.
CHART_SCRIPT = """
plot => JSON.stringify({data: plot.data, layout: plot.layout},
  (key, value) => ArrayBuffer.isView(value) ? Array.from(value) : value)
"""


def find_chromium() -> str | None:
    """Path of a Chromium or Chrome on this machine; ``DPVIZ_CHROMIUM`` names one that stands elsewhere."""
    named = os.environ.get("DPVIZ_CHROMIUM")
    return next(filter(None, map(shutil.which, (named, *CHROMIUMS) if named else CHROMIUMS)), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(script: Path, log: Path, *flags: str, scheme: str = "http", runs_go_on: bool = False) -> Iterator[str]:
    """Run ``streamlit run script`` on a free port, yield its URL, and end it with all its children and, unless its
    runs are to go on, its cluster.

    The address it listens on is left to .streamlit/config.toml, as for anyone who starts the app by hand.
    Its output goes to ``log``, which is quoted when the app does not come up.
    """
    port, store = free_port(), home()
    flags = (f"--server.port={port}", "--server.headless=true", "--server.fileWatcherType=none", *flags)
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(script), *flags],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
    try:
        url = f"{scheme}://127.0.0.1:{port}"
        wait_until_healthy(f"{url}/_stcore/health", server, log)
        yield url
    finally:
        end_group(server)
        if not runs_go_on:
            local.stop(store)


def wait_until_healthy(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    unchecked = ssl._create_unverified_context()  # tests make their own certificates
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5, context=unchecked):
                return
        except urllib.error.HTTPError as answer:
            answer.close()
            if answer.code == 403:  # it asks for its token
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"The app did not come up at {address}. Its output:\n{log.read_text(errors='replace')}")


def end_group(server: subprocess.Popen[bytes]) -> None:
    """End the server and whatever it started: politely first, then for good."""
    for end in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, end)
        except ProcessLookupError:
            break
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            continue
    server.wait()


@contextmanager
def watched_tab(browser: Browser, own: str, **options: Any) -> Iterator[Page]:
    """A fresh tab of a context with these options, for addresses that begin with ``own``.

    Requests elsewhere are refused: tests need no network. At its end it fails if there was one, if the browser's
    console called something an error, if no script caught one, or if the page shows an exception.
    """
    elsewhere: list[str] = []
    errors: list[str] = []

    def refuse(route: Route) -> None:
        elsewhere.append(route.request.url)
        route.abort()

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    with browser.new_context(**options) as context:
        context.set_default_timeout(TIMEOUT_MS)
        context.route(lambda url: not url.startswith((own, "data:", "blob:")), refuse)
        tab = context.new_page()
        tab.on("console", listen)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        yield tab
        no_traceback(tab)
    assert elsewhere == [], elsewhere
    assert errors == [], errors


def visitor(browser: Browser, url: str) -> Page:
    """A tab of another person's, who may see the app go and come."""
    context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(TIMEOUT_MS)
    return context.new_page()


@contextmanager
def handed_out(browser: Browser, folder: Path, key: str, **options: Any) -> Iterator[Page]:
    """The page that a question hands out, opened from disk."""
    file = folder / "page.html"
    dpviz.ask(key).html(file)
    with watched_tab(browser, "file:", **options) as tab:
        tab.goto(file.as_uri())
        tab.wait_for_selector(DRAWN)
        yield tab


def open_page(page: Page, path: str = "", **query: object) -> None:
    """Go to a page of the app ("" is the first one) with the given query parameters, and wait until it is idle.

    Fails if it then shows an exception.
    """
    page.goto(f"/{path}" + (f"?{urlencode({VERSION: TODAY} | query, doseq=True)}" if query else ""))
    wait_idle(page)
    no_traceback(page)


def wait_idle(page: Page, *, settle_ms: float = 300) -> None:
    """Wait until the app has run, every chart is drawn, and both have stayed so for ``settle_ms``."""
    page.evaluate("() => { window.__idleSince = null; }")
    page.wait_for_function(IDLE_SCRIPT, arg=settle_ms, timeout=TIMEOUT_MS)


def main_area(page: Page) -> Locator:
    """The page's own part: Streamlit's header has buttons too, one of them named "Stop"."""
    return page.get_by_test_id("stMain")


def no_traceback(page: Page) -> None:
    """Fail with the text of the first exception that the page shows."""
    exceptions = page.get_by_test_id("stException")
    assert exceptions.count() == 0, f"{page.url} shows an exception:\n{exceptions.first.inner_text()}"


def headline(page: Page) -> Locator:
    return page.locator(".dpviz-headline").first


def says(page: Page, words: str) -> str:
    """The headline once it says ``words`` (a regular expression)."""
    expect(headline(page)).to_contain_text(re.compile(words), timeout=TIMEOUT_MS)
    return headline(page).inner_text()


def control(page: Page, field: str) -> Locator:
    """A number's control: its slider, its text and what stands below them."""
    return page.locator(f'.dpviz-number[data-field="{field}"]')


def slider(page: Page, field: str) -> Locator:
    return control(page, field).locator('input[type="range"]')


def text(page: Page, field: str) -> Locator:
    return control(page, field).locator('input[type="text"]')


def enter(page: Page, field: str, value: str) -> None:
    text(page, field).fill(value)
    text(page, field).press("Enter")


def settled_text(thing: Locator, settle_ms: float = 500) -> str:
    """Its text once that has stayed the same for so long: a busy machine draws the last frames late."""
    texts = [thing.inner_text()]
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while time.monotonic() < deadline:
        thing.page.wait_for_timeout(settle_ms)
        texts.append(thing.inner_text())
        if texts[-1] == texts[-2]:
            return texts[-1]
    raise AssertionError(f"The text does not rest: {texts[-2:]}")


def box(thing: Locator) -> FloatRect:
    """Where something that is shown stands, in pixels."""
    place = thing.bounding_box()
    assert place is not None, "it is not shown"
    return place


def middle(thing: Locator) -> tuple[float, float]:
    place = box(thing)
    return place["x"] + place["width"] / 2, place["y"] + place["height"] / 2


def bottom(thing: Locator) -> float:
    place = box(thing)
    return place["y"] + place["height"]


def track(page: Page, field: str, *shares: float) -> list[tuple[float, float]]:
    """Where a slider's thumb stands, in pixels, at these shares of its way; at none, where it stands now."""
    handle = slider(page, field)
    place, (_, y) = box(handle), middle(handle)
    shares = shares or (float(handle.input_value()) / float(handle.get_attribute("max") or 1),)
    return [(place["x"] + 8 + share * (place["width"] - 16), y) for share in shares]


class Finger:
    """One finger on a page that knows touch, moved as `page.mouse` is."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._at = (0.0, 0.0)
        self._pressed = False

    def move(self, x: float, y: float) -> None:
        self._at = (x, y)
        if self._pressed:
            self._touch("touchMove")

    def down(self) -> None:
        self._pressed = True
        self._touch("touchStart")

    def up(self) -> None:
        self._pressed = False
        self._session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def _touch(self, kind: str) -> None:
        x, y = self._at
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})


def finger(thing: Locator, *, right: float = 0, up: float = 0) -> Callable[[], None]:
    """Put a finger down in the middle of something and pull it so far, in pixels; what is returned takes it off."""
    pointer, (x, y) = Finger(thing.page), middle(thing)
    pointer.move(x, y)
    pointer.down()
    for part in range(1, 11):
        pointer.move(x + right * part / 10, y - up * part / 10)
    return pointer.up


def chart_data(page: Page, index: int = 0) -> dict[str, Any]:
    """``{"data": traces, "layout": layout}`` of the page's chart number ``index``, read from the drawn element.

    Arrays come as lists of numbers, with None where Plotly was given NaN or an infinity.
    """
    plot = main_area(page).locator(".js-plotly-plot").nth(index)
    figure: dict[str, Any] = json.loads(plot.evaluate(CHART_SCRIPT))
    return {"data": _decoded(figure["data"]), "layout": figure["layout"]}


def _decoded(value: Any) -> Any:
    """Plotly sends arrays as base64 with a dtype; read them back."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if {"bdata", "dtype"} <= value.keys():
        numbers = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        if "shape" in value:
            numbers = numbers.reshape([int(length) for length in str(value["shape"]).split(",")])
        return [None if isinstance(x, float) and not np.isfinite(x) else x for x in numbers.tolist()]
    return {key: _decoded(item) for key, item in value.items()}
