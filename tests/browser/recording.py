"""What a page shows while a hand pulls something on it, picture by picture, and what must be true of the pictures."""

import json
import math
import re
from typing import Any

from playwright.sync_api import Page

from tests.browser.driver import MOUNTED
from tests.questions.asking import skeleton

# What is painted in every animation frame: the field's value as its control or, out of sight, its announcement says it;
# with an `axis`, how far along it the hand and the knob of a mark are (shares of its length, the hand's at its last
# movement), that length in pixels, and the value at which the chart draws the mark; and the words, where they belong to
# the value and are not faded. A resize is told after all that a page does in such a frame, and before it is painted.
RECORD = (
    """
([field, axis]) => {
  const text = (node) => node?.innerText.replace(/\\s+/g, " ").trim() ?? "";
  const chart = axis && (MOUNTED)();
  window.pulled = new Map();
  let told, hand = null;
  const hear = new AbortController();
  const along = (x, y) => {
    const { left, top, width, height } = chart.hand.place().area;
    const plot = chart.plot.getBoundingClientRect();
    return axis === "x" ? (x - plot.left - left) / width : 1 - (y - plot.top - top) / height;
  };
  const on = (kind, what) => window.addEventListener(kind, what, { signal: hear.signal, capture: true });
  on("dpviz-move", ({ detail }) => { if (detail.field === field) told = detail.text; });
  on("pointermove", ({ clientX, clientY }) => { if (axis) hand = along(clientX, clientY); });
  const place = () => {
    const knob = document.querySelector(`.dpviz-grip[data-axis*="${axis}"]:not([hidden])`)?.getBoundingClientRect();
    const drawn = chart.grips.marks.find(({ fields }) => fields[axis] === field)?.[axis];
    const length = chart.hand.place().area[axis === "x" ? "width" : "height"];
    return { hand, length, knob: knob ? along(knob.x + knob.width / 2, knob.y + knob.height / 2) : null, drawn };
  };
  const words = () => {
    const headline = text(document.querySelector(".dpviz-headline"));
    const cells = [...document.querySelectorAll(".dpviz-strip > div")];
    const pair = (cell) => [".name", ".value"].map((part) => text(cell.querySelector(part)));
    return { headline, metrics: cells.map(pair) };
  };
  const look = () => {
    const faded = document.documentElement.hasAttribute("data-dpviz-behind");
    if (faded && !axis) return;
    if (!document.querySelector(".dpviz-chart")) return; // there is no result, and no chart that follows the hand
    const value = document.querySelector(`.dpviz-number[data-field="${field}"] input[type="text"]`)?.value ?? told;
    const seen = JSON.stringify({ value, faded, ...(axis && place()), ...(!faded && words()) });
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
  window.pulled_ends = () => { cancelAnimationFrame(pulling); hear.abort(); looks.disconnect(); probe.remove(); };
}
"""
).replace("MOUNTED", MOUNTED)
# What is shown belongs to the place of what is pulled: it is not faded, unless there is no result at that place.
CLEAR = """
() => {
  const { documentElement: page } = document;
  return !page.hasAttribute("data-dpviz-behind") || page.hasAttribute("data-dpviz-unanswered");
}
"""
TIGHTER = 1.0101  # on release a bound may fall by 1 %, and by the last digit shown


def record(page: Page, field: str, axis: str = "") -> None:
    """Begin to record a slider, or the mark of a field along an axis of the chart."""
    page.evaluate(RECORD, [field, axis])


def recorded(page: Page) -> list[dict[str, Any]]:
    """What was painted since the recording began, each picture once."""
    page.evaluate("() => pulled_ends()")
    return [json.loads(seen) for seen in page.evaluate("() => [...pulled.keys()]")]


def number(text: str) -> float:
    """The number of a metric: "ε ≤ 1.04", "≤ 55.1 %", "≤ 9.32e-5"; NaN for "–"."""
    plain = re.sub(r"\s", "", text)
    found = re.search(r"[−-]?\d[\d.]*(e[+-]?\d+)?", plain)
    return float(found[0].replace("−", "-")) if found else math.nan


def stays_as_it_stood(held: dict[str, Any], settled: dict[str, Any]) -> None:
    """Fail unless the page at rest says what it said while it was held: with what came since, and tighter by a hair."""
    assert held["value"] == settled["value"]
    waiting, there = (skeleton(one["headline"]) for one in (held, settled))
    assert re.fullmatch(re.escape(waiting).replace("…", ".+"), there), (waiting, there)  # a number, or a verdict
    shown, after = dict(held["metrics"]), dict(settled["metrics"])
    for name in shown.keys() & after.keys():
        before, now = number(shown[name]), number(after[name])
        same = shown[name] == after[name] or math.isnan(before)
        assert same or before / TIGHTER <= now <= before * TIGHTER, (name, shown[name], after[name])
