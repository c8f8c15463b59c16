"""The helpers that page tests stand on see what they claim to see, on a page of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.driver import chart_data, no_traceback, open_page, running_app, wait_idle

# The sleep makes a helper that does not wait read the figure before.
SCRIPT = """
import time
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from dpviz.ui.hand.served import routes
if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(__file__, routes=routes())
else:
    from dpviz.ui.pieces import Drawing, plot
    scale = st.slider("Scale", 1, 9, 2)
    if "broken" in st.query_params:
        raise ValueError("as asked")
    time.sleep(0.3)
    line = {"x": list(range(20)), "y": [scale * 1.0, scale * 2.0, None] + 17 * [scale]}
    plot(Drawing({"data": [line], "layout": {"height": 300}}, "a line"), key="small")
"""


@pytest.fixture(scope="module")
def small_app(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("small")
    (folder / "small.py").write_text(SCRIPT)
    with running_app(folder / "small.py", folder / "log") as url:
        yield url


@pytest.fixture
def small_page(browser: Browser, small_app: str) -> Iterator[Page]:
    context = browser.new_context(base_url=small_app)
    yield context.new_page()
    context.close()


def test_chart_data_is_what_was_drawn_last(small_page: Page) -> None:
    open_page(small_page)
    figure = chart_data(small_page)
    assert figure["data"][0]["y"][:3] == [2.0, 4.0, None]
    assert figure["data"][0]["x"] == list(range(20))
    assert figure["layout"]["height"] == 300
    small_page.get_by_role("slider").press("ArrowRight")
    wait_idle(small_page)
    assert chart_data(small_page)["data"][0]["y"][:3] == [3.0, 6.0, None]


def test_a_traceback_on_the_page_is_seen(small_page: Page) -> None:
    open_page(small_page, broken=1)
    with pytest.raises(AssertionError, match="as asked"):
        no_traceback(small_page)
