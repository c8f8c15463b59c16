"""The page that is handed out, opened from disk."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import dpviz
from dpviz.questions.catalogue import QUESTIONS
from tests.browser.driver import DRAWN, PHONE, bottom, box, control, enter, finger, handed_out, headline, slider, text

# What Plotly was told to draw.
CURVES = """
() => document.querySelector('.dpviz-chart').data
  .filter((trace) => trace.name && trace.x.length > 2)
  .map((trace) => [trace.name, Array.from(trace.y)])
"""
LINES = "() => [...document.querySelectorAll('.js-line')].map((line) => line.getAttribute('d')).join()"


def test_a_slider_moves_the_chart_without_a_server(browser: Browser, tmp_path: Path) -> None:
    key, keyword = "success", "epsilon"
    field = QUESTIONS[key].named()[keyword]
    with handed_out(browser, tmp_path, key) as page:
        handle, exactly = slider(page, field.key), text(page, field.key)
        for _ in range(2):
            handle.press("ArrowRight")
        handle.blur()
        page.wait_for_selector(DRAWN)
        asked = dpviz.ask(key, **{keyword: exactly.input_value()})
        assert exactly.input_value() != field.write(field.default)
        assert headline(page).inner_text() == asked.headline
        curves = page.evaluate(CURVES)
        fresh = [trace for trace in asked.figure().data if trace.name and len(trace.x) > 2]
        assert curves
        assert [name for name, _ in curves] == [trace.name for trace in fresh]
        for (_, mine), theirs in zip(curves, fresh, strict=True):
            np.testing.assert_allclose(np.array(mine, float), np.array(theirs.y, float), rtol=1e-6)
        other = page.locator(f'.dpviz-number:not([data-field="{field.key}"]) input[type="range"]').first
        other.press("ArrowLeft")
        other.blur()
        assert exactly.input_value() == field.write(field.default)
        back = page.get_by_role("status").filter(has_text="is back at")
        assert back.inner_text().startswith(
            f"{field.label} is back at {field.write(field.default)}: this page moves one"
        )


@pytest.mark.sweep
def test_a_page_without_a_server_reads_a_comma_too(browser: Browser, tmp_path: Path) -> None:
    with handed_out(browser, tmp_path, "spend") as page:
        for field, typed, shows, message in (
            ("sigma", "4,0", "4", ""),
            ("sigma", "1,2,3", "4", "“1,2,3” is not a number."),
            ("steps", "10.000", "10000", "“10.000” may mean two numbers; type 10 or 10000."),
        ):
            enter(page, field, typed)
            expect(text(page, field)).to_have_value(shows)
            assert message in control(page, field).inner_text()


@pytest.mark.sweep
def test_on_a_phone_the_chart_stays_in_sight_and_follows_a_finger(browser: Browser, tmp_path: Path) -> None:
    with handed_out(browser, tmp_path, "spend", **PHONE) as page:
        page.evaluate("window.scrollTo(0, document.querySelector('#chart').getBoundingClientRect().top + 30)")
        assert box(page.locator("#chart"))["y"] == 0, "it stays in sight"
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        chips = page.locator(".dpviz-chips")
        curve, words, names = page.evaluate(LINES), headline(page).inner_text(), chips.inner_text()
        assert box(slider(page, "sigma"))["y"] > bottom(page.locator("#chart")), "the control is below it"
        take_off = finger(slider(page, "sigma"), right=40)
        expect(headline(page)).not_to_have_text(words, use_inner_text=True)  # the finger is still down
        expect(chips).not_to_have_text(names, use_inner_text=True)
        assert page.evaluate(LINES) != curve
        take_off()
        page.wait_for_selector(DRAWN)


@pytest.mark.sweep
def test_a_long_headline_is_whole_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    with handed_out(browser, tmp_path, "expected", **PHONE) as page:
        beyond = "line => line.scrollHeight - line.clientHeight"
        assert len(headline(page).inner_text()) > 150
        assert headline(page).evaluate(beyond) <= 2, "the chart lies on what is beyond its place"
