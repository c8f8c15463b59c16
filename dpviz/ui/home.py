"""The home page: one live chart, what each page answers, and a five-step tour."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from dpviz.charts import numbers
from dpviz.questions import guessing
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import PAGES
from dpviz.questions.compose import COMPOSE
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.fields import CURVES
from dpviz.questions.fields import Field
from dpviz.ui import controls, mechanism, page, pieces, places, slow, state
from dpviz.ui.answers import compute
from dpviz.ui.boundary import Boundary
from dpviz.ui.hand import frames
from dpviz.ui.pieces import Drawing
from dpviz.ui.registry import OWN

V = TypeVar("V")


@dataclass(frozen=True)
class Stop:
    """One step of the tour: what to look at, and the settings that show it."""

    title: str
    text: str
    values: dict[str, str]


TOUR = (
    Stop(
        "What is ε?",
        "Someone trains a model with noise and shows it to the world. An attacker who knows all other data guesses "
        "whether *you* took part. With no information the guess is right half of the time; **ε** bounds how much "
        "better it can get. One step costs nearly nothing here.",
        {"steps": "1", "curves": "moments.renyi_improved"},
    ),
    Stop(
        "Steps add up",
        "Training takes thousands of steps, and each one leaks a little. Follow the curves to the right: ε grows, but "
        "more slowly than step by step addition would say.",
        {"steps": "10000", "curves": "strong.moments.renyi_improved"},
    ),
    Stop(
        "Noise buys privacy",
        "Move **σ**. Less noise and the curve shoots up; more noise and it sinks. Here σ = 1: the same training is a "
        "different promise. Pin a state in the sidebar to compare two.",
        {"sigma": "1", "steps": "10000", "curves": "moments.renyi_improved", "logy": "1"},
    ),
    Stop(
        "What is δ?",
        "The promise ε may fail altogether with a small probability **δ**. Make it stricter, and ε rises: the two are "
        "one curve. Keep δ far below 1 ÷ the number of people, here 1e-8 for 60 000.",
        {"delta": "1e-8", "steps": "10000", "curves": "moments.renyi_improved"},
    ),
    Stop(
        "Typical data give away less than the worst case",
        "DP protects the strangest imaginable example. **Bayesian DP** asks what data like these cost, and promises "
        "more, but only to examples drawn like the sample. Look under Distances to see which gradients it used.",
        {"steps": "10000", "curves": "moments.renyi_improved.bayesian", "source": "measured"},
    ),
)


def show() -> None:
    bound = Boundary("home", OWN["home"])
    with bound.held("page"):
        _page()


def _page() -> None:
    page.begin()
    page.undo()
    st.title("See differential privacy")
    st.markdown(
        "Slide the noise, the sampling rate, the steps, and watch what an attacker could learn. Every number is an "
        "upper bound from a published theorem: never less privacy loss than there was."
    )
    live = st.container()
    left, right = st.columns([0.5, 0.5], gap="large")
    with left:
        _answers()
    with right:
        _tour()
    with live:  # last, for it may wait for the best attack's accuracy
        _live()


@st.fragment
def _live() -> None:
    bound = Boundary("home", OWN["home"])
    with bound.held("chart"):
        waiting = _drawn()
        bound.worked()
        if waiting is not None:
            waiting()


QUESTION = COMPOSE.questions[0]
HEIGHT = 300  # pixels


def _get(field: Field[V], /) -> V:
    """Home asks what Compose asks, of two curves, the mechanism's numbers as they are and all else as it starts."""
    if field is CURVES:
        return ("moments", "renyi_improved")  # type: ignore[return-value]
    ours: Collection[Field[Any]] = mechanism.FIELDS
    return state.get(field) if field in ours else field.default


def _said(answer: Answer[ComposeFacts]) -> str:
    given, best = answer.given, float(answer.facts.bounds["renyi_improved"].epsilon[-1])
    chance = guessing.guess(best, given["delta"], answer.facts.accuracy)
    return headline(given["mechanism"].noise_multiplier, given["steps"], best, chance)


def _frame(answer: Answer[Any]) -> dict[str, Any]:
    found = slow.joined("home", QUESTION, answer).answer
    assert found is not None
    return {"figure": found.plot.chart(HEIGHT).figure, "headline": _said(found)}


def _drawn() -> Callable[[], None] | None:
    """The chart beside its controls; what to wait for last."""
    chart, control = st.columns([0.73, 0.27], gap="medium")
    with control:
        controls.number(mechanism.SIGMA)
        controls.number(mechanism.STEPS)
        st.button("Open in Compose", on_click=_go, args=(None,), icon=":material/arrow_forward:", width="stretch")
        _leave()
    asked = compute(QUESTION, _get)
    found = slow.joined("home", QUESTION, asked)
    assert found.answer is not None
    with chart:
        page.notes()
        words = {"headline": _said(found.answer)}
        page.headline(words["headline"])
        plot = found.answer.plot
        drawing = Drawing(plot.chart(HEIGHT).figure, plot.alt)
        pieces.plot(drawing, key="home", frames=frames.offer(QUESTION, _get, asked, "home", _frame), words=words)
        rate, delta = state.get(mechanism.RATE), state.get(mechanism.DELTA)
        setting = (
            f"q = {numbers.plain(rate, digits=4)}, δ = {numbers.delta(delta)}, Poisson sampling, add/remove one example"
        )
        st.html(f'<div class="dpviz-quiet">{setting}</div>')
    page.follow_link()
    return found.waiting


def headline(sigma: float, steps: int, epsilon: float, chance: guessing.Guess) -> str:
    """What an attacker can make of it, as HTML."""
    said = (
        f"With noise <b>σ = {numbers.plain(sigma)}</b>, after <b>{numbers.steps(steps)}</b> steps, an attacker "
        f"guesses right whether you took part at most <b>{chance.right}</b> of the time"
    )
    bound = f"<b>ε ≤ {numbers.epsilon(epsilon, up=True)}</b>"
    if chance.by_curve:
        return f"{said}, where 50 % is chance; {bound} and δ alone would allow {chance.alone}."
    return f"{said}, by {bound} and δ alone{f'; {guessing.ON_ITS_WAY}' if chance.curve is None else ''}."


def _answers() -> None:
    st.subheader("What each page answers")
    said = ABOUT | {p.key: (f"{p.title}: {p.asks[0].lower()}{p.asks[1:]}", p.about) for p in PAGES}
    for key, place in places.places().items():
        if key in said:
            question, answer = said[key]
            st.page_link(place, label=f"**{question}**")
            st.html(f'<div class="dpviz-quiet">{answer}</div>')


def _tour() -> None:
    st.subheader("Five steps for someone who has never met δ")
    for number, stop in enumerate(TOUR, start=1):
        with st.container(border=True):
            st.markdown(f"**{number}. {stop.title}**  \n{stop.text}")
            st.button(
                "Show me", key=f"tour.{number}", on_click=_go, args=(stop.values,), icon=":material/arrow_forward:"
            )
    _leave()


def _leave() -> None:
    """Go on to Compose when a button asked for it; here, because callbacks cannot switch pages."""
    if st.session_state.pop(state.Keys.GO, None):
        st.switch_page(places.places()["compose"])


def _go(values: dict[str, str] | None) -> None:
    """Set up the Compose page and go there."""
    if values is not None:
        page.apply(values)
    st.session_state[state.Keys.GO] = True


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
