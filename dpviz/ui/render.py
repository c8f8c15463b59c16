"""The page of any question: headline, chart, metrics, notes, details, and the controls beside them.

One fragment holds all that follows the controls, and in it another what shows the answer: an entered number runs that
alone, and the chart tells controls what they are to say.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from dpviz.charts.plot import LinePlot, Plot
from dpviz.questions.acting import settings
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.computed import Joined
from dpviz.questions.frames import Alone, Render
from dpviz.questions.layout import Reader, SettingsSnapshot
from dpviz.questions.page import Page
from dpviz.questions.presets import Preset
from dpviz.questions.question import AnyQuestion
from dpviz.questions.rendered import explained, headline, noted, rendered
from dpviz.questions.words import Note
from dpviz.ui import boundary, controls, details, history, lecture, measuring, page, panel, plots, present, state, strip
from dpviz.ui.answers import compute, joined, try_again
from dpviz.ui.boundary import Boundary
from dpviz.ui.registry import OWN
from dpviz.ui.state import Keys

Draw = Callable[[], None]


def show(shown: Page) -> None:
    """Draw the page."""
    with Boundary(shown.key, OWN[shown.key]).part("page"):
        page.begin(shown.key)
    opened(shown, partial(lecture.ways, shown))


def opened(shown: Page, acts: Draw = lambda: None, warnings: Draw = lambda: None) -> None:
    """The sidebar, then title, answer and controls in one fragment.

    `acts` draws what can be done with the answer, above its controls; `warnings` what is wrong, below the title.
    """
    part = Boundary(shown.key, OWN[shown.key]).part
    if not present.bare():
        with st.sidebar, part("sidebar"):
            page.sidebar(shown.key)
    _body(shown, acts, warnings)
    now = state.snapshot()
    present.bar(shown.question(now), now)


@st.fragment
def _body(shown: Page, acts: Draw, warnings: Draw) -> None:
    """Everything that follows the controls."""
    bound = Boundary(shown.key, OWN[shown.key])
    top = st.container()
    left, right = page.sides()
    with bound.part("settings"):
        history.take_entries()
    measuring.begin()
    now = state.snapshot()
    question = shown.question(now)
    with top:
        page.heading(shown.heading(question))
        strip.show(shown)
        warnings()
        with bound.part("notes"):
            page.notes()
        _headline(shown, question, now)
    # The chart first: what the visitor waits for is on its way while the controls are still being made.
    within = _whole.set((bound, now))
    try:
        with left:
            _answered(shown)
    finally:
        _whole.reset(within)
    with right, bound.part("controls"):
        acts()
        panel.show(shown, question, now)
        st.session_state[Keys.DRAWN] = _drawn(shown, now)
    bound.worked()
    if missing := measuring.missing():
        with top:
            over = measuring.wait(missing)
        if over:
            try:  # the fragment alone, where this is a run of it alone
                st.rerun(scope="fragment")
            except StreamlitAPIException:  # the whole page is being run
                st.rerun()


# Of the run of the whole body that is under way, None where what shows the answer runs alone.
_whole: ContextVar[tuple[Boundary, SettingsSnapshot] | None] = ContextVar("whole", default=None)


@st.fragment
def _answered(shown: Page) -> None:
    """What shows the answer: all that a number moves. The chart hears of an entry, and only this runs again; where more
    than this would be another, the whole page runs.
    """
    whole = _whole.get()
    bound, now = whole or (Boundary(shown.key, OWN[shown.key]), None)
    if now is None:
        if controls.undo_steps():  # undo changes more than numbers
            st.rerun()
        with bound.part("settings"):
            history.take_entries()
        now = state.snapshot()
        with bound.part("settings"):
            if st.session_state.get(Keys.DRAWN) != _drawn(shown, now):
                st.rerun()
        measuring.begin()
    question = shown.question(now)
    with bound.part("result"):
        answer = _result(shown, question, now, alone=whole is None)
        if answer is not None:
            _below(shown, question, answer)
    if whole is None:
        if measuring.missing():
            st.rerun()
        bound.worked()
    page.follow_link()
    present.way_out(OWN[shown.key])


def _drawn(shown: Page, now: SettingsSnapshot) -> tuple[object, ...]:
    """What is drawn, but for what follows an entered number."""
    question = shown.question(now)
    return question.key, *panel.drawn(shown, question, now), tuple(st.session_state.get(Keys.NOTES, ()))


def _headline(shown: Page, question: AnyQuestion, now: SettingsSnapshot) -> None:
    """The result in plain words; from then on the chart says it."""
    try:
        _, parts = _answers(shown, question, now)
        page.headline(*explained(headline(question, parts.answer, slide=present.presenting())))
    except ValueError:
        page.headline("There is no result for these settings.")
    except Exception:  # said where the chart would stand
        return


def _answers(shown: Page, question: AnyQuestion, now: SettingsSnapshot) -> tuple[AnyAnswer, Joined]:
    """The answer without its slow parts, and with what is there of them: once a run, so that all of a page agrees.

    Raises:
        ValueError: these values have no answer.
    """

    def made(now: Reader) -> tuple[AnyAnswer, Joined]:
        answer = compute(question, now)
        return answer, joined(shown.key, question, answer)

    return now.made((question.key, "answers"), made)


def _result(shown: Page, question: AnyQuestion, now: SettingsSnapshot, *, alone: bool) -> AnyAnswer | None:
    """Chart, metrics and notes; the answer, None where there is none."""
    try:
        asked, parts = _answers(shown, question, now)
    except ValueError as problem:
        if alone:  # the headline says something else then
            st.rerun()
        page.note(str(problem), "problem")
        return None
    plot_of, slide = _beside_pins(shown, question), present.presenting()
    preset = history.preset()
    show: Render = Alone(question.key, slide)
    drawn = [*strip.fields(question, now), *panel.in_view(shown, question, now)]
    if history.pins() or preset:
        show = _beside_print(question, asked, preset, plot_of, slide=slide)
    words = plots.live_plot(
        shown.key,
        question,
        now,
        asked,
        parts,
        show,
        key=shown.key,  # one chart a page: it stands while another question is chosen
        extra=(tuple(history.pins()), preset.key if preset else "", slide),
        caption=settings(question, now),
        changed=panel.changed_messages(drawn, now) if alone else {},
        run=strip.in_words(question, now),
        whole=bool(question.below(parts.answer)) or details.opened(shown.key, question),
        fills=True,
        camera=present.bare(),  # else it is shared
        controls_of=lambda keys: panel.pulled(keys, question, drawn, now),
    )
    metrics = "" if slide else words["strip"]
    notes = f'<div class="dpviz-notes">{words["notes"]}</div>'
    st.html(f"{metrics}{notes}{page.settings(settings(question, now))}")
    if parts.failed:
        page.note("A part of this result could not be computed. The rest is shown.", "problem")
        st.button("Try again", key=f"{shown.key}.again", on_click=try_again, args=(parts.failed,))
    return parts.answer


def _below(shown: Page, question: AnyQuestion, answer: AnyAnswer) -> None:
    """What stands below the notes, but of a bare page: the doors at their place, then what the question brings."""
    if present.bare():
        return
    measuring.ways_on()
    details.details(shown.key, question, answer, lambda other: _beside_pins(shown, question)(other))
    if below := question.below(answer):
        with st.container(key="dpviz-below"):
            details.blocks(below, f"{shown.key}.below")


# --- chart ------------------------------------------------------------------------------------------------------------


def _beside_pins(shown: Page, question: AnyQuestion) -> Callable[[AnyAnswer], Plot]:
    """What draws an answer beside what is pinned, with a preset's printed points."""
    pinned, preset = [] if present.presenting() else _pinned(shown, question), history.preset()

    def plot_of(answer: AnyAnswer) -> Plot:
        plot = answer.plot.with_pinned(pinned)
        if preset and preset in question.presets and question.printed(answer) and isinstance(plot, LinePlot):
            plot = replace(plot, points=(*plot.points, *preset.points))
        return plot

    return plot_of


def _beside_print(
    question: AnyQuestion,
    asked: AnyAnswer,
    preset: Preset | None,
    plot_of: Callable[[AnyAnswer], Plot],
    *,
    slide: bool,
) -> Render:
    """What shows an answer beside what is pinned; the preset's printed values are noted while its settings stand.

    The browser writes these notes anew with each slow part, and without printed values while a hand moves a setting.
    """
    stands = preset is not None and preset in question.presets and history.as_published(preset)

    def show(answer: AnyAnswer) -> dict[str, Any]:
        words, plot = rendered(question, answer, plot_of(answer), slide=slide), answer.plot
        if (
            preset
            and stands
            and answer.given is asked.given
            and question.printed(answer)
            and isinstance(plot, LinePlot)
        ):
            beside = plot.compared(preset.points)
            words["notes"] = (noted(Note(beside, "printed")) if beside else "") + words["notes"]
        return words

    return show


def _pinned(shown: Page, question: AnyQuestion) -> list[tuple[str, Plot]]:
    """Plots of pinned states that answer this question, with their slow part where it is there."""
    built = []
    for pin, name in zip(history.pins(), history.pin_names(), strict=True):
        get = state.reader(pin)
        if shown.question(get) is not question and not shown.pins_follow:  # it has other axes
            continue
        try:
            answer = joined(shown.key, question, compute(question, get)).answer
        except Exception as error:
            if not isinstance(error, ValueError):  # which says that these settings allow no answer here
                boundary.log(shown.key, error)
            continue
        built.append((name, answer.plot))
    return built
