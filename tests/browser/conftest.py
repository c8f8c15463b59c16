"""Fixtures for tests in a real Chromium against the real app; what drives a page is in ``driver.py``.

``page`` is light and 1280 × 800; ``@pytest.mark.parametrize("page", LOOKS, indirect=True)`` shows it in other looks.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, sync_playwright

from tests.browser.driver import CHROMIUM_FLAGS, ROOT, TIMEOUT_MS, Look, find_chromium, running_app

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
def console_errors() -> list[str]:
    """What the browser's console called an error on this test's page, and what no script caught."""
    return []


@pytest.fixture
def requests_elsewhere() -> list[str]:
    """Addresses outside the app that the page asked for. They are refused: tests need no network."""
    return []


@pytest.fixture
def page(
    request: pytest.FixtureRequest,
    browser: Browser,
    app_url: str,
    console_errors: list[str],
    requests_elsewhere: list[str],
) -> Iterator[Page]:
    """A fresh tab of the app. The test fails at its end if the console held an error or a request went elsewhere."""
    look: Look = getattr(request, "param", Look())

    def refuse(route: Route) -> None:
        requests_elsewhere.append(route.request.url)
        route.abort()

    def listen(message: ConsoleMessage) -> None:
        # Streamlit looks for its server below a page's own address first, and finds it above on the second try.
        probing = re.search(r"/\w+/_stcore/(health|host-config)$", message.location.get("url", ""))
        if message.type == "error" and not probing:
            console_errors.append(message.text)

    context = browser.new_context(
        base_url=app_url,
        color_scheme=look.theme,
        viewport={"width": look.width, "height": look.height},
        accept_downloads=True,
    )
    context.set_default_timeout(TIMEOUT_MS)
    context.route(lambda url: not url.startswith((app_url, "data:", "blob:")), refuse)
    tab = context.new_page()
    tab.on("console", listen)
    tab.on("pageerror", lambda error: console_errors.append(str(error)))
    yield tab
    context.close()
    assert requests_elsewhere == []
    assert console_errors == []
