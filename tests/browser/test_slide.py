"""A page that is presented is a slide: the plot has the room, with one line of headline and one strip of sliders."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dpviz.questions.lectures import LECTURES
from tests.browser.driver import PHONE, bottom, box, headline, main_area, open_page, slider, text, wait_idle

pytestmark = pytest.mark.sweep

PLOTS = 0.45  # of the screen's pixels, at least
TICKS = 5  # of an axis, at least
PAGES = ("compose", "orders", "langevin", "attack", "noise", "budget")
SIZES: tuple[dict[str, Any], ...] = tuple(
    {"viewport": {"width": width, "height": height}} for width, height in ((1920, 1080), (1280, 800))
)
# The share of the screen that the plots between their axes have, and how many ticks each axis has.
SEEN = """
() => {
  const charts = [...document.querySelectorAll(".dpviz-chart")];
  const shares = charts.map((chart) => {
    const { xaxis, yaxis } = chart._fullLayout;
    const scale = chart.getBoundingClientRect().width / chart.offsetWidth;
    return (scale * scale * xaxis._length * yaxis._length) / (innerWidth * innerHeight);
  });
  const ticks = [".xtick", ".ytick"].map((kind) => document.querySelectorAll(`${kind} text`).length);
  return { share: shares.reduce((sum, one) => sum + one, 0), ticks };
}
"""

# Numbers of a lecture's words that stand on two lines.
DIVIDED = """
all => all.filter((e) => /^[\\d.,()e -]+$/.test(e.textContent) && e.getClientRects().length > 1)
  .map((e) => e.textContent)
"""


@pytest.mark.parametrize("page", SIZES, indirect=True, ids=lambda look: f"{look['viewport']['width']}px")
def test_the_plot_has_the_room(page: Page) -> None:
    for name in PAGES:
        open_page(page, name, present="1")
        seen: dict[str, Any] = page.evaluate(SEEN)
        assert seen["share"] >= PLOTS, (name, seen)
        assert min(seen["ticks"]) >= TICKS, (name, seen)
        words = headline(page)
        size = words.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
        assert size >= 0.025 * page.viewport_size["height"], (name, size)  # type: ignore[index]
        assert box(words)["height"] < 1.6 * max(size, 28.8 if page.viewport_size["height"] < 1000 else 38.9)  # type: ignore[index]
        assert words.evaluate("e => e.scrollWidth <= e.clientWidth + 1"), (name, "one line")
        numbers = main_area(page).locator(".dpviz-number").all()
        assert len({round(box(number)["y"]) for number in numbers}) == 1, (name, "one strip")
        assert max(map(bottom, numbers)) <= page.viewport_size["height"] + 1, name  # type: ignore[index]
        assert box(numbers[0])["y"] > bottom(main_area(page).locator(".xtick").first), name


@pytest.mark.parametrize("page", SIZES, indirect=True, ids=lambda look: f"{look['viewport']['width']}px")
@pytest.mark.parametrize("lecture", LECTURES)
def test_the_plot_of_a_lecture_has_the_room_and_no_stop_scrolls(page: Page, lecture: str) -> None:
    open_page(page, "lecture", paper=lecture, stop="1")
    for number in range(1, len(LECTURES[lecture].stops) + 1):
        words = main_area(page).locator(".st-key-lecture-text")
        expect(words).to_contain_text(f"{number} of ")
        wait_idle(page)
        seen: dict[str, Any] = page.evaluate(SEEN)
        assert seen["share"] >= PLOTS, (number, seen)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight <= innerHeight + 1"), number
        lowest = max(bottom(one) for one in words.locator("p, button, div").all() if one.is_visible())
        assert lowest < box(main_area(page).locator(".st-key-lecture-sliders"))["y"], number
        page.keyboard.press("ArrowRight")


@pytest.mark.parametrize("page", [PHONE], indirect=True)
@pytest.mark.parametrize(("lecture", "stop"), [("filters", "2"), ("bdp", "6")])
def test_no_number_of_a_lecture_is_divided_on_a_phone(page: Page, lecture: str, stop: str) -> None:
    open_page(page, "lecture", paper=lecture, stop=stop)
    words = main_area(page).locator(".st-key-lecture-text")
    assert words.locator("p b, p span").evaluate_all(DIVIDED) == []


@pytest.mark.parametrize("page", SIZES[:1], indirect=True)
def test_without_a_story_the_arrow_keys_move_the_first_slider(page: Page) -> None:
    open_page(page, "compose", present="steps.sigma", curves="moments")
    before = float(text(page, "steps").input_value())
    page.keyboard.press("ArrowRight")
    wait_idle(page)
    assert float(text(page, "steps").input_value()) > before
    expect(slider(page, "steps")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(text(page, "steps")).to_have_value(f"{before:g}")


# What the bar lies over: words and controls that it does not hold, of those that are drawn in the window.
BELOW_THE_BAR = """
() => {
  const bar = document.querySelector(".st-key-dpviz-bar");
  const ground = bar.getBoundingClientRect();
  const over = ({ left, right, top, bottom }) =>
    left < ground.right - 1 && right > ground.left + 1 && top < ground.bottom - 1 && bottom > ground.top + 1;
  const covered = (one) => !bar.contains(one) && one.checkVisibility() && over(one.getBoundingClientRect());
  const things = document.querySelectorAll("[data-testid=stMain] :is(p, button, input, label, text, .dpviz-caution)");
  return [...things].filter(covered).map((one) => one.outerHTML.slice(0, 120));
}
"""
TO_THE_END = (
    "() => { const main = document.querySelector('[data-testid=stMain]'); main.scrollTo(0, main.scrollHeight); }"
)
GROUND = "bar => { const { backgroundColor, opacity } = getComputedStyle(bar); return [backgroundColor, opacity]; }"


@pytest.mark.parametrize("page", [PHONE, *SIZES], indirect=True, ids=["390px", "1920px", "1280px"])
@pytest.mark.parametrize("lecture", LECTURES)
def test_the_bar_of_a_lecture_covers_nothing_where_the_page_ends(page: Page, lecture: str) -> None:
    for number in (1, len(LECTURES[lecture].stops)):
        open_page(page, "lecture", paper=lecture, stop=str(number))
        page.evaluate(TO_THE_END)
        page.wait_for_timeout(300)
        assert page.evaluate(BELOW_THE_BAR) == [], number
        color, opacity = main_area(page).locator(".st-key-dpviz-bar").evaluate(GROUND)
        assert (color.count(","), opacity) == (2, "1"), "what scrolls is not read through it"
        page.get_by_role("button", name="Answer").first.click()
        wait_idle(page)
        page.evaluate(TO_THE_END)
        page.wait_for_timeout(300)
        assert page.evaluate(BELOW_THE_BAR) == [], (number, "with the reply")


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_on_a_phone_the_bar_covers_no_slider_of_a_presented_page_and_no_chart_the_headline(page: Page) -> None:
    for name, more in (("compose", {"present": "1"}), ("noise", {"present": "1"}), ("lecture", {"paper": "filters"})):
        open_page(page, name, **more)
        words = headline(page)
        assert bottom(words) <= box(main_area(page).locator(".dpviz-chart").first)["y"] + 1, name
        assert words.evaluate("e => e.scrollHeight <= e.clientHeight + 1"), (name, "all of its lines")
        page.evaluate(TO_THE_END)
        page.wait_for_timeout(300)
        assert page.evaluate(BELOW_THE_BAR) == [], name


# What was sent to the server since: a run is drawn from frames.
SENT = """
() => {
  window.sent = [];
  window.addEventListener("dpviz-enter", ({ detail }) => window.sent.push(detail.text));
}
"""


@pytest.mark.parametrize("page", SIZES[1:], indirect=True, ids=["1280px"])
def test_a_run_goes_on_by_itself_until_the_room_says_stop(page: Page) -> None:
    open_page(page, "lecture", paper="filters", stop="1")
    button = main_area(page).locator(".dpviz-play")
    expect(button).to_have_text("▶ Run")
    page.evaluate(SENT)
    page.keyboard.press("r")
    expect(button).to_have_text("■ Stop")
    seen = set()
    for _ in range(4):
        page.wait_for_timeout(700)
        seen.add(headline(page).inner_text())
    assert len(seen) >= 3, "the headline follows"
    assert page.evaluate("window.sent") == [], "no round trip on the way"
    button.click()
    expect(button).to_have_text("▶ Run")
    stopped = float(text(page, "steps").input_value())
    assert 10 < stopped < 10_000_000
    wait_idle(page)
    assert page.evaluate("window.sent") == [text(page, "steps").input_value()]
    assert float(text(page, "steps").input_value()) == stopped
    assert f"steps={stopped:.0f}" in page.url
    page.keyboard.press("r")  # and on from there
    page.wait_for_timeout(500)
    slider(page, "target").click()
    expect(button).to_have_text("▶ Run")
    assert float(text(page, "steps").input_value()) > stopped


def test_draws_of_a_release_fall_one_by_one_until_a_second_press(page: Page) -> None:
    open_page(page, "attack", aview="release")
    main_area(page).get_by_text("Attacker", exact=True).first.click()
    button = main_area(page).locator(".dpviz-play")
    button.click()
    page.wait_for_timeout(1500)
    button.click()
    wait_idle(page)
    fallen = int(text(page, "onedraws").input_value())
    assert 2 < fallen < 100
    assert f"of {fallen} draws" in main_area(page).locator(".dpviz-strip").inner_text()
    slider(page, "onedraws").focus()
    page.keyboard.press("ArrowRight")  # one draw a key
    expect(text(page, "onedraws")).to_have_value(str(fallen + 1))


def test_a_stop_without_a_run_has_no_button_for_it(page: Page) -> None:
    open_page(page, "lecture", paper="filters", stop="2")
    assert main_area(page).locator(".dpviz-play").count() == 0
    page.keyboard.press("r")
