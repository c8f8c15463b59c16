"""The strip of the run: it follows a hand as the headline does, its fields are the page's own, and it leads on."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import LOOKS, bottom, box, headline, open_page, slider, text, wait_idle

RUN = {
    "sigma": 1.1, "n": 60000, "q": "256/60000", "batches": 234, "steps": 60, "mech": "shuffled", "persons": 5,
}  # fmt: skip


def line(page: Page):  # type: ignore[no-untyped-def]
    return page.locator(".dpviz-run .line")


def test_the_strip_and_the_controls_agree_while_a_hand_moves_and_after(page: Page) -> None:
    open_page(page, "compose", curves="moments", units="person")
    expect(line(page)).to_have_text(re.compile("σ 4600 of 60.000100 epochsPoissonδ 1e-5"))
    handle = slider(page, "sigma")
    handle.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        shown = text(page, "sigma").first.input_value()
        expect(line(page)).to_contain_text(f"σ {shown}")
    wait_idle(page)
    assert f"σ {shown}" in (line(page).text_content() or "")
    slider(page, "batch").press("ArrowRight")
    batch = text(page, "batch").input_value()
    expect(line(page)).to_have_text(re.compile(f"{batch} of 60.000100 epochs"))
    wait_idle(page)
    expect(line(page)).to_have_text(re.compile(f"{batch} of 60.000100 epochs"))


def test_its_fields_set_the_page_and_nothing_below_moves(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    place, said = box(headline(page)), headline(page).inner_text()
    line(page).click()
    fields = page.locator(".st-key-dpviz-run-fields")
    expect(fields).to_be_visible()
    wait_idle(page)
    assert box(headline(page)) == place
    own = fields.locator('.dpviz-number[data-field="sigma"] input[type="text"]')
    own.fill("2")
    own.press("Enter")
    wait_idle(page)
    assert headline(page).inner_text() != said
    for shown in page.locator('.dpviz-number[data-field="sigma"] input[type="text"]').all():
        assert shown.input_value() == "2"
    expect(line(page)).to_contain_text("σ 2")
    persons = fields.locator('.dpviz-number[data-field="persons"] input[type="text"]')
    persons.fill("5")
    persons.press("Enter")
    expect(line(page)).to_contain_text("5 rows a person")
    wait_idle(page)
    expect(page).to_have_url(re.compile("persons=5"))
    page.keyboard.press("Escape")
    expect(fields).to_have_count(0)


@pytest.mark.sweep  # test_check walks the same ways but for the last
def test_each_question_is_one_click_from_there_and_the_run_goes_along(page: Page) -> None:
    open_page(page, "compose", **RUN)
    for name, address in (("Claim", "check"), ("Attack", "attack"), ("Write down", "check"), ("Noise", "noise")):
        page.locator(".dpviz-run .next").get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"/{address}[?]"))
        wait_idle(page)
        expect(line(page)).to_contain_text("256 of 60")
        expect(line(page)).to_contain_text("shuffled")
        if name == "Write down":
            expect(page.locator('[data-testid="stMain"]').get_by_text("As Markdown", exact=True)).to_be_visible()


@pytest.mark.parametrize("page", LOOKS, indirect=True)
@pytest.mark.one_of(2)
def test_it_is_one_line_in_every_look_and_goes_to_no_edge(page: Page) -> None:
    open_page(page, "attack", aview="roc", **RUN)
    shown = box(line(page))
    assert shown["height"] < 45
    assert shown["x"] >= 0
    assert shown["x"] + shown["width"] <= page.evaluate("innerWidth")
    line(page).click()
    fields = page.locator(".st-key-dpviz-run-fields")
    expect(fields).to_be_visible()
    wait_idle(page)
    assert box(fields)["x"] + box(fields)["width"] <= page.evaluate("innerWidth")
    assert box(fields)["y"] >= bottom(line(page)) - 2
