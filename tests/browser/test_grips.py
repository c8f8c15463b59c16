"""Marks on charts and numbers in headlines, pulled by a mouse and a finger, and typed over."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import dpviz
from dpviz.questions.catalogue import QUESTIONS
from tests.browser.driver import (
    PHONE,
    box,
    finger,
    handed_out,
    headline,
    main_area,
    middle,
    open_page,
    slider,
    text,
    wait_idle,
)
from tests.browser.recording import CLEAR, record, recorded
from tests.browser.test_hand import afresh, everything


def knob(page: Page, axis: str) -> Locator:
    """That of the mark that is pulled along this axis, alone or of two."""
    return page.locator(f'.dpviz-grip[data-axis*="{axis}"]:not([hidden])')


def pull(page: Page, thing: Locator, across: float, down: float = 0.0) -> tuple[float, float]:
    """Pull something by so many pixels; the button stays pressed. Returns where the mouse is then."""
    x, y = middle(thing)
    page.mouse.move(x, y)
    page.mouse.down()
    for part in range(1, 11):
        page.mouse.move(x + across * part / 10, y + down * part / 10)
        page.wait_for_timeout(20)
    return x + across, y + down


def said(page: Page, field: str) -> Locator:
    """The number in the headline that is this setting."""
    return headline(page).locator(f'[data-sets="{field}"]')


def test_the_end_of_the_steps_is_pulled_on_the_chart_and_everything_follows(page: Page) -> None:
    open_page(page, "compose", curves="moments.renyi_improved")
    before = headline(page).inner_text()
    x, _ = pull(page, knob(page, "x"), -160)
    expect(headline(page)).not_to_have_text(before)
    assert abs(middle(knob(page, "x"))[0] - x) < 12, "the mark stays under the hand"
    steps = text(page, "steps").input_value()
    assert 1 < float(steps) < 10_000
    expect(said(page, "steps")).to_have_text(f"{int(steps):,}".replace(",", "\u202f") if int(steps) > 9999 else steps)
    assert float(slider(page, "steps").input_value()) == QUESTIONS["compose"].named()["steps"].stops.index(steps)
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert f"steps={steps}" in page.url
    assert everything(page) == afresh(page)


# Plotly's next drawing ends when it is let go, in an animation frame.
HELD_BACK = """
() => {
  const { react } = Plotly;
  let go;
  const gone = new Promise((resolve) => { go = resolve; });
  window.let_go = () => { Plotly.react = react; requestAnimationFrame(go); };
  Plotly.react = async (...all) => { window.waits = true; const done = await react(...all); await gone; return done; };
}
"""


def test_an_answer_that_is_drawn_late_is_not_seen_under_a_hand_that_moved_on(page: Page) -> None:
    open_page(page, "attack", aview="success")
    page.evaluate(HELD_BACK)
    x, y = pull(page, knob(page, "x"), 60)
    page.wait_for_function("() => window.waits")  # the server answered while the hand held still
    page.mouse.move(x + 30, y)
    page.wait_for_function(CLEAR)
    record(page, "target", "x")
    page.mouse.move(x + 60, y)
    page.wait_for_function(CLEAR)
    page.evaluate("() => let_go()")
    page.wait_for_timeout(300)
    pictures = [one for one in recorded(page) if not one["faded"] and one["hand"] is not None]
    assert pictures
    assert all(one["drawn"] == float(one["value"]) for one in pictures), pictures
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert everything(page) == afresh(page)


# As soon as an entry is sent, the hand goes to 5, and the server, which has not answered it yet, is found to be back.
MOVES_ON = """
() => {
  window.announced = [];
  addEventListener("dpviz-move", ({ detail: { field, phase, text } }) => {
    announced.push(`${phase} ${text}`);
    if (phase !== "enter" || announced.includes("move 5")) return;
    setTimeout(() => {
      const detail = { field, pull: { phase: "move", value: 5 } };
      dispatchEvent(new CustomEvent("dpviz-pull", { cancelable: true, detail }));
      dispatchEvent(new Event("dpviz-link"));
    });
  });
}
"""


def test_an_entry_that_is_sent_again_takes_no_chart_from_a_hand_that_moved_on(page: Page) -> None:
    open_page(page, "attack", aview="success")
    page.evaluate(MOVES_ON)
    pull(page, knob(page, "x"), 60)
    page.wait_for_function("() => announced.indexOf('move 5') >= 0 && announced.at(-1).startsWith('enter')")
    last = ""
    for phase, where in (one.split(" ") for one in page.evaluate("() => announced")):
        assert phase != "enter" or where == last, f"{where} is entered, and the hand is at {last}"
        last = where if phase == "move" else last


def test_marks_are_pulled_whose_controls_are_not_in_sight(page: Page) -> None:
    open_page(page, "noise")
    expect(slider(page, "sigma")).not_to_be_visible()
    before = headline(page).inner_text()
    _, y = pull(page, knob(page, "y"), 0, -40)
    expect(headline(page)).not_to_have_text(before)
    page.wait_for_timeout(900)  # the server answers while the hand holds still
    assert abs(middle(knob(page, "y"))[1] - y) < 8, "the axis stays under the hand"
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert float(text(page, "target").input_value()) > 2
    pull(page, knob(page, "x"), -80)
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert "sigma=" in page.url
    page.get_by_role("radio", name="Mechanism").click()
    wait_idle(page)
    assert f"sigma={text(page, 'sigma').input_value()}" in page.url
    assert everything(page) == afresh(page)


def test_the_attacker_s_threshold_is_pulled_and_what_it_finds_follows(page: Page) -> None:
    open_page(page, "attack", aview="release")
    tile = main_area(page).get_by_text("false alarms").first
    expect(tile).to_contain_text("30.3")
    pull(page, knob(page, "x"), 80)
    expect(tile).not_to_contain_text("30.3")
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    threshold = float(page.url.split("onecut=")[1].split("&")[0])
    facts = dpviz.ask("release", threshold=threshold).answer.facts
    assert threshold > 0.5
    expect(tile).to_contain_text(f"{100 * facts.false_alarms:.1f}")
    assert everything(page) == afresh(page)


def test_a_number_in_the_headline_is_pulled_and_typed_over(page: Page) -> None:
    open_page(page, "noise")
    pull(page, said(page, "target"), -28)
    expect(text(page, "target")).not_to_have_value("2")
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    lower = float(text(page, "target").input_value())
    assert lower < 2
    said(page, "steps").click()
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    problem = page.locator(".dpviz-stage .dpviz-problem")
    expect(problem).to_contain_text("“many” is not a number")
    expect(said(page, "steps")).to_contain_text("10\u202f000")
    said(page, "steps").click()
    page.keyboard.type("2e4")
    page.keyboard.press("Enter")
    expect(said(page, "steps")).to_contain_text("20\u202f000")
    expect(problem).to_have_count(0)
    wait_idle(page, settle_ms=700)
    assert "steps=20000" in page.url
    assert float(text(page, "target").input_value()) == lower, "nothing else changed"


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_a_finger_pulls_a_mark_and_scrolls_from_the_plot(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    lift = finger(knob(page, "x"), right=-90)
    expect(text(page, "steps")).not_to_have_value("10000")
    lift()
    wait_idle(page, settle_ms=700)
    steps = text(page, "steps").input_value()
    assert f"steps={steps}" in page.url
    scrolled = "document.querySelector('[data-testid=\"stMain\"]').scrollTop"
    before = page.evaluate(scrolled)
    finger(page.locator(".nsewdrag").first, up=120)()
    page.wait_for_function(f"before => {scrolled} > before", arg=before)
    assert text(page, "steps").input_value() == steps


def test_a_mark_is_pulled_on_a_page_that_was_handed_out(browser: Browser, tmp_path: Path) -> None:
    with handed_out(browser, tmp_path, "success") as page:
        before = headline(page).inner_text()
        pull(page, knob(page, "x"), 120)
        page.mouse.up()
        expect(headline(page)).not_to_have_text(before)
        epsilon = text(page, "target").input_value()
        assert float(epsilon) > 2
        expect(said(page, "target")).to_have_text(f"ε = {epsilon}")


def test_a_mouse_that_rests_on_a_curve_is_told_what_it_is(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    place = box(page.locator(".js-line").first)
    page.mouse.move(place["x"] + place["width"] - 8, place["y"] + 5)  # its box holds its stroke
    told = page.locator(".dpviz-explanation")
    expect(told).to_contain_text("moments of the privacy loss")
    page.mouse.move(place["x"] + 40, place["y"] + 10)
    expect(told).to_have_count(0)
