"""Shows any question: headline, chart, metrics, notes, details, and the controls beside them.

One fragment holds all that follows the controls, and in it another what shows the answer: an entered number runs that
alone, and the chart tells controls what they are to say.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from dpviz.charts.plot import HEIGHT, LinePlot, Plot
from dpviz.questions.answer import Answer
from dpviz.questions.page import Page
from dpviz.questions.question import Question
from dpviz.questions.shown import explained, frame, settings
from dpviz.ui import boundary, controls, details, history, measuring, page, panel, pieces, present, state
from dpviz.ui.answers import compute, joined, try_again
from dpviz.ui.boundary import Boundary
from dpviz.ui.hand.fetched import Alone, Shown
from dpviz.ui.registry import OWN
from dpviz.ui.state import Keys


def show(shown: Page) -> None:
    """Draw the page."""
    with Boundary(shown.key, OWN[shown.key]).held("page"):
        page.begin(shown.key)
        page.heading(shown.heading)
    opened(shown)


def opened(shown: Page, acts: Callable[[], None] = lambda: None) -> None:
    """The sidebar, then everything that follows the controls in one fragment.

    `acts` draws what can be done with the answer, above its controls.
    """
    held = Boundary(shown.key, OWN[shown.key]).held
    if not present.bare():
        with st.sidebar, held("sidebar"):
            page.sidebar(shown.key)
    _body(shown, acts)
    present.bar(shown.question(state.get))


@st.fragment
def _body(shown: Page, acts: Callable[[], None]) -> None:
    """Everything that follows the controls."""
    bound = Boundary(shown.key, OWN[shown.key])
    top = st.container()
    left, right = page.sides()
    with top, bound.held("notes"):
        page.notes()
    with bound.held("settings"):
        history.settle()
    measuring.begin()
    question = shown.question(state.get)
    with top:
        _headline(shown, question)
    # The chart first: what the visitor waits for is on its way while the controls are still being made.
    within = _whole.set(bound)
    try:
        with left:
            _answered(shown)
    finally:
        _whole.reset(within)
    with right, bound.held("controls"):
        acts()
        panel.show(shown, question)
        st.session_state[Keys.DRAWN] = _drawn(shown)
    bound.worked()
    if missing := measuring.missing():
        with top:
            over = measuring.wait(missing)
        if over:
            try:  # the fragment alone, where this is a run of it alone
                st.rerun(scope="fragment")
            except StreamlitAPIException:  # the whole page is being run
                st.rerun()


# The boundary of the run of the whole body that is under way, None where what shows the answer runs alone.
_whole: ContextVar[Boundary | None] = ContextVar("whole", default=None)


@st.fragment
def _answered(shown: Page) -> None:
    """What shows the answer: all that a number moves. The chart hears of an entry, and only this runs again; where more
    than this would be another, the whole page runs.
    """
    whole = _whole.get()
    bound = whole or Boundary(shown.key, OWN[shown.key])
    if whole is None:
        if controls.undo_steps():  # undo changes more than numbers
            st.rerun()
        with bound.held("settings"):
            history.settle()
            if st.session_state.get(Keys.DRAWN) != _drawn(shown):
                st.rerun()
        measuring.begin()
    question = shown.question(state.get)
    with bound.held("result"):
        answer = _result(shown, question, alone=whole is None)
        if answer is not None:
            _below(shown, question, answer)
    if whole is None:
        if measuring.missing():
            st.rerun()
        bound.worked()
    page.follow_link()
    present.way_out(OWN[shown.key])


def _drawn(shown: Page) -> tuple[object, ...]:
    """What is drawn, but for what follows an entered number."""
    question = shown.question(state.get)
    return question.key, *panel.drawn(shown, question), tuple(st.session_state.get(Keys.NOTES, ()))


def _headline(shown: Page, question: Question[Any]) -> None:
    """The result in plain words; from then on the chart says it."""
    try:
        parts = joined(shown.key, question, compute(question, state.get))
        page.headline(*explained(question.headline(parts.answer)))
    except ValueError:
        page.headline("There is no result for these settings.")
    except Exception:  # said where the chart would stand
        return


def _result(shown: Page, question: Question[Any], *, alone: bool) -> Answer[Any] | None:
    """Chart, metrics and notes; the answer, None where there is none."""
    try:
        asked = compute(question, state.get)
    except ValueError as problem:
        if alone:  # the headline says something else then
            st.rerun()
        page.note(str(problem), "problem")
        return None
    plot_of, height = _beside_pins(shown, question), present.HEIGHT if present.presenting() else HEIGHT
    preset = history.preset()
    show: Shown = Alone(question.key, height)
    if history.pins() or preset:
        show = lambda answer: frame(question, answer, plot_of(answer), height)  # noqa: E731
    below = question.below(joined(shown.key, question, asked).answer)
    parts, words = pieces.live_plot(
        shown.key,
        question,
        state.get,
        asked,
        show,
        key=question.key,
        extra=(tuple(history.pins()), preset.key if preset else "", present.presenting()),
        caption=settings(question, state.get),
        changed=panel.changed_messages(panel.in_view(shown, question)) if alone else {},
        whole=bool(below) or details.opened(shown.key, question),
        fills=not present.presenting(),
    )
    strip = "" if present.presenting() else words["strip"]
    st.html(f'{strip}<div class="dpviz-notes">{words["notes"]}</div>{page.settings(settings(question, state.get))}')
    if parts.failed:
        page.note("A part of this result could not be computed. The rest is shown.", "problem")
        st.button("Try again", key=f"{shown.key}.again", on_click=try_again, args=(parts.failed,))
    return parts.answer


def _below(shown: Page, question: Question[Any], answer: Answer[Any]) -> None:
    """What stands below the notes, but of a bare page: the doors at their place, then what the question brings."""
    if present.bare():
        return
    measuring.ways_on()
    details.details(shown.key, question, answer, lambda other: _beside_pins(shown, question)(other))
    if below := question.below(answer):
        with st.container(key="dpviz-below"):
            details.blocks(below, f"{shown.key}.below")


# --- chart ------------------------------------------------------------------------------------------------------------


def _beside_pins(shown: Page, question: Question[Any]) -> Callable[[Answer[Any]], Plot]:
    """What draws an answer beside what is pinned, with a preset's printed points."""
    pinned, preset = [] if present.presenting() else _pinned(shown, question), history.preset()

    def plot_of(answer: Answer[Any]) -> Plot:
        plot = answer.plot.beside(pinned)
        if preset and preset in question.presets and question.printed(answer) and isinstance(plot, LinePlot):
            plot = replace(plot, points=(*plot.points, *preset.points))
        return plot

    return plot_of


def _pinned(shown: Page, question: Question[Any]) -> list[tuple[str, Plot]]:
    """Plots of pinned states that answer this question, with their slow part where it is there."""
    built = []
    for pin in history.pins():
        get = state.reader(pin)
        if shown.question(get) is not question and not shown.pins_follow:  # it has other axes
            continue
        try:
            answer = joined(shown.key, question, compute(question, get)).answer
        except Exception as error:
            if not isinstance(error, ValueError):  # which says that these settings allow no answer here
                boundary.log(shown.key, error)
            continue
        built.append((history.pin_difference(pin), answer.plot))
    return built
