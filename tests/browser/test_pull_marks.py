"""Marks on charts pulled from end to end: they stay under the hand, and all that is shown belongs to their place."""

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page

import dpviz
from dpviz.questions import AnyQuestion
from dpviz.questions.catalogue import PAGES, QUESTIONS
from tests.browser.driver import (
    DRAWN,
    MOUNTED,
    PHONE,
    Finger,
    handed_out,
    middle,
    no_traceback,
    open_page,
    wait_idle,
)
from tests.browser.driver import headline as head
from tests.browser.recording import CLEAR, record, recorded, stays_as_it_stood
from tests.browser.test_grips import knob
from tests.browser.test_hand import afresh, everything
from tests.questions.asking import asked, asked_whole, headline, skeleton

# The values of a mark's setting, where each is along the mark's axis (a share of its length, which may be beside it),
# and from where on the next one is nearer.
STOPS = (
    """
([field, axis]) => {
  const chart = (MOUNTED)();
  const scale = chart.hand.place().scales[axis];
  const stops = chart.pulls.says[field].stops.map(Number);
  const between = (a, b) => (a > 0 ? Math.sqrt(a * b) : (a + b) / 2);
  const share = (value) => (Number.isFinite(scale.of(value)) ? scale.of(value) : null);
  return stops.map((stop, k) => [stop, share(stop), k + 1 < stops.length ? share(between(stop, stops[k + 1])) : null]);
}
"""
).replace("MOUNTED", MOUNTED)
# The corners of the plot, in pixels: left, top, right, bottom.
CORNERS = (
    """
() => {
  const chart = (MOUNTED)();
  const { left, top, width, height } = chart.hand.place().area;
  const plot = chart.plot.getBoundingClientRect();
  return [plot.left + left, plot.top + top, plot.left + left + width, plot.top + top + height];
}
"""
).replace("MOUNTED", MOUNTED)
NEAR = 2.0  # pixels
INSET = 15  # pixels from an axis's ends: where the plot begins may change while a mark is pulled
PLACES = 12
QUICK = ("success", "bob")  # a ring, and an upright guide

Mark = tuple[str, str]  # its field's key, and the axis along which it is pulled
Picture = dict[str, Any]
Place = tuple[float, float]  # pixels of the page


class Pointer(Protocol):
    """A mouse or a finger."""

    def move(self, x: float, y: float) -> None: ...

    def down(self) -> None: ...

    def up(self) -> None: ...


class Stop(NamedTuple):
    """A value of a mark's setting.

    Attributes:
        at: where it is along the axis, as a share of that; NaN for one that a logarithmic axis does not know.
        low, high: the ends of what is nearer to it than to other values.
    """

    at: float
    low: float
    high: float


def marks_of(question: AnyQuestion) -> list[Mark]:
    """Those of its chart at the defaults."""
    figure = asked(question).plot.chart().figure
    return [(grip["field"], grip["axis"]) for grip in figure["layout"].get("meta", {}).get("grips", ())]


def address(question: AnyQuestion) -> tuple[str, dict[str, str]]:
    """Its page, and what the link says."""
    page = next(page for page in PAGES if question in page.questions)
    return page.key, {page.view: question.asked_as} if page.view else {}


def stops(page: Page, mark: Mark) -> dict[float, Stop]:
    """The values of a mark's setting, on the axis of this moment."""
    told = page.evaluate(STOPS, list(mark))
    highs = [math.inf if high is None else high for _, _, high in told]
    return {
        value: Stop(math.nan if at is None else at, low, high)
        for (value, at, _), low, high in zip(told, [-math.inf, *highs], highs, strict=False)
    }


def swing(page: Page, pointer: Pointer, mark: Mark, ends: tuple[Place, Place]) -> list[Picture]:
    """Pull a mark from one place to another; what was painted meanwhile."""
    record(page, *mark)
    for part in range(1, PLACES + 1):
        (x0, y0), (x1, y1) = ends
        pointer.move(x0 + (x1 - x0) * part / PLACES, y0 + (y1 - y0) * part / PLACES)
        page.wait_for_timeout(50)
        page.wait_for_function(CLEAR)
    page.wait_for_timeout(100)
    return recorded(page)


def follows(pictures: Sequence[Picture], where: Mapping[float, Stop], direction: int) -> None:
    """Fail unless the mark was under the hand in every picture, and what the chart drew belonged to its place."""
    moving = [one for one in pictures if one["hand"] is not None]
    for one in moving:
        value, slack = float(one["value"]), NEAR / one["length"]
        at, low, high = where[value]
        assert low - slack <= one["hand"] <= high + slack, ("another value is nearer", one, where[value])
        assert one["knob"] is not None or not 0 <= at <= 1, ("its knob is away", one)
        assert one["knob"] is None or abs(one["knob"] - at) <= slack, ("its knob is elsewhere", one, where[value])
        assert one["faded"] or one["drawn"] == pytest.approx(value, rel=1e-5), ("the chart is of another value", one)
    for one, other in zip(moving, moving[1:], strict=False):
        assert direction * (float(other["value"]) - float(one["value"])) >= 0, (one, other)


def forms(question: AnyQuestion, mark: Mark, value: str) -> Iterator[str]:
    """The forms of a headline at a value of a mark's setting: without its slow parts, and with all of them."""
    for ask in (asked, asked_whole):
        words = html.unescape(headline(question, ask(question, **{mark[0]: value}))).replace("_μ", "μ")
        yield skeleton(" ".join(re.sub(r"<[^>]*>", "", words).split()))


def keep_their_words(pictures: Sequence[Picture], question: AnyQuestion, mark: Mark) -> None:
    """Fail unless the sentence in every picture is that of its value."""
    said = {(one["value"], skeleton(one["headline"])) for one in pictures if not one["faded"]}
    for value, form in said:
        expected = forms(question, mark, value)
        assert any(re.fullmatch(re.escape(one).replace("…", ".+"), form) for one in expected), (value, form)


def pulled(page: Page, pointer: Pointer, question: AnyQuestion, mark: Mark) -> Picture:
    """Pull a mark from where it is to its axis's low end, then to the high one; the last picture before the release."""
    handle = knob(page, mark[1])
    handle.scroll_into_view_if_needed()
    (x, y), where = middle(handle), stops(page, mark)
    left, top, right, bottom = page.evaluate(CORNERS)
    ends = ((left + INSET, y), (right - INSET, y)), ((x, bottom - INSET), (x, top + INSET))
    low, high = ends[mark[1] == "y"]
    pointer.move(x, y)
    pointer.down()
    there, back = swing(page, pointer, mark, ((x, y), low)), swing(page, pointer, mark, (low, high))
    follows(there, where, -1)
    follows(back, where, 1)
    keep_their_words([*there, *back], question, mark)
    assert len({one["value"] for one in back}) >= min(PLACES, sum(0 <= at <= 1 for at, _, _ in where.values())) // 2
    return back[-1]


def at_rest(page: Page, mark: Mark) -> Picture:
    record(page, *mark)
    page.wait_for_function("() => pulled.size")
    return recorded(page)[-1]


def stands(page: Page, mark: Mark, value: float) -> None:
    """Fail unless the mark at rest is at a value, on whichever axes there are."""
    rest, stop = at_rest(page, mark), stops(page, mark)[value]
    assert rest["drawn"] == pytest.approx(value, rel=1e-5)
    if 0 <= stop.at <= 1:
        assert abs(rest["knob"] - stop.at) <= NEAR / rest["length"]


def is_asked_for(page: Page, question: AnyQuestion, key: str, value: str) -> None:
    """Fail unless the address says the value."""
    field = next(field for field in question.fields if field.key == key)
    assert parse_qs(urlsplit(page.url).query).get(key, [field.write(field.default)]) == [value]


def pull_in_the_app(page: Page, pointer: Pointer, question: AnyQuestion, mark: Mark) -> None:
    held = pulled(page, pointer, question, mark)
    pointer.up()
    wait_idle(page, settle_ms=700)
    no_traceback(page)
    stays_as_it_stood(held, at_rest(page, mark))
    stands(page, mark, float(held["value"]))
    is_asked_for(page, question, mark[0], held["value"])
    assert everything(page) == afresh(page)


@pytest.mark.parametrize(
    "key", [key if key in QUICK else pytest.param(key, marks=pytest.mark.long) for key in QUESTIONS]
)
def test_every_mark_is_pulled_from_end_to_end(page: Page, key: str) -> None:
    question = QUESTIONS[key]
    path, link = address(question)
    marks = marks_of(question)
    if not marks:
        pytest.skip("its chart has no mark that is a setting")
    page.set_viewport_size({"width": 1280, "height": 1000})
    for mark in marks:
        open_page(page, path, **link)
        pull_in_the_app(page, page.mouse, question, mark)


@pytest.mark.parametrize("key", ["compose", *(pytest.param(key, marks=pytest.mark.long) for key in ("noise", "roc"))])
@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_a_finger_pulls_marks_from_end_to_end(page: Page, key: str) -> None:
    path, link = address(QUESTIONS[key])
    for mark in marks_of(QUESTIONS[key]):
        open_page(page, path, **link)
        pull_in_the_app(page, Finger(page), QUESTIONS[key], mark)


@pytest.mark.parametrize("key", ["release", pytest.param("correlated", marks=pytest.mark.long)])
def test_marks_are_pulled_from_end_to_end_without_a_server(browser: Browser, tmp_path: Path, key: str) -> None:
    question = QUESTIONS[key]
    keywords = {field.key: keyword for keyword, field in question.named().items()}
    with handed_out(browser, tmp_path, key) as page:
        for mark in marks_of(question):
            held = pulled(page, page.mouse, question, mark)
            page.mouse.up()
            page.wait_for_selector(DRAWN)
            stays_as_it_stood(held, at_rest(page, mark))
            stands(page, mark, float(held["value"]))
            whole = dpviz.ask(key, **{keywords[mark[0]]: held["value"]}).headline
            said = head(page).inner_text()  # without slow parts, which no file has
            assert re.fullmatch(re.escape(said).replace("…", ".+"), whole)
