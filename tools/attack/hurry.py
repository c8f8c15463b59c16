"""A visitor in a hurry: ``python -m tools.attack.hurry``. What was entered last is what every part of the page says.

A burst is a few entries within 0.3 s of each other, from a seed: texts typed and sent with Enter or Tab, arrow keys on
sliders, sliders dragged with the pointer. Once the page is idle, each control that was touched must say its last entry,
its text, its slider and the address must agree, and another tab that opens this address must show the same headline.
"""

import bisect
import math
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, sync_playwright

from dpviz.fields.field import Number
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.units import EPOCHS
from dpviz.ui.registry import FIELDS
from tests.browser.driver import CHROMIUM_FLAGS, ROOT, TIMEOUT_MS, find_chromium, main_area, running_app, wait_idle

NUMBERS = {one.key: one for one in FIELDS if isinstance(one, Number) and one.ticks}
MINUTES = 5.0  # bound of the whole attack; what was not tried by then is not counted


class Scene(NamedTuple):
    """A page with its controls: the address, and the name of the group where several are offered."""

    address: str
    group: str = ""


SCENES = (
    Scene("compose?curves=moments"),
    Scene("compose?curves=moments&units=mechanism"),
    Scene("attack"),
    Scene("langevin?steps=2000"),
    Scene("train?t_noise_by=sigma", "Noise"),
    Scene("train?t_noise_by=sigma", "Steps"),
    Scene("noise"),
    Scene("budget"),
    Scene("leakage"),
)


@dataclass
class Found:
    """What came of the bursts.

    Attributes:
        entries, bursts: how many were made.
        lost: entry → how often its value was gone in the end.
        wrong: anything else → how often (parts that do not agree, exceptions).
        examples: a few, in words.
    """

    entries: Counter[str] = field(default_factory=Counter)
    bursts: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


@contextmanager
def visitor(folder: Path) -> Iterator[Page]:
    """A tab of the app as it is started, with a store of its own."""
    with (
        patch.dict(os.environ, DPVIZ_HOME=str(folder / "home")),
        running_app(ROOT / "app.py", folder / "app.log") as url,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        context = chromium.new_context(base_url=url, viewport={"width": 1280, "height": 900})
        context.set_default_timeout(TIMEOUT_MS)
        yield context.new_page()
        chromium.close()


def hurry(tab: Page, scene: Scene, bursts: int, seed: int, found: Found, until: float = math.inf) -> None:
    """Make `bursts` on one page and note in `found` what came of them."""
    rng = random.Random(f"{scene} {seed}")
    tab.goto(f"/{scene.address}")
    _idle(tab)
    if scene.group:
        main_area(tab).get_by_text(scene.group, exact=True).first.click()
        _idle(tab)
    other = tab.context.new_page()
    for burst in range(bursts):
        if time.monotonic() > until:
            break
        told: list[str] = []
        last = _burst(tab, rng, found, told)
        _idle(tab)
        found.bursts += 1
        before = found.lost.total() + found.wrong.total()
        _judge(tab, last, found)
        if burst % 8 == 7 or burst == bursts - 1:
            other.goto(tab.url)
            _idle(other)
            if _headline(other) != _headline(tab):
                found.wrong["headline is not that of the address"] += 1
        if found.lost.total() + found.wrong.total() > before:
            found.examples.append(f"{scene.address} {burst}: {', '.join(told)} → {_all(tab)} {tab.url.split('?')[-1]}")
            tab.goto(tab.url)  # what is wrong now must not be counted again
            _idle(tab)
            if scene.group:
                main_area(tab).get_by_text(scene.group, exact=True).first.click()
                _idle(tab)
    other.close()


def _burst(tab: Page, rng: random.Random, found: Found, told: list[str]) -> dict[str, tuple[float, str]]:
    """Two to four entries on one or two controls; the last entry of each control: its value, and what it was."""
    shown = [key for key in NUMBERS if _slider(tab, key).count()]
    chosen = rng.sample(shown, k=min(len(shown), rng.choice((1, 2, 2))))
    last: dict[str, tuple[float, str]] = {}
    before = "first"
    for _ in range(rng.choice((2, 3, 3, 4))):
        key = rng.choice(chosen)
        how = rng.choice(("typed", "typed", "keys", "drag"))
        value = {"typed": _type, "keys": _keys, "drag": _drag}[how](tab, NUMBERS[key], rng)
        if value is not None:  # a slider's end is no entry
            same = "" if before == "first" else ", same control" if before.endswith(f" {key}") else ", another control"
            last[key] = (value, f"{how} after {before.split()[0]}{same}")
            found.entries[how] += 1
            told.append(f"{how} {key}={value:.6g}")
            before = f"{how} {key}"
        tab.wait_for_timeout(rng.uniform(0, 300))
    return last


def _type(tab: Page, number: Number, rng: random.Random) -> float | None:
    """A value between two stops, sent with Enter or Tab; in three digits, for "3.431" may mean two numbers."""
    ticks = number.ticks
    at = rng.randrange(len(ticks) // 4, 3 * len(ticks) // 4)
    value = ticks[at] + rng.uniform(0.2, 0.8) * (ticks[at + 1] - ticks[at])
    text = f"{value:.0f}" if number.whole else f"{value:.3g}"
    field = _text(tab, number.key)
    field.focus()
    tab.keyboard.press("ControlOrMeta+A")
    tab.keyboard.type(text)
    tab.keyboard.press(rng.choice(("Enter", "Tab")))
    return number.parse(text)


def _keys(tab: Page, number: Number, rng: random.Random) -> float | None:
    """One to five arrow keys; where the slider stood right after the last, None where none moved it."""
    _slider(tab, number.key).focus()
    key = rng.choice(("ArrowLeft", "ArrowRight"))
    asked = None
    for _ in range(rng.randint(1, 5)):
        before = _text(tab, number.key).input_value()
        tab.keyboard.press(key)
        now = _text(tab, number.key).input_value()
        asked = now if now != before else asked
        tab.wait_for_timeout(rng.uniform(0, 60))
    return None if asked is None else number.parse(asked)


def _drag(tab: Page, number: Number, rng: random.Random) -> float | None:
    """The handle pulled somewhere else; where it stood right before it was let go, None where it did not move."""
    begun, last = _text(tab, number.key).input_value(), len(number.ticks) - 1
    rail = _slider(tab, number.key).bounding_box()
    if rail is None:
        return None
    x, y = rail["x"] + 8 + _place(tab, number.key) / last * (rail["width"] - 16), rail["y"] + rail["height"] / 2
    to = rail["x"] + rng.randint(last // 4, 3 * last // 4) / last * rail["width"]
    tab.mouse.move(x, y)
    tab.mouse.down()
    for part in (0.4, 0.8, 1.0):
        tab.mouse.move(x + part * (to - x), y)
    now = _text(tab, number.key).input_value()
    tab.mouse.up()
    return None if now == begun else number.parse(now)


def _judge(tab: Page, last: dict[str, tuple[float, str]], found: Found) -> None:
    """Compare what the page says with the last entries and with itself."""
    if tab.get_by_test_id("stException").count() or tab.get_by_test_id("stAlert").count():
        found.wrong["exception"] += 1
    if any("could not be drawn" in red or "last good value" in red for red in _problems(tab)):
        found.wrong["red box"] += 1
    query = parse_qs(urlsplit(tab.url).query)
    for key, (text, place) in _all(tab).items():
        number = NUMBERS[key]
        value = number.parse(text)
        linked = _linked(number, query)
        if key in last and last[key][0] not in (value, linked):
            found.lost[last[key][1]] += 1
        elif key in last and last[key][0] != value:
            found.wrong["text does not show the entry"] += 1
        elif not math.isclose(linked, value, rel_tol=1e-9):
            found.wrong["address and text differ"] += 1
        at = bisect.bisect_left(number.ticks, value)  # between which stops it must stand
        if not max(at - 1, 0) - 1e-6 <= place <= min(at, len(number.ticks) - 1) + 1e-6:
            found.wrong["slider and text differ"] += 1


def _linked(number: Number, query: dict[str, list[str]]) -> float:
    """What the address says of a control; it names epochs only where steps and q would read otherwise."""
    if number is EPOCHS and number.key not in query:
        return _linked(STEPS, query) * _linked(RATE, query)
    return number.parse(query[number.key][0]) if number.key in query else number.default


def _all(tab: Page) -> dict[str, tuple[str, float]]:
    """Each control on the page: its text, and where its slider stands among the stops."""
    return {key: (_text(tab, key).input_value(), _place(tab, key)) for key in NUMBERS if _slider(tab, key).count()}


def _place(tab: Page, key: str) -> float:
    return float(_slider(tab, key).input_value())


def _idle(tab: Page) -> None:
    """Longer than the address takes to follow."""
    wait_idle(tab, settle_ms=700)


def _headline(tab: Page) -> str:
    return main_area(tab).locator(".dpviz-headline").first.inner_text()


def _problems(tab: Page) -> list[str]:
    return main_area(tab).locator(".dpviz-problem").all_inner_texts()


def _slider(tab: Page, key: str) -> Locator:
    return tab.locator(f'.dpviz-number[data-field="{key}"]').get_by_role("slider")


def _text(tab: Page, key: str) -> Locator:
    return tab.locator(f'.dpviz-number[data-field="{key}"] input[type="text"]')


def table(bursts: int = 22, seed: int = 1) -> str:
    """How many entries were made and lost."""
    found = Found()
    until = time.monotonic() + 60.0 * MINUTES
    with tempfile.TemporaryDirectory() as name, visitor(Path(name)) as tab:
        tab.on("pageerror", lambda error: found.wrong.update([f"error of a script: {str(error)[:80]}"]))
        for scene in SCENES:
            hurry(tab, scene, bursts, seed, found, until)
    rows = [
        ("bursts", found.bursts),
        *((f"entries: {how}", count) for how, count in sorted(found.entries.items())),
        *((f"lost: {how}", count) for how, count in found.lost.most_common()),
        *((how, count) for how, count in found.wrong.most_common()),
        ("lost", found.lost.total()),
        ("otherwise wrong", found.wrong.total()),
    ]
    return "\n".join(
        [
            "## Hurry",
            "",
            f"Entries within 0.3 s of each other on {len(SCENES)} pages, seed {seed}.",
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {count} |" for name, count in rows),
        ]
    )


if __name__ == "__main__":
    print(table())
