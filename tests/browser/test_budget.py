"""The Budget page in a real browser: both looks, a chart that follows the controls, the library's numbers."""

import pytest
from playwright.sync_api import Page, expect

import dpviz
from dpviz.fields import numbers
from tests.browser.driver import chart_data, main_area, no_traceback, open_page, wait_idle

pytestmark = pytest.mark.sweep


def open_budget(page: Page, **query: object) -> None:
    """By the navigation, as a visitor comes: a page's own address makes Streamlit ask for what is not there."""
    open_page(page, **query)
    page.get_by_role("link", name="Budget", exact=True).click()
    wait_idle(page)


@pytest.mark.parametrize("view", ["stop", "policy"])
def test_opens_without_errors(page: Page, view: str) -> None:
    open_budget(page, bview=view, bblocks="1x0.01x200~2x0.01x300")
    no_traceback(page)
    assert len(chart_data(page)["data"]) >= 2


def test_spending_by_hand_until_the_filter_refuses(page: Page) -> None:
    open_budget(page, sigma=1, q=0.01024, delta="1e-6", beps=3, steps=700, bview="spend")
    area = main_area(page)
    area.get_by_role("button", name="Add block").click()
    wait_idle(page)
    step = dpviz.SampledGaussian(1.0, 0.01024)
    budget = dpviz.Filter(target_epsilon=3.0, delta=1e-6)
    budget.spend(step, 700)
    expect(area.locator(".dpviz-headline")).to_contain_text(numbers.epsilon(budget.epsilon(), up=True))
    area.get_by_role("button", name="Add block").click()
    wait_idle(page)
    left = numbers.steps(budget.remaining_steps(step))
    expect(area.locator(".dpviz-problem")).to_contain_text(f"{left} of them still fit")
    assert "bblocks=1x0.01024x700" in page.url, "what was refused is not in the link"
    area.get_by_role("button", name=f"Add the {left} that fit").click()
    wait_idle(page)
    expect(area.locator(".dpviz-problem")).to_have_count(0)
    expect(area.locator(".dpviz-headline")).to_contain_text("0 more steps")
