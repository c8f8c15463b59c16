"""The Orders page in a real browser."""

import pytest
from playwright.sync_api import Page

import dpviz
from dpviz.fields import numbers
from tests.browser.driver import chart_data, main_area, no_traceback, open_page, wait_idle

pytestmark = pytest.mark.sweep


def test_opens_with_the_librarys_numbers(page: Page) -> None:
    open_page(page, "orders", steps=20_000)
    no_traceback(page)
    said = main_area(page).locator(".dpviz-headline").inner_text()
    mechanism = {"noise_multiplier": 4, "sample_rate": 0.01, "steps": 20_000, "delta": 1e-5}
    for method in ("renyi", "moments"):
        assert numbers.epsilon(float(dpviz.epsilon(method, **mechanism)), up=True) in said


def test_a_slow_part_that_comes_leaves_the_axes_the_figures_own(page: Page) -> None:
    open_page(page, "orders", steps=12_000)
    page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.drawn) >= 2")
    wait_idle(page)
    assert not page.get_by_role("button", name="Fit the axes to the curves").is_visible()
    late = chart_data(page)["layout"]["yaxis"]["range"]
    open_page(page, page.url.split("/", 3)[3])  # all of it is known now
    assert chart_data(page)["layout"]["yaxis"]["range"] == late


def test_more_orders_redraw_the_chart(page: Page) -> None:
    open_page(page, "orders", oview="divergence")
    assert main_area(page).get_by_text("Show", exact=True).count() == 0, "all of it is for experts"
    main_area(page).get_by_role("button", name="expert settings at their defaults").click()
    main_area(page).get_by_text("Show", exact=True).first.click()
    wait_idle(page)
    before = chart_data(page)["layout"]["xaxis"]["range"]
    page.get_by_role("slider", name="Largest order").press("ArrowRight")
    wait_idle(page)
    no_traceback(page)
    assert chart_data(page)["layout"]["xaxis"]["range"][1] > before[1]
