"""How the app feels from afar: first chart, second visit, a slider pulled at once and after a rest, Enter.

    PYTHONPATH=. python benchmarks/compare_hosted.py
    PYTHONPATH=. python benchmarks/compare_hosted.py --delays 0 100 --pages compose

The delay is that of a relay on loopback (`benchmarks/hand/relay.py`). Printed is a table in Markdown; times in seconds.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright

from benchmarks.hand.pull import Pulled
from benchmarks.hand.relay import delayed
from tests.browser.driver import CHROMIUM_FLAGS, DRAWN, find_chromium, running_app, wait_idle

ROOT = Path(__file__).resolve().parents[1]
FIRST = {"compose": "sigma", "attack": "target", "noise": "target", "orders": "sigma", "langevin": "leta"}
RESTED_MS = 2500.0
HEAD = ("page", "round trip ms", "first chart s", "second visit s", "redraws/s at once", "after a rest", "Enter s")


def first_chart(page: Page, name: str) -> float:
    began = time.monotonic()
    page.goto(f"/{name}", timeout=120_000)
    page.locator(DRAWN).first.wait_for(timeout=120_000)
    return time.monotonic() - began


def entered(page: Page, key: str) -> float:
    """From Enter in a number's field to the page at rest."""
    field = page.locator(f'.dpviz-number[data-field="{key}"] input[type="text"]').first
    field.fill("1.7")
    began = time.monotonic()
    field.press("Enter")
    wait_idle(page)
    return time.monotonic() - began


def measured(context: BrowserContext, name: str) -> list[float]:
    page = context.new_page()
    times = [first_chart(page, name)]
    page.close()
    page = context.new_page()
    times.append(first_chart(page, name))
    slider = f'.dpviz-number[data-field="{FIRST[name]}"] input[type="range"]'
    for delta, rest_ms in ((3e-6, 0.0), (7e-6, RESTED_MS)):
        page.goto(f"/{name}?delta={delta}&aprior={0.3 if rest_ms else 0.4}", timeout=120_000)
        wait_idle(page)
        pulled = Pulled(page, slider, follows=True)
        pulled.measure_cold(rest_ms)
        times += pulled.felt.cold_drawings
    times.append(entered(page, FIRST[name]))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="*", default=["compose", "attack"], choices=list(FIRST))
    parser.add_argument("--delays", nargs="*", type=float, default=[0.0, 100.0, 200.0], help="round trips in ms")
    asked = parser.parse_args()
    executable = find_chromium()
    if executable is None:
        sys.exit("no Chromium found: install one, or name it in DPVIZ_CHROMIUM")
    print(f"| {' | '.join(HEAD)} |\n|---{'|--:' * (len(HEAD) - 1)}|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["DPVIZ_HOME"] = str(Path(folder) / "home")
        with running_app(ROOT / "app.py", Path(folder) / "app.log") as address:
            browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
            for delay in asked.delays:
                for name in asked.pages:
                    with delayed(address, delay / 1000) as (far, _):
                        context = browser.new_context(base_url=far, viewport={"width": 1280, "height": 800})
                        cells = [f"{value:.2f}" for value in measured(context, name)]
                        context.close()
                    print(f"| {name} | {delay:.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
