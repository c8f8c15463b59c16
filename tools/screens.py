"""Pictures of the running app for the README and docs/use/reading.md: ``python -m tools.screens [FOLDER]``.

Each is taken once every curve is computed and drawn: none is faded.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.driver import CHROMIUM_FLAGS, ROOT, enter, find_chromium, open_page, running_app, wait_idle

TARGET = ROOT / "docs" / "use"
WINDOW: Any = {"width": 1280, "height": 800}
SETTLED_MS = 3_000.0


def shown(page: Page, file: Path, **options: Any) -> None:
    """Take a picture of what the page shows at rest."""
    wait_idle(page, settle_ms=SETTLED_MS)
    page.mouse.move(700, 780)  # away from whatever explains itself under the pointer
    page.screenshot(path=file, animations="disabled", **options)


def chart(page: Page, folder: Path) -> None:
    """Compose as it opens."""
    open_page(page, "compose")
    shown(page, folder / "compose.png")


def pin(page: Page, folder: Path) -> None:
    """A state that was pinned, then one setting moved: the pinned curves beside those of now."""
    open_page(page, "compose")
    page.get_by_role("button", name="Pin this state").click()
    wait_idle(page)
    enter(page, "sigma", "6")
    shown(page, folder / "pinned.png", clip={"x": 0, "y": 0, "width": 1280, "height": 800})


def expert(page: Page, folder: Path) -> None:
    """The controls of Noise with those for experts."""
    open_page(page, "noise", expert=1)
    shown(page, folder / "expert.png", clip={"x": 970, "y": 110, "width": 310, "height": 340})


def main(folder: Path) -> None:
    """Take all pictures."""
    executable = find_chromium()
    if executable is None:
        sys.exit("no Chromium found: install one, or name it in DPVIZ_CHROMIUM")
    with tempfile.TemporaryDirectory() as store, sync_playwright() as playwright:
        os.environ["DPVIZ_HOME"] = store
        chromium = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        with running_app(ROOT / "app.py", Path(store) / "log") as url:
            for picture in (chart, pin, expert):
                picture(chromium.new_page(base_url=url, viewport=WINDOW, color_scheme="light"), folder)
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
