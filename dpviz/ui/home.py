"""The home page: what a person's row has to do with it, four ways on, a story with a live chart, and all pages."""

import tomllib
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from dpviz._public import NO_TRAINING
from dpviz.fields import numbers
from dpviz.fields.field import Choice, Field
from dpviz.questions import links, mechanism
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.guessing import Guess
from dpviz.questions.layout import Reader
from dpviz.questions.stops import Stop
from dpviz.questions.story import STOPS, attack
from dpviz.ui import controls, history, offered, page, plots, state
from dpviz.ui.answers import compute, joined
from dpviz.ui.boundary import Boundary
from dpviz.ui.browser.routes import component
from dpviz.ui.offered import PAGES
from dpviz.ui.registry import OWN
from dpviz.ui.state import Keys

V = TypeVar("V")

# Which stop is in the middle of the view, and the way to its neighbours; the text of each stands in the container
# "story-" and its number. Its state is {"stop": {"number": a stop's, "n": a number that grows with every stop}}.
_scroll = component("story")
HEIGHT = 400  # pixels
STOP = Choice(
    key="stop",
    label="Stop",
    default="1",
    options={str(number): stop.title for number, stop in enumerate(STOPS, start=1)},
    help="Which stop of the story is open.",
)
MECHANISM = {field.key for field in mechanism.FIELDS}
ROWS = "<div><span>{name}</span><i></i><i></i><i class='{yours}'></i><i></i></div>"
PICTURE = (  # drawn by look.css
    f"<div>{ROWS.format(name='with your row', yours='in')}{ROWS.format(name='without it', yours='out')}</div><b></b>"
    "<p class='box'>training<br>with noise</p><b></b><p class='box'>result</p><b></b>"
)
WORDS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "home.toml").read_text("utf-8"))


def show() -> None:
    bound = Boundary("home", OWN["home"])
    with bound.part("page"):
        _page()


def _page() -> None:
    page.begin("home", (STOP,))
    _live()
    _answers()


def _opening() -> None:
    """A row in or out, the noise, how often the best attack is right, and four ways on; then the story begins."""
    with st.container(key="home-opening"):
        st.title("See differential privacy")
        first = STOPS[0]
        guess = attack(joined("home", first.question, compute(first.question, _reader(first))).answer)
        with st.container(key="home-picture"):
            st.html(f'<div class="dpviz-opening">{PICTURE}<div class="seen">{_dial(guess)}</div></div>')
        with st.container(key="home-noise"):
            controls.number_control(mechanism.SIGMA).draw(in_strip=True)
        with st.container(key="home-text"):
            st.html(f'<p class="dpviz-opening-text">{WORDS["opening"]}</p>')
        st.html('<h2 class="dpviz-doors">What did you come for?</h2>')
        with st.container(key="home-doors"):
            for door in (door for door in WORDS["doors"] if door["page"] in page.ENTRIES):
                label, icon = f"**{door['name']}**  \n{door['leads']}", f":material/{door['icon']}:"
                query = {**door["query"], links.VERSION: links.TODAY} if "query" in door else None
                st.page_link(page.places()[door["page"]], label=label, icon=icon, query_params=query)
        st.html(f'<div class="dpviz-quiet">Or scroll: differential privacy in {len(STOPS)} steps.</div>')


def _dial(guess: Guess | None) -> str:
    """How often the best attack is right, from a coin's 50 % to 100 %, as HTML: it follows the slider as metrics do."""
    if guess is None:
        return ""
    share = 0.0 if guess.bound is None else 100.0 * (2.0 * guess.bound - 1.0)
    return (
        f'<div class="dpviz-strip dpviz-dial"><span class="arc" style="--right:{share:.1f}"></span>'
        f"<i>50 %</i><b>{guess.right}</b><i>100 %</i><p>no attack is right<br>more often</p></div>"
    )


@st.fragment
def _live() -> None:
    bound = Boundary("home", OWN["home"])
    with bound.part("chart"):
        page.leave()
        _reached()
        _opening()
        _drawn(state.get(STOP))
        bound.worked()


def _reader(stop: Stop) -> Reader:
    """A stop asks with the mechanism's numbers as they are, its own values, and all else as it starts."""

    def get(field: Field[V], /) -> V:
        if field.key in MECHANISM:
            return state.get(field)
        return field.parse(stop.values[field.key]) if field.key in stop.values else field.default

    return get


def _shown(stop: Stop, answer: AnyAnswer) -> dict[str, Any]:
    plot = stop.plot(answer)
    shown = {"figure": plot.chart(HEIGHT).figure, "headline": stop.headline(answer), "alt": plot.alt}
    guess = attack(answer)
    return shown if guess is None else {**shown, "strip": _dial(guess)}


def _drawn(number: str) -> None:
    """The chart of one stop, which stays in sight, and the texts of all."""
    with st.container(key="dpviz-story"):
        side, texts = st.columns([0.64, 0.36], gap="large")
    with side, st.container(key="story-side"):
        _chart(number)
    with texts:
        for other in STOP.options:
            with st.container(key=f"story-{other}"):
                _told(other)
    page.follow_link(history.link((STOP,)))


def _chart(number: str) -> None:
    stop = STOPS[int(number) - 1]
    get = _reader(stop)
    answer = compute(stop.question, get)
    parts = joined("home", stop.question, answer)
    page.notes()
    page.headline(stop.headline(parts.answer))
    # First in the page, and so for keys and ears; the eye meets the chart first.
    with st.container(key="story-controls"):
        keys = {field.key for field in stop.question.fields}
        for column, field in zip(st.columns(2), (mechanism.SIGMA, mechanism.STEPS), strict=True):
            if field.key in keys:  # what plays no part is not shown
                with column:
                    controls.number_control(field).draw()
    # The texts tell of the answers too: all is shown anew.
    show, extra = partial(_shown, stop), ("home", number)
    plots.live_plot("home", stop.question, get, answer, parts, show, key="home", extra=extra, whole=True)
    rate = f"q = {numbers.plain(state.get(mechanism.RATE), digits=4)}, " * (mechanism.RATE in stop.question.fields)
    sampled = ", Poisson sampling, one example added or removed" * (mechanism.STEPS.key in keys)
    setting = (
        f"{rate}δ = {numbers.delta(state.get(mechanism.DELTA))}{sampled}; every bound has a proof, published or in "
        "docs/work/proofs.md"
    )
    with st.container(key="story-foot", horizontal=True, vertical_alignment="center"):
        st.html(f'<div class="dpviz-quiet">{setting}</div>')
        seen = st.session_state.get(Keys.STORY_SEEN, 0.0)
        data = {"stop": number, "stops": list(STOP.options), "seen": seen}
        _scroll(key=Keys.STORY, data=data, on_stop_change=history.take_entries)


def _told(number: str) -> None:
    """A stop's text, which tells of its own answer, and the way to its page."""
    stop = STOPS[int(number) - 1]
    text = stop.text(lambda: joined("home", stop.question, compute(stop.question, _reader(stop))).answer)
    st.markdown(f"**{number} of {len(STOPS)} · {stop.title}**  \n{text}")
    page.button(f"Open in {stop.page.title}", "arrow_forward", _go, key=f"open.story.{number}", args=(number,))


def _reached() -> None:
    """Take the stop that the scroll rested on last, once. The numbers stay: a scroll changes nothing that was set."""
    try:
        reached = st.session_state[Keys.STORY]["stop"]
        number, n = reached["number"], state.number_of(reached["n"])
    except (KeyError, TypeError, AttributeError):
        return  # a stranger may send anything
    if number in list(STOP.options) and st.session_state.get(Keys.STORY_SEEN, 0.0) < n:
        state.put(STOP, number)
        st.session_state[Keys.STORY_SEEN] = n


def _answers() -> None:
    st.header("What each page answers")
    own = {key: (row["question"], row["answer"]) for key, row in WORDS["about"].items()}
    about = own | {p.key: (f"{p.title}: {p.asks[0].lower()}{p.asks[1:]}", p.about) for p in PAGES}
    for key, place in page.places().items():
        if key in about:
            question, answer = about[key]
            st.page_link(place, label=f"**{question}**")
            st.html(f'<div class="dpviz-quiet">{answer}</div>')
    if offered.PUBLIC:
        page.note(NO_TRAINING)


def _go(number: str) -> None:
    """Set up the page of a stop as the stop is now, and go there."""
    history.take_entries()
    stop = STOPS[int(number) - 1]
    history.apply({**stop.values, **state.texts(mechanism.FIELDS)})
    st.session_state[Keys.GO] = stop.page.key
