"""The Train page's own part of its question: the data and runs of this machine, and the button that starts a run."""

from functools import partial
from typing import cast

import streamlit as st

from dpviz.fields import numbers
from dpviz.fields.field import Choice
from dpviz.questions.train.facts import graphics_card, missing, not_usable, unsuited
from dpviz.questions.train.question import TRAIN, Planned
from dpviz.questions.train.settings import acting, usual
from dpviz.questions.train.start import offered
from dpviz.runs.cluster.connection import lacking
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import StoreError, new_id
from dpviz.training.data.own.place import data_of
from dpviz.training.defaults import examples_of
from dpviz.training.settings import FIELDS
from dpviz.ui import controls, history, page, state
from dpviz.ui import engine as engines
from dpviz.ui.answers import compute
from dpviz.ui.runs.fields import RUN

FOLDER = "t.folder"
REFUSED = "t.refused"
TICKET = "t.ticket"

DATA, MODEL, METHOD, START, TRAINED = (
    cast(Choice, FIELDS[name]) for name in ("data", "model", "method", "start_from", "trained")
)


# --- controls ---------------------------------------------------------------------------------------------------------


def learned() -> None:
    """Data, model and method; batch, steps, rate and C that train well follow them."""
    if state.get(DATA) not in DATA.options:
        st.session_state[REFUSED] = f"{data_of(state.get(DATA)).title}: its description is missing or invalid."
        state.put(DATA, DATA.default)
        st.rerun()
    data = controls.choice(DATA, horizontal=False, then=_take_suited_model)
    for unusable in not_usable():
        page.note(f"Not offered: {unusable}", "caution")
    if data_of(data).files:
        st.text_input(
            "Data folder", key=FOLDER, help="Your folder with the files. If empty, the usual folders are searched."
        )
    model = controls.choice(MODEL, horizontal=False, then=_take_usual)
    count = data_of(data).parameters.get(model)
    if count is not None:
        size = f"{numbers.steps(count)} parameters, {numbers.steps(examples_of(data))} training examples"
        st.html(f'<div class="dpviz-quiet">{size}</div>')
    controls.choice(METHOD, horizontal=False, then=_take_usual)


def _take_suited_model() -> None:
    data = state.get(DATA)
    if unsuited(data, state.get(MODEL)):
        state.put(MODEL, next(iter(data_of(data).parameters)))
    _take_usual()


def _take_usual() -> None:
    if not unsuited(state.get(DATA), state.get(MODEL)):
        for name, value in usual(state.get(DATA), state.get(MODEL), state.get(METHOD)).items():
            state.put(FIELDS[name], FIELDS[name].accept(value))


def start() -> None:
    """Random weights, or those of a run of this machine."""
    engine, _ = engines.current()
    chosen = state.get(START)
    if engine is None:
        return
    options = offered(engine, state.get(DATA), state.get(MODEL), chosen)
    controls.choice(Choice(START.key, START.label, "", START.help, options=options), horizontal=False)
    if chosen and "trained" in acting(lambda name: state.get(FIELDS[name])):
        controls.choice(TRAINED)


def compose() -> None:
    """The same numbers with more accountants."""
    facts: Planned = compute(TRAIN, state.get).facts
    settings = facts.settings
    icon, help = ":material/stacked_line_chart:", "The same numbers with more accountants."
    if st.button("Open this plan in Compose", icon=icon, help=help):
        history.apply(
            {
                "sigma": repr(settings.noise_multiplier),
                "q": repr(settings.sample_rate(facts.examples)),
                "n": str(facts.examples),
                "steps": str(settings.last_step),
                "delta": repr(settings.delta),
            }
        )
        st.switch_page(page.places()["compose"])


# --- start ------------------------------------------------------------------------------------------------------------


def acts(engine: Engine) -> None:
    """The button that starts the planned run, and what will go wrong with it on this machine."""
    ticket = _ticket()
    if not state.get(RUN) and engine.knows(ticket):  # started, but the next move came before it was written down here
        _watch(ticket)
    if state.get(RUN):  # Start was pressed: the page around the plan is another one now
        st.rerun()
    try:
        planned: Planned | None = compute(TRAIN, state.get).facts
    except ValueError:
        planned = None
    begin, look = partial(_start, engine, planned, ticket), {"type": "primary", "width": "stretch"}
    absent = lacking()
    enabled = planned is not None and not absent
    page.button("Start training", "play_arrow", begin, enabled=enabled, key="t.start", **look)
    # Once: what was refused a while ago may go well now.
    refused = st.session_state.pop(REFUSED, "") or absent or engine.problem
    if refused:
        page.note(str(refused), "problem")
    if state.get(FIELDS["device"]) == "cuda" and not graphics_card():
        page.note("No GPU was found on this machine: the run will fail unless the workers have one.", "caution")
    if data_missing := missing(state.get(DATA), _folder()):
        page.note(data_missing, "caution")


def _folder() -> str:
    return str(st.session_state.get(FOLDER, "")).strip()


def _ticket() -> str:
    """The id of the run that this page starts. The browser delivers a click twice when a fragment's timer is due with
    it, and people click twice: it is one run.
    """
    ticket: str = st.session_state.setdefault(TICKET, new_id())
    return ticket


def _start(engine: Engine, planned: Planned | None, ticket: str) -> None:
    """Queue the run; what the engine refuses is said below the button, and the plan is as it was."""
    if planned is None:
        return
    settings = planned.settings
    if _folder() and data_of(settings.data).files:
        settings = settings.with_(data_folder=_folder())
    try:
        engine.submit(settings, options=planned.options, run=ticket)
    except (ValueError, StoreError, RuntimeError) as problem:
        st.session_state[REFUSED] = str(problem)
        return
    _watch(ticket)


def _watch(run: str) -> None:
    state.put(RUN, run)
    for key in (TICKET, REFUSED):
        st.session_state.pop(key, None)
