"""Samples in the app: measured in the process beside it, or uploaded and kept for the session."""

from html import escape
from typing import Any

import streamlit as st

from dpviz._remember import Memory
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.upload import columns, read_distances
from dpviz.questions.gradients import NO_FILE, File
from dpviz.questions.layout import Values
from dpviz.questions.source import Held, Measurable, Missing, NoSample, Source
from dpviz.runs.measuring.measurement import Request
from dpviz.ui import measuring
from dpviz.ui.plain import plain
from dpviz.ui.state import Keys

STILL_TO_MEASURE = "This has to be measured. Release the slider to start."
_UPLOAD_MEMORY = 64 * 2**20  # bytes of results that are kept with an upload


def with_held(values: Values, held: Values) -> Values:
    """A question's values without a session: samples that only the app can give are those that are `held`, or were
    measured before.

    Raises:
        NoSample: another one is asked for.
    """
    return {key: _with_held(value, held[key]) for key, value in values.items()}


def _with_held(value: Any, held: Any) -> Any:
    if not isinstance(value, Measurable | File):
        return value
    # A file is chosen beside the fields: whichever is held is the one.
    if isinstance(held, Held | Missing) and (isinstance(value, File) or held.of.key == value.key):
        return held
    if isinstance(value, Measurable) and (sample := measuring.measured(value.measured)) is not None:
        return Held(value, sample)
    raise NoSample(STILL_TO_MEASURE, coming=True)


def resolved(source: Source[Any]) -> Source[Any]:
    """The same, where it is a sample that only the app can give: there, or missing for a reason."""
    if isinstance(source, Measurable):
        try:
            return Held(source, measuring.result(Request(source.measured, source.target, source.arguments)))
        except NoSample as why:
            return Missing(source, str(why), why.coming)
    if isinstance(source, File):
        _take_upload()
        held: Held[GradientSample] | None = st.session_state.get(Keys.UPLOAD)
        return held or Missing(source, st.session_state.get(Keys.UPLOAD_ERROR) or NO_FILE)
    return source


def upload() -> None:
    """The chooser for a file of one's own, and what was wrong with the last one."""
    st.file_uploader("Norms or distances", type=["csv", "tsv", "txt", "json", "npy"], key=Keys.UPLOAD_WIDGET)
    held: Held[GradientSample] | None = st.session_state.get(Keys.UPLOAD)
    _, names = st.session_state.get(Keys.UPLOAD_NAMES, ("", []))
    if len(names) > 1:
        st.selectbox("Column", names, key=Keys.UPLOAD_COLUMN)
    problem = st.session_state.get(Keys.UPLOAD_ERROR)
    if problem:
        kept = " The file read before stays in use." if held is not None else ""
        st.html(f'<div class="dpviz-problem" role="alert">{escape(problem)}{kept}</div>')
    elif held is not None:
        st.html(f'<div class="dpviz-ends"><span>In use: {held.sample().size} numbers.</span></div>')


def _take_upload() -> None:
    """Read the chosen file, once: kept for the session, or refused with the reason where it cannot be used."""
    file = st.session_state.get(Keys.UPLOAD_WIDGET)
    if file is None:
        return
    held: Held[GradientSample] | None = st.session_state.get(Keys.UPLOAD)
    try:
        # A large file takes seconds to look through: once, not at every slider move.
        seen: tuple[str, list[str]] | None = st.session_state.get(Keys.UPLOAD_NAMES)
        names = seen[1] if seen and seen[0] == file.file_id else columns(file.getvalue(), file.name)
        st.session_state[Keys.UPLOAD_NAMES] = (file.file_id, names)
        chosen = st.session_state.get(Keys.UPLOAD_COLUMN)
        column = chosen if chosen in names else names[0]
        of = File(file.name, column)
        if held is None or (held.of, held.mark) != (of, file.file_id):
            with st.spinner(f"Reading {plain(file.name)} …"):
                read_now = read_distances(file.getvalue(), file.name, column)
                st.session_state[Keys.UPLOAD] = Held(of, read_now, file.file_id, Memory(_UPLOAD_MEMORY))
        st.session_state.pop(Keys.UPLOAD_ERROR, None)
    except ValueError as problem:
        st.session_state[Keys.UPLOAD_ERROR] = str(problem)
