"""A phone, a lecture hall, a sheet of paper."""

from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

import dpviz
from dpviz.fields import numbers
from dpviz.questions.catalogue import PAGES
from tests.browser.driver import PHONE, bottom, box, finger, main_area, open_page, slider, text, wait_idle

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


on_a_phone = pytest.mark.parametrize("page", [PHONE], indirect=True)


def at_rest(thing: Locator) -> Locator:
    """Wait until it stands still: a fling scrolls on after its finger has left, and the next one would miss."""
    for _ in range(40):
        before = thing.bounding_box()
        thing.page.wait_for_timeout(120)
        if before is not None and before == thing.bounding_box():
            return thing
    raise AssertionError("It does not come to rest.")


@on_a_phone
def test_a_student_opens_abadis_figure_2_and_moves_its_six_sliders(page: Page) -> None:
    """From Home: the door, the side bar, the preset and back are five touches; then one for each slider.

    The chart stays in sight beside the slider that moves, and each changes what headline or figures say.
    """
    open_page(page)
    main_area(page).get_by_role("link", name="See").first.tap()
    page.wait_for_url("**/compose*")
    wait_idle(page)
    page.get_by_test_id("stExpandSidebarButton").tap()
    side_bar = page.get_by_test_id("stSidebar")
    side_bar.get_by_role("combobox", name="Preset").tap()
    page.get_by_role("option", name="DP-SGD, Fig. 2").tap()
    wait_idle(page)
    side_bar.get_by_test_id("stSidebarCollapseButton").get_by_role("button").tap()
    wait_idle(page)
    assert text(page, "steps").input_value() == "40000"
    expect(main_area(page).locator(".dpviz-notes")).to_contain_text("24.22 (strong composition) · here 24.25")

    def result() -> str:
        return " | ".join(main_area(page).locator(".dpviz-headline, .dpviz-strip").all_inner_texts())

    def changed(before: str) -> None:
        for _ in range(50):  # of a busy server
            if result() != before:
                return
            page.wait_for_timeout(200)
        raise AssertionError(f"nothing else is said: {before}")

    for field, by in {"sigma": -30, "q": -30, "steps": -50, "quantile": -60, "dmu": -60, "lam": -40}.items():
        moved = slider(page, field)
        moved.evaluate("slider => slider.scrollIntoView({block: 'end'})")
        before, entered = result(), text(page, field).input_value()
        finger(at_rest(moved), right=by)()
        expect(text(page, field)).not_to_have_value(entered)
        wait_idle(page)
        changed(before)
        chart, touched = box(main_area(page).locator(".dpviz-chart")), box(moved)
        assert 0 <= chart["y"] < touched["y"] < 844, f"both in sight: {field}"


@on_a_phone
def test_on_a_phone_the_plot_has_the_width_and_a_finger_that_scrolls_moves_nothing(page: Page) -> None:
    open_page(page, "compose", curves="moments", sigma=4)
    assert page.evaluate(WIDTH) >= 280
    assert page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    chips = main_area(page).locator(".dpviz-chips li")
    expect(chips.filter(has_text="moments")).to_contain_text(written(4))
    assert box(main_area(page).locator(".dpviz-stage"))["height"] <= 0.45 * 844
    finger(slider(page, "sigma"), up=200)()
    wait_idle(page)
    assert page.evaluate(SCROLLED) > 100
    assert text(page, "sigma").input_value() == "4"
    assert 0 <= box(main_area(page).locator(".dpviz-chart"))["y"] < 60, "the chart stays in sight"
    at_rest(slider(page, "delta")).evaluate("slider => slider.scrollIntoView({block: 'end'})")
    delta_slider = at_rest(slider(page, "delta"))
    assert page.evaluate(LOW) == [], "what a finger cannot hit"
    finger(delta_slider, right=-40)()
    expect(text(page, "delta")).not_to_have_value("1e-5")
    wait_idle(page)
    delta = float(text(page, "delta").input_value())
    assert delta < 1e-5
    pulled = float(dpviz.epsilon("moments", noise_multiplier=4, **{**SETTING, "delta": delta}))
    expect(chips.filter(has_text="moments")).to_contain_text(numbers.epsilon(pulled, up=True))
    page.set_viewport_size({"width": 844, "height": 390})  # on its side
    expect(text(page, "delta")).to_be_visible()
    page.wait_for_function(f"() => ({WIDTH})() >= 200 && document.querySelector('.dpviz-chart').clientHeight <= 240")
    assert box(text(page, "delta"))["width"] > 70
    page.evaluate(
        "() => document.querySelectorAll('[data-testid=stMain], [data-testid=stColumn]').forEach(e => e.scrollTo(0, 0))"
    )
    chart, control = (box(thing) for thing in (main_area(page).locator(".dpviz-chart"), slider(page, "sigma")))
    assert chart["x"] + chart["width"] <= control["x"], "beside each other"
    assert all(one["y"] >= 0 and one["y"] + one["height"] <= 390 for one in (chart, control)), "both in sight"


@pytest.mark.parametrize("page", [{"viewport": {"width": 820, "height": 1180}}], indirect=True)
def test_on_a_tablet_chart_and_controls_are_in_sight_together_and_the_ways_on_are_alike(page: Page) -> None:
    for one in PAGES:
        open_page(page, one.key)
        controls = main_area(page).locator(".st-key-dpviz-body [data-testid=stColumn]").first
        assert bottom(main_area(page).locator(".dpviz-chart")) < box(controls)["y"] < bottom(controls) < 1180, one.key
    open_page(page)
    heights = page.locator(".st-key-home-doors a:visible").evaluate_all("ways => ways.map(way => way.clientHeight)")
    assert len(heights) == 4
    assert len(set(heights)) == 1, heights


@pytest.mark.parametrize("view", ["adult", "reached"])
def test_the_ways_on_are_in_sight_below_cautions_of_several_lines(page: Page, view: str) -> None:
    open_page(page, "papers", pview=view)
    caution = box(main_area(page).locator(".dpviz-caution").first)
    assert caution["height"] > 40
    assert bottom(main_area(page).locator(".st-key-dpviz-doors")) <= 800


def test_what_a_term_means_covers_no_metric(page: Page) -> None:
    open_page(page, "compose")
    terms = main_area(page).locator(".dpviz-strip dfn:visible")
    assert terms.count() >= 2
    for term in terms.all():
        term.hover()
        above = "term => parseFloat(getComputedStyle(term, '::after').bottom) - term.offsetParent.clientHeight"
        assert term.evaluate(above) > -1
        assert term.evaluate("term => term.offsetParent.matches('.dpviz-strip > div')")


@on_a_phone
def test_on_a_phone_seven_names_are_in_sight_below_the_chart(page: Page) -> None:
    open_page(page, "noise", noiseview="accuracy")
    names = main_area(page).locator(".dpviz-chips button")
    assert names.count() == 7
    for name in names.all():
        assert box(name)["x"] + box(name)["width"] <= 390
    assert box(main_area(page).locator(".dpviz-stage"))["height"] <= 0.45 * 844


@on_a_phone
def test_on_a_phone_half_of_the_story_s_screen_is_left_for_its_text(page: Page) -> None:
    open_page(page)
    assert page.evaluate("() => document.querySelector('.st-key-story-side').clientHeight") <= 425
    assert text(page, "steps").evaluate("entry => entry.scrollWidth <= entry.clientWidth"), "10000 is read whole"


@pytest.mark.parametrize("page", [PHONE | {"viewport": {"width": 844, "height": 390}}], indirect=True)
def test_on_its_side_the_story_s_text_chart_and_controls_are_in_sight_together(page: Page) -> None:
    open_page(page, stop=4)
    here = main_area(page).get_by_text("4 of 10 ·")
    for thing in (main_area(page).locator(".dpviz-chart"), slider(page, "sigma").last, slider(page, "steps"), here):
        expect(thing).to_be_in_viewport(ratio=0.95)


def test_embedded_all_groups_of_controls_are_in_sight_and_labels_stand_apart(page: Page) -> None:
    page.set_viewport_size({"width": 800, "height": 600})
    open_page(page, "compose", embed="1")
    column = box(main_area(page).locator("[data-testid=stColumn]").first)
    last = box(main_area(page).get_by_test_id("stButtonGroup").first.locator("button").last)
    assert last["x"] + last["width"] <= column["x"] + column["width"] + 1, "Show"
    page.set_viewport_size({"width": 560, "height": 390})  # the lowest chart there is
    page.wait_for_function("() => document.querySelector('.dpviz-chart').clientHeight < 250")
    wait_idle(page)
    rows = page.locator(".ytick text").evaluate_all("labels => labels.map(e => e.getBoundingClientRect().y)")
    rows.sort()
    assert len(rows) >= 3
    assert min(upper - lower for lower, upper in pairwise(rows)) >= 13.9


def test_the_chart_fills_the_height_that_the_window_leaves_and_keeps_it(page: Page) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    open_page(page, "compose")
    chart, strip = main_area(page).locator(".dpviz-chart"), main_area(page).locator(".dpviz-strip")
    high = box(chart)["height"]
    assert 600 < high <= 900
    assert box(chart)["y"] + high <= box(strip)["y"] < box(strip)["y"] + box(strip)["height"] <= 1080
    names = page.locator(".annotation").evaluate_all("names => names.map(e => e.getBoundingClientRect().y)")
    assert max(names) - min(names) > 200, "names are as far apart as the curves"
    text(page, "sigma").fill("1")
    text(page, "sigma").press("Enter")
    wait_idle(page)
    assert box(chart)["height"] == high
    page.set_viewport_size({"width": 1280, "height": 560})
    page.wait_for_function("() => document.querySelector('.dpviz-chart').clientHeight < 400")
    wait_idle(page)
    assert box(chart)["height"] >= 330
    assert page.evaluate("() => document.querySelector('.dpviz-chart')._fullLayout.height") == box(chart)["height"]


def test_presenting_walks_through_the_pins_with_the_arrow_keys(page: Page) -> None:
    open_page(page, "compose", present="steps.sigma", curves="moments", pin=STORY)
    shown = [control.get_attribute("data-field") for control in main_area(page).locator(".dpviz-number").all()]
    assert shown == ["steps", "sigma"]
    assert page.get_by_test_id("stSidebar").count() == 0 or not page.get_by_test_id("stSidebar").is_visible()
    assert page.locator(".dpviz-headline").evaluate("e => parseFloat(getComputedStyle(e).fontSize)") > 28
    assert page.locator(".dpviz-headline").evaluate("e => e.scrollHeight <= e.clientHeight + 1"), "on no chart"
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


def test_on_paper_the_open_card_stands_without_the_list_that_it_holds(page: Page) -> None:
    open_page(page, "check", kview="guarantee")
    page.emulate_media(media="print")
    pitfalls = main_area(page).locator(".dpviz-listing")
    assert pitfalls.is_visible()
    page.emulate_media(media="screen")
    main_area(page).get_by_text("Use it", exact=True).click()
    expect(main_area(page).get_by_text("The card", exact=True)).to_be_visible()
    wait_idle(page)
    page.emulate_media(media="print")
    assert not pitfalls.is_visible()
    expect(main_area(page).locator("details[open]")).to_contain_text("Pitfalls")


# Of each panel of three: left, top, width and height in pixels of the chart.
PANELS = """
() => [2, 3, 4].map((number) => {
  const drawn = document.querySelector(".dpviz-chart")._fullLayout;
  const [x, y] = [drawn[`xaxis${number}`], drawn[`yaxis${number}`]];
  return [x._offset, y._offset, x._length, y._length];
})
"""
SEEN = "name => document.querySelector('.dpviz-chart').data.filter((t) => t.name === name && t.opacity !== 0).length"


def test_panels_of_a_figure_stand_side_by_side(page: Page) -> None:
    open_page(page, "papers", pview="panels", pfigure="3")
    lefts, tops, widths, heights = zip(*page.evaluate(PANELS), strict=True)
    assert len(set(tops)) == 1
    assert all(left + width < after for left, width, after in zip(lefts, widths, lefts[1:], strict=False))
    assert min(widths) > 180
    assert min(heights) > 200


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_panels_of_a_figure_stand_below_each_other_on_a_phone_and_a_chip_hides_a_curve_in_all(page: Page) -> None:
    open_page(page, "papers", pview="panels", pfigure="3")
    lefts, tops, widths, heights = zip(*page.evaluate(PANELS), strict=True)
    assert len(set(lefts)) == 1
    assert all(top + height < below for top, height, below in zip(tops, heights, tops[1:], strict=False))
    assert min(widths) > 300
    assert min(heights) > 150
    chips = main_area(page).locator(".dpviz-chips button")
    assert chips.all_text_contents() == [
        "DP, λ = 24",
        "DP, best λ",
        "Bayesian (weaker), λ = 24",
        "Bayesian (weaker), best λ",
    ]
    assert page.evaluate(SEEN, "DP, best λ") == 3
    chips.nth(1).click()
    page.wait_for_function(f"() => ({SEEN})('DP, best λ') === 0")
    assert page.evaluate(SEEN, "DP, λ = 24") == 3


@pytest.mark.sweep
def test_a_lecturer_pins_two_states_and_goes_through_them_by_keys(page: Page) -> None:
    """From Home in six actions: the door, a slider, a pin, the slider, a pin, Present; then one key for each stop."""
    open_page(page)
    main_area(page).get_by_role("link", name="See").first.click()
    page.wait_for_url("**/compose*")
    wait_idle(page)
    said = []
    for key in ("End", "Home"):
        slider(page, "sigma").press(key)
        wait_idle(page)
        page.get_by_test_id("stSidebar").get_by_role("button", name="Pin this state").click()
        wait_idle(page)
        said.append(text(page, "sigma").input_value())
    page.get_by_test_id("stSidebar").get_by_role("button", name="Present").click()
    wait_idle(page)
    expect(page.get_by_test_id("stSidebar")).not_to_be_visible()
    stops = []
    for _ in said:
        page.keyboard.press("ArrowRight")
        wait_idle(page)
        stops.append(text(page, "sigma").input_value())
    assert sorted(stops) == sorted(said)
    page.keyboard.press("Escape")
    wait_idle(page)
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
