"""What all pages share: the look, the link that follows the state, presets, pins and reset."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from html import escape, unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.charts.hand import LOOK
from dpviz.questions import links
from dpviz.questions.answer import Note
from dpviz.questions.mechanism import RATE, SIGMA, STEPS
from dpviz.questions.presets import Preset
from dpviz.questions.shown import noted
from dpviz.questions.units import UNITS
from dpviz.ui import closed_sessions, controls, history, modes, places, state
from dpviz.ui.hand.served import component
from dpviz.ui.plain import plain
from dpviz.ui.registry import ENTERED, FIELDS, PRESET, PRESETS, SET
from dpviz.ui.state import MOST_PINS, AnyField, Keys

# The buttons and keys of undo and redo. Their state is {"entry": {"steps": [[a number that grows with every step, -1 or
# 1], …]}}, the last ones.
_steps = component("history")


@lru_cache(maxsize=1)
def _css() -> str:
    return f"<style>{LOOK.read_text()}{(Path(__file__).parent / 'look.css').read_text()}</style>"


def begin(key: str, more: tuple[AnyField, ...] = ()) -> None:
    """First thing on every page: the look, and the values that the link asks for (`notes` says which it could not).

    `key` names the page; `more` are fields of this page alone, which presets, pins and reset leave alone.
    """
    st.session_state[Keys.PAGE] = key
    modes.read_link()
    st.html(_css() + modes.style())
    closed_sessions.met()
    state.load_from_url((*FIELDS, PRESET, *more), key, more)
    settle(more)
    leave()


def settle(more: tuple[AnyField, ...] = ()) -> None:
    """Take what was entered before this, undo and redo in their places: first thing in what a button does."""
    for n, by in history.asked():
        controls.settle((*ENTERED, *more))
        history.record(link())
        if (query := history.step(by)) is not None:
            _restore(query)
        history.taken(n)
    controls.settle((*ENTERED, *more))


def leave() -> None:
    """Go to the page that a button or an undo asked for: callbacks cannot switch pages."""
    if key := st.session_state.pop(Keys.GO, None):
        st.switch_page(places.places()[key])


def _restore(query: str) -> None:
    """The state of a link: its preset and its pins too."""
    pairs = parse_qsl(query, keep_blank_values=True)
    state.assign((*FIELDS, PRESET), links.read(dict(pairs)))
    st.session_state[Keys.PINS] = [text for key, text in pairs if key == "pin"]


def notes() -> None:
    """What a link said that could not be used; gone as soon as the visitor changes something.

    Drawn inside the page's fragment: what stands outside would stay until the whole page runs again.
    """
    for note in st.session_state.get(Keys.NOTES, []):
        st.warning(plain(note, 1_000))


def heading(text: str) -> None:
    """The one heading of the first order, for those who hear or print the page: its headline changes."""
    st.html(f'<h1 class="dpviz-unseen">{escape(text)}</h1>')


def sides(share: float = 0.73) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The page's two sides: the chart's, which has this share of the width, and that of its controls.

    The controls come first in the page, and so for a keyboard and a reader; the eye meets the chart first. On a phone
    they are one column: the chart, which stays in sight, the controls, and what else the chart's side holds.
    """
    with st.container(key="dpviz-body"):
        beside, chart = st.columns([1 - share, share], gap="medium")
    return chart, beside


def headline(html: str) -> None:
    """The page's result in plain words; `html` is already escaped where it must be."""
    length = len(unescape(re.sub("<[^>]*>", "", html)))
    st.html(f'<p class="dpviz-headline" style="--n:{length}" aria-live="polite">{html}</p>')


def note(text: str, kind: str = "note") -> None:
    """A line below the chart: "note", "caution" (amber) or "problem" (red)."""
    st.html(noted(Note(text, kind)))


def settings(text: str) -> str:
    """All settings in a line, as HTML, for paper: there the controls are not seen."""
    return f'<p class="dpviz-settings">{escape(text)}</p>'


def link(more: tuple[AnyField, ...] = ()) -> str:
    """The query string of this state, pins included; `more` as in `begin`. What its preset says it need not say."""
    named = preset()
    return state.query((*FIELDS, PRESET, *more), pins(), named.values if named else None)


def follow_link(query: str | None = None) -> None:
    """Keep the address bar in step with the state, without a server trip and without filling the browser's history.

    `query` is the page's own query string where it has fields of its own.

    Written a moment late, because browsers refuse more than some hundred changes of the address in half a minute and
    a held slider key makes more.

    An app that was started again knows nothing of the page, and Streamlit tells it the link that the page was opened
    with, not the one in the address bar: a second session on one page opens that address again.
    """
    announcement = ""
    if query is None:
        query = link()
        history.record(query)
        announcement = (
            f"window.dispatchEvent(new CustomEvent('dpviz-history', {{detail: {json.dumps(history.room())}}}));"
        )
    script = (
        f"{announcement}"
        f"clearTimeout(window.__dpvizLink); if ((window.__dpvizSession ??= '{state.session()}') !== "
        f"'{state.session()}') location.replace(location.href); else window.__dpvizLink = setTimeout(() => {{"
        f"const q = {modes.kept(query)!r}; const want = q ? '?' + q : '';"
        "if (location.search !== want) history.replaceState(history.state, '', location.pathname + want);"
        "}, 300);"
    )
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def sidebar(key: str) -> None:
    """Undo, the presets of the page called `key`, pins and reset: the same on every page that has a mechanism."""
    history.record(link())
    with st.sidebar:
        _steps(key=Keys.STEPS, data={"room": history.room(), "seen": history.seen()}, on_entry_change=settle)
        _presets(PRESETS.get(key, ()))
        _pins()
        st.button("Reset everything", on_click=_reset, width="stretch", icon=":material/restart_alt:")


def preset() -> Preset | None:
    """The preset chosen last, until reset; its published points stay on the chart while sliders move."""
    return links.PRESETS.get(state.get(PRESET))


def _presets(offered: tuple[Preset, ...]) -> None:
    if not offered:
        return
    key = Keys.PRESET
    names = {preset.key: preset.name for preset in offered}
    chosen = state.get(PRESET) if state.get(PRESET) in names else ""
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen
    st.selectbox(
        "Preset",
        ["", *names],
        format_func=lambda k: names.get(k, "– a paper's setting –"),
        key=key,
        on_change=_choose_preset,
        help="Settings of published figures; what the paper printed is drawn as diamonds.",
    )
    named = preset()
    if named is not None and named.key in names:
        st.html(f'<div class="dpviz-quiet">{escape(named.note)}</div>')


def _choose_preset() -> None:
    chosen = links.PRESETS.get(st.session_state[Keys.PRESET])
    if chosen is None:
        state.put(PRESET, "")
        return
    apply(chosen.values)
    state.put(PRESET, chosen.key)


def apply(values: dict[str, str]) -> None:
    """Set every field: to `values`, the rest to defaults. For presets and the story."""
    settle()
    state.assign((*SET, PRESET), values)
    st.session_state[Keys.MOVED] = set()


def _reset() -> None:
    apply({})
    state.put(UNITS, UNITS.default)
    st.session_state[Keys.PINS] = []


# --- pins -------------------------------------------------------------------------------------------------------------


def pins() -> list[str]:
    """Pinned states, each a query string."""
    kept: list[str] = st.session_state.get(Keys.PINS, [])
    return kept


def _pins() -> None:
    full = len(pins()) >= MOST_PINS
    st.button(
        "Pin this state",
        on_click=_pin,
        disabled=full,
        width="stretch",
        icon=":material/push_pin:",
        help=f"Keeps the curves on the chart, faded, while you go on. At most {MOST_PINS}.",
    )
    for index, pin in enumerate(pins()):
        name = plain(pin_name(pin))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(name, key=f"pin.show.{index}", on_click=show_pin, args=(pin,), help="Go back to this state.")
            st.button(
                "",
                key=f"pin.drop.{index}",
                on_click=_unpin,
                args=(index,),
                icon=":material/close:",
                help=f"Unpin {name}.",
                type="tertiary",
            )


def pin_difference(pin: str) -> str:
    """A pin by what differs from the present state, at most three things: its name on a chart."""
    read = state.reader(pin)
    differs = [
        f"{field.symbol} {field.show(read(field))}"
        for field in FIELDS
        if field.symbol and field.write(read(field)) != field.write(state.get(field))
    ]
    named = ", ".join(differs[:3]) + (" …" if len(differs) > 3 else "")
    return named or "pinned"


def pin_name(pin: str) -> str:
    """A pin by its mechanism: its name in the list, which does not change as sliders move."""
    read = state.reader(pin)
    return " · ".join(f"{field.symbol} {field.show(read(field))}" for field in (SIGMA, RATE, STEPS))


def _pin() -> None:
    settle()
    pin = urlencode(state.texts(SET))
    if pin not in pins():
        st.session_state[Keys.PINS] = [*pins(), pin]


def _unpin(index: int) -> None:
    st.session_state[Keys.PINS] = [pin for i, pin in enumerate(pins()) if i != index]


def show_pin(pin: str) -> None:
    """Go back to a pinned state."""
    apply(dict(parse_qsl(pin, keep_blank_values=True)))
