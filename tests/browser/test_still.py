"""Nothing moves under the finger: title, headline, chart and every control keep their places while words change."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.driver import LOOKS, PHONE, ROOT, main_area, no_traceback, open_page
from tests.browser.test_hand import slider

# Where title, headline, chart and each number's control stand, at every animation frame: how far each was from its
# first place, in pixels, at most; and how far the headline's words ever stood out of its place.
WATCH = """
() => {
  const looked = '.dpviz-title, .dpviz-headline, .dpviz-chart, .dpviz-number';
  const things = [...document.querySelectorAll(looked)];
  const top = (thing) => thing.getBoundingClientRect().top;
  const name = (thing) => thing.dataset.field ?? thing.classList[0];
  const first = new Map(things.map((thing) => [name(thing), top(thing)]));
  const still = (window.still = {moved: {}, beyond: 0, frames: 0});
  const look = () => {
    for (const thing of document.querySelectorAll(looked)) {
      const before = first.get(name(thing));
      if (before === undefined) continue;
      const by = Math.abs(top(thing) - before);
      if (by > 1) still.moved[name(thing)] = Math.max(still.moved[name(thing)] ?? 0, by);
    }
    const head = document.querySelector('.dpviz-headline');
    still.beyond = Math.max(still.beyond, head.scrollHeight - head.clientHeight);
    still.frames += 1;
    if (still === window.still) requestAnimationFrame(look);
  };
  look();
}
"""


def pull(page: Page, field: str) -> None:
    """The thumb from one end of the slider to the other, and let go."""
    handle = slider(page, field)
    handle.evaluate("slider => slider.scrollIntoView({block: 'center'})")
    page.evaluate(WATCH)
    box = handle.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, y)
    page.wait_for_timeout(300)
    page.mouse.down()
    for part in range(31):
        page.mouse.move(box["x"] + 8 + (box["width"] - 16) * part / 30, y)
        page.wait_for_timeout(40)
    page.mouse.up()
    page.wait_for_timeout(2_000)  # its answer; what is slow at such a value comes later


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("compose", ("sigma", "steps", "quantile")),
        ("noise", ("target",)),
        ("attack", ("target", "aprior")),
        ("langevin", ("target", "steps")),
        ("budget", ("sigma",)),
        ("orders", ("sigma",)),
    ],
)
@pytest.mark.sweep
def test_chart_and_controls_keep_their_places_under_the_finger(
    page: Page, address: str, fields: tuple[str, ...]
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, address)
    no_traceback(page)
    for field in fields:
        pull(page, field)
        found: dict[str, Any] = page.evaluate("still")
        assert found["frames"] > 20
        assert found["moved"] == {}, f"{address} {field}"
        assert found["beyond"] <= 1, "the headline's words stay in their place"
    assert main_area(page).locator(".dpviz-headline").count() == 1


FIRST_VIEW = (ROOT / "benchmarks" / "hand" / "first_view.js").read_text()


FIRST_VIEWS = ["compose", "orders", "attack", "noise", "budget", "langevin", "train", "check"]


@pytest.mark.parametrize("address", [*FIRST_VIEWS, "check?kview=translate", "check?kview=guarantee"])
@pytest.mark.one_of(6)
def test_a_first_view_shows_little(page: Page, address: str) -> None:
    open_page(page, address)
    view: dict[str, Any] = page.evaluate(FIRST_VIEW)
    assert len(view["controls"]) <= 28, view["controls"]
    assert len(view["words"]) <= 130, " ".join(view["words"])
    assert view["chart"] >= 480
    assert view["clipped"] == []


# What moves while a page loads, of its own accord: its share of the window's width, and how far to the right.
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { sources } of list.getEntries())
    for (const { previousRect: from, currentRect: to } of sources)
      shifts.push({ wide: Math.min(from.width, to.width) / innerWidth, right: to.x - from.x });
}).observe({ type: "layout-shift", buffered: true });
"""


# How much of the window moves while a page loads, and by how much: the sum of Chromium's layout shifts.
SHIFTED = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifted += value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("page", [PHONE, *LOOKS], indirect=True, ids=lambda look: f"{look['viewport']['width']}px")
def test_home_keeps_its_place_while_it_loads(page: Page) -> None:
    page.add_init_script(SHIFTED)
    open_page(page)
    assert 0 < page.evaluate("() => shifted") < 0.04


def test_the_side_bar_finds_its_room_when_it_comes(page: Page) -> None:
    page.add_init_script(SHIFTS)
    open_page(page, "noise")
    shifts: list[dict[str, Any]] = page.evaluate("() => shifts")
    assert shifts, "the page was watched"
    assert not [one for one in shifts if one["wide"] > 0.7 and one["right"] > 100], "the whole page moves to the right"
    open_page(page, "noise", present="1")
    left = page.evaluate("() => document.querySelector('[data-testid=stMain]').getBoundingClientRect().left")
    assert left == 0, "a bare page keeps no room for it"
