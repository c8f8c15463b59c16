"""The Langevin page in a real browser."""

import pytest
from playwright.sync_api import Page

import dpviz
from dpviz.fields import numbers
from tests.browser.driver import chart_data, main_area, no_traceback, open_page

pytestmark = pytest.mark.sweep


def test_opens_with_the_librarys_numbers(page: Page) -> None:
    open_page(page, "langevin", lsteps=5000)
    no_traceback(page)
    steps = dpviz.PowerSchedule(0.1, 1 / 3, 5000)
    setting = {"n": 50_000, "batch_size": 224, "clip": 1, "delta": 1e-5}
    shown = main_area(page).locator(".dpviz-strip").inner_text()
    for conversion in ("improved", "classic"):
        found = dpviz.langevin_epsilon(steps, **setting, conversion=conversion)
        assert numbers.epsilon(found, up=True) in shown


def test_the_printed_claims_are_on_the_chart(page: Page) -> None:
    open_page(page, "langevin", preset="sgfig1", lview="epsilon", ltau="223.60679774997897", leta="0.103")
    no_traceback(page)
    hovers = [note.get("hovertext", "") for note in chart_data(page)["layout"]["annotations"]]
    assert any("0.103" in text for text in hovers)
    assert any("1.54e-6" in text for text in hovers)


def test_the_conditions_are_a_region_one_can_see(page: Page) -> None:
    open_page(page, "langevin", lview="region")
    no_traceback(page)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.js-plotly-plot .annotation')]"
        ".some(word => word.textContent.includes('(3) holds'))"
    )
    shown = main_area(page).locator(".js-plotly-plot").first
    for name in ("(1) holds below", "(2) holds above", "(3) holds below", "all three hold", "yours"):
        words = shown.get_by_text(name, exact=True)
        assert words.count() == 1
        box = words.bounding_box()
        assert box is not None
        assert box["y"] > 0
        assert box["y"] + box["height"] < page.viewport_size["height"]
