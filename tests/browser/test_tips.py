"""A slider's help lies over nothing that a hand wants to press."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.driver import LOOKS, PHONE, box, control, finger, open_page, settled_text, slider, track, wait_idle

pytestmark = pytest.mark.sweep

NARROW = {"viewport": {"width": 390, "height": 844}}
# Page, its link, a slider and the one below it.
BELOW = [
    ("compose", {"units": "person"}, "batch", "epochs"),
    ("orders", {"units": "person"}, "batch", "epochs"),
    ("budget", {}, "target", "sigma"),
    ("attack", {}, "target", "delta"),
]

# Whether what lies on top at a place is the slider.
ON_TOP = "(input, [x, y]) => input.getRootNode().elementFromPoint(x, y) === input"


def reach(page: Page, field: str) -> None:
    """Scroll until the slider stands at the lower edge: on a phone the chart covers what stands at the upper one."""
    slider(page, field).evaluate("input => input.scrollIntoView({block: 'end', behavior: 'instant'})")
    slider(page, field).hover(trial=True)  # waits until it stands still and nothing lies over it


def pull(page: Page, field: str, by: int) -> None:
    """Press on a thumb, where it stands, and pull it, as a mouse does."""
    reach(page, field)
    [(x, y)] = track(page, field)
    page.mouse.move(x, y)
    page.mouse.down()
    for part in range(1, 6):
        page.mouse.move(x + by * part / 5, y)
    page.mouse.up()


@pytest.mark.parametrize(("path", "query", "first", "second"), BELOW, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("page", [LOOKS[0], NARROW], indirect=True, ids=["wide", "narrow"])
def test_the_next_slider_can_be_pulled_at_once(
    page: Page, path: str, query: dict[str, str], first: str, second: str
) -> None:
    open_page(page, path, **query)
    pull(page, first, 24)
    expect(control(page, first).locator(".tip")).to_be_hidden()
    before = slider(page, second).input_value()
    pull(page, second, -24)
    assert slider(page, second).input_value() != before
    wait_idle(page)


# Where a slider stands on the page, whenever that changed, in whole pixels from the top of what scrolls.
PLACES = """
field => {
  window.places = [];
  const main = document.querySelector('[data-testid="stMain"]');
  const look = () => {
    const input = document.querySelector(`.dpviz-number[data-field="${field}"] input[type="range"]`);
    const place = Math.round(input.getBoundingClientRect().top + main.scrollTop);
    if (place !== places.at(-1)) places.push(place);
    requestAnimationFrame(look);
  };
  look();
}
"""


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_the_next_slider_does_not_come_back_under_a_hand_that_aims_at_it(page: Page) -> None:
    """Below a narrow chart stand names with values, which may need another line: that stays when it is empty."""
    open_page(page, "orders", units="person")
    page.evaluate(PLACES, "epochs")
    pull(page, "batch", 24)
    wait_idle(page)
    pull(page, "batch", -24)
    wait_idle(page)
    places = page.evaluate("() => places")
    assert places == sorted(places)


def test_help_that_a_key_opened_lets_a_press_through(page: Page) -> None:
    """It is there for who moves by keys; a hand that comes presses the slider under it."""
    open_page(page, "compose", units="person")
    slider(page, "batch").scroll_into_view_if_needed()
    slider(page, "batch").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(slider(page, "batch")).to_be_focused()
    expect(control(page, "batch").locator(".tip")).to_be_visible()
    [place] = track(page, "epochs")
    assert slider(page, "epochs").evaluate(ON_TOP, list(place))
    before = slider(page, "epochs").input_value()
    pull(page, "epochs", -24)
    assert slider(page, "epochs").input_value() != before


def test_help_under_the_pointer_stays_while_it_is_read(page: Page) -> None:
    open_page(page, "compose", units="person")
    help = control(page, "batch").locator(".tip")
    control(page, "batch").locator("label").hover()
    expect(help).to_be_visible()
    page.mouse.move(box(help)["x"] + 20, box(help)["y"] + 10)
    page.wait_for_timeout(500)
    expect(help).to_be_visible()


def test_what_follows_from_a_value_moves_with_the_hand(page: Page) -> None:
    """Below the quantile: how loud the noise is, while the quantile is held, and while σ is."""
    open_page(page, "compose")
    caption, picture = control(page, "quantile").locator(".why"), control(page, "quantile").locator(".dpviz-picture")
    for field, by in (("quantile", 40), ("sigma", -40)):
        slider(page, field).hover()
        page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= 12")
        before, drawn = caption.inner_text(), picture.inner_html()
        [(x, y)] = track(page, field)
        page.mouse.move(x, y)
        page.mouse.down()
        for part in range(1, 6):
            page.mouse.move(x + by * part / 5, y)
            page.wait_for_timeout(60)
        expect(caption).not_to_have_text(before)  # it is still held
        held = settled_text(caption)
        assert picture.inner_html() != drawn
        page.mouse.up()
        wait_idle(page)
        expect(caption).to_have_text(held)
        wait_idle(page)


def test_a_finger_pulls_one_after_the_other(browser: Browser, app_url: str) -> None:
    with browser.new_context(base_url=app_url, **PHONE) as context:
        page = context.new_page()
        open_page(page, "compose", units="person")
        for field in ("batch", "epochs"):
            reach(page, field)
            before = slider(page, field).input_value()
            finger(slider(page, field), right=-60)()
            assert slider(page, field).input_value() != before, field


# Heights of the names below the chart, at each redraw, while a hand pulls.
HEIGHTS = """
() => {
  const chips = document.querySelector('.dpviz-chips'), heights = window.__heights = new Set();
  new MutationObserver(() => heights.add(chips.offsetHeight)).observe(chips, {childList: true, subtree: true});
  heights.add(chips.offsetHeight);
}
"""


@pytest.mark.parametrize("page", [NARROW], indirect=True, ids=["narrow"])
@pytest.mark.parametrize(("path", "field"), [("compose", "sigma"), ("langevin", "steps"), ("noise", "target")])
def test_names_below_the_chart_keep_their_height_while_a_slider_is_pulled(page: Page, path: str, field: str) -> None:
    """A slow curve lacks its name meanwhile, and the slider must not move away from the hand."""
    open_page(page, path)
    page.evaluate(HEIGHTS)
    pull(page, field, 40)
    wait_idle(page)
    assert len(page.evaluate("[...window.__heights]")) == 1
