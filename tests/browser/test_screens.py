"""A phone, a lecture hall, a sheet of paper."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import dpviz
from dpviz.fields import numbers
from tests.browser.driver import main_area, no_traceback, open_page, wait_idle
from tests.browser.test_hand import slider, text

pytestmark = pytest.mark.sweep

SETTING = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
STORY = ["sigma=6&curves=moments", "sigma=2&curves=moments"]
WIDTH = "() => document.querySelector('.js-plotly-plot')._fullLayout.xaxis._length"
# Heights of what is pressed, less than 35 pixels; a chip's place to be hit is higher than it is drawn.
LOW = """() => [...document.querySelectorAll(".offers button, [data-testid=stMain] [data-testid=stButtonGroup] button")]
  .map((button) => button.getBoundingClientRect().height).filter((height) => height > 0 && height < 35)"""
SCROLLED = "() => document.querySelector('[data-testid=stMain]').scrollTop"


def written(sigma: float) -> str:
    return numbers.epsilon(float(dpviz.epsilon("moments", noise_multiplier=sigma, **SETTING)), up=True)


@pytest.fixture
def phone(browser: Browser, app_url: str) -> Iterator[Page]:
    context = browser.new_context(
        base_url=app_url, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    yield context.new_page()
    context.close()


def swipe(page: Page, box: dict[str, float], *, right: float = 0, up: float = 0) -> None:
    """A finger put down in the middle of a box and pulled."""
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in range(1, 11):
        point = {"x": x + right * part / 10, "y": y - up * part / 10}
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def at_rest(page: Page, locator: Locator) -> dict[str, float]:
    """The box of what stands still: a fling scrolls on after its finger has left, and the next one would miss."""
    for _ in range(40):
        before = locator.bounding_box()
        page.wait_for_timeout(120)
        after = locator.bounding_box()
        if before is not None and before == after:
            return {"x": before["x"], "y": before["y"], "width": before["width"], "height": before["height"]}
    raise AssertionError("It does not come to rest.")


def test_on_a_phone_the_plot_has_the_width_and_a_finger_that_scrolls_moves_nothing(phone: Page) -> None:
    open_page(phone, "compose", curves="moments", sigma=4)
    no_traceback(phone)
    assert phone.evaluate(WIDTH) >= 280
    assert phone.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    chips = main_area(phone).locator(".dpviz-chips li")
    expect(chips.filter(has_text="moments")).to_contain_text(written(4))
    box = slider(phone, "sigma").bounding_box()
    assert box is not None
    swipe(phone, box, up=200)
    wait_idle(phone)
    assert phone.evaluate(SCROLLED) > 100
    assert text(phone, "sigma").input_value() == "4"
    top = main_area(phone).locator(".dpviz-chart").bounding_box()
    assert top is not None
    assert 0 <= top["y"] < 60, "the chart stays in sight"
    at_rest(phone, slider(phone, "delta"))
    slider(phone, "delta").evaluate("slider => slider.scrollIntoView({block: 'end'})")
    box = at_rest(phone, slider(phone, "delta"))
    low = phone.evaluate(LOW)
    assert low == [], "what a finger cannot hit"
    swipe(phone, box, right=-40)
    expect(text(phone, "delta")).not_to_have_value("1e-5")
    wait_idle(phone)
    delta = float(text(phone, "delta").input_value())
    assert delta < 1e-5
    pulled = float(dpviz.epsilon("moments", noise_multiplier=4, **{**SETTING, "delta": delta}))
    expect(chips.filter(has_text="moments")).to_contain_text(numbers.epsilon(pulled, up=True))
    phone.set_viewport_size({"width": 844, "height": 390})  # on its side
    expect(text(phone, "delta")).to_be_visible()
    phone.wait_for_function(f"() => ({WIDTH})() >= 400 && document.querySelector('.dpviz-chart').clientHeight <= 330")
    entry = text(phone, "delta").bounding_box()
    assert entry is not None
    assert entry["width"] > 80


def test_on_a_phone_half_of_the_story_s_screen_is_left_for_its_text(phone: Page) -> None:
    open_page(phone, "")
    no_traceback(phone)
    wait_idle(phone)
    assert phone.evaluate("() => document.querySelector('.st-key-story-side').clientHeight") <= 425
    assert text(phone, "steps").evaluate("entry => entry.scrollWidth <= entry.clientWidth"), "10000 is read whole"


def test_embedded_all_groups_of_controls_are_in_sight_and_labels_stand_apart(page: Page) -> None:
    page.set_viewport_size({"width": 800, "height": 600})
    open_page(page, "compose", embed="1")
    no_traceback(page)
    column = main_area(page).locator("[data-testid=stColumn]").first.bounding_box()
    last = main_area(page).get_by_test_id("stButtonGroup").first.locator("button").last.bounding_box()
    assert column is not None
    assert last is not None
    assert last["x"] + last["width"] <= column["x"] + column["width"] + 1, "Show"
    page.set_viewport_size({"width": 560, "height": 390})  # the lowest chart there is
    page.wait_for_function("() => document.querySelector('.dpviz-chart').clientHeight < 250")
    wait_idle(page)
    rows = page.locator(".ytick text").evaluate_all("labels => labels.map(e => e.getBoundingClientRect().y)")
    rows.sort()
    assert len(rows) >= 3
    assert min(upper - lower for lower, upper in pairwise(rows)) >= 13.9


def test_presenting_walks_through_the_pins_with_the_arrow_keys(page: Page) -> None:
    open_page(page, "compose", present="steps.sigma", curves="moments", pin=STORY)
    shown = [control.get_attribute("data-field") for control in main_area(page).locator(".dpviz-number").all()]
    assert shown == ["steps", "sigma"]
    assert page.get_by_test_id("stSidebar").count() == 0 or not page.get_by_test_id("stSidebar").is_visible()
    assert page.locator(".dpviz-headline").evaluate("e => parseFloat(getComputedStyle(e).fontSize)") > 28
    assert page.locator(".ytick text").first.evaluate("e => e.getBoundingClientRect().height") > 24
    for key, sigma in (("ArrowRight", 6), ("PageDown", 2), ("ArrowRight", 2), ("ArrowLeft", 6)):
        page.keyboard.press(key)
        expect(text(page, "sigma")).to_have_value(str(sigma))
        expect(page.locator(".dpviz-chart").first).to_contain_text(written(sigma))
        wait_idle(page)
    slider(page, "steps").focus()
    page.keyboard.press("ArrowRight")  # belongs to the control
    wait_idle(page, settle_ms=500)
    assert text(page, "sigma").input_value() == "6"
    assert "present=steps.sigma" in page.url
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Present")).to_be_visible()
    wait_idle(page, settle_ms=500)
    assert "present" not in page.url


def test_on_paper_all_settings_stand_below_the_chart(page: Page) -> None:
    open_page(page, "compose", curves="moments", sigma=3)
    settings = page.locator(".dpviz-settings")
    assert not settings.is_visible()
    page.emulate_media(media="print")
    assert settings.is_visible()
    expect(settings).to_contain_text("Noise multiplier σ: 3 ·")
    assert not slider(page, "sigma").is_visible()
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert main_area(page).locator(".dpviz-strip").is_visible()


def test_the_image_says_headline_and_settings(page: Page) -> None:
    open_page(page, "compose", curves="moments", sigma=3, image="svg")
    page.locator(".dpviz-chart").hover()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the chart with its settings as SVG").click()
    drawn = download.value.path().read_text()
    assert download.value.suggested_filename == "dpviz-compose.svg"
    assert "Noise multiplier σ: 3 ·" in drawn
    assert written(3) in drawn
    assert "the best attack guesses right" in drawn
    assert "light-dark" not in drawn, "other programs do not know it"
    names = page.evaluate("[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)")
    assert not any("hare" in name for name in names), "nothing sends the chart elsewhere"
