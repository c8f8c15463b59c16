"""The page that is handed out, opened from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, expect

import dpviz
from dpviz.questions.catalogue import QUESTIONS
from tests.browser.driver import TIMEOUT_MS

# What Plotly was told to draw.
CURVES = """
() => document.querySelector('.dpviz-chart').data
  .filter((trace) => trace.name && trace.x.length > 2)
  .map((trace) => [trace.name, Array.from(trace.y)])
"""


def test_a_slider_moves_the_chart_without_a_server(browser: Browser, tmp_path: Path) -> None:
    key, keyword, file = "success", "epsilon", tmp_path / "page.html"
    dpviz.ask(key).html(file)
    field = QUESTIONS[key].named()[keyword]
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    wrong, requests = [], []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector('.dpviz-chart[data-state="drawn"]')
    control = page.locator(f'.dpviz-number[data-field="{field.key}"]')
    handle, exactly = control.locator('input[type="range"]'), control.locator('input[type="text"]')
    handle.focus()
    for _ in range(2):
        handle.press("ArrowRight")
    handle.blur()
    page.wait_for_selector('.dpviz-chart[data-state="drawn"]')
    asked = dpviz.ask(key, **{keyword: exactly.input_value()})
    assert exactly.input_value() != field.write(field.default)
    assert page.locator(".dpviz-headline").inner_text() == asked.headline
    drawn = page.evaluate(CURVES)
    fresh = [trace for trace in asked.figure().data if trace.name and len(trace.x) > 2]
    assert drawn
    assert [name for name, _ in drawn] == [trace.name for trace in fresh]
    for (_, mine), theirs in zip(drawn, fresh, strict=True):
        np.testing.assert_allclose(np.array(mine, float), np.array(theirs.y, float), rtol=1e-6)
    other = page.locator(f'.dpviz-number:not([data-field="{field.key}"]) input[type="range"]').first
    other.focus()
    other.press("ArrowLeft")
    other.blur()
    assert exactly.input_value() == field.write(field.default)
    assert "one setting moves at a time" in control.inner_text()
    assert not wrong
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
    page.close()


def test_on_a_phone_the_chart_stays_in_sight_and_follows_a_finger(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    dpviz.ask("spend").html(file)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(file.as_uri())
    page.wait_for_selector('.dpviz-chart[data-state="drawn"]')
    pulled = page.locator('.dpviz-number[data-field="sigma"] input[type="range"]')
    page.evaluate("window.scrollTo(0, document.querySelector('#chart').getBoundingClientRect().top + 30)")
    assert page.locator("#chart").evaluate("chart => chart.getBoundingClientRect().top") == 0, "it stays in sight"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    told = "() => [...document.querySelectorAll('.js-line')].map((line) => line.getAttribute('d')).join()"
    headline, chips = page.locator(".dpviz-headline"), page.locator(".dpviz-chips")
    before = {"curve": page.evaluate(told), "words": headline.inner_text(), "names": chips.inner_text()}
    box = pulled.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    chart = page.locator("#chart").bounding_box()
    assert chart is not None
    assert y > chart["y"] + chart["height"], "the control is below it"
    finger = context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in range(1, 9):
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + 5 * part, "y": y}]})
    expect(headline).not_to_have_text(before["words"])  # the finger is still down
    expect(chips).not_to_have_text(before["names"])
    assert page.evaluate(told) != before["curve"]
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_selector('.dpviz-chart[data-state="drawn"]')
    context.close()
