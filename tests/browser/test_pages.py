"""Every page in a real browser: it opens without an error, says the library's numbers, and its words can be read."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import dpviz
from dpviz.fields import numbers
from tests.browser.contrast import chart_texts, faint
from tests.browser.driver import LOOKS, chart_data, main_area, no_traceback, open_page, wait_idle

SETTING = {"noise_multiplier": 4, "sample_rate": 0.01, "steps": 20_000, "delta": 1e-5}
CHAIN = {"n": 50_000, "batch_size": 224, "clip": 1, "delta": 1e-5}
ANSWERS = "() => Number(document.querySelector('.js-plotly-plot').dataset.answers)"


def slider(page: Page, name: str) -> Any:
    return main_area(page).get_by_role("slider", name=name).first


def open_by_navigation(page: Page, name: str, **query: object) -> None:
    """As a visitor comes: a page's own address makes Streamlit ask for what is not there."""
    open_page(page, **query)
    page.get_by_role("link", name=name, exact=True).click()
    wait_idle(page)


def up(epsilon: Any) -> str:
    return numbers.epsilon(float(epsilon), up=True)


def langevin(conversion: str) -> str:
    return up(dpviz.langevin_epsilon(dpviz.PowerSchedule(0.1, 1 / 3, 5000), **CHAIN, conversion=conversion))


def success(epsilon: float) -> str:
    return numbers.probability(dpviz.attack_success(epsilon, delta=1e-5), up=True)


def spent(method: str) -> str:
    return up(dpviz.epsilon(method, **SETTING))


def needed() -> str:
    target = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5, "target_epsilon": 2.0}
    return up(dpviz.solve("noise_multiplier", **target, method="renyi"))


@pytest.mark.parametrize(
    ("path", "query", "kind", "words"),
    [
        ("attack", {"aeps": 3}, "headline", lambda: [success(3.0)]),
        # At π = 0.01 the best guess is right in 99 % whatever ε is; what can be believed starts at the prior.
        ("attack", {"aprior": 0.01, "aeps": 0.036}, "headline", lambda: ["99.01", "1.1"]),
        ("orders", {"steps": 20_000}, "headline", lambda: [spent("renyi"), spent("moments")]),
        ("noise", {"noiseview": "solve"}, "headline", lambda: [f"σ = {needed()}"]),
        ("langevin", {"lsteps": 5000}, "strip", lambda: [langevin("improved"), langevin("classic")]),
        ("budget", {"bview": "policy", "bblocks": "1x0.01x200~2x0.01x300"}, "headline", lambda: ["ε"]),
        ("budget", {"bview": "stop"}, "headline", lambda: ["ε"]),
    ],
)
@pytest.mark.one_of(7)
def test_opens_with_the_librarys_numbers(
    page: Page, path: str, query: dict[str, Any], kind: str, words: Callable[[], list[str]]
) -> None:
    open_page(page, path, **query)
    no_traceback(page)
    for word in words():
        expect(main_area(page).locator(f".dpviz-{kind}")).to_contain_text(word)
    assert len(chart_data(page)["data"]) >= 2
    chart = main_area(page).locator(".js-plotly-plot").first.bounding_box()
    assert chart is not None
    assert chart["y"] + chart["height"] <= 800, "the chart is on the screen without scrolling"


def test_the_first_page_opens(page: Page) -> None:
    open_page(page)
    no_traceback(page)
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


@pytest.mark.parametrize(
    "path",
    [  # one of each kind of chart
        "compose?pin=sigma%3D6&logy=1",
        "attack?aview=town",
        "attack?aview=releases",
        "noise?noiseview=solve",
        "budget?bview=policy",
        "langevin?lview=region",
        "train",
    ],
)
@pytest.mark.one_of(7)
def test_words_on_charts_can_be_read_in_both_themes(page: Page, path: str) -> None:
    """Contrast of at least 4.5 (WCAG 2.1, 1.4.3)."""
    open_page(page, path)
    no_traceback(page)
    for theme in ("light", "dark"):  # switched under the open page, as a visitor does
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        wait_idle(page)
        assert page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme") == theme
        assert len(chart_texts(page)) > 5, "the chart has ticks and names"
        assert faint(page) == []


# --- Compose ----------------------------------------------------------------------------------------------------------

SIGMA = "Noise multiplier"


@pytest.mark.parametrize("page", LOOKS, indirect=True)
@pytest.mark.one_of(2)
def test_the_chart_is_there_in_every_look_and_holds_the_librarys_numbers(page: Page) -> None:
    open_page(page, "compose", curves="moments", sigma=2)
    no_traceback(page)
    curves = [t for t in chart_data(page)["data"] if t.get("name") == "moments" and len(t["x"]) > 2]
    x, y = np.array(curves[0]["x"]), curves[0]["y"]
    np.testing.assert_allclose(
        y, dpviz.epsilon("moments", noise_multiplier=2, sample_rate=0.01, steps=x, delta=1e-5), rtol=1e-4
    )
    plot = main_area(page).locator(".js-plotly-plot").first
    box = plot.bounding_box()
    assert box is not None
    assert page.viewport_size is not None
    assert box["y"] + box["height"] < page.viewport_size["height"]
    plot.locator(".nsewdrag").hover()
    expect(main_area(page).locator(".hoverlayer").first).to_contain_text("P(A)")


@pytest.mark.sweep
def test_a_held_key_never_throws_the_slider_back_and_the_address_follows(page: Page) -> None:
    open_page(page, "compose", curves="moments")
    handle = slider(page, SIGMA)
    handle.focus()
    for key, step, count in (("ArrowRight", 1, 12), ("ArrowLeft", -1, 24)):
        before = float(handle.input_value())
        for _ in range(count):
            page.keyboard.press(key)
            now = float(handle.input_value())
            assert (now - before) * step >= 0, f"thrown back from {before} to {now}"
            before = now
    handle.press("Home")
    expect(page).to_have_url("/compose?sigma=0.2&curves=moments&v=2")
    wait_idle(page)
    no_traceback(page)
    assert handle.input_value() == "0"


@pytest.mark.sweep
def test_a_link_with_pins_opens_the_same_chart_elsewhere(page: Page) -> None:
    open_page(page, "compose", curves="moments.renyi_improved")
    page.get_by_role("button", name="Pin this state").click()
    wait_idle(page)
    slider(page, SIGMA).press("ArrowRight")
    wait_idle(page)
    page.wait_for_function("() => location.search.includes('sigma') && location.search.includes('pin')")
    assert page.context.browser is not None
    other = page.context.browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    other.goto(page.evaluate("() => location.href"))
    wait_idle(other)
    assert [t.get("y") for t in chart_data(other)["data"]] == [t.get("y") for t in chart_data(page)["data"]]
    slider(other, SIGMA).press("End")  # two windows are independent
    wait_idle(other)
    assert slider(page, SIGMA).input_value() != slider(other, SIGMA).input_value()
    other.context.close()


# --- what other pages do in a browser alone ---------------------------------------------------------------------------


@pytest.mark.sweep
def test_a_stricter_target_moves_the_rings(page: Page) -> None:
    open_page(page, "noise")

    def rings() -> list[float]:
        return sorted(t["x"][0] for t in chart_data(page)["data"] if t.get("name") == "ring")

    before = rings()
    assert len(before) == 4
    answers = page.evaluate(ANSWERS)
    slider(page, "Target").press("ArrowLeft")
    page.wait_for_function(f"before => ({ANSWERS})() > before", arg=answers)
    wait_idle(page)
    no_traceback(page)
    assert all(new > old for new, old in zip(rings(), before, strict=True))


@pytest.mark.sweep
def test_the_tight_region_arrives(page: Page) -> None:
    open_page(page, "attack", aview="roc", sigma=1, q=0.02, steps=100)
    page.wait_for_function("() => document.body.innerText.includes('tight accountant')")
    wait_idle(page)
    no_traceback(page)
    assert any("tight, all ε" in a["text"] for a in chart_data(page)["layout"]["annotations"])


@pytest.mark.sweep
def test_spending_by_hand_until_the_filter_refuses(page: Page) -> None:
    open_by_navigation(page, "Budget", sigma=1, q=0.01024, delta="1e-6", beps=3, steps=700, bview="spend")
    area = main_area(page)
    area.get_by_role("button", name="Add block").click()
    step = dpviz.SampledGaussian(1.0, 0.01024)
    budget = dpviz.Filter(target_epsilon=3.0, delta=1e-6)
    budget.spend(step, 700)
    expect(area.locator(".dpviz-headline")).to_contain_text(up(budget.epsilon()))
    wait_idle(page)
    area.get_by_role("button", name="Add block").click()
    left = numbers.steps(budget.remaining_steps(step))
    expect(area.locator(".dpviz-problem")).to_contain_text(f"{left} of them still fit")
    assert "bblocks=1x0.01024x700" in page.url, "what was refused is not in the link"
    area.get_by_role("button", name=f"Add the {left} that fit").click()
    expect(area.locator(".dpviz-headline")).to_contain_text("0 more steps")
    expect(area.locator(".dpviz-problem")).to_have_count(0)


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
def test_more_orders_redraw_the_chart(page: Page) -> None:
    open_page(page, "orders", oview="divergence")
    assert main_area(page).get_by_text("Show", exact=True).count() == 0, "all of it is for experts"
    main_area(page).get_by_role("button", name="expert settings at their defaults").click()
    main_area(page).get_by_text("Show", exact=True).first.click()
    wait_idle(page)
    before = chart_data(page)["layout"]["xaxis"]["range"]
    slider(page, "Largest order").press("ArrowRight")
    wait_idle(page)
    no_traceback(page)
    assert chart_data(page)["layout"]["xaxis"]["range"][1] > before[1]


@pytest.mark.sweep
def test_what_is_printed_and_the_regions_of_langevin_can_be_seen(page: Page) -> None:
    open_page(page, "langevin", preset="sgfig1", lview="epsilon", ltau="223.60679774997897", leta="0.103")
    no_traceback(page)
    hovers = " ".join(note.get("hovertext", "") for note in chart_data(page)["layout"]["annotations"])
    assert "0.103" in hovers
    assert "1.54e-6" in hovers
    open_page(page, "langevin", lview="region")
    no_traceback(page)
    chart = main_area(page).locator(".js-plotly-plot").first
    expect(chart.get_by_text("(3) holds below", exact=True)).to_be_visible()
    for name in ("(1) holds below", "(2) holds above", "(3) holds below", "all three hold", "yours"):
        words = chart.get_by_text(name, exact=True)
        assert words.count() == 1
        box = words.bounding_box()
        assert box is not None
        assert 0 < box["y"] < box["y"] + box["height"] < 800
