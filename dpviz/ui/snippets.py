"""A paste of training code, which fills the form of a claim."""

from __future__ import annotations

from html import escape

import streamlit as st

from dpviz.questions.papers.check import CHECK
from dpviz.questions.papers.snippet import LONGEST, read
from dpviz.ui import state
from dpviz.ui.state import Keys

HINT = "privacy_engine.make_private(noise_multiplier=1.1, …)"


def paste() -> None:
    """The text, and what was understood of it."""
    st.text_area(
        "Paste code",
        key=Keys.SNIPPET,
        height=160,
        max_chars=LONGEST,
        placeholder=HINT,
        help="Opacus, TensorFlow Privacy or jax_privacy. It is read for names and numbers, on this machine, and never "
        "run; it is neither stored nor part of a link.",
    )
    st.button("Fill the form", on_click=_fill, icon=":material/input:", width="stretch")
    said, problem = st.session_state.get(Keys.SNIPPET_SAID, ((), ""))
    if problem:
        st.html(f'<div class="dpviz-problem" role="alert">{escape(problem)}</div>')
    if said:
        rows = "".join(f"<br>{escape(each)}" for each in said)
        st.html(f'<div class="dpviz-note">Understood:{rows}<br>The rest of the form stays as it was.</div>')


def _fill() -> None:
    try:
        found = read(st.session_state.get(Keys.SNIPPET) or "")
    except ValueError as problem:
        st.session_state[Keys.SNIPPET_SAID] = ((), str(problem))
        return
    for one in CHECK.fields:
        if one.key in found.values:
            state.put(one, one.parse(found.values[one.key]))
    st.session_state[Keys.SNIPPET_SAID] = (tuple(found.said), "")
