"""A slider pulled from end to end: at every frame each number keeps its name, moves the right way and never jumps."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Page

from benchmarks.compare_hand import every_slider
from tests.browser.driver import no_traceback, open_page, wait_idle
from tests.browser.test_hand import slider
from tests.questions.asking import skeleton

# What is painted in every animation frame, where it belongs to the value of the field and is not faded. A resize is
# told after all that a page does in such a frame, and before it is painted.
RECORD = """
field => {
  const text = (node) => node?.innerText.replace(/\\s+/g, " ").trim() ?? "";
  window.pulled = new Map();
  const look = () => {
    if (document.documentElement.hasAttribute("data-dpviz-behind")) return;
    if (!document.querySelector(".dpviz-chart")) return; // there is no result, and no chart that follows the hand
    const value = document.querySelector(`.dpviz-number[data-field="${field}"] input[type="text"]`)?.value;
    const headline = text(document.querySelector(".dpviz-headline"));
    const cells = [...document.querySelectorAll(".dpviz-strip > div")];
    const metrics = cells.map((cell) => [".name", ".value"].map((part) => text(cell.querySelector(part))));
    const seen = JSON.stringify({ value, headline, metrics });
    pulled.delete(seen); // the last is last
    pulled.set(seen, true);
  };
  const probe = document.body.appendChild(document.createElement("div"));
  Object.assign(probe.style, { position: "fixed", height: "1px", visibility: "hidden" });
  const looks = new ResizeObserver(look);
  looks.observe(probe);
  let wide = false;
  const again = () => {
    probe.style.width = `${(wide = !wide) + 1}px`;
    window.pulling = requestAnimationFrame(again);
  };
  again();
  window.pulled_ends = () => { cancelAnimationFrame(pulling); looks.disconnect(); probe.remove(); };
}
"""
# What is shown belongs to the slider's place: it is not faded.
CLEAR = "() => !document.documentElement.hasAttribute('data-dpviz-behind')"
LARGEST_STEP = 3.0  # between neighbouring stops a number changes by less than this factor,
LARGEST_GAP = 0.15  # or by so much: at the largest δ each ε comes to 0, where a factor says nothing
TIGHTER = 1.0101  # on release a bound may fall by 1 %, and by the last digit shown

# What grows (1) and what falls (-1) with each slider, by the metric's name; 0 where either may be.
MOVES: Mapping[str, Mapping[str, int]] = {
    "sigma": {"ε": -1, "attack": -1, "Bayesian": -1},
    "q": {"ε": 1, "attack": 1, "Bayesian": 1},
    "steps": {"ε": 1, "attack": 1, "Bayesian": 1},
    "delta": {"ε": -1, "attack": 0, "Bayesian": -1},
    "quantile": {"ε": 0, "attack": 0, "Bayesian": -1},
    "lam": {"ε": 0, "attack": 0, "Bayesian": 0},
}


def number(text: str) -> float:
    """The number of a metric: "ε ≤ 1.04", "≤ 55.1 %", "≤ 9.32e-5"; NaN for "–"."""
    plain = re.sub(r"\s", "", text)
    found = re.search(r"[−-]?\d[\d.]*(e[+-]?\d+)?", plain)
    return float(found[0].replace("−", "-")) if found else math.nan


def pull(page: Page, field: str, places: int) -> list[dict[str, Any]]:
    """Pull a slider from its left to its right end; all that was painted meanwhile, and last the page at rest."""
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
    page.evaluate(RECORD, field)
    for place in range(places + 1):
        page.mouse.move(left + across * place / places, y)
        page.wait_for_timeout(50)
        page.wait_for_function(CLEAR)
    page.wait_for_timeout(100)
    moving = recorded(page)
    page.mouse.up()
    wait_idle(page, settle_ms=700)
    page.evaluate(RECORD, field)
    page.wait_for_timeout(100)
    return [*moving, recorded(page)[-1]]


def recorded(page: Page) -> list[dict[str, Any]]:
    """What was painted since the recording began, each picture once."""
    page.evaluate("() => pulled_ends()")
    return [json.loads(seen) for seen in page.evaluate("() => [...pulled.keys()]")]


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
    *moving, settled = pull(page, field, places)
    no_traceback(page)
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
    *moving, settled = pull(page, field, 12)
    no_traceback(page)
    values = [number(one["value"]) for one in moving]
    assert values == sorted(values) or values == sorted(values, reverse=True), "the value comes to no stop twice"
    assert len(set(values)) > min(12, stops) // 2
    last = moving[-1]
    assert last["value"] == settled["value"]
    waiting, there = (skeleton(one["headline"]) for one in (last, settled))
    assert re.fullmatch(re.escape(waiting).replace("…", ".+"), there), (waiting, there)  # a number, or a verdict
    shown, after = dict(last["metrics"]), dict(settled["metrics"])
    for name in shown.keys() & after.keys():
        before, now = number(shown[name]), number(after[name])
        same = shown[name] == after[name] or math.isnan(before)
        assert same or before / TIGHTER <= now <= before * TIGHTER, (name, shown[name], after[name])
