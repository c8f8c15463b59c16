"""What can be taken away from a page: its link, its curves, and the page itself as a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpviz.charts.plot import Plot
from dpviz.questions.answer import Answer, whole
from dpviz.questions.handout import Handout
from dpviz.questions.layout import of_values
from dpviz.questions.question import Question
from dpviz.ui import page, state
from dpviz.ui.answers import compute, with_samples
from dpviz.ui.registry import FIELDS

Drawn = Callable[[Answer[Any]], Plot]


def files(question: Question[Any], answer: Answer[Any], plot_of: Drawn) -> None:
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


def _handout(question: Question[Any], address: str, plot_of: Drawn) -> Callable[[], str]:
    """Makes the page that is handed out, in a thread without a session: all it needs of that is read now."""
    get, quick = of_values({one.key: state.get(one) for one in FIELDS}), compute(question, state.get)

    def made() -> str:
        found = whole(quick, question.slow)
        return Handout(
            question, found, get, lambda other: with_samples(question, other, quick.given), address, plot_of
        ).html()

    return made


def csv(question: Question[Any], answer: Answer[Any]) -> bytes:
    """The CSV file: its first line, a comment, holds the settings as the link writes them."""
    head = f"# dpviz {question.key}: {page.link() or 'default settings'}\n"
    return (head + answer.plot.data().to_csv(index=False)).encode()
