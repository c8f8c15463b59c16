"""The home page: a story whose text and one live chart go on together, and what each page answers."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

import streamlit as st

from dpviz.charts import numbers
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import PAGES
from dpviz.questions.fields import Choice, Field
from dpviz.questions.layout import Reader
from dpviz.questions.story import STOPS, Stop
from dpviz.ui import controls, mechanism, page, pieces, places, slow, state
from dpviz.ui.answers import compute
from dpviz.ui.boundary import Boundary
from dpviz.ui.hand import frames, late
from dpviz.ui.hand.chart import Followed
from dpviz.ui.hand.late import Late
from dpviz.ui.pieces import Drawing
from dpviz.ui.registry import OWN

V = TypeVar("V")
HEIGHT = 400  # pixels
STOP = Choice(
    key="stop",
    label="Stop",
    default="1",
    options={str(number): stop.title for number, stop in enumerate(STOPS, start=1)},
    help="Which stop of the story is open.",
)
MECHANISM = {field.key for field in mechanism.FIELDS}


def show() -> None:
    bound = Boundary("home", OWN["home"])
    with bound.held("page"):
        _page()


def _page() -> None:
    page.begin("home", (STOP,), _set_by(_stop(STOP.nearest(st.query_params.get(STOP.key, STOP.default)))))
    st.title("See differential privacy")
    live = st.container()
    _answers()
    with live:
        _live()


@st.fragment
def _live() -> None:
    bound = Boundary("home", OWN["home"])
    with bound.held("chart"):
        _drawn(_stop(state.get(STOP)))
        bound.worked()


def _stop(number: str) -> Stop:
    return STOPS[int(number) - 1]


def _set_by(stop: Stop) -> dict[str, str]:
    """What a stop sets of the mechanism, which σ and T then move away from."""
    return {key: text for key, text in stop.values.items() if key in MECHANISM}


def _reader(stop: Stop) -> Reader:
    """A stop asks with the mechanism's numbers as they are, its own values, and all else as it starts."""

    def get(field: Field[V], /) -> V:
        if field.key in MECHANISM:
            return state.get(field)
        return field.parse(stop.values[field.key]) if field.key in stop.values else field.default

    return get


def _shown(stop: Stop, answer: Answer[Any]) -> dict[str, Any]:
    plot = stop.plot(answer)
    return {"figure": plot.chart(HEIGHT).figure, "headline": stop.headline(answer), "alt": plot.alt}


def _frame(stop: Stop, answer: Answer[Any]) -> dict[str, Any]:
    return _shown(stop, slow.joined("home", stop.question, answer).answer)


def _drawn(stop: Stop) -> None:
    """The chart beside the stop's text and the controls."""
    top = st.container()
    chart, beside = page.sides(0.66)
    with beside:
        said = st.container()
        controls.number(mechanism.SIGMA)
        controls.number(mechanism.STEPS)
        st.button(
            f"Open in {stop.page.title}",
            on_click=_go,
            args=(state.get(STOP),),
            icon=":material/arrow_forward:",
            width="stretch",
        )
        _leave()
    get = _reader(stop)
    asked = compute(stop.question, get)
    found = slow.joined("home", stop.question, asked)
    with said:
        _told(stop, found.answer)
    words = _shown(stop, found.answer)
    with top:
        page.notes()
        page.headline(words["headline"])
    with chart:
        drawing = Drawing(words.pop("figure"), words["alt"])
        extra = ("home", state.get(STOP))
        tokens = frames.offer(stop.question, get, asked, extra, partial(_frame, stop))
        missing = Late("home", stop.question, asked, partial(_shown, stop)) if found.missing else None
        # The stop's text tells of the answer too.
        followed = Followed(page.settle, late=late.offer(missing) if missing else "", whole=True)
        pieces.plot(drawing, key="home", frames=tokens, words=words, followed=followed)
        rate, delta = state.get(mechanism.RATE), state.get(mechanism.DELTA)
        setting = (
            f"q = {numbers.plain(rate, digits=4)}, δ = {numbers.delta(delta)}, Poisson sampling, add/remove one "
            "example; every bound is a published theorem's"
        )
        st.html(f'<div class="dpviz-quiet">{setting}</div>')
    page.follow_link(page.link((STOP,), _set_by(stop)))


def _told(stop: Stop, answer: Answer[Any]) -> None:
    """The stop's text, and the way to the next one."""
    here = int(state.get(STOP))
    st.markdown(f"**{here} of {len(STOPS)} · {stop.title}**  \n{stop.text(answer)}")
    with st.container(horizontal=True):
        for name, number, icon in (("Back", here - 1, "arrow_back"), ("Next", here + 1, "arrow_forward")):
            st.button(
                name,
                key=f"story.{name}",
                on_click=_to,
                args=(str(number),),
                disabled=not 1 <= number <= len(STOPS),
                icon=f":material/{icon}:",
            )


def _to(number: str) -> None:
    """Go to a stop: its mechanism, and its own curves."""
    page.settle()
    if number not in STOP.options:  # a click that comes twice
        return
    state.assign(mechanism.FIELDS, _set_by(_stop(number)))
    state.put(STOP, number)


def _answers() -> None:
    st.header("What each page answers")
    said = ABOUT | {p.key: (f"{p.title}: {p.asks[0].lower()}{p.asks[1:]}", p.about) for p in PAGES}
    for key, place in places.places().items():
        if key in said:
            question, answer = said[key]
            st.page_link(place, label=f"**{question}**")
            st.html(f'<div class="dpviz-quiet">{answer}</div>')


def _leave() -> None:
    """Go on to the stop's page when its button asked for it; here, because callbacks cannot switch pages."""
    if key := st.session_state.pop(state.Keys.GO, None):
        st.switch_page(places.places()[key])


def _go(number: str) -> None:
    """Set up the page of a stop as the stop is now, and go there."""
    page.settle()
    stop = _stop(number)
    page.apply({**stop.values, **{field.key: field.write(state.get(field)) for field in mechanism.FIELDS}})
    st.session_state[state.Keys.GO] = stop.page.key


ABOUT = {
    "train": (
        "Train: what does a private run learn, and cost?",
        "Small models on real data in about a minute, with every accountant's ε live; pause, step, stop.",
    ),
    "runs": (
        "Runs: which run was worth its ε?",
        "All recorded runs: compared on one chart, named, exported, imported, run again.",
    ),
}
