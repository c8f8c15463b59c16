"""Training watched in a real browser: numbers move, a second visitor stops the run, a refresh finds it again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, expect

import dpviz
from dpviz.runs.cluster import local
from tests.browser.driver import ROOT, box, chart_data, main_area, no_traceback, running_app, says, visitor, wait_idle

# The default model; half a second a step, so that there is something to watch on any machine.
SLOW_RUN = "/train?v=3&t_slow=0.5&t_noise_by=sigma&t_noise_multiplier=2"


@pytest.fixture(scope="module")
def training_app(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with a store of its own; fails if a process of it is left when it ends and its workers were ended."""
    folder = tmp_path_factory.mktemp("training")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DPVIZ_HOME", str(folder))
        with running_app(ROOT / "app.py", folder / "streamlit.log") as url:
            yield url
            family = children_of_the_app(folder)
            assert family, "the app has started no worker"
        local.stop(folder)
    all_end(family)


def children_of_the_app(folder: Path, words: str = "-m dpviz") -> list[psutil.Process]:
    """Processes that keep their runs in `folder` and hold `words` in their command line, this one aside."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("DPVIZ_HOME") == str(folder):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return [process for process in found if words in " ".join(process.cmdline())]


def all_end(processes: list[psutil.Process]) -> None:
    """Wait until none of them is left, and fail if one is; the dead whom nobody has asked for do not count."""
    _, left = psutil.wait_procs(processes, timeout=10)
    assert not [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def steps_done(text: str) -> int:
    found = re.search(r"(\d+) of \d+", text)
    return int(found.group(1)) if found else 0


def test_a_run_is_watched_stopped_by_another_visitor_and_found_again(browser: Browser, training_app: str) -> None:
    page = visitor(browser, training_app)
    page.goto(SLOW_RUN)
    page.get_by_role("button", name="Start training").dblclick()  # the history, below, knows one run
    first = steps_done(says(page, r"Step \d+ of 150"))
    page.wait_for_function("() => location.search.includes('run=')")
    page.wait_for_function(
        "first => { const s = document.querySelector('[data-testid=stMain] .dpviz-headline');"
        "const m = s && s.innerText.match(/(\\d+) of 150/); return m && +m[1] > first; }",
        arg=first,
    )

    other = visitor(browser, training_app)
    other.goto(page.url)
    says(other, r"Step \d+ of 150")
    main_area(other).get_by_role("button", name="Stop", exact=True).click()
    says(page, "Stopped after")
    text = says(other, "Stopped after")
    steps = int(re.search(r"after (\d+) step", text).group(1))  # type: ignore[union-attr]
    assert 0 < steps < 150

    page.reload()
    assert says(page, "Stopped after") == text
    wait_idle(page)
    no_traceback(page)
    renyi = next(t for t in chart_data(page)["data"] if t.get("name") == "Rényi")
    drawn = [y for y in renyi["y"] if y is not None][-1]
    charged = {"noise_multiplier": 2.0, "sample_rate": 1024 / 10_000, "delta": 1e-5}
    assert drawn == pytest.approx(dpviz.epsilon("renyi", steps=steps, **charged), rel=1e-5)
    # Stopped by hand: what may be claimed is the odometer's ε, or what the whole plan would have cost.
    odometer = dpviz.epsilon("mixture", steps=steps, **charged)
    whole = dpviz.epsilon("renyi", steps=150, **charged)
    claimed = float(re.search(r"ε ≤ ([\d.]+)", text).group(1))  # type: ignore[union-attr]
    assert 0.85 * min(odometer, whole) < claimed <= 1.01 * min(odometer, whole)
    page.set_viewport_size({"width": 390, "height": 844})  # what it has come to, then what can be done
    wait_idle(page)
    headline, chart, new = (
        box(thing)
        for thing in (
            main_area(page).locator(".dpviz-headline"),
            main_area(page).locator(".dpviz-chart").first,
            main_area(page).get_by_role("button", name="New run"),
        )
    )
    assert headline["y"] + headline["height"] <= chart["y"] < chart["y"] + chart["height"] <= new["y"]
    page.context.close()
    other.context.close()


@pytest.mark.sweep
def test_the_run_stands_in_the_history_and_fills_the_form_again(browser: Browser, training_app: str) -> None:
    page = visitor(browser, training_app)
    page.goto("/runs")
    says(page, "1 run recorded")
    wait_idle(page)
    no_traceback(page)
    table = box(page.get_by_test_id("stDataFrame"))
    page.mouse.click(table["x"] + 16, table["y"] + 52)  # the first row's box: the table is one canvas
    main_area(page).get_by_role("button", name="Clone settings").click()
    says(page, "150 planned steps with noise σ = 2")
    no_traceback(page)
    page.context.close()


@pytest.mark.sweep
def test_one_step_is_one_in_a_busy_browser(browser: Browser, training_app: str) -> None:
    """Streamlit sends a click after a timeout of 0 s, and with every message that another part of the page sends until
    then.
    """
    page = visitor(browser, training_app)
    page.goto(SLOW_RUN)
    page.get_by_role("button", name="Start training").click()
    says(page, r"Step \d+ of 150")
    main_area(page).get_by_role("button", name="Pause").click()
    button = main_area(page).get_by_role("button", name="One step")
    expect(button).to_be_enabled()
    before = steps_done(says(page, "Paused"))
    page.evaluate(
        "() => { const timeout = window.setTimeout;"
        "window.setTimeout = (act, wait, ...rest) => timeout(act, wait || 1500, ...rest); }"
    )
    button.click()
    page.wait_for_timeout(4000)
    page.reload()
    assert steps_done(says(page, "Paused")) == before + 1
    main_area(page).get_by_role("button", name="Stop", exact=True).click()
    says(page, "Stopped after")
    page.context.close()
