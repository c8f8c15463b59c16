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
        st.html(f'<div class="dpviz-note">The code says:{rows}</div>')


def _fill() -> None:
    try:
        code = read(st.session_state.get(Keys.SNIPPET) or "")
    except ValueError as problem:
        st.session_state[Keys.SNIPPET_SAID] = ((), str(problem))
        return
    before = st.session_state.get(Keys.SNIPPET_FILLED, {})
    now = {field.key: field.write(state.get(field)) for field in CHECK.fields}
    usual = {field.key: field.write(field.default) for field in CHECK.fields}
    texts = code.texts({key for key, text in now.items() if text not in (usual[key], before.get(key))})
    for field in CHECK.fields:
        if field.key in texts:
            state.put(field, field.parse(texts[field.key]))
    st.session_state[Keys.SNIPPET_FILLED] = texts
    st.session_state[Keys.SNIPPET_SAID] = (tuple(code.sentences), "")
