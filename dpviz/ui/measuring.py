"""Measurements made by workers, for which a page waits with progress, time left and a way out.

A page asks with `result` while it computes, and is drawn without what is not there. The renderer then has the
rest measured, says how far it is, and draws the page again.
"""

import time
from collections.abc import Hashable, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

from dpviz._public import NO_TRAINING
from dpviz.questions.source import NoSample
from dpviz.runs.engine import Engine
from dpviz.runs.measuring.measurement import Measurement, Request
from dpviz.ui import engine as engines
from dpviz.ui import offered
from dpviz.ui.plain import plain
from dpviz.ui.state import Keys

SETTLE = 0.3  # seconds without a move before a measurement begins
GLANCE = 0.05
MOST = 500  # characters of what is said while a page waits

STOPPED = "Measuring was stopped."
COMING = "its gradients are being measured now."


def begin() -> None:
    """A page is about to be computed: what it asks for from now on is its own."""
    st.session_state[Keys.ASKED] = {}


def result(asked: Request) -> Any:
    """What was measured.

    Raises:
        NoSample: if it is not there: the page waits for it, or shows the way on, once it is drawn.
    """
    if (there := measured(asked.key)) is not None:
        return there
    if offered.PUBLIC:
        raise NoSample(NO_TRAINING)
    st.session_state[Keys.ASKED] = {**st.session_state.get(Keys.ASKED, {}), asked.key: asked}
    problem = _problem(asked)
    raise NoSample(problem or COMING, coming=not problem)


def measured(key: Hashable) -> Any:
    """What was measured under this key; None if nothing was yet."""
    measurement = _found(key)
    return None if measurement is None else measurement.result


def _found(key: Hashable) -> Measurement | None:
    engine, _ = engines.current()
    return None if engine is None else engine.measured(key)


def _problem(asked: Request) -> str:
    _, problem = engines.current()
    if (measurement := _found(asked.key)) is not None:
        problem = measurement.problem
    if problem:
        return f"Nothing could be measured: {problem}"
    return STOPPED if asked.key in _stopped() else ""


def asked_now() -> list[Request]:
    return list(st.session_state.get(Keys.ASKED, {}).values())


def missing() -> list[Request]:
    """What this page asked for and waits for."""
    return [asked for asked in asked_now() if not _problem(asked)]


def ways_on() -> None:
    """A button for each measurement of this page that failed or was stopped."""
    for asked in asked_now():
        if _problem(asked):
            stopped = asked.key in _stopped()
            st.button(
                "Measure" if stopped else "Try again",
                key=f"again.{asked.key}",
                on_click=_again,
                args=(asked.key,),
                icon=":material/play_arrow:" if stopped else ":material/refresh:",
            )


def wait(several: Sequence[Request]) -> bool:
    """Have them measured and wait until all are over, saying here how far they are: True, and the page draws again.

    The visitor's next move ends the wait: False, and the page lets it come. What nobody waits for is then given up.
    """
    place = st.empty()
    with place.container(key="dpviz-wait", horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text="Measuring …")
        keys = [asked.key for asked in several]
        st.button("Stop", key=f"stop.{keys}", on_click=stop, args=(keys,), icon=":material/stop:")
    settled = time.monotonic() + SETTLE
    while time.monotonic() < settled:
        if disturbed():
            return False
    engine, _ = engines.current()
    if engine is not None:
        for asked in several:
            if follow_progress(engine, engine.measure(asked), bar):
                return False
    place.empty()
    return True


def follow_progress(engine: Engine, measurement: Measurement, bar: Any) -> bool:
    """Say how far it is until it is over; whether the visitor moved on before."""
    shown = ""
    while not measurement.over:
        words = engine.waits_to_measure(measurement) or measurement.words
        words = words[:1].upper() + words[1:]
        if words != shown:
            bar.progress(measurement.share or 0.0, text=plain(words, longest=MOST))
            shown = words
        if disturbed():
            return True
        measurement.look()
    return False


def disturbed() -> bool:
    """A short sleep, a touch of the session, where a waiting rerun of the whole page takes over, and a look around."""
    time.sleep(GLANCE)
    st.session_state.get(Keys.STOPPED)
    return moved()


def moved() -> bool:
    """Whether a newer message from this session's browser waits for the script to end: then it is time to end.

    Streamlit interrupts a script for a rerun of the whole page, and never for a move within a fragment: that is only
    done next. No public name tells of it (Streamlit 1.67); a test in a browser holds that this one does.
    """
    context = get_script_run_ctx(suppress_warning=True)
    requests = None if context is None else context.script_requests
    return requests is not None and requests._state is not ScriptRequestType.CONTINUE


def _stopped() -> frozenset[Hashable]:
    keys: frozenset[Hashable] = st.session_state.get(Keys.STOPPED, frozenset())
    return keys


def stop(keys: Sequence[Hashable]) -> None:
    st.session_state[Keys.STOPPED] = _stopped() | set(keys)


def _again(key: Hashable) -> None:
    st.session_state[Keys.STOPPED] = _stopped() - {key}
    engine, _ = engines.current()
    if engine is not None:
        engine.measure_again(key)
