"""The home page in a browser: its story, which is scrolled, and whose buttons lead on with the right settings."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import box, chart_data, headline, main_area, open_page, slider, wait_idle


def test_the_best_attacks_accuracy_arrives_and_follows_the_slider(page: Page) -> None:
    """What the whole privacy curve says takes a moment; the rest of the page does not wait for it."""
    open_page(page, sigma=4)
    expect(headline(page)).to_contain_text("55.1 %")
    slider(page, "sigma").first.press("ArrowLeft")
    expect(headline(page)).not_to_contain_text("55.1 %")
    expect(headline(page)).to_contain_text("50 %")


@pytest.mark.sweep
def test_a_door_leads_to_its_question(page: Page) -> None:
    """Also a second time, after another question was chosen there."""
    for _ in range(2):
        open_page(page) if page.url == "about:blank" else page.get_by_role("link", name="Home").click()
        wait_idle(page)
        main_area(page).get_by_role("link", name="Check a program").click()
        page.wait_for_url("**/check*")
        wait_idle(page)
        expect(main_area(page).get_by_role("combobox", name="Question")).to_have_value("Check a program")
        main_area(page).get_by_role("combobox", name="Question").click()
        page.get_by_role("option", name="Guarantee card").click()
        wait_idle(page)


@pytest.mark.sweep
def test_the_wheel_leads_through_the_story(page: Page) -> None:
    """A link opens at its stop; text, chart and address go on together, and settings go along to another page."""
    open_page(page, stop=4)
    fourth, sixth = main_area(page).get_by_text("4 of 10 ·"), main_area(page).get_by_text("6 of 10 ·")
    expect(fourth).to_be_in_viewport()
    chart = main_area(page).locator(".js-plotly-plot").first
    expect(headline(page)).to_contain_text("With noise")
    before = chart_data(page)["data"]
    chart.evaluate("element => { element.mine = true; }")
    place = box(fourth)
    page.mouse.move(1100, 500)
    page.mouse.wheel(0, 10)
    wait_idle(page, settle_ms=400)
    expect(page).to_have_url("/?stop=4&v=3")
    for _ in range(10):
        page.mouse.wheel(0, 100)
    expect(page).to_have_url("/?stop=6&v=3")
    wait_idle(page)
    expect(headline(page)).to_contain_text("no attack is right more than")
    expect(headline(page)).to_be_in_viewport()
    expect(sixth).to_be_in_viewport()
    expect(main_area(page).locator("[data-here]")).to_contain_text("6 of 10")
    assert chart.evaluate("element => element.mine"), "another chart stands there"
    assert chart_data(page)["data"] != before
    assert abs(place["y"] - box(fourth)["y"] - 1010) <= 1, "the page jumped"
    main_area(page).get_by_role("button", name="Stop before").press("Enter")
    expect(page).to_have_url("/?stop=5&v=3")
    slider(page, "sigma").first.press("ArrowRight")
    wait_idle(page)
    main_area(page).locator("[data-here]").get_by_role("button", name="Open in Compose").click()
    page.wait_for_url("**/compose*")
    wait_idle(page)
    expect(page).to_have_url("/compose?sigma=4.3&curves=moments.renyi_improved.tight&v=3")
    slider(page, "sigma").press("ArrowRight")
    wait_idle(page)
    expect(page).to_have_url("/compose?sigma=4.7&curves=moments.renyi_improved.tight&v=3")


@pytest.mark.sweep
def test_arrow_keys_lead_through_the_story(page: Page) -> None:
    """From its first screen on; a slider that has the focus is moved by them instead."""
    open_page(page)
    here = main_area(page).locator("[data-here]")
    for key, stop in (
        ("ArrowRight", "1 of 10"),
        ("ArrowRight", "2 of 10"),
        ("ArrowRight", "3 of 10"),
        ("ArrowLeft", "2 of 10"),
    ):
        page.keyboard.press(key)
        expect(here).to_contain_text(stop)
        expect(here).to_be_in_viewport()
        wait_idle(page, settle_ms=600)  # the scroll rests, and its stop is drawn
    expect(page).to_have_url("/?stop=2&v=3")
    wait_idle(page)
    handle = slider(page, "sigma").first
    before = handle.input_value()
    handle.press("ArrowRight")
    assert handle.input_value() != before
    expect(here).to_contain_text("2 of 10")
