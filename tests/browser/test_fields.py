"""What is typed into a field, and the arrow keys there."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import control, enter, open_page, slider, text, wait_idle


@pytest.mark.sweep
def test_arrow_keys_step_a_field_as_its_slider(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    exact, handle = text(page, "sigma"), slider(page, "sigma")
    handle.press("ArrowUp")
    above = exact.input_value()
    handle.press("ArrowDown")
    assert (exact.input_value(), above != "4") == ("4", True)
    for key, shown in (("ArrowUp", above), ("ArrowDown", "4")):
        exact.press(key)
        expect(exact).to_have_value(shown)
    exact.press("Shift+ArrowUp")
    assert float(exact.input_value()) > 1.5 * float(above), "with Shift a tenth of the slider"
    exact.fill("2,5")
    exact.press("ArrowUp")
    assert 2.5 < float(exact.input_value()) < 3, "from what was typed"
    expect(page).to_have_url(re.compile(f"sigma={exact.input_value()}"))
    for key, shown in (("ArrowUp", "60001"), ("Shift+ArrowDown", "59991")):
        text(page, "n").press(key)
        expect(text(page, "n")).to_have_value(shown)
    expect(page).to_have_url(re.compile("n=59991"))


@pytest.mark.parametrize(("field", "typed", "shows"), [("sigma", "0,5", "0.5"), ("epochs", ".022", "0.022")])
@pytest.mark.one_of(2)
def test_what_was_typed_is_there_after_a_reload(page: Page, field: str, typed: str, shows: str) -> None:
    open_page(page, "compose", curves="moments", units="person")
    enter(page, field, typed)
    expect(text(page, field)).to_have_value(shows)
    expect(page).to_have_url(re.compile(f"{field}={shows}"))
    wait_idle(page)
    below = control(page, field).locator(".below")
    words = below.text_content()  # what a slider's ends mean is seen where a hand is
    page.reload()
    wait_idle(page)
    expect(text(page, field)).to_have_value(shows)
    assert below.text_content() == words
