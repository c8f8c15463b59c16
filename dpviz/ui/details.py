"""What stands below the notes of any question: its blocks, and the details, of which only the open one is computed.

The last of them is what can be taken away: the link, the curves, and the page itself as a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.charts.plot import Plot
from dpviz.questions.answer import Answer, Folded, Note, Rerun, whole
from dpviz.questions.handout import Handout
from dpviz.questions.layout import Own, of_values
from dpviz.questions.listing import Listing
from dpviz.questions.question import Block, Question
from dpviz.questions.script import script
from dpviz.questions.shown import listed
from dpviz.ui import modes, page, pieces, rerun, state
from dpviz.ui.answers import compute, with_samples
from dpviz.ui.own_controls import OWN_CONTROLS
from dpviz.ui.pieces import Drawing
from dpviz.ui.registry import FIELDS
from dpviz.ui.state import Keys

SECOND_HEIGHT = 260  # pixels of a chart below the notes or in the details

PlotOf = Callable[[Answer[Any]], Plot]


def details(place: str, question: Question[Any], answer: Answer[Any], plot_of: PlotOf) -> None:
    """The choice of a detail, and the open one; `place` is the page's key, `plot_of` what its files draw."""
    drawn: list[Callable[[], object]] = [
        lambda: _table(answer.plot.table()),
        lambda: _formulas(question.formulas(answer)),
        lambda: st.markdown(question.assumed(answer)),
        *(partial(_more, question, answer, name) for name in question.more),
        lambda: st.code(script(question, answer), language="python"),
        lambda: _files(question, answer, plot_of),
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
    part: str | None = st.session_state.get(_details_key(place, question), kept)
    return None if modes.bare() else part


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
            rerun.show(block.experiment)
        elif isinstance(block, Own):
            OWN_CONTROLS[block.name]()
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


def _files(question: Question[Any], answer: Answer[Any], plot_of: PlotOf) -> None:
    """The link, the curves, and the page that is handed out; `plot_of` draws an answer as the page does."""
    query = page.link()
    st.caption("This link reproduces the page, pins included. An uploaded file is not part of it.")
    base = (st.context.url or "").split("?")[0]
    address = f"{base}{'?' + query if query else ''}"
    st.code(address, language=None, wrap_lines=True)
    st.download_button(
        "Download the curves (CSV)",
        data=lambda: csv(question, answer),
        file_name=f"dpviz-{question.key}.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    st.download_button(
        "Download as a page (HTML)",
        data=_handout(question, address, plot_of),
        file_name=f"dpviz-{question.key}.html",
        mime="text/html",
        on_click="ignore",
        icon=":material/draft:",
        help="One file of at most 5 MB, for the web or an appendix: its chart follows every slider, one at a time, "
        "without a server. What its sliders show is computed first: seconds, for some questions minutes.",
    )
    st.caption(
        "The camera above the chart saves it as an image: choose PNG or SVG in the group Show, an expert setting."
    )


def _handout(question: Question[Any], address: str, plot_of: PlotOf) -> Callable[[], str]:
    """Makes the page that is handed out, in a thread without a session: all it needs of that is read now."""
    get, quick = of_values({one.key: state.get(one) for one in FIELDS}), compute(question, state.get)

    def made() -> str:
        finished = whole(quick, question.slow)
        return Handout(
            question, finished, get, lambda other: with_samples(question, other, quick.given), address, plot_of
        ).html()

    return made


def csv(question: Question[Any], answer: Answer[Any]) -> bytes:
    """The CSV file: its first line, a comment, holds the settings as the link writes them."""
    head = f"# dpviz {question.key}: {page.link() or 'default settings'}\n"
    return (head + answer.plot.data().to_csv(index=False)).encode()
