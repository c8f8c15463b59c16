"""Fixtures for tests in a real Chromium against the real app; what drives a page is in ``driver.py``.

``page`` is light and 1280 × 800; ``@pytest.mark.parametrize("page", LOOKS, indirect=True)`` shows it in other looks.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.driver import CHROMIUM_FLAGS, LOOKS, ROOT, find_chromium, running_app, watched_tab

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


# Package scope: while Playwright's event loop stands on a thread, tests elsewhere cannot start one of their own there.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium found: install one, or name it in DPVIZ_CHROMIUM")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def app_url(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app, running. Asks for the browser first: without one there is nothing to start it for."""
    with running_app(ROOT / "app.py", tmp_path_factory.mktemp("app") / "streamlit.log") as url:
        yield url


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, app_url: str) -> Iterator[Page]:
    """A fresh tab of the app, whose errors fail the test (``watched_tab``)."""
    with watched_tab(browser, app_url, base_url=app_url, **getattr(request, "param", LOOKS[0])) as tab:
        yield tab
