"""The Attack page in a real browser."""

import numpy as np
import pytest
from playwright.sync_api import Page

import dpviz
from dpviz.fields import numbers
from tests.browser.driver import chart_data, main_area, no_traceback, open_page, wait_idle

pytestmark = pytest.mark.sweep


def test_opens_with_the_librarys_numbers(page: Page) -> None:
    open_page(page, "attack", aeps=3)
    no_traceback(page)
    said = main_area(page).locator(".dpviz-headline").inner_text()
    assert numbers.probability(dpviz.attack_success(3.0, delta=1e-5), up=True) in said


def test_belief_and_right_guesses_are_two_curves(page: Page) -> None:
    """At π = 0.01 the best guess is right in 99 % whatever ε is; what can be believed starts at the prior."""
    open_page(page, "attack", aprior=0.01, aeps=0.036)
    no_traceback(page)
    said = main_area(page).locator(".dpviz-headline").inner_text()
    assert "99.01" in said
    assert "1.1" in said
    drawn = {trace["name"]: trace["y"] for trace in chart_data(page)["data"] if len(trace["x"]) > 2}
    np.testing.assert_allclose(drawn["right guesses"][0], 0.99, atol=1e-6)
    np.testing.assert_allclose(drawn["belief"][0], 0.0101, atol=1e-5)


def test_the_tight_region_arrives(page: Page) -> None:
    open_page(page, "attack", aview="roc", sigma=1, q=0.02, steps=100)
    page.wait_for_function("() => document.body.innerText.includes('tight accountant')")
    wait_idle(page)
    no_traceback(page)
    assert any("tight, all ε" in a["text"] for a in chart_data(page)["layout"]["annotations"])
