"""Curves, names and words follow the finger, and in the end say what a fresh page says."""

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz
from benchmarks.hand.relay import delayed
from tests.browser.driver import (
    MOUNTED,
    box,
    chart_data,
    enter,
    headline,
    main_area,
    open_page,
    slider,
    text,
    track,
    visitor,
    wait_idle,
)

# What is on the chart at every animation frame: whether curves were there, and whether it was the same element.
WATCH = """
() => {
  const first = document.querySelector('.dpviz-chart');
  window.watched = {frames: 0, blank: 0, other: 0};
  const look = () => {
    const now = document.querySelector('.dpviz-chart');
    watched.frames += 1;
    watched.blank += !now || !now.querySelector('.js-line');
    watched.other += now !== first;
    requestAnimationFrame(look);
  };
  look();
}
"""


# The chart was drawn by what a frame holds.
BY_HAND = "() => Number(document.querySelector('.dpviz-chart').dataset.frames ?? 0) > 0"


def drag(page: Page, field: str, by: int) -> None:
    """Pull the thumb by so many pixels, as a hand does, once frames are there; the pointer stays down."""
    slider(page, field).hover()
    page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= 12")
    [(x, y)] = track(page, field)
    page.mouse.move(x, y)
    page.mouse.down()
    for part in range(1, 31):
        page.mouse.move(x + by * part / 30, y)
        page.wait_for_timeout(16)


def afresh(page: Page) -> dict[str, Any]:
    """What the address says to somebody who opens it now."""
    open_page(page, page.url.split("/", 3)[3])
    return everything(page)


def y_range(page: Page) -> list[float]:
    return list(chart_data(page)["layout"]["yaxis"]["range"])


def everything(page: Page) -> dict[str, Any]:
    """What a page says, but for its axes: they hold after a movement, and a fresh page has its own."""
    figure = chart_data(page)
    curves = {t["name"]: t["y"] for t in figure["data"] if t.get("name") and len(t["x"]) > 2}
    names = sorted(note["text"].replace("↑ ", "") for note in figure["layout"]["annotations"])
    words = [main_area(page).locator(f".dpviz-{kind}").first.inner_text() for kind in ("headline", "strip")]
    return {"curves": curves, "names": names, "words": words}


@pytest.mark.parametrize(
    ("address", "field", "by"),
    [
        ("compose?curves=moments.renyi_improved.strong", "sigma", -12),
        ("langevin", "steps", 9),
        ("compose?curves=moments.renyi_improved&units=person", "batch", -12),
    ],
)
@pytest.mark.one_of(3)
def test_a_drag_moves_all_and_ends_where_a_fresh_page_begins(page: Page, address: str, field: str, by: int) -> None:
    open_page(page, address)
    page.evaluate(WATCH)
    before = headline(page).inner_text()
    drag(page, field, by)
    page.wait_for_function(BY_HAND)
    page.wait_for_function("before => document.querySelector('.dpviz-headline').innerText !== before", arg=before)
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert page.evaluate(BY_HAND)
    watched = page.evaluate("watched")
    assert watched["frames"] > 10
    assert (watched["blank"], watched["other"]) == (0, 0)
    assert everything(page) == afresh(page)


def test_a_frame_holds_the_librarys_numbers(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    drag(page, "sigma", -8)
    value = float(text(page, "sigma").input_value())
    expected = dpviz.epsilon("moments", noise_multiplier=value, sample_rate=0.01, steps=10_000, delta=1e-5)
    said = f"{float(np.ceil(expected * 100) / 100):.2f}"
    # The pointer is still down: a frame's name, or on a busy machine the server's already.
    name = page.locator(".dpviz-over > *, .dpviz-chart:not(.dpviz-moving) .annotation text").filter(has_text="moments")
    expect(name.first).to_contain_text(said)
    expect(main_area(page).locator(".dpviz-strip")).to_contain_text(said)
    ghosts, by_hand = page.evaluate(
        "['.dpviz-ghosts path', '.dpviz-moving'].map((these) => document.querySelectorAll(these).length)"
    )
    assert (ghosts > 0) == (by_hand > 0), "where curves were, unless the server's answer is drawn"
    page.mouse.up()
    wait_idle(page)
    expect(page.locator(".dpviz-over")).to_have_count(0)


def test_the_last_entry_wins_however_quick(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    enter(page, "sigma", "3.3")
    slider(page, "sigma").press("ArrowRight")
    slider(page, "q").press("ArrowLeft")
    enter(page, "sigma", "2.7")
    text(page, "steps").fill("1234")
    page.get_by_role("button", name="Pin this state").click()
    wait_idle(page, settle_ms=700)
    shown = {field: text(page, field).input_value() for field in ("sigma", "q", "steps")}
    assert shown == {"sigma": "2.7", "q": "0.009", "steps": "1234"}
    here, pinned = page.url.split("pin=")
    assert "sigma=2.7" in here
    assert "steps=1234" in here
    assert "sigma%3D2.7" in pinned
    assert "steps%3D1234" in pinned, "what was typed before the click is pinned"


@pytest.mark.sweep
def test_the_servers_words_stand_in_the_end(page: Page) -> None:
    """Streamlit does not draw again what it drew before: a frame's words would stay where an answer is the old one."""
    open_page(page, "compose", curves="moments")
    enter(page, "sigma", "3.14159")
    wait_idle(page, settle_ms=500)
    words = [main_area(page).locator(f".dpviz-{kind}") for kind in ("headline", "strip")]
    before = [word.inner_text() for word in words]
    slider(page, "sigma").hover()
    page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= 4")
    detail = {"field": "sigma", "phase": "move", "text": "3.2", "at": 0, "stops": ["3.2"], "between": [], "n": 1}
    page.evaluate("detail => window.dispatchEvent(new CustomEvent('dpviz-move', {detail}))", detail)
    page.wait_for_function("told => document.querySelector('.dpviz-headline').innerText !== told", arg=before[0])
    enter(page, "sigma", "3.14159")  # and the hand goes back to where it was
    wait_idle(page, settle_ms=500)
    assert [word.inner_text() for word in words] == before
    assert page.locator(".dpviz-over").count() == 0


@pytest.mark.sweep
def test_fine_steps_lie_between_stops_and_a_wrong_text_loses_nothing(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    slider(page, "sigma").press("Shift+ArrowRight")
    wait_idle(page, settle_ms=500)
    fine = float(text(page, "sigma").input_value())
    assert 4 < fine < 4.2
    assert f"sigma={fine:g}" in page.url
    typed = text(page, "sigma")
    typed.fill("much")
    typed.press("Tab")
    wait_idle(page)
    expect(main_area(page).get_by_role("alert")).to_contain_text("“much” is not a number")
    assert typed.input_value() == "much"
    slider(page, "steps").press("PageDown")
    wait_idle(page, settle_ms=500)
    assert f"sigma={fine:g}" in page.url
    assert typed.input_value() == "much"


@pytest.mark.sweep
def test_the_thumb_stands_at_a_typed_value_when_its_frame_is_drawn(page: Page) -> None:
    open_page(page, "attack")
    stands = text(page, "target").evaluate(
        """entry => {
          const slider = entry.closest(".dpviz-number").querySelector("input[type=range]");
          const before = slider.value;
          entry.value = "4";
          entry.dispatchEvent(new Event("input"));
          entry.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
          return [before, slider.value];
        }"""
    )
    assert float(stands[0]) < float(stands[1])
    wait_idle(page)
    assert slider(page, "target").input_value() == stands[1]


@pytest.mark.sweep
def test_a_chart_that_was_put_back_follows_as_before(page: Page) -> None:
    """Streamlit may unmount a component and mount it again, at a page's start say."""
    open_page(page, "compose", curves="moments")
    chart = page.evaluate_handle(MOUNTED)
    chart.evaluate(
        """async chart => {
            const script = performance.getEntriesByType('resource').find((one) => one.name.endsWith('/dpviz.js')).name;
            const { chart: mount } = await import(script);
            const { entries, again } = chart.tell;
            const told = { setStateValue: (_, value) => entries(value), setTriggerValue: again };
            window.mounted = () => mount({ parentElement: chart.root.parentElement, data: chart.data, ...told });
        }"""
    )
    page.evaluate("() => mounted()()")  # its end
    slider(page, "sigma").press("ArrowLeft")
    wait_idle(page, settle_ms=500)
    page.evaluate("() => mounted()()")
    expect(page.locator(".dpviz-chart .js-line")).to_have_count(0)
    page.evaluate("() => void mounted()")
    expect(page.locator(".dpviz-chart .js-line"), "with the same answer too").to_have_count(2)
    wait_idle(page)
    slider(page, "sigma").hover()
    page.evaluate("() => { mounted()(); mounted(); }")
    page.evaluate("() => { const end = mounted(); mounted(); end(); }")  # the first mount's end may come late
    drag(page, "sigma", -8)
    page.wait_for_function(BY_HAND)
    page.mouse.up()
    wait_idle(page)


@pytest.mark.sweep
def test_undo_and_redo_by_keys_and_buttons(page: Page) -> None:
    open_page(page, "compose", curves="moments", units="person")
    page.evaluate(
        """async () => {  // what Streamlit does at some page starts: the end of the first mount comes late
            let at = document.querySelector('.dpviz-history');
            while (!at.dpvizHistory) at = at.parentElement;
            const files = performance.getEntriesByType('resource');
            const { history: mount } = await import(files.find((one) => one.name.endsWith('/dpviz.js')).name);
            const { send } = at.dpvizHistory;
            const data = { room: [0, 0], seen: 0 };
            const given = { parentElement: at, data, setStateValue: (_, entry) => send(entry) };
            const end = mount(given);
            mount(given);
            end();
        }"""
    )
    slider(page, "epochs").press("ArrowRight")
    wait_idle(page, settle_ms=400)
    slider(page, "epochs").press("ArrowRight")
    page.keyboard.press("ControlOrMeta+z")  # before the hand has rested: it is this movement that is undone
    expect(text(page, "epochs")).to_have_value("120")
    page.keyboard.press("ControlOrMeta+z")
    expect(text(page, "epochs")).to_have_value("100")
    expect(page.get_by_role("button", name="Undo")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Redo").click()
    expect(text(page, "epochs")).to_have_value("120")
    page.keyboard.press("ControlOrMeta+Shift+z")
    expect(text(page, "epochs")).to_have_value("150")
    text(page, "sigma").fill("7")  # a text with an edit of its own keeps its keys
    text(page, "sigma").press("ControlOrMeta+z")
    wait_idle(page, settle_ms=400)
    assert text(page, "epochs").input_value() == "150"
    assert "steps=15000" in page.url


@pytest.mark.sweep
def test_axes_hold_after_the_hand_until_fit(page: Page) -> None:
    open_page(page, "compose", curves="moments.strong.basic")
    own = y_range(page)
    fit = page.get_by_role("button", name="Fit the axes to the curves")
    assert not fit.is_visible()
    drag(page, "sigma", 3)
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert page.evaluate(BY_HAND)
    assert y_range(page) == own
    held = everything(page)
    fit.click()
    wait_idle(page)
    assert not fit.is_visible()
    assert everything(page) == held
    fitted = y_range(page)
    assert fitted[1] < own[1]
    assert afresh(page) == held
    assert y_range(page) == fitted
    chart = box(page.locator(".dpviz-chart"))  # a zoom holds too, and a double click ends it
    page.mouse.move(chart["x"] + 150, chart["y"] + 100)
    page.mouse.down()
    page.mouse.move(chart["x"] + 300, chart["y"] + 250, steps=4)
    page.mouse.up()
    expect(fit).to_be_visible()
    page.mouse.dblclick(chart["x"] + 200, chart["y"] + 200)
    expect(fit).to_be_hidden()
    assert y_range(page) == fitted


# A movement to a value whose axes are others: the chart as it is drawn then, in the middle of the way, and at its end.
GLIDE = """
async ({plot, frames, hand}, text) => {
  const drawn = plot.querySelector('.js-line').getAttribute('d');
  const ticks = () => [...plot.querySelectorAll('.dpviz-over [data-tick="yaxis"]')];
  const end = () => Number(plot.querySelector('.js-line').getAttribute('d').split(',').at(-1));
  window.relaid = 0;
  plot.on('plotly_relayout', () => window.relaid += 1);
  plot.on('plotly_redraw', () => window.relaid += 1);
  const seen = []; // where the curve ends, in pixels, at every drawing
  const draw = hand.draw.bind(hand);
  hand.draw = () => { draw(); seen.push(end()); };
  const now = () => new Promise(requestAnimationFrame);
  const detail = {field: 'sigma', phase: 'move', text, at: 0, stops: [text], between: [], n: 1};
  window.dispatchEvent(new CustomEvent('dpviz-move', {detail}));
  while (!frames.at('sigma', text) || plot.querySelector('.js-line').getAttribute('d') === drawn) await now();
  while (hand.from) await now();
  const { yaxis } = frames.at('sigma', text).figure.layout;
  const shown = ticks().map(tick => tick.textContent);
  const hidden = getComputedStyle(plot.querySelector('.yaxislayer-above')).visibility;
  return {seen, shown, wanted: yaxis.ticktext, range: yaxis.range, held: plot.layout.yaxis.range, relaid, hidden};
}
"""


@pytest.mark.parametrize("calm", [False, True])
@pytest.mark.one_of(2)
def test_axes_glide_under_the_hand_and_plotly_draws_them_at_rest(page: Page, calm: bool) -> None:
    page.emulate_media(reduced_motion="reduce" if calm else "no-preference")
    open_page(page, "compose", curves="moments")
    own = y_range(page)
    found = page.evaluate_handle(MOUNTED).evaluate(GLIDE, "1.3")
    assert found["range"][1] > 2 * own[1], "the curve leaves the axes"
    assert (found["held"], found["relaid"]) == (own, 0), "Plotly draws nothing while the hand moves"
    assert found["hidden"] == "hidden"
    assert found["shown"] == found["wanted"]
    assert (len(set(found["seen"])) == 1) == calm
    assert sorted(found["seen"]) == found["seen"], "down onto the longer axis, and never back"
    enter(page, "sigma", "1.3")
    wait_idle(page, settle_ms=500)
    assert y_range(page) == found["range"]
    assert page.locator(".dpviz-over, .dpviz-moving").count() == 0


@pytest.mark.sweep
def test_a_name_hides_its_curve_through_frames_and_answers(page: Page) -> None:
    open_page(page, "compose", curves="moments.strong")
    name = page.locator(".dpviz-chart .annotation", has_text="strong")
    curve = (
        "name => [...document.querySelectorAll('.scatterlayer .trace')].find(g => g.__data__[0].trace.name === name)"
    )
    name.hover()
    assert page.evaluate(f"getComputedStyle(({curve})('moments')).opacity") == "0.2", "the other steps back"
    name.click()
    wait_idle(page)

    def shown() -> list[str]:
        return [page.evaluate(f"getComputedStyle(({curve})('{line}')).opacity") for line in ("moments", "strong")]

    assert shown() == ["1", "0"]
    drag(page, "sigma", 4)
    page.wait_for_function(BY_HAND)
    assert shown() == ["1", "0"]
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    assert shown() == ["1", "0"]
    name.click()
    wait_idle(page)
    page.mouse.move(2, 2)
    assert shown() == ["1", "1"]


@pytest.mark.sweep
def test_a_chart_that_failed_is_drawn_with_the_next_answer(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    page.evaluate_handle(MOUNTED).evaluate(
        "chart => chart.plotter.inTurn(() => { throw new Error('no chart today'); })"
    )
    expect(page.locator(".dpviz-chart")).to_have_text("no chart today")
    slider(page, "sigma").press("ArrowLeft")
    wait_idle(page, settle_ms=500)
    assert "no chart today" not in page.locator(".dpviz-chart").inner_text()
    moved = everything(page)
    assert moved["curves"]
    assert afresh(page) == moved


@pytest.mark.sweep
def test_all_frames_come_while_a_hand_is_there_and_after_it_let_go(page: Page) -> None:
    """A pull over the whole range needs them all; a control that the pointer only passed, none more."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/frames/" in request.url else None)
    open_page(page, "compose", curves="strong")
    slider(page, "delta").hover()
    page.mouse.move(2, 2)
    slider(page, "sigma").hover()
    page.mouse.down()
    page.mouse.up()  # at another value: the answer comes between
    stops = int(slider(page, "sigma").get_attribute("max") or 0) + 1
    page.wait_for_function("n => Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= n", arg=stops)
    assert page.locator(".dpviz-chart").first.get_attribute("data-kept") == str(stops)
    assert sum("field=delta" in url for url in asked) <= 3  # of some twenty


@pytest.mark.sweep
def test_the_headline_is_heard_once_a_gesture(page: Page) -> None:
    """What changes while the hand moves is silent; then the last of it is read out."""
    open_page(page, "compose", curves="strong")
    page.evaluate("""() => {
      window.heard = [];
      const told = document.querySelector('.dpviz-heard[role=status]');
      new MutationObserver(() => heard.push(told.textContent)).observe(told, {childList: true});
    }""")
    slider(page, "sigma").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(50)
    wait_idle(page)
    page.wait_for_function("() => heard.length")
    assert page.evaluate("heard") == [headline(page).inner_text()]


def test_what_belongs_to_another_value_is_faded(page: Page) -> None:
    """Where no frame is there yet, the words are the last value's: never read as this one's."""
    held: list[Any] = []
    page.route("**/frames/**", lambda route: held.append(route))
    open_page(page, "compose", curves="strong")
    told = headline(page)
    before = told.inner_text()
    slider(page, "sigma").hover()
    page.mouse.down()
    expect(told).to_have_css("opacity", "0.35")
    assert told.inner_text() == before
    page.mouse.up()
    wait_idle(page)
    expect(told).to_have_css("opacity", "1")
    assert told.inner_text() != before
    enter(page, "sigma", f"{text(page, 'sigma').input_value()}.0")  # the same value, of which there is no frame
    wait_idle(page)
    expect(told).to_have_css("opacity", "1")


@pytest.mark.sweep
def test_while_nothing_comes_through_the_page_says_so_and_only_the_last_entry_is_answered(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    chart, notice = page.locator(".dpviz-chart"), page.locator(".dpviz-link")
    page.route("**/_stcore/health", lambda _: None)  # no answer
    page.mouse.move(300, 300)
    expect(notice).to_have_text(re.compile("^No connection"))
    answers = int(chart.get_attribute("data-answers") or 0)
    for sigma in ("1.51", "1.61", "1.71"):
        text(page, "sigma").fill(sigma)
        text(page, "sigma").press("Enter")
        page.wait_for_timeout(300)
    assert page.evaluate("() => document.documentElement.hasAttribute('data-dpviz-behind')"), "another value's"
    assert int(chart.get_attribute("data-answers") or 0) == answers
    page.unroute("**/_stcore/health")
    expect(notice).to_be_hidden()
    wait_idle(page)
    assert int(chart.get_attribute("data-answers") or 0) <= answers + 2  # without and with its slow parts
    assert text(page, "sigma").input_value() == "1.71"
    assert not page.evaluate("() => document.documentElement.hasAttribute('data-dpviz-behind')")


# The notices in sight at every animation frame: never more than one.
NOTICES = """
() => {
  window.most = 0;
  const look = () => {
    const all = [...document.querySelectorAll('.dpviz-link, [data-testid="stStatusWidget"], [role="dialog"]')];
    most = Math.max(most, all.filter((one) => one.checkVisibility() && one.textContent).length);
    requestAnimationFrame(look);
  };
  look();
}
"""


# Animation frames in which the headline of before stands unfaded.
OLD = """
before => {
  window.old = 0;
  const look = () => {
    const said = document.querySelector('.dpviz-headline')?.innerText;
    old += said === before && !document.documentElement.hasAttribute('data-dpviz-behind');
    requestAnimationFrame(look);
  };
  look();
}
"""


@pytest.mark.sweep
def test_a_cut_right_after_an_entry_never_shows_the_words_of_before_unfaded(browser: Browser, app_url: str) -> None:
    with delayed(app_url, 0.05) as (far, relay):
        page = visitor(browser, far)
        open_page(page, "compose", curves="moments")
        before = headline(page).inner_text()
        enter(page, "sigma", "1.79")
        page.wait_for_function("() => document.documentElement.hasAttribute('data-dpviz-behind')")
        relay.cut = True
        page.evaluate(OLD, before)
        page.wait_for_timeout(2_000)
        relay.cut = False
        expect(headline(page)).not_to_have_text(before)
        wait_idle(page)
        assert page.evaluate("old") == 0
        assert not page.evaluate("() => document.documentElement.hasAttribute('data-dpviz-behind')")
        page.context.close()


@pytest.mark.parametrize("after_ms", [0, 600, 3_500])
@pytest.mark.sweep
def test_an_entry_while_the_connection_is_cut_is_answered_and_shown(
    browser: Browser, app_url: str, after_ms: int
) -> None:
    with delayed(app_url, 0.05) as (far, relay):
        page = visitor(browser, far)
        open_page(page, "compose", curves="moments")
        before = headline(page).inner_text()
        page.evaluate(NOTICES)
        relay.cut = True
        page.wait_for_timeout(after_ms)
        enter(page, "sigma", "1.73")
        page.wait_for_timeout(5_000 - after_ms)
        expect(page.locator(".dpviz-link")).to_have_text(re.compile("^No connection"))
        relay.cut = False
        expect(headline(page)).not_to_have_text(before)
        wait_idle(page)
        assert "sigma=1.73" in page.url
        assert text(page, "sigma").input_value() == "1.73"
        assert not page.evaluate("() => document.documentElement.hasAttribute('data-dpviz-behind')")
        expect(page.locator(".dpviz-link")).to_be_hidden()
        assert page.evaluate("most") == 1
        shown = everything(page)
        assert shown == afresh(page)
        page.context.close()


@pytest.mark.sweep
def test_home_is_at_its_name_too(page: Page) -> None:
    open_page(page, "home", sigma=3)
    assert "/home" not in page.url
    assert "sigma=3" in page.url
    expect(main_area(page).locator("h1")).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
