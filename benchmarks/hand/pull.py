"""Pulls one slider, or the mark of its setting, with a real pointer, presses its keys, and says what was measured."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

PROBE = (Path(__file__).parent / "probe.js").read_text()
MOVES, SECONDS = 60, 1.0  # of one drag
OUT, BACK = 60, 40  # pixels: out from where the thumb stood, and back
RESTED = 500  # ms without any change
LIMIT = 60_000  # ms
KEYS = 8
PLOT = ".dpviz-chart .nsewdrag"  # Plotly's, over the plot


class Wire:
    """Counts what comes in: messages of the websocket and their bytes, and bytes of answers to requests."""

    def __init__(self, page: Page) -> None:
        devtools = page.context.new_cdp_session(page)
        devtools.on("Network.webSocketFrameReceived", self._message)
        devtools.on("Network.loadingFinished", self._answer)
        devtools.send("Network.enable")
        self.clear()

    def clear(self) -> None:
        self.messages = self.message_bytes = self.answer_bytes = 0

    def _message(self, told: dict[str, Any]) -> None:
        frame = told["response"]
        self.messages += 1
        self.message_bytes += len(frame["payloadData"]) * 3 // 4 if frame["opcode"] == 2 else len(frame["payloadData"])

    def _answer(self, told: dict[str, Any]) -> None:
        self.answer_bytes += int(told["encodedDataLength"])


@dataclass
class Felt:
    """What was measured at one slider; times in ms.

    Attributes:
        hover: from the pointer's arrival to the first and the last frames that were fetched, and their bytes; None
            where nothing is fetched.
        drag: from each movement to the next drawing.
        cold, cold_drawings, cold_stops: the same, drawings a second, and stops that the thumb came to, where the hand
            pulls as soon as it has come.
        drawings: in the second of the drag.
        late: from the last movement to its drawing.
        answered: from the release to the server's answer on our own chart, without its slow parts.
        settled: from the release to all that is shown, slow parts too; elsewhere to the page at rest.
        messages: of the websocket after the release, and their bytes, uncompressed.
        keys: from each key to the drawing.
    """

    hover: list[tuple[float, float, int]] = field(default_factory=list)
    drag: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    cold_drawings: list[float] = field(default_factory=list)
    cold_stops: list[int] = field(default_factory=list)
    drawings: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    keys: list[float] = field(default_factory=list)


class Pulled:
    """One slider of one page.

    Args:
        page: where it is, drawn and idle.
        slider: CSS of its element: an input of type range, or the thumb with role "slider".
        follows: whether it is our page: it fetches frames when the pointer comes, and every drawing during a drag is of
            the newest value. Elsewhere the last drawing is that of the last movement.
        axis: along which the setting's mark on the chart is pulled ("x" or "y"); empty where the slider is.
    """

    def __init__(self, page: Page, slider: str, *, follows: bool, axis: str = "") -> None:
        self.page, self.slider, self.follows, self.axis = page, slider, follows, axis
        self.felt = Felt()
        self.wire = Wire(page)

    def measure(self) -> None:
        """Hover, drag, release, keys; adds to `felt`."""
        self.page.mouse.move(2, 2)
        self.page.evaluate(PROBE, self.slider)
        self._rest()
        x, y, direction = self._thumb()
        self._hover(x, y)
        self._drag(x, y, direction)
        self._press()

    def measure_cold(self, rest_ms: float = 0.0) -> None:
        """Arrive, rest so long on the slider, and drag; adds to `felt.cold`."""
        self.page.mouse.move(2, 2)
        self.page.evaluate(PROBE, self.slider)
        self._rest()
        x, y, direction = self._thumb()
        self.page.mouse.move(x, y)
        self.page.wait_for_timeout(rest_ms)
        self._pull(x, y, direction)
        told = self._rest()
        inputs, drawn, released = told["inputs"], told["drawn"], told["released"]
        if not inputs:
            raise RuntimeError(f"{self.slider} at {self.page.url} did not move")
        self.felt.cold += [wait for at in inputs if (wait := _next(at, drawn)) is not None]
        self.felt.cold_stops.append(len(inputs))
        self.felt.cold_drawings.append(sum(at <= released for at in drawn) / ((released - inputs[0]) / 1000))

    def _rest(self) -> dict[str, Any]:
        self.page.wait_for_function("ms => probe.rested(ms)", arg=RESTED, timeout=LIMIT)
        told: dict[str, Any] = self.page.evaluate("() => probe.told()")
        return told

    def _thumb(self) -> tuple[float, float, int]:
        """Where the thumb is, or the mark, and on which side there is more room."""
        if self.axis:
            return self._mark()
        handle = self.page.locator(self.slider).first
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        assert box is not None
        if box["width"] < 60:  # the thumb itself
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 1
        low, high, value = (float(handle.get_attribute(name) or 0) for name in ("min", "max", "value"))
        share = (float(handle.input_value() or value) - low) / (high - low)
        return box["x"] + 8 + share * (box["width"] - 16), box["y"] + box["height"] / 2, 1 if share < 0.5 else -1

    def _mark(self) -> tuple[float, float, int]:
        knob = self.page.locator(f'.dpviz-grip[data-axis*="{self.axis}"]:not([hidden])')
        knob.scroll_into_view_if_needed()
        box, area = knob.bounding_box(), self.page.locator(PLOT).first.bounding_box()
        assert box is not None
        assert area is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        first = x < area["x"] + area["width"] / 2 if self.axis == "x" else y < area["y"] + area["height"] / 2
        return x, y, 1 if first else -1

    def _hover(self, x: float, y: float) -> None:
        self.wire.clear()
        self.page.evaluate("() => probe.start()")
        self.page.mouse.move(x, y)
        if self.follows:
            self.page.wait_for_function("() => probe.kept.length", timeout=LIMIT)
        told = self._rest()
        if told["kept"]:
            first, last = told["kept"][0] - told["moved"], told["kept"][-1] - told["moved"]
            self.felt.hover.append((first, last, self.wire.answer_bytes))

    def _pull(self, x: float, y: float, direction: int) -> None:
        self.page.evaluate("() => probe.start()")
        self.page.mouse.down()
        began = time.monotonic()
        for move in range(1, MOVES + 1):
            gone = move / MOVES * (OUT + BACK)
            away = direction * (gone if gone <= OUT else 2 * OUT - gone)
            self.page.mouse.move(x + away * (self.axis != "y"), y + away * (self.axis == "y"))
            time.sleep(max(0.0, began + move * SECONDS / MOVES - time.monotonic()))
        self.wire.clear()
        self.page.mouse.up()

    def _drag(self, x: float, y: float, direction: int) -> None:
        self._pull(x, y, direction)
        told = self._rest()
        inputs, drawn, released = told["inputs"], told["drawn"], told["released"]
        if not inputs or not drawn:
            raise RuntimeError(f"{self.slider} at {self.page.url}: {len(inputs)} inputs, {len(drawn)} drawings")
        self.felt.drag += [wait for at in inputs if (wait := _next(at, drawn)) is not None]
        self.felt.drawings.append(sum(at <= released for at in drawn) / ((released - inputs[0]) / 1000))
        late = _next(inputs[-1], drawn) if self.follows else None
        self.felt.late.append(late if late is not None else max(drawn[-1] - inputs[-1], 0.0))
        if self.follows:
            answered = [at - released for at in told["answered"] if at > released]
            self.felt.answered.append(answered[0])
            self.felt.settled.append(answered[-1])
        else:
            self.felt.settled.append(max(drawn[-1] - released, told["lastBusy"] - released, 0.0))
        self.felt.messages.append(self.wire.messages)
        self.felt.sizes.append(self.wire.message_bytes)

    def _press(self) -> None:
        self.page.locator(self.slider).first.focus()
        self._rest()
        for turn in range(KEYS):
            self.page.evaluate("() => probe.start()")
            self.page.keyboard.press("ArrowLeft" if turn < KEYS / 2 else "ArrowRight")
            self.page.wait_for_function("() => probe.drawn.length", timeout=LIMIT)
            told = self.page.evaluate("() => probe.told()")
            wait = _next(told["inputs"][0], told["drawn"]) if told["inputs"] else None
            if wait is not None:
                self.felt.keys.append(wait)
            self.page.wait_for_timeout(60)
        self._rest()


def _next(at: float, drawn: list[float]) -> float | None:
    return next((end - at for end in drawn if end > at), None)
