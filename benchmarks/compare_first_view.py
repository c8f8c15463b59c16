"""How much each page shows at first: controls, words, the height of its chart, what is clipped.

    PYTHONPATH=. python benchmarks/compare_first_view.py
    PYTHONPATH=. python benchmarks/compare_first_view.py --pages compose noise --sizes 1280x800 390x844 --shots folder

Printed is a table in Markdown; `benchmarks/hand/first_view.js` says what is counted.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import ViewportSize, sync_playwright

from dpviz.questions.catalogue import PAGES
from tests.browser.driver import CHROMIUM_FLAGS, IDLE_SCRIPT, find_chromium, running_app

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = (Path(__file__).parent / "hand" / "first_view.js").read_text()
SIZES = ("1280x800", "1920x1080", "820x1180", "390x844", "844x390")
PATIENCE_MS, SETTLED_MS = 300_000, 300  # Papers computes for half a minute and more
HEAD = ("page", "window", "controls", "words", "chart px", "clipped", "too wide by")


def views(
    pages: list[str], sizes: list[str], shots: Path | None, theme: Literal["light", "dark"]
) -> list[tuple[str, str, dict[str, Any]]]:
    """What was counted on each page at each size."""
    executable = find_chromium()
    if executable is None:
        sys.exit("no Chromium found: install one, or name it in DPVIZ_CHROMIUM")
    counted = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["DPVIZ_HOME"] = str(Path(folder) / "home")
        with running_app(ROOT / "app.py", Path(folder) / "app.log") as address:
            browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
            for size in sizes:
                width, height = map(int, size.split("x"))
                viewport: ViewportSize = {"width": width, "height": height}
                context = browser.new_context(base_url=address, viewport=viewport, color_scheme=theme)
                context.set_default_timeout(PATIENCE_MS)
                for name in pages:
                    page = context.new_page()
                    page.goto(f"/{name}")
                    page.wait_for_function(IDLE_SCRIPT, arg=SETTLED_MS)
                    counted.append((name, size, page.evaluate(SCRIPT)))
                    if shots is not None:
                        page.screenshot(path=shots / f"{name}-{size}-{theme}.png")
                    page.close()
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="*", default=["home", *(page.key for page in PAGES), "runs"])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES))
    parser.add_argument("--shots", type=Path, help="an existing folder for a picture of each")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--names", action="store_true", help="the controls' names and the words too")
    asked = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|---|---|{'--:|' * 3}---|--:|")
    for name, size, view in views(asked.pages, asked.sizes, asked.shots, asked.theme):
        clipped = ", ".join(view["clipped"]) or "–"
        cells = (name, size, len(view["controls"]), len(view["words"]), view["chart"], clipped, view["beyond"])
        print(f"| {' | '.join(map(str, cells))} |")
        if asked.names:
            print(f"\n{'; '.join(view['controls'])}\n\n{' '.join(view['words'])}\n")


if __name__ == "__main__":
    main()
