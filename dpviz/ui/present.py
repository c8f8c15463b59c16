"""Presenting a page: headline, chart and two controls in large type, and the pins of the link as stops of a story."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from dpviz.fields.field import Field, Number
from dpviz.questions.question import Question
from dpviz.questions.shown import acting
from dpviz.ui import modes, page, state
from dpviz.ui.state import Keys

HEIGHT = 224  # pixels of a chart that is presented, before it is enlarged to a share of the screen
SHOWN = 2  # controls below it
LEAVE = "End presenting (Escape)."

# The keys of a presenter's hand, where they mean nothing to what has the focus.
KEYS_SCRIPT = """
window.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const means = {ArrowLeft: "back", PageUp: "back", ArrowRight: "on", PageDown: "on", Escape: "leave"}[event.key];
  if (!means || (document.activeElement?.matches("input, select, textarea") && event.key !== "Escape")) return;
  document.querySelector(`.st-key-present-${means} button:not(:disabled)`)?.click();
};
"""


def controls(question: Question[Any]) -> list[Number]:
    """The controls below the chart: those that the link names, else the first numbers that act."""
    fields = acting(question, state.get)
    numbers = {field.key: field for field in fields if isinstance(field, Number) and field.ticks}
    named = [numbers[key] for key in dict.fromkeys(st.session_state[Keys.PRESENT].split(".")) if key in numbers]
    return (named or list(numbers.values()))[:SHOWN]


def toggle() -> None:
    """In the sidebar."""
    st.button(
        "Present",
        on_click=_present,
        args=("1",),
        width="stretch",
        icon=":material/slideshow:",
        help="Headline, chart and two controls in large type. Pins are the stops of a story: the arrow keys go from "
        "one to the next; Escape ends it. `present=sigma.steps` in the link chooses the controls.",
    )


def _present(on: str) -> None:
    page.settle()
    st.session_state[Keys.PRESENT] = on
    st.session_state[Keys.STOP] = -1


def bar() -> None:
    """What stands at the edge of a presented page: the way through the story, and out of it."""
    if modes.presenting():
        st.html("<script>" + KEYS_SCRIPT + "</script>", unsafe_allow_javascript=True)
        with st.container(key="dpviz-bar", horizontal=True, vertical_alignment="center"):
            stops, here = page.pins(), st.session_state.get(Keys.STOP, -1)
            if stops:
                st.button("Back", key="present-back", on_click=_go, args=(here - 1,), disabled=here <= 0)
                st.html(f'<span class="dpviz-quiet">{max(here + 1, 0)} of {len(stops)}</span>')
                st.button("Next", key="present-on", on_click=_go, args=(here + 1,), disabled=here + 1 >= len(stops))
            st.button("", key="present-leave", on_click=_present, args=("",), icon=":material/close:", help=LEAVE)


def way_out(own: Sequence[Field[Any]]) -> None:
    """From an embedded page to the whole one in this state; `own` are the page's fields."""
    if modes.embedded():
        query = state.query(own, page.pins())
        address = f"{(st.context.url or '').split('?')[0]}?{query}"
        st.html(f'<a class="dpviz-open" href="{escape(address)}" target="_blank" rel="noopener">Open in dpviz</a>')


def _go(to: int) -> None:
    """To a stop of the story; named by its number, for a click may come twice."""
    stops = page.pins()
    if 0 <= to < len(stops):
        page.show_pin(stops[to])
        st.session_state[Keys.STOP] = to
