"""The Leakage page in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from dpviz.fields import numbers
from dpviz.gradients.leakage import compare_distances
from dpviz.training.leakage import leakage_of_small_network
from tests.browser.contrast import faint
from tests.browser.driver import TIMEOUT_MS, chart_data, main_area, no_traceback, open_page, wait_idle

pytestmark = pytest.mark.sweep

SMALL = {"lkrun": "small", "lkmodel": "logistic", "lksteps": 100, "lkexamples": 200}


def test_measures_and_draws_both_questions(page: Page) -> None:
    sample = leakage_of_small_network("logistic", training_step=100, examples=200, seed=0)
    both = compare_distances(sample.train_distances, sample.test_distances)
    open_page(page, "leakage", **SMALL)
    said = main_area(page).locator(".dpviz-headline")
    expect(said).to_contain_text("A guess by loss", timeout=TIMEOUT_MS)
    wait_idle(page)
    no_traceback(page)
    assert numbers.epsilon(both.welch_p, digits=2) in said.inner_text()
    layout = chart_data(page)["layout"]
    assert [shape["x0"] for shape in layout["shapes"]] == pytest.approx([both.train_mean, both.test_mean], rel=1e-5)
    assert faint(page) == []
    open_page(page, "leakage", **SMALL, lkview="attack")
    no_traceback(page)
    assert faint(page) == []
    assert chart_data(page)["data"][0]["base"] == [50]
    box = main_area(page).locator(".js-plotly-plot").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 800


def test_more_training_measures_again(page: Page) -> None:
    open_page(page, "leakage", **SMALL)
    said = main_area(page).locator(".dpviz-headline")
    expect(said).to_contain_text("100 plain steps")
    page.get_by_role("slider").first.press("ArrowRight")
    expect(said).to_contain_text("500 plain steps")
    expect(said).to_contain_text("A guess by loss", timeout=TIMEOUT_MS)
    wait_idle(page)
    no_traceback(page)


def test_a_drag_shows_what_was_measured_before_and_says_what_was_not(page: Page) -> None:
    open_page(page, "leakage", **SMALL)
    headline, slider = main_area(page).locator(".dpviz-headline"), page.get_by_role("slider").first
    waits = main_area(page).locator(".dpviz-why")
    slider.press("ArrowRight")
    expect(headline).to_contain_text("500 plain steps")
    expect(headline).to_contain_text("A guess by loss", timeout=TIMEOUT_MS)
    wait_idle(page)
    slider.hover()
    page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= 8")
    box = slider.bounding_box()
    assert box is not None
    places = [box["x"] + 8 + place * (box["width"] - 16) / 7 for place in range(8)]
    y = box["y"] + box["height"] / 2
    page.mouse.move(places[2], y)
    page.mouse.down()
    page.mouse.move(places[5], y)
    expect(waits).to_contain_text("has to be measured")
    page.mouse.move(places[1], y)
    expect(waits).to_be_empty()
    expect(headline).to_contain_text("100 plain steps")
    expect(headline).to_contain_text("A guess by loss")
    page.mouse.up()
    expect(page).to_have_url(re.compile("lksteps=100&"))
    wait_idle(page)
    no_traceback(page)
