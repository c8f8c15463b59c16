"""At each size of a screen no word is clipped or lies on another, and all that is pressed can be hit."""

from functools import lru_cache
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import of_texts
from dpviz.questions.rendered import strip
from tests.browser.driver import PHONE, box, main_area, open_page, slider, wait_idle

pytestmark = pytest.mark.sweep

TARGET = 23.5  # pixels that what is pressed is high and wide at least, rounded
SIZES: tuple[dict[str, Any], ...] = (
    PHONE,
    PHONE | {"viewport": {"width": 844, "height": 390}},
    *({"viewport": {"width": width, "height": height}} for width, height in ((820, 1180), (1280, 800), (1920, 1080))),
)
# What is wrong on the page; a target reaches as far as what lies over it unseen (::after).
FAULTS = """
least => {
  const main = document.querySelector("[data-testid=stMain]");
  const seen = (e) => {
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    for (let at = e; at; at = at.parentElement) if (getComputedStyle(at).clipPath.startsWith("inset(50%")) return false;
    return true;
  };
  const reach = (e) => {
    const { width, height } = e.getBoundingClientRect();
    const { content, top, left, right, bottom } = getComputedStyle(e, "::after");
    const over = (...sides) =>
      content === "none" ? 0 : sides.reduce((sum, side) => sum + Math.max(-parseFloat(side) || 0, 0), 0);
    return Math.min(width + over(left, right), height + over(top, bottom));
  };
  const pressed = [...main.querySelectorAll("button, a[href], input, [role=combobox]")].filter(seen);
  const small = pressed.filter((e) => e.getBoundingClientRect().width && reach(e) < least);
  const fields = [...main.querySelectorAll("input[type=text]")].filter(seen);
  const dotted = (e) => getComputedStyle(e).textOverflow === "ellipsis";
  const clipped = fields.filter((e) => e.scrollWidth > e.clientWidth + 1 && !dotted(e));
  const run = [...main.querySelectorAll(".dpviz-run .line")].filter((e) => e.scrollWidth > e.clientWidth + 1);
  const said = (e) => /[^◆\\s]/.test(e.textContent); // and no place for a hover
  const named = main.querySelectorAll(".js-plotly-plot text, .dpviz-chips button");
  const words = [...named].filter((e) => seen(e) && said(e));
  const boxes = words.map((e) => [e.getBoundingClientRect(), e.textContent]);
  const beyond = boxes.filter(([box]) => box.right > innerWidth + 1 || box.left < -1).map(([, text]) => text);
  const overlaps = boxes.flatMap(([one, a], i) =>
    boxes.slice(i + 1).filter(([other]) =>
      Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 &&
      Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 5
    ).map(([, b]) => `${a} × ${b}`));
  const name = (e) => e.getAttribute("aria-label") || e.textContent || e.value || e.outerHTML.slice(0, 80);
  const notes = [...main.querySelectorAll(".dpviz-strip .note")];
  const cut = notes.filter((e) => e.firstElementChild.offsetWidth > e.clientWidth);
  const whole = { small: small.map(name), clipped: [...clipped, ...run].map(name) };
  return { ...whole, cut: cut.map((e) => e.textContent), beyond, overlaps };
}
"""


@pytest.mark.parametrize("page", SIZES, indirect=True, ids=lambda look: f"{look['viewport']['width']}px")
def test_all_words_are_whole_and_all_that_is_pressed_can_be_hit(page: Page) -> None:
    faults = {}
    for key in ("", *(one.key for one in PAGES)):
        open_page(page, key)
        faults[key] = {kind: list(found) for kind, found in page.evaluate(FAULTS, TARGET).items() if found}
    assert {key: found for key, found in faults.items() if found} == {}


# The notes of tiles that do not fit, once these tiles stand on the page.
CUT = """
tiles => {
  document.querySelector(".dpviz-strip").outerHTML = tiles;
  const notes = [...document.querySelectorAll(".dpviz-strip .note")];
  return notes.filter((e) => e.firstElementChild.offsetWidth > e.clientWidth).map((e) => e.textContent);
}
"""


@lru_cache(maxsize=1)
def tiles() -> dict[str, str]:
    """The tiles with which each question opens, before what is slow is there."""
    shown = {key: question.metrics(question.asked(question.read(of_texts({})))) for key, question in QUESTIONS.items()}
    return {key: strip(metrics) for key, metrics in shown.items() if metrics}


@pytest.mark.parametrize("page", SIZES, indirect=True, ids=lambda look: f"{look['viewport']['width']}px")
def test_no_tile_cuts_the_first_clause_of_its_note(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    cut = {key: page.evaluate(CUT, html) for key, html in tiles().items()}
    assert {key: notes for key, notes in cut.items() if notes} == {}


HIGH: dict[str, Any] = {"viewport": {"width": 1920, "height": 1080}}


def test_chart_and_controls_stay_in_sight_while_details_scroll(page: Page) -> None:
    open_page(page, "compose")
    main_area(page).get_by_text("Why", exact=True).click()
    main_area(page).get_by_text("Glossary", exact=True).click()
    wait_idle(page)
    page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollTo(0, 1e6)")
    last = main_area(page).locator("li").last
    expect(last).to_be_in_viewport()
    chart = box(main_area(page).locator(".dpviz-chart"))
    assert 0 <= chart["y"] + chart["height"] <= 0.66 * 800
    assert chart["y"] > -50, "its curves are in sight"
    expect(slider(page, "sigma")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("page", [HIGH], indirect=True)
def test_a_high_window_shows_all_groups_of_controls_without_tabs(page: Page) -> None:
    open_page(page, "langevin")
    expect(main_area(page).get_by_role("radiogroup", name="Controls")).not_to_be_visible()
    for field in ("steps", "target", "ltau", "lclip"):
        expect(slider(page, field)).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(slider(page, "lclip")).not_to_be_visible()
    main_area(page).get_by_text("Data", exact=True).locator("visible=true").click()
    wait_idle(page)
    expect(slider(page, "lclip")).to_be_visible()
    expect(slider(page, "target")).not_to_be_visible()
