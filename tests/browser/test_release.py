"""What one entered number costs: one short run; controls and slow parts follow without another."""

import pytest
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.driver import control, enter, headline, main_area, open_page, text, wait_idle

pytestmark = pytest.mark.sweep


@pytest.fixture
def told(page: Page) -> list[ForwardMsg]:
    """What the server has told the browser."""
    found: list[ForwardMsg] = []

    def listen(socket: WebSocket) -> None:
        def receive(payload: str | bytes) -> None:
            found.append(ForwardMsg.FromString(payload if isinstance(payload, bytes) else payload.encode()))

        socket.on("framereceived", receive)

    page.on("websocket", listen)
    return found


def settled(page: Page, field: str, value: str) -> None:
    enter(page, field, value)
    wait_idle(page, settle_ms=400)


def shows(page: Page, **texts: str) -> None:
    """Wait until the controls say these."""
    for field, words in texts.items():
        expect(text(page, field)).to_have_value(words)


def runs(told: list[ForwardMsg]) -> int:
    """How many runs of the page's script have begun."""
    return sum(message.WhichOneof("type") == "new_session" for message in told)


def test_an_entry_is_one_short_update_and_all_controls_agree(page: Page, told: list[ForwardMsg]) -> None:
    """With the best attack's accuracy, which comes late and without another run."""
    open_page(page, "compose", curves="moments.strong", n=1000, q=0.1, steps=100, units="person")
    told.clear()
    settled(page, "sigma", "2.5")
    # The slow part comes without another run.
    expect(main_area(page).locator(".dpviz-strip")).to_contain_text("chance: 50 %")
    assert runs(told) == 1
    assert len(told) <= 10
    wait_idle(page, settle_ms=1500)  # on a busy machine what belongs to this entry may come late
    told.clear()
    settled(page, "batch", "30")
    shows(page, batch="30", epochs="10")
    assert runs(told) == 1
    expect(control(page, "epochs")).to_contain_text("q = 0.03, T = 334 steps = 10.02 epochs, rounded up")
    settled(page, "sigma", "a lot")
    expect(control(page, "sigma")).to_contain_text("The last good value is used")
    shows(page, sigma="a lot")
    settled(page, "sigma", "3")
    expect(control(page, "sigma")).not_to_contain_text("The last good value is used")
    for _ in range(2):
        page.keyboard.press("Control+z")
        wait_idle(page, settle_ms=400)
    shows(page, sigma="2.5", batch="100", epochs="10")
    expect(control(page, "epochs")).to_contain_text("q = 0.1, T = 100 steps")


# Enters texts and returns the address of the moment: no answer can have come.
AT_ONCE = """(texts) => {
  for (const [field, value] of Object.entries(texts)) {
    const input = document.querySelector(`.dpviz-number[data-field="${field}"] input[type="text"]`);
    input.value = value;
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  }
  return location.href;
}"""


def test_a_reload_at_once_keeps_what_was_entered(page: Page) -> None:
    """The last entries of two numbers, one of which is no setting of its own."""
    open_page(page, "compose", curves="moments.strong", n=1000, q=0.1, steps=100, units="person")
    address = page.evaluate(AT_ONCE, {"sigma": "2,5", "batch": "30"})
    page.goto(address)
    wait_idle(page)
    shows(page, sigma="2.5", batch="30", epochs="10")
    assert "entered" not in page.url
    assert "sigma=2.5" in page.url


@pytest.mark.sweep
def test_where_more_than_numbers_would_change_the_whole_page_follows(page: Page, told: list[ForwardMsg]) -> None:
    """An order of λ, say, that no answer allows, and back; an open table shows the late part too."""
    open_page(page, "noise", noiseview="solve")
    settled(page, "target", "1e-9")
    words = headline(page).inner_text()
    settled(page, "target", "1")
    expect(headline(page)).not_to_have_text(words, use_inner_text=True)
    page.get_by_role("radio", name="Files").click()  # the table is open first
    wait_idle(page, settle_ms=400)
    told.clear()
    settled(page, "target", "2")
    expect(main_area(page)).not_to_contain_text("still being computed")


def test_a_control_that_a_chart_told_something_else_is_drawn_again_after_undo(page: Page) -> None:
    """Its data are then those of its first drawing, of which the browser by itself would notice nothing."""
    open_page(page, "compose", curves="moments.strong", n=1000, q=0.1, steps=100, units="person")
    settled(page, "batch", "30")
    expect(control(page, "epochs")).to_contain_text("T = 334 steps")
    page.keyboard.press("Control+z")
    shows(page, batch="100", epochs="10")
    expect(control(page, "epochs")).to_contain_text("q = 0.1, T = 100 steps")
