"""What is typed into a field, and the arrow keys there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import dpviz
from tests.browser.driver import TIMEOUT_MS, open_page, wait_idle


def text_of(page: Page, field: str) -> Locator:
    return page.locator(f'.dpviz-number[data-field="{field}"] input[type="text"]')


def test_arrow_keys_step_a_field_as_its_slider(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    exact = text_of(page, "sigma")
    slider = page.get_by_role("slider", name="Noise")
    slider.press("ArrowUp")
    above = exact.input_value()
    slider.press("ArrowDown")
    assert (exact.input_value(), above != "4") == ("4", True)
    exact.press("ArrowUp")
    expect(exact).to_have_value(above)
    exact.press("ArrowDown")
    expect(exact).to_have_value("4")
    exact.press("Shift+ArrowUp")
    assert float(exact.input_value()) > 1.5 * float(above), "with Shift a tenth of the slider"
    exact.fill("2,5")
    exact.press("ArrowUp")
    assert 2.5 < float(exact.input_value()) < 3, "from what was typed"
    expect(page).to_have_url(re.compile(f"sigma={exact.input_value()}"))
    size = text_of(page, "n")
    size.press("ArrowUp")
    expect(size).to_have_value("60001")
    size.press("Shift+ArrowDown")
    expect(size).to_have_value("59991")
    expect(page).to_have_url(re.compile("n=59991"))


@pytest.mark.parametrize(("field", "typed", "shows"), [("sigma", "0,5", "0.5"), ("epochs", ".022", "0.022")])
@pytest.mark.one_of(2)
def test_what_was_typed_is_there_after_a_reload(page: Page, field: str, typed: str, shows: str) -> None:
    open_page(page, "compose", curves="moments")
    exact = text_of(page, field)
    exact.fill(typed)
    exact.press("Enter")
    expect(exact).to_have_value(shows)
    expect(page).to_have_url(re.compile(f"{field}={shows}"))
    wait_idle(page)
    below = page.locator(f'.dpviz-number[data-field="{field}"] .below').inner_text()
    page.reload()
    wait_idle(page)
    expect(exact).to_have_value(shows)
    assert page.locator(f'.dpviz-number[data-field="{field}"] .below').inner_text() == below


def test_a_page_without_a_server_reads_a_comma_too(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    dpviz.ask("spend").html(file)
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(file.as_uri())
    page.wait_for_selector('.dpviz-chart[data-state="drawn"]')
    for field, typed, shows, message in (
        ("sigma", "4,0", "4", ""),
        ("sigma", "1,2,3", "4", "“1,2,3” is not a number."),
        ("steps", "10.000", "10000", "“10.000” may mean two numbers; type 10 or 10000."),
    ):
        exact = text_of(page, field)
        exact.fill(typed)
        exact.press("Enter")
        expect(exact).to_have_value(shows)
        assert message in page.locator(f'.dpviz-number[data-field="{field}"]').inner_text()
    page.close()
