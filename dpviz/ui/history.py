"""Undo and redo: the settled states of what-if pages, each the query string of its link, and what the browser asks.

What is kept is replaced, never changed: a run that is stopped in the middle loses all it stored or nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import streamlit as st

from dpviz.ui.state import Keys, number_of

MOST = 100


class Past(NamedTuple):
    """States in their order, the one that the session is at, and the page on which each was reached."""

    states: tuple[str, ...] = ()
    place: int = -1
    pages: tuple[str, ...] = ()


def _past() -> Past:
    past: Past = st.session_state.get(Keys.HISTORY, Past())
    return past


def record(query: str) -> None:
    """The session is in this state: another one comes after the last, and cuts off what was undone."""
    states, place, pages = _past()
    if place < 0 or states[place] != query:
        page = st.session_state.get(Keys.PAGE, "")
        kept = (*states[: place + 1], query)[-MOST:]
        st.session_state[Keys.HISTORY] = Past(kept, len(kept) - 1, (*pages[: place + 1], page)[-MOST:])


def step(by: int) -> str | None:
    """Go one state back, or on; the state there, None where there is none. The page on which the one was made from the
    other is where its effect is seen."""
    states, place, pages = _past()
    if not 0 <= place + by < len(states):
        return None
    st.session_state[Keys.HISTORY] = Past(states, place + by, pages)
    if (page := pages[max(place, place + by)]) != st.session_state.get(Keys.PAGE, ""):
        st.session_state[Keys.GO] = page
    return states[place + by]


def room() -> tuple[int, int]:
    """How many states there are before this one and after it."""
    states, place, _ = _past()
    return max(place, 0), len(states) - 1 - place


# --- what the browser asks --------------------------------------------------------------------------------------------


def asked() -> list[tuple[float, int]]:
    """Steps that were asked for and not yet taken, in their order: when, and how far. A stranger may send anything."""
    try:
        steps = [(number_of(n), number_of(by)) for n, by in st.session_state[Keys.STEPS]["entry"]["steps"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
    after = seen()
    return sorted((n, int(by)) for n, by in steps[-MOST:] if n > after and by in (-1, 1))


def first() -> float:
    """When the first of them was asked for; what was entered later waits for it."""
    return min((n for n, _ in asked()), default=math.inf)


def taken(n: float) -> None:
    st.session_state[Keys.STEPS_SEEN] = n


def seen() -> float:
    """The last step that was taken."""
    last: float = st.session_state.get(Keys.STEPS_SEEN, 0.0)
    return last
