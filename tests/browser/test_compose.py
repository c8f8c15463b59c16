"""What only a browser shows of the Compose page: held keys, the address bar, a link in another window, both themes."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import dpviz
from tests.browser.driver import LOOKS, chart_data, main_area, no_traceback, open_page, wait_idle

SIGMA = "Noise multiplier"


def slider(page: Page, name: str):
    return main_area(page).get_by_role("slider", name=name).first


def curve(page: Page, name: str):
    return next(trace for trace in chart_data(page)["data"] if trace.get("name") == name and len(trace["x"]) > 2)


@pytest.mark.parametrize("page", LOOKS, indirect=True)
def test_the_chart_is_there_in_every_look_and_holds_the_librarys_numbers(page: Page) -> None:
    open_page(page, "compose", curves="moments", sigma=2)
    no_traceback(page)
    drawn = curve(page, "moments")
    expected = dpviz.epsilon("moments", noise_multiplier=2, sample_rate=0.01, steps=np.array(drawn["x"]), delta=1e-5)
    np.testing.assert_allclose(drawn["y"], expected, rtol=1e-4)
    plot = main_area(page).locator(".js-plotly-plot").first.bounding_box()
    assert plot is not None
    assert plot["y"] + plot["height"] < page.viewport_size["height"]
    assert len(page.screenshot()) > 30_000


def test_a_held_key_never_throws_the_slider_back_and_the_address_follows(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    handle = slider(page, SIGMA)
    handle.focus()
    for key, step, count in (("ArrowRight", 1, 12), ("ArrowLeft", -1, 24)):
        before = float(handle.input_value())
        for _ in range(count):
            page.keyboard.press(key)
            page.wait_for_timeout(10)
            now = float(handle.input_value())
            assert (now - before) * step >= 0, f"thrown back from {before} to {now}"
            before = now
    handle.press("Home")
    wait_idle(page)
    no_traceback(page)
    assert handle.input_value() == "0"
    expect(page).to_have_url("/compose?sigma=0.2&curves=moments&v=2")


def test_a_link_with_pins_opens_the_same_chart_elsewhere(page: Page) -> None:
    open_page(page, "compose", curves="moments.renyi_improved")
    page.get_by_role("button", name="Pin this state").click()
    wait_idle(page)
    slider(page, SIGMA).press("ArrowRight")
    wait_idle(page)
    page.wait_for_function("() => location.search.includes('sigma') && location.search.includes('pin')")
    other = page.context.browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    other.goto(page.evaluate("() => location.href"))
    wait_idle(other)
    assert [t.get("y") for t in chart_data(other)["data"]] == [t.get("y") for t in chart_data(page)["data"]]
    slider(other, SIGMA).press("End")  # two windows are independent
    wait_idle(other)
    assert slider(page, SIGMA).input_value() != slider(other, SIGMA).input_value()
    other.context.close()


def test_the_hover_shows_attack_success(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    plot = main_area(page).locator(".js-plotly-plot .nsewdrag").first
    plot.hover()
    expect(main_area(page).locator(".hoverlayer").first).to_contain_text("P(A)")
