"""The folder of pages without a server, opened from disk: every slider moves its chart, offline."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dpviz.questions.gallery import chosen_files, write
from tests.browser.driver import DRAWN, LOOKS, PHONE, TIMEOUT_MS, bottom, box, control, slider, watched_tab

SMALL = ("success", "spend", "people")
APP = "http://localhost:8501"
# All that the page shows of an answer.
SHOWN = """
() => JSON.stringify([
  [...document.querySelectorAll('.dpviz-headline, .dpviz-strip, #notes')].map((place) => place.textContent),
  document.querySelector('.dpviz-chart').data.map((trace) => [Array.from(trace.x ?? []), Array.from(trace.y ?? [])]),
  document.querySelector('.dpviz-chart').layout.annotations.map((note) => [note.text, note.x, note.y]),
])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gallery")
    write(place, app=APP, only=SMALL)
    return place


def goes_to(page: Page, file: Path) -> None:
    page.goto(file.as_uri())
    page.wait_for_selector(DRAWN)


def every_slider_moves(page: Page) -> None:
    """Move each slider of the page once; what is shown is another answer each time."""
    fields = page.evaluate(
        "() => [...document.querySelectorAll('#controls .dpviz-number')].map((n) => n.dataset.field)"
    )
    for field in fields:
        before, handle = page.evaluate(SHOWN), slider(page, field)
        at_end = handle.input_value() == handle.get_attribute("max")
        handle.press("ArrowLeft" if at_end else "ArrowRight")
        handle.blur()
        page.wait_for_function(f"(before) => ({SHOWN})() !== before", arg=before, timeout=TIMEOUT_MS)
        page.wait_for_selector(DRAWN)


def tab(browser: Browser, folder: Path, **options: Any) -> Any:
    """A tab without a network: what is no file of the folder is refused, and fails the test."""
    return watched_tab(browser, folder.as_uri(), offline=True, **options)


@pytest.mark.parametrize("name", SMALL)
def test_every_slider_of_a_page_moves_its_chart(browser: Browser, folder: Path, name: str) -> None:
    with tab(browser, folder) as page:
        goes_to(page, folder / f"{name}.html")
        every_slider_moves(page)


def test_the_index_leads_to_every_page_and_they_to_each_other(browser: Browser, folder: Path) -> None:
    with tab(browser, folder) as page:
        page.goto((folder / "index.html").as_uri())
        cards = page.locator(".cards a")
        files = cards.evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
        assert sorted(files) == sorted(file.name for file in folder.glob("*.html") if file.name != "index.html")
        cards.first.click()
        page.wait_for_selector(DRAWN)
        for file in files[1:]:
            page.get_by_role("link", name="Next: ").click()
            page.wait_for_url((folder / file).as_uri())
            page.wait_for_selector(DRAWN)
        page.get_by_role("link", name="All charts").click()
        expect(cards).to_have_count(len(files))


def test_a_second_slider_sends_the_first_back_and_says_where_both_move(browser: Browser, folder: Path) -> None:
    with tab(browser, folder) as page:
        goes_to(page, folder / "spend.html")
        opened = page.locator("#app")
        assert opened.get_attribute("href") == f"{APP}/budget?bview=spend&v=3"
        slider(page, "sigma").press("ArrowRight")
        value = control(page, "sigma").locator('input[type="text"]').input_value()
        expect(opened).to_have_attribute("href", f"{APP}/budget?bview=spend&v=3&sigma={value}")
        back = page.locator("#back")
        assert not back.is_visible()
        slider(page, "steps").press("ArrowRight")
        expect(back).to_contain_text("Noise multiplier σ is back at")
        assert "this page moves one setting at a time" in back.inner_text()
        both = back.get_by_role("link").get_attribute("href") or ""
        assert f"&sigma={value}&steps=" in both
        assert control(page, "sigma").locator('input[type="text"]').input_value() != value


@pytest.mark.parametrize("options", [*LOOKS, {**PHONE, "color_scheme": "dark"}], ids=["light", "dark", "phone"])
def test_a_page_fits_every_screen_in_its_theme(browser: Browser, folder: Path, options: dict[str, Any]) -> None:
    with tab(browser, folder, **options) as page:
        for name in ("index.html", "spend.html"):
            page.goto((folder / name).as_uri())
            if name != "index.html":
                page.wait_for_selector(DRAWN)
            width = options["viewport"]["width"]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            dark = options["color_scheme"] == "dark"
            assert ground == ("rgb(23, 22, 20)" if dark else "rgb(255, 255, 255)")
        below = box(page.locator("#file"))["y"]
        assert below >= bottom(page.locator("#chart")), "the text about the file stands below the chart"


@pytest.mark.parametrize("width", [340, 720])
def test_in_a_frame_the_words_of_a_chart_stand_where_they_stand_on_the_page(
    browser: Browser, folder: Path, width: int
) -> None:
    """Plotly measures them at the end of the page, of which a frame hides what is not the chart."""
    with tab(browser, folder, viewport={"width": width, "height": 560}) as page:
        page.goto((folder / "success.html").as_uri() + "#framed")
        page.wait_for_selector(DRAWN)
        assert not page.get_by_role("link", name="All charts").is_visible()
        ground, name = box(page.locator(".dpviz-chart .nsewdrag").first), box(page.locator(".dpviz-chart .xtitle"))
        assert name["y"] >= ground["y"] + ground["height"], "the name of the axis is below it"
        words = page.locator(".dpviz-chart .annotation-text").filter(has_text="right guesses")
        assert box(words)["x"] >= 0, "not cut"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nor scrolled sideways"


@pytest.fixture(scope="module")
def whole_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages: some ten minutes of one core."""
    place = tmp_path_factory.mktemp("whole")
    write(place, app=APP, jobs=2)
    return place


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_whole_folder_has_these_pages_and_is_small(whole_folder: Path) -> None:
    pages = {file.name for file in whole_folder.glob("*.html")} - {"index.html"}
    assert pages == set(chosen_files())
    assert sum(file.stat().st_size for file in whole_folder.iterdir()) <= 3_000_000 + 500_000 * len(pages)


@pytest.mark.long
@pytest.mark.timeout(3600)  # the first one makes the folder
@pytest.mark.parametrize("name", chosen_files())
def test_every_slider_of_the_whole_folder_moves_its_chart(browser: Browser, whole_folder: Path, name: str) -> None:
    with tab(browser, whole_folder) as page:
        goes_to(page, whole_folder / name)
        every_slider_moves(page)
