"""What one entered number costs: one short run; controls and slow parts follow without another."""

from typing import Any

import pytest
from playwright.sync_api import Page, WebSocket
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.driver import main_area, no_traceback, open_page, wait_idle

pytestmark = pytest.mark.browser


@pytest.fixture
def told(page: Page) -> list[ForwardMsg]:
    """What the server has told the browser."""
    found: list[ForwardMsg] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda payload: found.append(ForwardMsg.FromString(_bytes(payload))))

    page.on("websocket", listen)
    return found


def _bytes(payload: Any) -> bytes:
    return payload if isinstance(payload, bytes) else payload.encode()


def enter(page: Page, field: str, text: str) -> None:
    box = control(page, field).locator('input[type="text"]')
    box.fill(text)
    box.press("Enter")
    wait_idle(page, settle_ms=400)


def control(page: Page, field: str) -> Any:
    return main_area(page).locator(f'.dpviz-number[data-field="{field}"]')


def shown(page: Page, field: str) -> str:
    return str(control(page, field).locator('input[type="text"]').input_value())


def kinds(told: list[ForwardMsg]) -> list[str]:
    return [message.WhichOneof("type") for message in told]


def test_an_entry_is_one_short_update_and_all_controls_agree(page: Page, told: list[ForwardMsg]) -> None:
    """With the best attack's accuracy, which comes late and without another run."""
    open_page(page, "compose", curves="moments.strong", n=1000, q=0.1, steps=100)
    told.clear()
    enter(page, "sigma", "2.5")
    assert kinds(told).count("new_session") == 1
    assert len(told) <= 10
    assert "ε and δ alone" in main_area(page).locator(".dpviz-strip").inner_text(), "the slow part is there"
    told.clear()
    enter(page, "batch", "30")
    assert kinds(told).count("new_session") == 1
    assert (shown(page, "batch"), shown(page, "epochs")) == ("30", "10")
    assert "q = 0.03, T = 334 steps = 10.02 epochs, rounded up" in control(page, "epochs").inner_text()
    enter(page, "sigma", "a lot")
    assert "The last good value is used" in control(page, "sigma").inner_text()
    assert shown(page, "sigma") == "a lot"
    enter(page, "sigma", "3")
    assert "The last good value is used" not in control(page, "sigma").inner_text()
    page.keyboard.press("Control+z")
    wait_idle(page, settle_ms=400)
    page.keyboard.press("Control+z")
    wait_idle(page, settle_ms=400)
    assert (shown(page, "sigma"), shown(page, "batch"), shown(page, "epochs")) == ("2.5", "100", "10")
    assert "q = 0.1, T = 100 steps" in control(page, "epochs").inner_text()
    no_traceback(page)


def test_where_more_than_numbers_would_change_the_whole_page_follows(page: Page, told: list[ForwardMsg]) -> None:
    """An order of λ, say, that no answer allows, and back; an open table shows the late part too."""
    open_page(page, "noise", noiseview="solve")
    headline = main_area(page).locator(".dpviz-headline")
    enter(page, "target", "1e-9")
    words = headline.inner_text()
    enter(page, "target", "1")
    assert headline.inner_text() != words
    page.get_by_role("radio", name="Table").click()
    wait_idle(page, settle_ms=400)
    told.clear()
    enter(page, "target", "2")
    assert "on its way" not in main_area(page).inner_text()
    no_traceback(page)
