"""The image of a chart looks as the chart on the page: its type travels in it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser.driver import main_area, open_page

pytestmark = pytest.mark.sweep

EDGE = 6  # pixels of the file, two to one of the screen


def saved(page: Page, folder: Path) -> Path:
    """The file that the camera above the chart saves."""
    main_area(page).locator(".js-plotly-plot").first.hover()
    with page.expect_download() as download:
        main_area(page).locator('[data-title*="Download the chart"]').first.click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def test_no_word_of_a_png_runs_over_its_edge(page: Page, tmp_path: Path) -> None:
    open_page(page, "compose")
    file = saved(page, tmp_path)
    assert file.suffix == ".png"
    ink = np.asarray(Image.open(file).convert("L")) < 128
    assert ink.any()
    assert not ink[:, :EDGE].any()
    assert not ink[:, -EDGE:].any()


def test_an_svg_holds_the_font_that_it_names(page: Page, tmp_path: Path) -> None:
    open_page(page, "compose", curves="moments", image="svg")
    file = saved(page, tmp_path)
    assert file.suffix == ".svg"
    text = file.read_text()
    names = set(re.findall(r"font-family: ?(?:'|&quot;|\")?([\w ]+)", text.replace("@font-face", "")))
    assert "Source Sans" in names
    assert re.search(r"@font-face\{font-family:'Source Sans';[^}]*url\(data:font/woff2;base64,[\w+/=]{100000,}\)", text)
    page.goto("about:blank")
    page.set_content(text)
    page.evaluate("document.fonts.ready")
    assert page.evaluate("[...document.fonts].map((face) => face.status)") == ["loaded"]
