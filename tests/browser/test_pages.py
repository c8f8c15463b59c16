"""Every page in a real browser: it opens without an error, says the library's numbers, and its words can be read."""

import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz
from dpviz.fields import numbers
from tests.browser.contrast import chart_texts, faint
from tests.browser.driver import LOOKS, bottom, box, chart_data, main_area, open_page, slider, visitor, wait_idle

SETTING = {"noise_multiplier": 4, "sample_rate": 0.01, "steps": 20_000, "delta": 1e-5}
CHAIN = {"n": 50_000, "batch_size": 224, "clip": 1, "delta": 1e-5}
NEEDED = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5, "target_epsilon": 2.0, "method": "renyi"}

share = partial(numbers.probability, up=True)


def up(epsilon: Any) -> str:
    return numbers.epsilon(float(epsilon), up=True)


def spent(method: str) -> str:
    return up(dpviz.epsilon(method, **SETTING))


def langevin(conversion: str) -> str:
    return up(dpviz.langevin_epsilon(dpviz.PowerSchedule(0.1, 1 / 3, 5000), **CHAIN, conversion=conversion))


@pytest.mark.parametrize(
    ("address", "kind", "words"),
    [
        ("attack?target=3&v=3", "headline", lambda: [share(dpviz.attack_success(3.0, delta=1e-5))]),
        # At π = 0.01 guessing is right in 99 % whatever ε is; how much more an attack is needs a digit more.
        ("attack?aprior=0.01&target=0.036&v=3", "headline", lambda: ["99.01"]),
        ("attack?aview=town", "headline", list),
        ("attack?aview=releases", "headline", list),
        ("orders?steps=20000", "headline", lambda: [spent("renyi")]),
        ("noise?noiseview=solve", "headline", lambda: [f"σ = {up(dpviz.solve('noise_multiplier', **NEEDED))}"]),
        ("compose?pin=sigma%3D6&logy=1", "headline", list),
        ("langevin?lview=cost&steps=5000&v=3", "strip", lambda: [langevin("improved"), langevin("classic")]),
        ("langevin?lview=region", "headline", list),
        ("budget?bview=policy&bblocks=1x0.01x200~2x0.01x300", "headline", lambda: ["ε"]),
        ("budget?bview=stop", "headline", lambda: ["ε"]),
        ("train", "strip", list),
    ],
)
@pytest.mark.one_of(12)
def test_opens_with_the_librarys_numbers_and_words_that_can_be_read(
    page: Page, address: str, kind: str, words: Callable[[], list[str]]
) -> None:
    """Contrast of at least 4.5 in both themes (WCAG 2.1, 1.4.3)."""
    open_page(page, address)
    for word in words():
        expect(main_area(page).locator(f".dpviz-{kind}")).to_contain_text(word)
    assert len(chart_data(page)["data"]) >= 2
    assert bottom(main_area(page).locator(".js-plotly-plot").first) <= 800, "the chart is on the screen, not below it"
    for theme in ("light", "dark"):  # switched under the open page, as a visitor does
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        wait_idle(page)
        assert page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme") == theme
        assert len(chart_texts(page)) > 5, "the chart has ticks and names"
        assert faint(page) == []


@pytest.mark.sweep  # as tests/browser/test_home.py does, and goes on
def test_the_first_page_opens(page: Page) -> None:
    open_page(page)
    assert main_area(page).get_by_role("heading").count() >= 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives a machine all of 127.0.0.0/8")
@pytest.mark.parametrize("address", ["127.0.0.2", "::1"])
def test_the_app_listens_on_one_loopback_address(app_url: str, address: str) -> None:
    """A server bound to every interface would answer on each of the machine's other addresses too."""
    port = urlsplit(app_url).port
    assert port is not None
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    refused = pytest.raises(OSError, match=r"refused|assign|not supported")  # the last two: no IPv6 on this machine
    with refused, socket.create_connection((address, port), timeout=5):
        pass


# --- Compose ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", LOOKS, indirect=True)
@pytest.mark.sweep
def test_the_chart_is_there_in_every_look_and_holds_the_librarys_numbers(page: Page) -> None:
    open_page(page, "compose", curves="moments", sigma=2)
    curves = [t for t in chart_data(page)["data"] if t.get("name") == "moments" and len(t["x"]) > 2]
    x, y = np.array(curves[0]["x"]), curves[0]["y"]
    np.testing.assert_allclose(
        y, dpviz.epsilon("moments", noise_multiplier=2, sample_rate=0.01, steps=x, delta=1e-5), rtol=1e-4
    )
    plot = main_area(page).locator(".js-plotly-plot").first
    assert bottom(plot) < page.evaluate("innerHeight")
    plot.locator(".nsewdrag").hover()
    expect(main_area(page).locator(".hoverlayer").first).to_contain_text("P(A)")


@pytest.mark.sweep
def test_a_held_key_never_throws_the_slider_back_and_the_address_follows(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    handle = slider(page, "sigma")
    handle.focus()
    for key, step, count in (("ArrowRight", 1, 12), ("ArrowLeft", -1, 24)):
        before = float(handle.input_value())
        for _ in range(count):
            page.keyboard.press(key)
            now = float(handle.input_value())
            assert (now - before) * step >= 0, f"thrown back from {before} to {now}"
            before = now
    handle.press("Home")
    expect(page).to_have_url("/compose?sigma=0.2&curves=moments&v=3")
    wait_idle(page)
    assert handle.input_value() == "0"


@pytest.mark.sweep
def test_a_link_with_pins_opens_the_same_chart_elsewhere(page: Page, browser: Browser) -> None:
    open_page(page, "compose", curves="moments.renyi_improved")
    page.get_by_role("button", name="Pin this state").click()
    wait_idle(page)
    slider(page, "sigma").press("ArrowRight")
    wait_idle(page)
    page.wait_for_function("() => location.search.includes('sigma') && location.search.includes('pin')")
    other = visitor(browser, page.url)
    other.goto(page.evaluate("location.href"))
    wait_idle(other)
    assert [t.get("y") for t in chart_data(other)["data"]] == [t.get("y") for t in chart_data(page)["data"]]
    slider(other, "sigma").press("End")  # two windows are independent
    wait_idle(other)
    assert slider(page, "sigma").input_value() != slider(other, "sigma").input_value()
    other.context.close()


# --- what other pages do in a browser alone ---------------------------------------------------------------------------


@pytest.mark.sweep
def test_a_slow_part_that_comes_leaves_the_axes_the_figures_own(page: Page) -> None:
    open_page(page, "orders", steps=12_000)
    page.wait_for_function("() => Number(document.querySelector('.dpviz-chart').dataset.drawn) >= 2")
    wait_idle(page)
    assert not page.get_by_role("button", name="Fit the axes to the curves").is_visible()
    late = chart_data(page)["layout"]["yaxis"]["range"]
    open_page(page, page.url.split("/", 3)[3])  # all of it is known now
    assert chart_data(page)["layout"]["yaxis"]["range"] == late


@pytest.mark.sweep
def test_what_is_printed_and_the_regions_of_langevin_can_be_seen(page: Page) -> None:
    open_page(page, "langevin", preset="sgfig1", lview="epsilon", ltau="223.60679774997897")
    hovers = " ".join(note.get("hovertext", "") for note in chart_data(page)["layout"]["annotations"])
    assert "0.103" in hovers
    assert "1.54e-6" in hovers
    open_page(page, "langevin", lview="region")
    chart = main_area(page).locator(".js-plotly-plot").first
    expect(chart.get_by_text("(3) holds below", exact=True)).to_be_visible()
    for name in ("(1) holds below", "(2) holds above", "(3) holds below", "all three hold", "yours"):
        words = chart.get_by_text(name, exact=True)
        assert words.count() == 1
        assert 0 < box(words)["y"] < bottom(words) < 800
