"""My run under the title of a page: one line that says the settings that all pages share, opens their fields, and leads
to the questions that one asks of a run.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

import streamlit as st

from dpviz.fields import AnyField
from dpviz.questions import my_run
from dpviz.questions.check.carried import carried
from dpviz.questions.check.question import CHECK
from dpviz.questions.layout import FieldControl, Reader, SettingsSnapshot
from dpviz.questions.page import Page
from dpviz.questions.question import AnyQuestion
from dpviz.ui import controls, history, page, panel, present, state
from dpviz.ui.browser.routes import component
from dpviz.ui.registry import FIELDS, PRESET
from dpviz.ui.state import Keys

# Its state is {"open": whether its fields are shown}, and the trigger "go" names the question that was asked for.
_strip = component("strip")


def show(shown: Page | None = None) -> None:
    """Draw it, as the page needs it; a page without questions uses none of the run. A bare page has none."""
    if present.bare():
        return
    within = _within.set(True)
    try:
        _drawn(shown)
    finally:
        _within.reset(within)


# Whether more than the strip runs.
_within: ContextVar[bool] = ContextVar("within", default=False)


@st.fragment
def _drawn(shown: Page | None) -> None:
    if not _within.get():
        if controls.undo_steps():
            st.rerun()
        history.take_entries()
        page.leave()
        if history.changed():  # by one of its fields: the whole page follows
            history.record(history.link())
            st.rerun()
    question = shown.question(state.snapshot()) if shown else None
    now = SettingsSnapshot(my_run.as_asked(question, state.get))
    with st.container(key="dpviz-run"):
        data = {
            **in_words(question, now),
            "seen": controls.last_entry(),
            "open": is_open(),
            "next": [
                {"key": key, "name": one.name, "asks": one.asks, "here": not one.opens and _is_here(one, question)}
                for key, one in my_run.NEXT.items()
            ],
        }
        _strip(key=Keys.STRIP, data=data, on_open_change=history.take_entries, on_go_change=partial(_go, question))
        if is_open():
            with st.container(key="dpviz-run-fields"):
                panel.draw_in_strip(fields(question, now), now)
    if words := my_run.caution(question, now):
        page.note(words, "caution")
    if poisson := my_run.as_poisson(question, now):
        help = "The same batch and as many epochs, but each example joins each batch independently. Undo goes back."
        page.button(f"Read {poisson.words}", "sync_alt", partial(_set, poisson.sets), key="strip.poisson", help=help)


def _is_here(way: my_run.NextQuestion, question: AnyQuestion | None) -> bool:
    return question is not None and question.key == way.key


def in_words(question: AnyQuestion | None, get: Reader) -> Mapping[str, Any]:
    """What the browser draws of the run, and what its last change did where that was another mechanism."""
    phrases = [phrase._asdict() for phrase in my_run.phrases(my_run.as_asked(question, get))]
    return {"run": {"phrases": phrases, "unused": my_run.unused(question, get), "change": _change(get)}}


def _change(now: Reader) -> str:
    """A preset replaces the run: it keeps nothing."""
    before = history.before()
    if before is None or (now(PRESET) and now(PRESET) != before(PRESET)):
        return ""
    words = my_run.change(before, now)
    return words and f"{words} Undo brings back what was."


def is_open() -> bool:
    """Whether its fields are shown. A stranger may send anything."""
    try:
        return st.session_state[Keys.STRIP]["open"] is True and not present.bare()
    except (KeyError, TypeError):
        return False


def fields(question: AnyQuestion | None, now: SettingsSnapshot) -> Sequence[FieldControl]:
    """The controls that are shown in it."""
    return my_run.controls(question, now) if is_open() else []


def _set(values: Sequence[tuple[AnyField, float | str]]) -> None:
    history.take_entries()
    for field, value in values:
        state.put(field, value)


def _go(question: AnyQuestion | None) -> None:
    """To the page that answers what was asked for, with this run; from a checked claim, with its ε and its batches."""
    history.take_entries()
    try:
        way = my_run.NEXT[st.session_state[Keys.STRIP]["go"]]
    except (KeyError, TypeError):
        return
    texts = {**way.texts, **(carried(state.get) if question is CHECK else {})}
    for field in FIELDS:
        if field.key in texts:
            state.put(field, field.parse(texts[field.key]))
    st.session_state[Keys.details(way.page)] = way.opens or None
    st.session_state[Keys.GO] = way.page
