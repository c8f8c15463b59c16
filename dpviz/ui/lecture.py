"""The page of lectures: a paper's stops as slides, with a sentence for the speaker and a question for the room.

A stop opens at its own values. The reply to its question shows the chart at the values that decide it.
"""

from functools import partial
from typing import Any

import streamlit as st

from dpviz.fields.field import Choice
from dpviz.questions import links
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.lectures import LECTURES
from dpviz.questions.lectures.lecture import Lecture, LectureStop
from dpviz.questions.page import Page
from dpviz.questions.papers import claims
from dpviz.questions.rendered import explained, headline, paragraphs, rendered
from dpviz.ui import controls, history, page, plots, present, state
from dpviz.ui.answers import compute, joined
from dpviz.ui.boundary import Boundary
from dpviz.ui.registry import OWN
from dpviz.ui.state import Keys

KEY = "lecture"
LEAVE_FOR = "papers"
PAPER = Choice(
    key="paper",
    label="Lecture",
    default=next(iter(LECTURES)),
    options={key: lecture.paper.name for key, lecture in LECTURES.items()},
    help="The paper that the lecture is about.",
)
MOST = max(len(lecture.stops) for lecture in LECTURES.values())
STOP = Choice(
    key="stop",
    label="Stop",
    default="1",
    options={str(number): str(number) for number in range(1, MOST + 1)},
    help="Which stop of the lecture is open.",
)


def show() -> None:
    with Boundary(KEY, OWN[KEY]).part("page"):
        arrives = st.session_state.get(Keys.PAGE) != KEY
        page.begin(KEY, (PAPER, STOP))
        if arrives:
            _arrive()
        _slide()


def ways(shown: Page) -> None:
    """On the page of printed claims: a way to each paper's lecture."""
    if claims.PRINTED_CLAIMS not in shown.questions or present.bare():
        return
    with st.popover("Lectures", icon=":material/co_present:", help="Each paper in a few slides, with questions."):
        for key, lecture in LECTURES.items():
            query = {PAPER.key: key, links.VERSION: links.TODAY}
            st.page_link(page.places()[KEY], label=lecture.paper.name, help=lecture.paper.title, query_params=query)


def _now() -> tuple[Lecture, int, LectureStop]:
    """The lecture, the number of its stop, and the stop."""
    lecture = LECTURES[state.get(PAPER)]
    number = min(int(state.get(STOP)), len(lecture.stops))
    return lecture, number, lecture.stops[number - 1]


def _arrive() -> None:
    """Set the stop's values, and over them what the link says."""
    link = links.read({key: st.query_params[key] for key in st.query_params})
    for field in (PAPER, STOP):
        if link.get(field.key) not in field.options:
            state.put(field, field.default)
    notes, (_, _, stop) = st.session_state.get(Keys.NOTES, []), _now()
    history.apply({**stop.values, **{key: text for key, text in link.items() if key in stop.movable}})
    if notes:
        st.session_state[Keys.NOTES] = notes
    st.session_state[Keys.REPLY] = ""


@st.fragment
def _slide() -> None:
    bound = Boundary(KEY, OWN[KEY])
    with bound.part("slide"):
        page.leave()
        lecture, number, stop = _now()
        now = state.snapshot()
        page.heading(f"{lecture.paper.name} · {stop.title}")
        page.notes()
        with st.container(key="dpviz-lecture"):
            _answered(lecture, number, stop, now)
        _bar(lecture, number)
        page.follow_link(_link(lecture, number, stop, now))
        bound.worked()


def _answered(lecture: Lecture, number: int, stop: LectureStop, now: Reader) -> None:
    """The headline, the chart with the text beside it, and the sliders."""
    try:
        answer = compute(stop.question, now)
    except ValueError as problem:
        page.headline("There is no result for these settings.")
        page.note(str(problem), "problem")
    else:
        parts = joined(KEY, stop.question, answer)
        page.headline(*explained(_headline(stop, parts.answer)))
        chart, text = st.columns([0.79, 0.21], gap="small")
        with chart:
            plots.live_plot(
                KEY, stop.question, now, answer, parts, partial(_shown, stop),
                key=KEY, extra=(KEY, lecture.key, number), whole=True, fills=True, camera=False,
            )  # fmt: skip
        with text, st.container(key="lecture-text"):
            _words(lecture, number, stop, parts.answer)
    with st.container(key="lecture-sliders"):
        for field in stop.moving:
            if field.key == stop.runs:
                with st.container(key="present-run"):
                    controls.run_button(field, name=f"{lecture.key}.{number}")
            controls.number_control(field).draw()


def _headline(stop: LectureStop, answer: AnyAnswer) -> str:
    return stop.headline(answer) if stop.says else headline(stop.question, answer, slide=True)


def _shown(stop: LectureStop, answer: AnyAnswer) -> dict[str, Any]:
    """What the chart needs; the notes stand in the column of words."""
    words = rendered(stop.question, answer, stop.plot(answer), slide=True)
    return {**words, "headline": explained(_headline(stop, answer))[0], "notes": ""}


def _words(lecture: Lecture, number: int, stop: LectureStop, answer: AnyAnswer) -> None:
    """What the speaker says and the room is asked; the reply, once it is asked for, in place of the sentence."""
    replied = st.session_state.get(Keys.REPLY) == _name(lecture, number)
    texts = [f"**{number} of {len(lecture.stops)} · {stop.title}**"]
    if not replied:
        texts.append(stop.sentence(answer))
    opening = compute(stop.question, of_texts(stop.values))
    texts.append(f"**For the room.** {stop.room.text(opening)}")
    if replied:
        texts.append(stop.room.replies(opening, compute(stop.question, stop.room.reader(of_texts(stop.values)))))
    st.html(explained(paragraphs("\n\n".join(texts)))[0])
    if replied:
        st.button("Hide the answer", key="present-answer", on_click=_hide)
    else:
        st.button("Answer", key="present-answer", on_click=_reply, type="primary", help="Key: A.")
    for note in stop.question.notes(answer):
        if note.kind != "note":
            page.note(*note)


def _bar(lecture: Lecture, number: int) -> None:
    """What stands at the edge: the way through the stops, the other lectures, and the way out."""
    present.keys()
    with st.container(key="dpviz-bar", horizontal=True, vertical_alignment="center"):
        first, final = number <= 1, number >= len(lecture.stops)
        st.button("Back", key="present-back", on_click=_go, args=(lecture.key, number - 1), disabled=first)
        st.html(f'<span class="dpviz-quiet">{number} of {len(lecture.stops)}</span>')
        st.button("Next", key="present-on", on_click=_go, args=(lecture.key, number + 1), disabled=final)
        with st.popover("", icon=":material/menu_book:", help="Another lecture, or this stop's own page."):
            for key, other in LECTURES.items():
                st.button(other.paper.name, key=f"lecture.{key}", on_click=_go, args=(key, 1), help=other.paper.title)
            stop = lecture.stops[number - 1]
            page.button(
                f"Open in {stop.page.title}", "arrow_forward", _leave, key="lecture.open", args=(stop.page.key,)
            )
        st.button(
            "",
            key="present-leave",
            icon=":material/close:",
            on_click=_leave,
            args=(LEAVE_FOR,),
            help=present.LEAVE,
        )


def _link(lecture: Lecture, number: int, stop: LectureStop, now: Reader) -> str:
    """The query of a link to this stop: what was moved, and nothing that the stop says itself."""
    texts = {PAPER.key: lecture.key, STOP.key: str(number)}
    opening = of_texts(stop.values)
    for field in (field for field in stop.question.fields if field.key in stop.movable):
        if (text := field.write(now(field))) != field.write(opening(field)):
            texts[field.key] = text
    return links.written(texts.items())


def _name(lecture: Lecture, number: int) -> str:
    return f"{lecture.key}.{number}"


def _go(paper: str, number: int) -> None:
    """To a stop, at its own values; named by its number, for a click may come twice."""
    if 1 <= number <= len(LECTURES[paper].stops):
        history.apply(dict(LECTURES[paper].stops[number - 1].values))
        state.put(PAPER, paper)
        state.put(STOP, str(number))
        st.session_state[Keys.REPLY] = ""


def _reply() -> None:
    """Show the reply, and the chart at its values."""
    lecture, number, stop = _now()
    history.apply({**stop.values, **stop.room.moved})
    st.session_state[Keys.REPLY] = _name(lecture, number)


def _hide() -> None:
    """The stop as it opens."""
    lecture, number, _ = _now()
    _go(lecture.key, number)


def _leave(to: str) -> None:
    history.take_entries()
    st.session_state[Keys.GO] = to
