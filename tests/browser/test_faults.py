"""Worker, host and app are killed while somebody watches: the page says it, and what was recorded is there again."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dpviz.runs.cluster import local
from dpviz.runs.store.store import Store
from tests.browser import driver
from tests.browser.driver import ROOT, enter, free_port, main_area, no_traceback, running_app, says, visitor, wait_idle
from tests.browser.test_train import all_end, children_of_the_app

pytestmark = pytest.mark.sweep

# Half a second a step: there is time to see what happens between two.
FORM = (
    "/train?v=3&t_data=abalone&t_model=logistic&t_noise_by=sigma&t_noise_multiplier=2&t_batch_size=64&t_steps=500"
    "&t_slow=0.5"
)


@pytest.fixture(autouse=True)
def one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app that is started again has the address of the first."""
    port = free_port()
    monkeypatch.setattr(driver, "free_port", lambda: port)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store of its own; fails if a process that keeps runs in it is left when its workers were ended."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("DPVIZ_HOME", str(folder))
    monkeypatch.setenv("DPVIZ_WORKERS", "1")
    yield folder
    local.stop(folder)
    all_end(children_of_the_app(folder))


def kill(home: Path, words: str) -> None:
    """End the one process whose command line holds `words`, as a full memory would."""
    found = children_of_the_app(home, words)
    assert len(found) == 1, found
    os.kill(found[0].pid, signal.SIGKILL)


def started(page: Page) -> None:
    page.goto(FORM)
    main_area(page).get_by_role("button", name="Start training").click()
    says(page, r"Step [1-9]")
    page.wait_for_function("() => location.search.includes('run=')")


def test_whatever_is_killed_the_page_says_so(browser: Browser, home: Path, tmp_path: Path) -> None:
    with running_app(ROOT / "app.py", tmp_path / "first.log", runs_go_on=True) as url:
        page = visitor(browser, url)
        started(page)
        kill(home, "dpviz.runs.cluster.worker")
        says(page, "Restarted: its worker ended")
        says(page, "Restarted.* Step [1-9]")
        kill(home, "dpviz.runs.cluster.host")
        says(page, "Lost after .*: its workers have gone, and the run with them")
        no_traceback(page)

        started(page)  # the next run gets a new host
        watched = page.url
        kill(home, "streamlit run")  # the run goes on
        expect(page.locator(".dpviz-link")).to_have_text(re.compile("^No connection"))
        expect(page.get_by_role("dialog")).to_have_count(0)
        stop = main_area(page).get_by_role("button", name="Stop", exact=True)
        expect(stop).to_have_css("pointer-events", "none")
        page.evaluate("() => { window.opened = 'before'; }")
    with running_app(ROOT / "app.py", tmp_path / "second.log"):
        page.wait_for_function("() => window.opened === undefined")
        says(page, r"Step [1-9]")  # it went on
        assert page.url == watched
        stop.click()
        says(page, "Stopped after")
        no_traceback(page)
        page.context.close()
    with closing(Store(home / "runs.sqlite")) as store:
        assert [(record.state, record.attempt) for record in store.runs()] == [("stopped", 1), ("lost", 2)]
        for record in store.runs():
            events = store.events(record.id)
            assert [event.seq for event in events] == list(range(len(events)))
            assert events[-1].step == record.steps >= 1


def test_the_settings_of_a_page_outlive_the_app(browser: Browser, tmp_path: Path) -> None:
    with running_app(ROOT / "app.py", tmp_path / "first.log") as url:
        page = visitor(browser, url)
        page.goto("/compose?steps=20000&units=mechanism")
        says(page, "After 20.000 steps")
        enter(page, "steps", "30000")
        says(page, "After 30.000 steps")
        page.wait_for_function("() => location.search.includes('steps=30000')")
        page.evaluate("() => { window.opened = 'before'; }")
    expect(page.locator(".dpviz-link")).to_have_text(re.compile("^No connection"))
    with running_app(ROOT / "app.py", tmp_path / "second.log"):
        page.wait_for_function("() => window.opened === undefined")
        says(page, "After 30.000 steps")
        wait_idle(page)
        assert "steps=30000" in page.url
        no_traceback(page)
        page.context.close()
