"""The Leakage page in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from dpviz.fields import numbers
from dpviz.gradients.leakage import compare_distances
from dpviz.training.leakage import leakage_of_small_network
from tests.browser.contrast import faint
from tests.browser.driver import (
    PHONE,
    bottom,
    box,
    chart_data,
    headline,
    main_area,
    open_page,
    says,
    slider,
    track,
    wait_idle,
)

pytestmark = pytest.mark.sweep

TESTED = r"\bp [=<] \d"  # the answer: what a test of two samples found
SMALL = {"lkrun": "small", "model": "logistic", "lksteps": 100, "lkexamples": 200}


def test_measures_and_draws_both_questions(page: Page) -> None:
    sample = leakage_of_small_network("logistic", training_step=100, examples=200, seed=0)
    both = compare_distances(sample.train_distances, sample.test_distances)
    open_page(page, "leakage", **SMALL)
    says(page, TESTED)
    wait_idle(page)
    assert numbers.epsilon(both.welch_p, digits=2) in headline(page).inner_text()
    layout = chart_data(page)["layout"]
    assert [shape["x0"] for shape in layout["shapes"]] == pytest.approx([both.train_mean, both.test_mean], rel=1e-5)
    assert faint(page) == []
    open_page(page, "leakage", **SMALL, lkview="attack")
    assert faint(page) == []
    assert chart_data(page)["data"][0]["base"] == [50]
    assert bottom(main_area(page).locator(".js-plotly-plot")) < 800


def test_a_drag_shows_what_was_measured_before_and_says_what_was_not(page: Page) -> None:
    open_page(page, "leakage", **SMALL)
    waits = main_area(page).locator(".dpviz-why")
    slider(page, "lksteps").press("ArrowRight")
    expect(headline(page)).to_contain_text("500 plain steps")
    says(page, TESTED)
    wait_idle(page)
    slider(page, "lksteps").hover()
    page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.kept ?? 0) >= 8")
    here, unmeasured, measured = track(page, "lksteps", 2 / 7, 5 / 7, 1 / 7)
    page.mouse.move(*here)
    page.mouse.down()
    page.mouse.move(*unmeasured)
    expect(waits).to_contain_text("has to be measured")
    page.mouse.move(*measured)
    expect(waits).to_be_empty()
    expect(headline(page)).to_contain_text("100 plain steps")
    says(page, TESTED)
    page.mouse.up()
    expect(page).to_have_url(re.compile("lksteps=100&"))
    wait_idle(page)


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_on_a_phone_the_bounds_have_bars(page: Page) -> None:
    open_page(page, "leakage", **SMALL, lkview="attack")
    assert page.evaluate("document.querySelector('.js-plotly-plot')._fullLayout.xaxis._length") >= 300
    for words in main_area(page).locator(".js-plotly-plot .annotation").all():
        place = box(words)
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 390
