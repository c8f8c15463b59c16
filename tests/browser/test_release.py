"""What one entered number costs: one short run; controls and slow parts follow without another."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.driver import main_area, no_traceback, open_page, wait_idle


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


def control(page: Page, field: str) -> Locator:
    return main_area(page).locator(f'.dpviz-number[data-field="{field}"]')


def shows(page: Page, **texts: str) -> None:
    """Wait until the controls say these."""
    for field, text in texts.items():
        expect(control(page, field).locator('input[type="text"]')).to_have_value(text)


def kinds(told: list[ForwardMsg]) -> list[str]:
    return [message.WhichOneof("type") for message in told]


def test_an_entry_is_one_short_update_and_all_controls_agree(page: Page, told: list[ForwardMsg]) -> None:
    """With the best attack's accuracy, which comes late and without another run."""
    open_page(page, "compose", curves="moments.strong", n=1000, q=0.1, steps=100)
    told.clear()
    enter(page, "sigma", "2.5")
    # The slow part comes without another run.
    expect(main_area(page).locator(".dpviz-strip")).to_contain_text("ε and δ alone")
    assert kinds(told).count("new_session") == 1
    assert len(told) <= 10
    told.clear()
    enter(page, "batch", "30")
    shows(page, batch="30", epochs="10")
    assert kinds(told).count("new_session") == 1
    expect(control(page, "epochs")).to_contain_text("q = 0.03, T = 334 steps = 10.02 epochs, rounded up")
    enter(page, "sigma", "a lot")
    expect(control(page, "sigma")).to_contain_text("The last good value is used")
    shows(page, sigma="a lot")
    enter(page, "sigma", "3")
    expect(control(page, "sigma")).not_to_contain_text("The last good value is used")
    for _ in range(2):
        page.keyboard.press("Control+z")
        wait_idle(page, settle_ms=400)
    shows(page, sigma="2.5", batch="100", epochs="10")
    expect(control(page, "epochs")).to_contain_text("q = 0.1, T = 100 steps")
    no_traceback(page)


@pytest.mark.sweep
def test_where_more_than_numbers_would_change_the_whole_page_follows(page: Page, told: list[ForwardMsg]) -> None:
    """An order of λ, say, that no answer allows, and back; an open table shows the late part too."""
    open_page(page, "noise", noiseview="solve")
    headline = main_area(page).locator(".dpviz-headline")
    enter(page, "target", "1e-9")
    words = headline.inner_text()
    enter(page, "target", "1")
    expect(headline).not_to_have_text(words)
    page.get_by_role("radio", name="Table").click()
    wait_idle(page, settle_ms=400)
    told.clear()
    enter(page, "target", "2")
    expect(main_area(page)).not_to_contain_text("on its way")
    no_traceback(page)
