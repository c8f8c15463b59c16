"""Shows any question: headline, chart, metrics, notes, details, and the controls beside them.

One fragment holds all that follows the controls, so that a slider reruns nothing else; only the details that are open
are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.charts.plot import HEIGHT, LinePlot, Plot
from dpviz.questions.answer import Answer, Folded, Note
from dpviz.questions.fields import Choice, Field, Flag, Number, Several
from dpviz.questions.layout import Expert, InUnits, Item, Noted, Offered, Own, Row, Suggested
from dpviz.questions.listing import Listing
from dpviz.questions.page import Page
from dpviz.questions.question import Block, Question
from dpviz.questions.script import script
from dpviz.questions.shown import frame, listed, said, settings
from dpviz.ui import boundary, controls, depth, files, measuring, modes, page, pieces, present, slow, state
from dpviz.ui.answers import compute
from dpviz.ui.boundary import Boundary
from dpviz.ui.hand import frames
from dpviz.ui.mechanism import in_units
from dpviz.ui.pieces import Drawing
from dpviz.ui.registry import OWN
from dpviz.ui.slow import Parts
from dpviz.ui.special import SPECIAL
from dpviz.ui.state import Keys

SECOND_HEIGHT = 260  # pixels of a chart below the notes or in the details


def show(shown: Page) -> None:
    """Draw the page: the sidebar, then everything that follows the controls in one fragment."""
    held = Boundary(shown.key, OWN[shown.key]).held
    with held("page"):
        page.begin()
        page.heading(shown.asks)
    if not modes.bare():
        with st.sidebar, held("sidebar"):
            page.sidebar(shown.key)
            present.toggle()
    _body(shown)
    present.bar()


@st.fragment
def _body(shown: Page) -> None:
    bound = Boundary(shown.key, OWN[shown.key])
    top = st.container()
    left, right = page.sides()
    with top, bound.held("notes"):
        page.notes()
    # The chart first: what the visitor waits for is on its way while the controls are still being made.
    with bound.held("settings"):
        page.settle()
    measuring.begin()
    question = shown.question(state.get)
    found = Parts(None)
    with left, bound.held("result"):
        found = _result(shown, question, top)
    with right, bound.held("controls"):
        _controls(shown, question)
    if found.answer is not None:
        with left, bound.held("details"):
            _below(shown, question, found.answer)
    bound.worked()
    page.follow_link()
    present.way_out(OWN[shown.key])
    if missing := measuring.missing():
        with top:
            over = measuring.wait(missing)
        if not over:
            return
        slow.draw_again()
    if found.waiting is not None:
        found.waiting()


def _below(shown: Page, question: Question[Any], answer: Answer[Any]) -> None:
    """What stands below the metrics; of a bare page only what must be said."""
    for note in question.notes(answer):
        if not modes.presenting() or note.kind != "note":
            page.note(*note)
    page.settings(settings(question, state.get))
    if modes.bare():
        return
    _blocks(question.below(answer), f"{shown.key}.below")
    measuring.ways_on()
    _details(shown, question, answer)


def _result(shown: Page, question: Question[Any], top: Any) -> Parts:
    """Headline, chart and metrics."""
    try:
        with top:  # so that a long computation tells of itself where the headline will stand
            found = slow.joined(shown.key, question, compute(question, state.get))
    except ValueError as problem:
        with top:
            page.headline("These settings allow no result.")
        page.note(str(problem), "problem")
        return Parts(None)
    assert found.answer is not None
    plot_of = _drawn(shown, question)
    words = said(question, found.answer)
    with top:
        page.headline(words["headline"])
    tokens = _offered(shown, question, found.answer, plot_of)
    caption = settings(question, state.get)
    _plot(plot_of(found.answer), key=question.key, height=_height(), tokens=tokens, words=words, caption=caption)
    if not modes.presenting():
        st.html(words["strip"])
    if found.failed:
        page.note("A part of this result could not be computed: it stands here without that part.", "problem")
        st.button("Try again", key=f"{shown.key}.again", on_click=slow.forget, args=(found.failed,))
    return found


# --- controls ---------------------------------------------------------------------------------------------------------


def _controls(shown: Page, question: Question[Any]) -> None:
    if modes.presenting():
        for field in present.controls(question):
            draw(field)
        return
    groups, left_out = depth.groups(question)
    chosen = _one_of(Keys.group(shown.key), list(groups), "Controls")
    if shown.choice is not None and chosen == next(iter(groups)):
        draw(shown.choice)
    for item in groups[chosen]:
        draw(item)
    depth.switch(left_out)


def _one_of(kept: str, names: list[str], label: str) -> str:
    """Which group of controls is open. A widget's options never change: other names, another widget."""
    key = f"{kept}.{'.'.join(names)}"
    if key not in st.session_state:
        chosen = st.session_state.get(kept)
        st.session_state[key] = chosen if chosen in names else names[0]
    found = names[0]
    if len(names) > 1:
        found = st.segmented_control(label, names, required=True, key=key, label_visibility="collapsed") or names[0]
    st.session_state[kept] = found
    return found


def draw(item: Item) -> None:
    """One control, or several side by side."""
    if isinstance(item, Row):
        for column, field in zip(st.columns(item.shares or len(item.fields), gap="small"), item.fields, strict=True):
            with column:
                draw(field)
    elif isinstance(item, Noted):
        controls.number(item.field, note=item.note)
    elif isinstance(item, InUnits):
        in_units(item.fields)
    elif isinstance(item, Suggested):
        controls.suggested(item)
    elif isinstance(item, Offered):
        controls.several(item.field, item.options)
    elif isinstance(item, Own):
        SPECIAL[item.name]()
    elif isinstance(item, Expert):
        draw(item.item)
    else:
        _field(item)


def _field(field: Field[Any]) -> None:
    if isinstance(field, Number):
        controls.number(field) if field.ticks else controls.typed(field)
    elif isinstance(field, Choice):
        controls.choice(field, horizontal=not field.tall)
    elif isinstance(field, Several):
        controls.several(field)
    elif isinstance(field, Flag):
        controls.flag(field)
    else:
        raise TypeError(f"Expected a field that has a control, found {type(field).__name__} {field.key!r}.")


# --- chart ------------------------------------------------------------------------------------------------------------


def _offered(
    shown: Page, question: Question[Any], answer: Answer[Any], plot_of: Callable[[Answer[Any]], Plot]
) -> dict[str, str]:
    """Tokens of the frames around an answer."""

    def framed(answer: Answer[Any]) -> dict[str, Any]:
        found = slow.joined(shown.key, question, answer).answer
        assert found is not None
        return frame(question, found, plot_of(found), height)

    preset, height = page.preset(), _height()
    extra = (tuple(page.pins()), preset.key if preset else "", height)
    return frames.offer(question, state.get, answer, extra, framed)


def _height() -> int:
    return present.HEIGHT if modes.presenting() else HEIGHT


def _drawn(shown: Page, question: Question[Any]) -> Callable[[Answer[Any]], Plot]:
    """What draws an answer beside what is pinned, with a preset's printed points."""
    pinned, preset = [] if modes.presenting() else _pinned(shown, question), page.preset()

    def plot_of(answer: Answer[Any]) -> Plot:
        plot = answer.plot.beside(pinned)
        if preset and preset in question.presets and question.printed(answer) and isinstance(plot, LinePlot):
            plot = replace(plot, points=(*plot.points, *preset.points))
        return plot

    return plot_of


def _plot(
    plot: Plot,
    *,
    key: str,
    height: int,
    tokens: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    caption: str = "",
) -> None:
    drawn = plot.chart(height)
    notes = [Note(words) for words in drawn.notes]
    pieces.plot(Drawing(drawn.figure, plot.alt, notes), key=key, frames=tokens, words=words, caption=caption)


def _pinned(shown: Page, question: Question[Any]) -> list[tuple[str, Plot]]:
    """Plots of pinned states that answer this question, with their slow part where it is there."""
    built = []
    for pin in page.pins():
        get = state.reader(pin)
        if shown.question(get) is not question and not shown.pins_follow:  # it has other axes
            continue
        try:
            found = slow.joined(shown.key, question, compute(question, get)).answer
        except Exception as error:
            if not isinstance(error, ValueError):  # which says that these settings allow no answer here
                boundary.log(shown.key, error)
            continue
        if found is not None:
            built.append((page.pin_difference(pin), found.plot))
    return built


# --- details ----------------------------------------------------------------------------------------------------------


def _details(shown: Page, question: Question[Any], answer: Answer[Any]) -> None:
    parts: Mapping[str, Callable[[], None]] = {
        "Table": lambda: _table(answer.plot.table()),
        "Formula": lambda: _formulas(question.formulas(answer)),
        "Assumptions": lambda: _markdown(question.assumed(answer)),
        **{name: partial(_more, question, answer, name) for name in question.more},
        "Python": lambda: _code(script(question, answer)),
        "Link and files": lambda: files.files(question, answer, _drawn(shown, question)),
    }
    kept = Keys.details(shown.key)
    key = f"{kept}.{'.'.join(parts)}"
    if key not in st.session_state and st.session_state.get(kept) in parts:
        st.session_state[key] = st.session_state[kept]
    part = st.segmented_control("Details", list(parts), key=key, label_visibility="collapsed")
    st.session_state[kept] = part
    if part is not None:
        parts[part]()


def _more(question: Question[Any], answer: Answer[Any], name: str) -> None:
    _blocks(question.more[name](answer), f"{question.key}.{name}")


def _blocks(blocks: Sequence[Block], key: str) -> None:
    """Texts, what opens, plots, tables, listings and controls below each other."""
    for index, block in enumerate(blocks):
        if isinstance(block, Note):
            page.note(*block)
        elif isinstance(block, Folded):
            _folded(block)
        elif isinstance(block, pd.DataFrame):
            _table(block)
        elif isinstance(block, Own):
            SPECIAL[block.name]()
        elif isinstance(block, Listing):
            st.html(listed(block))
        else:
            _plot(block, key=f"{key}.{index}", height=SECOND_HEIGHT)


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
