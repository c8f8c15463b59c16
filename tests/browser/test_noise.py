"""The Noise page in a real browser."""

from playwright.sync_api import Page

import dpviz
from dpviz.fields import numbers
from tests.browser.driver import chart_data, main_area, no_traceback, open_page, wait_idle

ANSWERS = "() => Number(document.querySelector('.js-plotly-plot').dataset.answers)"
KNOWN = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}


def test_opens_with_the_librarys_numbers(page: Page) -> None:
    open_page(page, "noise", noiseview="solve")
    no_traceback(page)
    said = main_area(page).locator(".dpviz-headline").inner_text()
    needed = dpviz.solve("noise_multiplier", target_epsilon=2.0, method="renyi", **KNOWN)
    assert f"σ = {numbers.epsilon(needed, up=True)}" in said
    chart = main_area(page).locator(".js-plotly-plot").bounding_box()
    assert chart is not None
    assert chart["y"] + chart["height"] <= 800, "the chart is on the screen without scrolling"


def test_a_stricter_target_moves_the_rings(page: Page) -> None:
    open_page(page, "noise")

    def rings() -> list[float]:
        return sorted(t["x"][0] for t in chart_data(page)["data"] if t.get("name") == "ring")

    before = rings()
    assert len(before) == 4
    answers = page.evaluate(ANSWERS)
    main_area(page).get_by_role("slider", name="Target").press("ArrowLeft")
    page.wait_for_function(f"before => ({ANSWERS})() > before", arg=answers)
    wait_idle(page)
    no_traceback(page)
    after = rings()
    assert len(after) == 4
    assert all(new > old for new, old in zip(after, before, strict=True))
