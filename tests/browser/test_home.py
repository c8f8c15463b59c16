"""The home page in a browser: its story, whose buttons lead on with the right settings."""

from playwright.sync_api import Page, expect

from tests.browser.driver import main_area, no_traceback, open_page, wait_idle


def test_open_in_compose_takes_the_settings_along(page: Page) -> None:
    open_page(page)
    main_area(page).get_by_role("slider", name="Noise multiplier").first.press("ArrowRight")
    wait_idle(page)
    main_area(page).get_by_role("button", name="Open in Compose").click()
    page.wait_for_url("**/compose*")
    wait_idle(page)
    no_traceback(page)
    expect(page).to_have_url("/compose?sigma=4.3&curves=moments.renyi_improved")
    handle = main_area(page).get_by_role("slider", name="Noise multiplier").first
    handle.press("ArrowRight")
    wait_idle(page)
    expect(page).to_have_url("/compose?sigma=4.7&curves=moments.renyi_improved")


def test_the_best_attacks_accuracy_arrives_and_follows_the_slider(page: Page) -> None:
    """What the whole privacy curve says takes a moment; the rest of the page does not wait for it."""
    open_page(page, sigma=4)
    headline = main_area(page).locator(".dpviz-headline")
    expect(headline).to_contain_text("55.1 % of the time, where 50 % is chance")
    main_area(page).get_by_role("slider", name="Noise multiplier").first.press("ArrowLeft")
    expect(headline).not_to_contain_text("55.1 %")
    expect(headline).to_contain_text("where 50 % is chance")
    no_traceback(page)


def test_the_story_goes_on_in_place_and_each_stop_has_an_address(page: Page) -> None:
    open_page(page, stop=3)
    chart = main_area(page).locator(".js-plotly-plot").first
    chart.evaluate("element => { element.mine = true; }")
    main_area(page).get_by_role("button", name="Next").click()
    expect(main_area(page).get_by_text("4 of 5 · And the truth?")).to_be_visible()
    expect(page).to_have_url("/?stop=4")
    assert chart.evaluate("element => element.mine"), "another chart stands there"
    main_area(page).get_by_role("button", name="Open in Compose").click()
    page.wait_for_url("**/compose*")
    wait_idle(page)
    no_traceback(page)
    expect(page).to_have_url("/compose?curves=moments.renyi_improved.tight")
