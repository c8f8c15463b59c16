"""The Check page in a browser."""

import re

from playwright.sync_api import Page, expect

from tests.browser.driver import main_area, open_page, wait_idle


def test_titles_of_page_and_tab_follow_the_question(page: Page) -> None:
    open_page(page, "check")
    title = main_area(page).locator("h1")
    expect(title).to_have_text("Check a program")
    expect(page).to_have_title(re.compile("^Check a program · dpviz"))
    main_area(page).get_by_role("combobox", name="Question").click()
    page.get_by_role("option", name="Guarantee card").click()
    expect(title).to_have_text(re.compile("^Check · Guarantee card"))
    wait_idle(page)
    expect(page).to_have_title(re.compile("^Check · Guarantee card"))
    expect(title).to_have_count(1)
