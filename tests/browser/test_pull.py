"""A slider pulled from end to end: at every frame each number keeps its name, moves the right way and never jumps."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks.compare_hand import every_slider
from tests.browser.driver import headline, no_traceback, open_page, slider, wait_idle
from tests.browser.recording import CLEAR, TIGHTER, number, record, recorded, stays_as_it_stood
from tests.questions.asking import skeleton

UNANSWERED = "() => document.documentElement.hasAttribute('data-dpviz-unanswered')"  # there is no result at this place
LARGEST_STEP = 3.0  # between neighbouring stops a number changes by less than this factor,
LARGEST_GAP = 0.15  # or by so much: at the largest δ each ε comes to 0, where a factor says nothing

# What grows (1) and what falls (-1) with each slider, by the metric's name; 0 where either may be.
MOVES: Mapping[str, Mapping[str, int]] = {
    "sigma": {"ε": -1, "attack": -1, "Bayesian": -1},
    "q": {"ε": 1, "attack": 1, "Bayesian": 1},
    "steps": {"ε": 1, "attack": 1, "Bayesian": 1},
    "delta": {"ε": -1, "attack": 0, "Bayesian": -1},
    "quantile": {"ε": 0, "attack": 0, "Bayesian": -1},
    "lam": {"ε": 0, "attack": 0, "Bayesian": 0},
}


def pull(page: Page, field: str, places: int) -> tuple[list[dict[str, Any]], dict[str, Any] | None, int]:
    """Pull a slider from its left to its right end.

    Returns:
        All that was painted meanwhile, the page at rest, None where it says that there is no result, and at how many
        places there was one.
    """
    handle = slider(page, field)
    handle.hover()
    box = handle.bounding_box()
    assert box is not None
    share = float(handle.input_value()) / float(handle.get_attribute("max") or 1)
    left, across, y = box["x"] + 8, box["width"] - 16, box["y"] + box["height"] / 2
    page.mouse.move(left + share * across, y)
    page.mouse.down()
    page.mouse.move(left, y, steps=4)
    page.wait_for_function(CLEAR)
    record(page, field)
    answered = 0
    for place in range(places + 1):
        page.mouse.move(left + across * place / places, y)
        page.wait_for_timeout(50)
        page.wait_for_function(CLEAR)
        answered += not page.evaluate(UNANSWERED)
    page.wait_for_timeout(100)
    moving = recorded(page)
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    record(page, field)
    page.wait_for_timeout(100)
    at_rest = recorded(page)
    return moving, at_rest[-1] if at_rest else None, answered


def direction(field: str, name: str) -> int:
    """Which way a metric moves with a field."""
    kind = "Bayesian" if "Bayesian" in name else "attack" if "attack" in name else "ε"
    return MOVES[field][kind]


@pytest.mark.parametrize("field", MOVES)
@pytest.mark.parametrize("places", [12, pytest.param(160, marks=pytest.mark.long)])
@pytest.mark.one_of(6)
def test_each_number_keeps_its_meaning_while_its_slider_is_pulled(page: Page, field: str, places: int) -> None:
    open_page(page, "compose", units="mechanism")
    stops = int(slider(page, field).get_attribute("max") or 0)
    moving, settled, _ = pull(page, field, places)
    no_traceback(page)
    assert settled is not None
    assert len({one["value"] for one in moving}) > min(places, stops) // 2
    assert len({skeleton(one["headline"]) for one in [*moving, settled]}) == 1
    tiles = [dict(one["metrics"]) for one in moving]
    for name, last in settled["metrics"]:
        values = [number(shown[name]) for shown in tiles if name in shown]
        values = [value for value in values if not math.isnan(value)]  # what cannot be there in time stays away
        assert values, name
        way = direction(field, name)
        for before, after in zip(values, values[1:], strict=False):
            assert way * (after - before) >= 0.0, (name, before, after)
            assert max(after, before) <= LARGEST_STEP * min(after, before) + LARGEST_GAP or places < 100, (
                name,
                before,
                after,
            )
        assert values[-1] / TIGHTER <= number(last) <= values[-1], (name, values[-1], settled)


EVERY = [(page, question, field, link) for page, question, field, link, _ in every_slider()]


@pytest.mark.long
@pytest.mark.parametrize(("path", "question", "field", "link"), EVERY, ids=[".".join(one[:3]) for one in EVERY])
def test_every_slider_is_followed_from_end_to_end(
    page: Page, path: str, question: str, field: str, link: Mapping[str, str]
) -> None:
    page.set_viewport_size({"width": 1280, "height": 1000})  # all groups of controls are in sight
    open_page(page, path, **link)
    if not slider(page, field).count():
        pytest.skip("it is typed, or another setting hides it")
    stops = int(slider(page, field).get_attribute("max") or 0)
    moving, settled, answered = pull(page, field, 12)
    no_traceback(page)
    values = [number(one["value"]) for one in moving]
    assert values == sorted(values) or values == sorted(values, reverse=True), "the value comes to no stop twice"
    assert len(set(values)) > min(answered - 1, stops) // 2
    if settled is None:
        expect(headline(page)).to_have_text("There is no result for these settings.")
    else:
        stays_as_it_stood(moving[-1], settled)
