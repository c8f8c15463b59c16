"""Pieces that pages are made of: a chart with its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from dpviz.charts.look import export_config
from dpviz.questions.answer import Note
from dpviz.questions.shared import IMAGE
from dpviz.ui import controls, modes, page, state
from dpviz.ui.hand.chart import Followed, chart
from dpviz.ui.state import Keys


class Drawing(NamedTuple):
    """A chart with the sentence that stands for it to those who do not see it, and notes of its own."""

    figure: Mapping[str, Any]
    alt: str
    notes: Sequence[Note] = ()


def plot(
    drawing: Drawing,
    *,
    key: str,
    frames: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    caption: str = "",
    followed: Followed | None = None,
) -> None:
    """One chart, which stays the same chart under its key; the rest is as in `hand.chart`."""
    if followed is not None:
        st.session_state[Keys.CHART] = f"{key}.chart"
    config = export_config(filename=f"dpviz-{key}", image_format=state.get(IMAGE))
    chart(
        drawing.figure,
        key=f"{key}.chart",
        config=config,
        alt=drawing.alt,
        frames=frames,
        words=words,
        caption=caption,
        enlarged=modes.presenting(),
        seen=controls.last_entry(),
        followed=followed,
    )
    for note in drawing.notes:
        page.note(*note)
