"""Images that leave the page: a chart's looks as on the page and says its headline and settings, in its own type; the
QR code is read as the link."""

import io
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Page

from tests.browser.driver import main_area, open_page, wait_idle
from tests.browser.test_screens import written

pytestmark = pytest.mark.sweep

EDGE = 6  # pixels of the file, two to one of the screen


def saved(page: Page, folder: Path, kind: str) -> Path:
    """The file that the panel Share saves."""
    open_page(page, "compose", curves="moments", sigma=3)
    main_area(page).get_by_text("Share", exact=True).click()
    with page.expect_download() as download:
        main_area(page).get_by_role("button", name=re.compile(kind.upper())).click()
    assert download.value.suggested_filename == f"dpviz-compose.{kind}"
    download.value.save_as(folder / "chart")
    return folder / "chart"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_camera_reads_the_link_from_the_qr_code(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(page, "compose", curves="moments", sigma=3, delta="2e-6")
    main_area(page).get_by_text("Share", exact=True).click()
    main_area(page).locator(".dpviz-qr").scroll_into_view_if_needed()
    wait_idle(page, settle_ms=500)  # the panel has opened
    found = zxingcpp.read_barcodes(Image.open(io.BytesIO(page.screenshot())))
    assert [one.text for one in found] == [page.url]


def test_no_word_of_a_png_runs_over_its_edge(page: Page, tmp_path: Path) -> None:
    ink = np.asarray(Image.open(saved(page, tmp_path, "png")).convert("L")) < 128
    assert ink.any()
    assert not ink[:, :EDGE].any()
    assert not ink[:, -EDGE:].any()


def test_an_svg_holds_its_words_and_the_font_that_it_names(page: Page, tmp_path: Path) -> None:
    text = saved(page, tmp_path, "svg").read_text()
    for words in ("Noise multiplier σ: 3 ·", written(3), "No guess at"):
        assert words in text
    assert "light-dark" not in text, "other programs do not know it"
    names = page.evaluate("[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)")
    assert not any("hare" in name for name in names), "nothing sends the chart elsewhere"
    fonts = set(re.findall(r"font-family: ?(?:'|&quot;|\")?([\w ]+)", text.replace("@font-face", "")))
    assert "Source Sans" in fonts
    assert re.search(r"@font-face\{font-family:'Source Sans';[^}]*url\(data:font/woff2;base64,[\w+/=]{100000,}\)", text)
    page.goto("about:blank")
    page.set_content(text)
    page.evaluate("document.fonts.ready")
    assert page.evaluate("[...document.fonts].map((face) => face.status)") == ["loaded"]
