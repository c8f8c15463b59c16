"""What stands below the notes of any question: its blocks, and the details, of which only the open one is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.charts.plot import Plot
from dpviz.questions.answer import Answer, Folded, Note, Rerun
from dpviz.questions.layout import Own
from dpviz.questions.listing import Listing
from dpviz.questions.question import Block, Question
from dpviz.questions.script import script
from dpviz.questions.shown import listed
from dpviz.ui import again, files, modes, page, pieces
from dpviz.ui.pieces import Drawing
from dpviz.ui.special import SPECIAL
from dpviz.ui.state import Keys

SECOND_HEIGHT = 260  # pixels of a chart below the notes or in the details

PlotOf = Callable[[Answer[Any]], Plot]


def details(place: str, question: Question[Any], answer: Answer[Any], plot_of: PlotOf) -> None:
    """The choice of a detail, and the open one; `place` is the page's key, `plot_of` what its files draw."""
    drawn: list[Callable[[], None]] = [
        lambda: _table(answer.plot.table()),
        lambda: _formulas(question.formulas(answer)),
        lambda: _markdown(question.assumed(answer)),
        *(partial(_more, question, answer, name) for name in question.more),
        lambda: _code(script(question, answer)),
        lambda: files.files(question, answer, plot_of),
    ]
    parts = dict(zip(_names(question), drawn, strict=True))
    kept, key = Keys.details(place), _details_key(place, question)
    if key not in st.session_state and st.session_state.get(kept) in parts:
        st.session_state[key] = st.session_state[kept]
    part = st.segmented_control("Details", list(parts), key=key, label_visibility="collapsed")
    st.session_state[kept] = part
    if part is not None:
        parts[part]()


def _names(question: Question[Any]) -> list[str]:
    return ["Table", "Formula", "Assumptions", *question.more, "Python", "Link and files"]


def _details_key(place: str, question: Question[Any]) -> str:
    """Of the choice of details: other names, another widget."""
    return f"{Keys.details(place)}.{'.'.join(_names(question))}"


def opened(place: str, question: Question[Any]) -> str | None:
    """Which detail is open, as far as is known before they are drawn."""
    kept = st.session_state.get(Keys.details(place))
    found: str | None = st.session_state.get(_details_key(place, question), kept)
    return None if modes.bare() else found


def _more(question: Question[Any], answer: Answer[Any], name: str) -> None:
    blocks(question.more[name](answer), f"{question.key}.{name}")


def blocks(blocks: Sequence[Block], key: str) -> None:
    """Texts, what opens, plots, tables, listings and controls below each other."""
    for index, block in enumerate(blocks):
        if isinstance(block, Note):
            page.note(*block)
        elif isinstance(block, Folded):
            _folded(block)
        elif isinstance(block, pd.DataFrame):
            _table(block)
        elif isinstance(block, Rerun):
            again.show(block.experiment)
        elif isinstance(block, Own):
            SPECIAL[block.name]()
        elif isinstance(block, Listing):
            st.html(listed(block))
        else:
            drawn = block.chart(SECOND_HEIGHT)
            pieces.plot(Drawing(drawn.figure, block.alt, [*map(Note, drawn.notes)]), key=f"{key}.{index}")


def _folded(block: Folded) -> None:
    with st.expander(block.name, expanded=block.open):
        if block.text:
            st.markdown(block.text)
        if block.source:
            st.code(block.source, language=None if block.language == "text" else block.language, wrap_lines=True)


def _table(table: pd.DataFrame) -> None:
    st.dataframe(table, width="stretch", hide_index=True)


def _formulas(formulas: Sequence[tuple[str, str]]) -> None:
    for name, latex in formulas:
        st.caption(name)
        st.latex(latex)


def _markdown(text: str) -> None:
    st.markdown(text)


def _code(source: str) -> None:
    st.code(source, language="python")
