"""Fixtures for tests in the engines of Safari and Firefox; Chromium's are in ``tests/browser``."""

from collections.abc import Iterator

import pytest

from tests.browser.driver import ROOT, running_app
from tests.engines import webdriver
from tests.engines.webdriver import Browser


@pytest.fixture(scope="module", params=["webkit", "firefox"])
def engine(request: pytest.FixtureRequest) -> str:
    if missing := [name for name, place in webdriver.programs(request.param).items() if not place]:
        pytest.skip(f"no {', '.join(missing)}: {request.param} cannot be driven")
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def browser(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    start = {"webkit": webdriver.webkit, "firefox": webdriver.firefox}[engine]
    with start(tmp_path_factory.mktemp(engine)) as running:
        yield running


@pytest.fixture(scope="package")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_app(ROOT / "app.py", tmp_path_factory.mktemp("app") / "streamlit.log") as url:
        yield url
