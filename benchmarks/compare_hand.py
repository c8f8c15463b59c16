"""What a hand on a slider feels, beside bare Streamlit, Dash and Plotly alone with the same figure, in one run.

    PYTHONPATH=. python benchmarks/compare_hand.py
    PYTHONPATH=. python benchmarks/compare_hand.py --only compose.sigma
    PYTHONPATH=. python benchmarks/compare_hand.py --cold --only noise

A headless Chromium is driven with a real pointer: it comes to the slider, pulls it for a second in 60 movements, lets
go; then keys are pressed. Times are taken inside the page (`benchmarks/hand/probe.js`). `make bench` installs Dash
first (`python tools/install.py bench`). Printed is a table in Markdown; about two minutes. A page that draws nothing
before the release has "0 frames" in the drag's columns, and no ratio to it is told.

With `--marks`, every mark on a chart that is a setting is pulled, two seconds after the pointer has come to it. Where
the curves stay as they are and only the mark and the words move, the one drawing is that after the release.

With `--cold`, every slider of every question in the catalogue is pulled as soon as the pointer is there: at the
defaults, 8 s after the start at the earliest, and at a random link. `--only` is then the beginning of
page.question.field. All of them take about half an hour.
"""

import argparse
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Error, Page, sync_playwright

from benchmarks.hand import peers
from benchmarks.hand.pull import Felt, Pulled
from dpviz.fields.field import Number
from dpviz.questions import units
from dpviz.questions.acting import acting
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import of_texts
from tests.browser.driver import CHROMIUM_FLAGS, chart_data, find_chromium, no_traceback, open_page, running_app
from tests.browser.test_pull_marks import address, marks_of

ROOT = Path(__file__).resolve().parents[1]

# Page, its question (none: the first), field, what it is called, and another value beside it, of which the server knows
# no frame.
SLIDERS = (
    ("compose", {}, "sigma", "Compose, σ", ("delta", 3e-6)),
    ("compose", {}, "q", "Compose, q", ("delta", 3e-6)),
    ("compose", {}, "steps", "Compose, T", ("delta", 3e-6)),
    ("compose", {}, "delta", "Compose, δ", ("sigma", 1.3)),
    ("attack", {}, "target", "Attack, ε", ("aprior", 0.3)),
    ("langevin", {"lview": "cost"}, "leta", "Langevin, η", ("delta", 3e-6)),
    ("langevin", {"lview": "cost"}, "steps", "Langevin, T", ("delta", 3e-6)),
    ("orders", {}, "sigma", "Orders, σ", ("q", 0.03)),
    ("noise", {}, "target", "Noise, target ε", ("delta", 3e-6)),
)
RESTING = 2000.0  # ms that the pointer rests on a mark before it is pulled
HEAD = (
    "slider",
    "drag p50",
    "p95",
    "× Streamlit",
    "drawings/s",
    "last late",
    "cold p95",
    "key p50",
    "p95",
    "× Streamlit",
    "answered",
    "× Streamlit",
    "all there",
    "messages",
    "KB",
    "frames first",
    "last",
    "KB",
)


def fresh_page(browser: Browser, address: str) -> Page:
    return browser.new_context(base_url=address, viewport={"width": 1280, "height": 800}).new_page()


def measured(only: str, rounds: int, folder: Path) -> dict[str, Felt]:
    """What was felt, by name; the first slider and the peers take turns."""
    executable = find_chromium()
    if executable is None:
        sys.exit("no Chromium found: install one, or name it in DPVIZ_CHROMIUM")
    chosen = [one for one in SLIDERS if f"{one[0]}.{one[2]}".startswith(only)]
    os.environ["DPVIZ_HOME"] = str(folder / "home")
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        app = stack.enter_context(running_app(ROOT / "app.py", folder / "app.log"))
        browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        ours = fresh_page(browser, app)
        open_page(ours, "compose")
        figure = peers.plain(chart_data(ours))
        beside: dict[str, Pulled] = {}

        def stand(name: str, address: str, slider: str) -> None:
            page = fresh_page(browser, address)
            page.goto(address)
            page.locator(".js-line").first.wait_for(state="attached")
            page.locator(slider).first.wait_for(state="attached")
            beside[name] = Pulled(page, slider, follows=False)

        bare = '[data-testid="stMain"] [role="slider"], [data-testid="stMain"] input[type="range"]'
        stand("bare Streamlit", stack.enter_context(peers.streamlit(figure, folder)), bare)
        stand("Dash", stack.enter_context(peers.dash(figure, folder)), '[role="slider"]')
        stand("Plotly alone", peers.plotly_alone(figure, folder), "input")
        found: dict[str, Felt] = {}
        for turn in range(rounds):
            for name, one in beside.items():
                print(f"round {turn + 1}: {name}", file=sys.stderr)
                one.measure()
            for path, question, key, name, (other, value) in chosen if turn == 0 else chosen[:1]:
                print(f"round {turn + 1}: {name}", file=sys.stderr)
                asked = question | {"units": "mechanism"}
                open_page(ours, path, **asked, **({"steps": 9_000} if turn else {}))  # no frame of the first round
                pulled = Pulled(ours, f'.dpviz-number[data-field="{key}"] input[type="range"]', follows=True)
                pulled.felt = found.setdefault(name, pulled.felt)
                pulled.measure()
                open_page(ours, path, **asked, **{other: value + turn * value / 10})
                pulled.measure_cold()
                no_traceback(ours)
        browser.close()
    return found | {name: one.felt for name, one in beside.items()}


def every_slider() -> Iterator[tuple[str, str, str, dict[str, str], dict[str, str]]]:
    """Of every question: its page and key, the field that a slider moves, and what its link says: at the defaults, and
    at a random place nearby."""
    for page in PAGES:
        for question in page.questions:
            asked = {page.view: question.asked_as} if page.view else {}
            for unit in ("mechanism", "person"):
                get = of_texts(query := asked | {"units": unit, "expert": "1"})
                numbers = [one for one in acting(question, get) if isinstance(one, Number) and one.ticks]
                read = [*units.readings(question.fields)]
                for moved in numbers if unit == "mechanism" else read:
                    rng, near = random.Random(f"{question.key}.{moved.key}"), dict[str, str]()
                    others = [
                        one for one in numbers if one is not moved and len(one.ticks) > 20 and one.default in one.ticks
                    ]
                    for one in rng.sample(others, min(2, len(others))):
                        at = one.ticks.index(one.default) + rng.choice((-5, -4, -3, 3, 4, 5))
                        near[one.key] = one.write(one.ticks[min(max(at, 0), len(one.ticks) - 1)])
                    yield page.key, question.key, moved.key, query, query | near


def marks_pulled(only: str, folder: Path) -> Iterator[str]:
    """The table of all marks at the defaults, row by row."""
    yield "| mark | new stops | redraws/s | p50 | p95 |\n|---|--:|--:|--:|--:|"
    os.environ["DPVIZ_HOME"] = str(folder / "home")
    with (
        sync_playwright() as playwright,
        running_app(ROOT / "app.py", folder / "app.log") as app,
        playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS)) as browser,
    ):
        for question in QUESTIONS.values():
            path, link = address(question)
            for key, axis in marks_of(question):
                name = f"{path}.{question.key}.{key}"
                if not name.startswith(only):
                    continue
                page = fresh_page(browser, app)
                try:
                    open_page(page, path, **link)
                    slider = f'.dpviz-number[data-field="{key}"] input[type="range"]'
                    pulled = Pulled(page, slider, follows=True, axis=axis)
                    pulled.measure_cold(RESTING)
                    felt = pulled.felt
                    p50, p95 = (np.percentile(felt.cold, share) for share in (50, 95))
                    yield f"| {name} | {felt.cold_stops[0]} | {felt.cold_drawings[0]:.0f} | {p50:.0f} | {p95:.0f} |"
                except (AssertionError, RuntimeError, Error) as problem:
                    print(f"{name}: {problem}", file=sys.stderr)
                finally:
                    page.context.close()


def pulled_at_once(only: str, folder: Path) -> Iterator[str]:
    """The table of all sliders, row by row."""
    cells = ("redraws/s", "p50", "p95", "stops passed")
    heads = ["slider", *(f"{place}: {cell}" for place in ("defaults", "random link") for cell in cells)]
    yield f"| {' | '.join(heads)} |\n|---|{'--:|' * 8}"
    os.environ["DPVIZ_HOME"] = str(folder / "home")
    with (
        sync_playwright() as playwright,
        running_app(ROOT / "app.py", folder / "app.log") as app,
        playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS)) as browser,
    ):
        time.sleep(8.0)
        for path, question, key, *links in every_slider():
            name, felt = f"{path}.{question}.{key}", list[str]()
            if not name.startswith(only):
                continue
            for link in links:
                page = fresh_page(browser, app)
                pulled = Pulled(page, f'.dpviz-number[data-field="{key}"] input[type="range"]', follows=True)
                try:
                    open_page(page, path, **link)
                    if not page.locator(pulled.slider).count():
                        break  # it is typed, or another setting hides it
                    pulled.measure_cold()
                    cold, drawings, stops = pulled.felt.cold, pulled.felt.cold_drawings[0], pulled.felt.cold_stops[0]
                    times = [f"{np.percentile(cold, share):.0f}" if cold else "–" for share in (50, 95)]
                    felt += [f"{drawings:.0f}", *times, str(stops)]
                except (AssertionError, RuntimeError, Error) as problem:
                    print(f"{name}: {problem}", file=sys.stderr)
                    felt += ["–"] * 4
                finally:
                    page.context.close()
            if felt:
                yield f"| {name} | {' | '.join(felt)} |"


def rows(found: dict[str, Felt]) -> list[list[str]]:
    base = found["bare Streamlit"]

    def ms(values: list[float], share: float = 50) -> str:
        return f"{np.percentile(values, share):.0f}"

    def ratio(values: list[float], others: list[float]) -> str:
        return f"{np.median(values) / np.median(others):.2f}"

    def row(name: str, felt: Felt) -> list[str]:
        first, last, size = np.median(np.array(felt.hover), axis=0) if felt.hover else (np.nan,) * 3
        return [
            name,
            *([ms(felt.drag), ms(felt.drag, 95)] if any(felt.drawings) else ["0 frames", "–"]),
            ratio(felt.drag, base.drag) if any(felt.drawings) and any(base.drawings) else "–",
            f"{np.mean(felt.drawings):.0f}",
            ms(felt.late),
            ms(felt.cold, 95) if felt.cold else "–",
            ms(felt.keys),
            ms(felt.keys, 95),
            ratio(felt.keys, base.keys),
            ms(felt.answered or felt.settled),
            ratio(felt.answered or felt.settled, base.settled),
            ms(felt.settled),
            f"{np.median(felt.messages):.0f}",
            f"{np.median(felt.sizes) / 1000:.1f}",
            *([f"{first:.0f}", f"{last:.0f}", f"{size / 1000:.0f}"] if felt.hover else ["–"] * 3),
        ]

    return [row(name, felt) for name, felt in found.items()]


def table(found: dict[str, Felt]) -> str:
    lines = [list(HEAD), ["---"] + ["--:"] * (len(HEAD) - 1), *rows(found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the beginning of a slider's name, as in compose.sigma")
    parser.add_argument("--rounds", type=int, default=2, help="of the first slider and the peers")
    parser.add_argument("--cold", action="store_true", help="every slider there is, pulled at once")
    parser.add_argument("--marks", action="store_true", help="every mark on a chart")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.cold or arguments.marks:
            rows_of = marks_pulled if arguments.marks else pulled_at_once
            for line in rows_of(arguments.only, Path(folder)):
                print(line, flush=True)
        else:
            print(table(measured(arguments.only, arguments.rounds, Path(folder))))
    print(
        f"\nTimes in ms. {os.cpu_count()} cores ({platform.machine()}), headless Chromium, "
        f"load {before:.1f} before and {os.getloadavg()[0]:.1f} after."
    )


if __name__ == "__main__":
    main()
