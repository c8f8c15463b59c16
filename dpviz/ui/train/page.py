"""The Train page: its question with a button that starts the run, or the run that the link names."""

from functools import partial
from html import escape

import streamlit as st

from dpviz.questions.train import PAGE
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import StoreError
from dpviz.ui import engine as engines
from dpviz.ui import page, present, render, state, strip
from dpviz.ui.boundary import Boundary
from dpviz.ui.plain import plain
from dpviz.ui.runs.fields import RUN, STATE_WORDS, TRAIN, WATCHED
from dpviz.ui.train import watch
from dpviz.ui.train.plan import acts

RECENT = 6
TITLE = f"{PAGE.title} · {PAGE.asks}"  # where no plan is asked


def show() -> None:
    """Draw the page."""
    part = Boundary("train", TRAIN).part
    with part("page"):
        page.begin("train", WATCHED)
        engine, problem = engines.current()
        if engine is None:
            page.heading(TITLE)
            page.headline("Runs cannot be kept on this machine now.")
            page.note(problem, "problem")
            return
        problem = engines.warmed(engine)
        # What the engine knows is said beside the plan, and with the run.
        warnings = partial(_warn, problem if problem != engine.problem else "", engine.notice)
        try:
            if run := state.get(RUN):
                page.heading(TITLE)
                strip.show()
                warnings()
                watch.show(engine, run)
                present.bar(None, state.get)
            else:
                render.opened(PAGE, partial(acts, engine), warnings)
                if not engine.ready and not problem:
                    _warming(engine)
        except StoreError as trouble:
            page.note(str(trouble), "problem")
        if present.bare():
            return
        with st.sidebar, part("sidebar"):
            if state.get(RUN):
                page.way_to_present()
            _recent(engine)


def _warn(*problems: str) -> None:
    for problem in filter(None, problems):
        page.note(problem, "problem")


@st.fragment(run_every=1.0)
def _warming(engine: Engine) -> None:
    """Says that the workers come up; gone once they are there."""
    with Boundary("train", TRAIN).part("workers"):
        if engine.ready:
            st.rerun()
        coming = engine.starting or "The workers are starting."
        st.html(f'<div class="dpviz-quiet">{escape(coming)} A new run waits for them.</div>')


def _recent(engine: Engine) -> None:
    """The latest runs."""
    try:
        recent = engine.runs(most=RECENT)
    except StoreError:
        return
    if recent:
        st.caption("Latest runs")
    place = st.container(gap=None)
    for record in recent:
        place.button(
            f"{plain(record.title)} · {STATE_WORDS[record.state].lower()}",
            key=f"recent.{record.id}",
            on_click=state.put,
            args=(RUN, record.id),
            type="tertiary",
        )
