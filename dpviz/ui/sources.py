"""Samples in the app: measured by workers, or uploaded and kept for the session."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import streamlit as st

from dpviz._public import NO_TRAINING
from dpviz._remember import Memory
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.upload import columns, read_distances
from dpviz.questions.gradients import NO_FILE, File
from dpviz.questions.layout import Values
from dpviz.questions.source import Held, Measurable, Missing, NoSample, Source
from dpviz.runs.measuring.measurement import Request
from dpviz.ui import measuring, offered
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
    if isinstance(value, Measurable):
        sample = value.recorded if value.recorded is not None else measuring.measured(value.measured)
        if sample is not None:
            return Held(value, sample)
    raise NoSample(STILL_TO_MEASURE, coming=True)


def resolved(source: Source[Any]) -> Source[Any]:
    """The same, where it is a sample that only the app can give: there, or missing for a reason."""
    if isinstance(source, Measurable):
        if (recorded := source.recorded) is not None:
            return Held(source, recorded)
        try:
            return Held(source, measuring.result(Request(source.measured, source.target, source.arguments)))
        except NoSample as why:
            return Missing(source, str(why), why.coming)
    if isinstance(source, File):
        upload = _taken_upload()
        return upload.held or Missing(source, upload.problem or NO_FILE)
    return source


@dataclass(frozen=True)
class Upload:
    """The file that was chosen last.

    Attributes:
        file: Streamlit's name for it.
        columns: the names of its columns of numbers.
        held: the numbers that are in use, which may be an earlier file's.
        problem: why its own cannot be used; empty where they are.
    """

    file: str = ""
    columns: Sequence[str] = ()
    held: Held[GradientSample] | None = None
    problem: str = ""


def _upload() -> Upload:
    upload: Upload = st.session_state.get(Keys.UPLOAD, Upload())
    return upload


def upload() -> None:
    """The chooser for a file of one's own, and what was wrong with the last one."""
    if offered.PUBLIC:
        st.html(f'<div class="dpviz-note">{NO_TRAINING}</div>')
        return
    st.file_uploader("Norms or distances", type=["csv", "tsv", "txt", "json", "npy"], key=Keys.UPLOAD_WIDGET)
    upload = _upload()
    if len(upload.columns) > 1:
        st.selectbox("Column", upload.columns, key=Keys.UPLOAD_COLUMN)
    if upload.problem:
        kept = " The file read before stays in use." if upload.held is not None else ""
        st.html(f'<div class="dpviz-problem" role="alert">{escape(upload.problem)}{kept}</div>')
    elif upload.held is not None:
        st.html(f'<div class="dpviz-ends"><span>In use: {upload.held.sample().size} numbers.</span></div>')


def _taken_upload() -> Upload:
    """The chosen file, read once: kept for the session, or refused with the reason where it cannot be used."""
    file, upload = st.session_state.get(Keys.UPLOAD_WIDGET), _upload()
    if file is None:
        return upload
    try:
        if upload.file != file.file_id:  # a large file takes seconds to look through: not at every slider move
            upload = replace(upload, columns=columns(file.getvalue(), file.name), file=file.file_id)
        chosen = st.session_state.get(Keys.UPLOAD_COLUMN)
        of = File(file.name, chosen if chosen in upload.columns else upload.columns[0])
        if upload.held is None or (upload.held.of, upload.held.mark) != (of, file.file_id):
            with st.spinner(f"Reading {plain(file.name)} …"):
                read_now = read_distances(file.getvalue(), file.name, of.column)
            upload = replace(upload, held=Held(of, read_now, file.file_id, Memory(_UPLOAD_MEMORY)))
        upload = replace(upload, problem="")
    except ValueError as problem:
        upload = replace(upload, problem=str(problem))
    st.session_state[Keys.UPLOAD] = upload
    return upload
