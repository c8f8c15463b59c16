"""The Train page: the form, or the run that the link names."""

from __future__ import annotations

from html import escape

import streamlit as st

from dpviz.questions.printed.rows import BY_KEY
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import StoreError
from dpviz.ui import engine as engines
from dpviz.ui import page, state
from dpviz.ui.boundary import Boundary
from dpviz.ui.plain import plain
from dpviz.ui.train import form, watch
from dpviz.ui.train.fields import FIELDS
from dpviz.ui.train.watch_settings import FIELDS as WATCH_FIELDS
from dpviz.ui.train.watch_settings import OWN, RUN
from dpviz.ui.train.words import STATE_WORDS

RECENT = 6
ROW = "t.row"


def show() -> None:
    """Draw the page."""
    with Boundary("train", OWN).held("page"):
        _page()


def _page() -> None:
    page.begin("train", (*FIELDS, *WATCH_FIELDS))
    page.heading("Train: what does a private run learn, and cost?")
    engine, problem = engines.found()
    if engine is None:
        page.headline("Runs cannot be kept on this machine now.")
        page.note(problem, "problem")
        return
    problem = engines.warmed(engine)
    if problem and problem != engine.problem:  # what the engine knows is said beside the form, and with the run
        page.note(problem, "problem")
    if engine.notice:
        page.note(engine.notice, "problem")
    _sidebar(engine)
    run = state.get(RUN)
    try:
        if run:
            watch.show(engine, run)
        else:
            form.show(engine)
            if not engine.ready and not problem:
                _warming(engine)
    except StoreError as trouble:
        page.note(str(trouble), "problem")


@st.fragment(run_every=1.0)
def _warming(engine: Engine) -> None:
    """Says that the workers come up; gone once they are there."""
    with Boundary("train", OWN).held("workers"):
        if engine.ready:
            st.rerun()
        said = engine.starting or "The workers are starting."
        st.html(f'<div class="dpviz-quiet">{escape(said)} A run that is started now waits for them.</div>')


def _sidebar(engine: Engine) -> None:
    with st.sidebar, Boundary("train", OWN).held("sidebar"):
        st.button("Reset the form", on_click=_reset, width="stretch", icon=":material/restart_alt:")
        _rows()
        try:
            recent = engine.runs()[:RECENT]
        except StoreError:
            return
        if recent:
            st.caption("Latest runs")
        place = st.container(gap=None)
        for record in recent:
            place.button(
                f"{plain(record.title)} · {STATE_WORDS[record.state].lower()}",
                key=f"recent.{record.id}",
                on_click=_open,
                args=(record.id,),
                type="tertiary",
            )


def _rows() -> None:
    """What papers trained: a choice fills the form."""
    st.selectbox(
        "Preset",
        ["", *BY_KEY],
        format_func=lambda key: BY_KEY[key].name if key else "– a paper's row –",
        key=ROW,
        on_change=_take_row,
        help="Fills the form with a paper's training, as far as it says how. The number is the accuracy printed.",
    )
    if key := st.session_state.get(ROW):
        st.html(f'<div class="dpviz-quiet">{escape(BY_KEY[key].note)}</div>')


def _take_row() -> None:
    key = st.session_state[ROW]
    if not key:
        return
    state.assign(FIELDS, BY_KEY[key].values)
    st.session_state.pop(form.USUAL_FOR, None)
    state.put(RUN, "")


def _reset() -> None:
    st.session_state[ROW] = ""
    state.assign(FIELDS, {})
    st.session_state.pop(form.USUAL_FOR, None)


def _open(run: str) -> None:
    state.put(RUN, run)
