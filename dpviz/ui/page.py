"""The frame of every page: its address and look, its two sides, headline and notes, and its side bar."""

import json
import mimetypes
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from dpviz.fields import AnyField
from dpviz.questions import links
from dpviz.questions.page import Page
from dpviz.questions.plain_text import plain_text
from dpviz.questions.presets import Preset
from dpviz.questions.rendered import noted
from dpviz.questions.words import Note
from dpviz.ui import controls, history, present, server, state
from dpviz.ui.browser.routes import component
from dpviz.ui.offered import PAGES
from dpviz.ui.plain import plain
from dpviz.ui.registry import PRESET, PRESETS
from dpviz.ui.state import MOST_PINS, Keys

# The buttons and keys of undo and redo. Their state is {"entry": {"steps": [[a number that grows with every step, -1 or
# 1], …]}}, the last ones.
_steps = component("history")


APP = "dpviz: see differential privacy"
ICON = str(Path(__file__).parent / "assets" / "icon.png")


class NavigationEntry(NamedTuple):
    """A page in the navigation: its section, title, icon, and what is told under the pointer."""

    section: str
    title: str
    icon: str
    asks: str
    hidden: bool = False  # reached by links alone


def _entries() -> Iterator[tuple[str, NavigationEntry]]:
    """Key and entry of every page, in the order of the navigation."""
    yield "home", NavigationEntry("", "Home", ":material/home:", "What is differential privacy?")
    for page in PAGES:
        yield page.key, NavigationEntry(page.section, page.title, page.icon, page.asks)
        if page.key == "train":
            yield "runs", NavigationEntry(page.section, "Runs", ":material/history:", "Which run was worth its ε?")
    yield (
        "lecture",
        NavigationEntry("Check", "Lectures", ":material/co_present:", "How can I teach these papers?", hidden=True),
    )


ENTRIES = dict(_entries())
# These do more than ask questions: each has a file of `pages/`. The others share one.
FILES = ("home", "train", "runs", "lecture")
ADDRESSES = [key for key in ENTRIES if key != "home"]


def places() -> dict[str, StreamlitPage]:
    """Key → page, in the order of the navigation."""
    return {
        key: st.Page(
            f"pages/{key if key in FILES else 'question'}.py",
            title=entry.title,
            icon=entry.icon,
            help=entry.asks,
            default=key == "home",
            url_path=key,
            visibility="hidden" if entry.hidden else "visible",
        )
        for key, entry in ENTRIES.items()
    }


def asked() -> Page:
    """The page of questions at the address that is open."""
    return next(page for page in PAGES if page.key == st.session_state[Keys.ADDRESS])


def navigation() -> StreamlitPage:
    """Draws the navigation; the page to be run."""
    sections: dict[str, list[StreamlitPage]] = {}
    for key, place in places().items():
        sections.setdefault(ENTRIES[key].section, []).append(place)
    chosen = st.navigation(sections, expanded=True)
    st.session_state[Keys.ADDRESS] = chosen.url_path
    return chosen


def begin(key: str, more: tuple[AnyField, ...] = ()) -> None:
    """First thing on every page: how it is shown, and the values that the link asks for (`notes` says which it could
    not).

    `key` names the page; `more` are fields of this page alone, which presets, pins and reset leave alone.
    """
    came_from = st.session_state.get(Keys.PAGE, key)
    st.session_state[Keys.PAGE] = key
    present.read_link()
    if style := present.style():
        st.html(style)
    server.visited()
    fields = (*history.fields(), PRESET, *more)
    if came_from != key:
        state.follow(fields)
    state.load_from_url(fields)
    history.take_entries(more)
    leave()


def leave() -> None:
    """Go to the page that a button or an undo asked for: callbacks cannot switch pages."""
    if key := st.session_state.pop(Keys.GO, None):
        st.switch_page(places()[key])


def notes() -> None:
    """What a link said that could not be used; gone as soon as the visitor changes something.

    Drawn inside the page's fragment: what stands outside would stay until the whole page runs again.
    """
    for note in st.session_state.get(Keys.NOTES, []):
        st.warning(plain(note, 1_000))


def heading(text: str) -> None:
    """The page's title, which the browser shows as that of its tab, and a bare page says to readers and printers."""
    st.set_page_config(page_title=f"{text} · {APP}")
    st.html(f'<h1 class="dpviz-{"unseen" if present.bare() else "title"}">{escape(text)}</h1>')


def sides() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The page's two sides: the chart's and that of its controls.

    The controls come first in the page, and so for a keyboard and a reader; the eye meets the chart first. On a phone
    they are one column: the chart, which stays in sight, the controls, and what else the chart's side holds.
    """
    with st.container(key="dpviz-body"):
        beside, chart = st.columns([0.27, 0.73], gap="medium")
    return chart, beside


def headline(html: str) -> None:
    """The page's result in plain words; `html` is already escaped where it must be."""
    length = len(plain_text(html))
    st.html(f'<p class="dpviz-headline" style="--of:{length}; --n:{length}">{html}</p>')


def note(text: str, kind: str = "note") -> None:
    """A line below the chart: "note", "caution" (amber) or "problem" (red)."""
    st.html(noted(Note(text, kind)))


def button(label: str, icon: str, act: Callable[..., Any], *, enabled: bool = True, **more: Any) -> bool:
    """A button with a Material symbol; `more` are arguments of Streamlit's own."""
    return st.button(label, icon=f":material/{icon}:", on_click=act, disabled=not enabled, **more)


def download(label: str, name: str, make: Callable[[], str | bytes], icon: str = "download", **more: Any) -> None:
    """A button for the file of this name, which `make` makes when it is pressed."""
    kind, packed = mimetypes.guess_type(name)
    mime = "application/gzip" if packed else kind or "application/octet-stream"
    icon = f":material/{icon}:"
    st.download_button(label, data=make, file_name=name, mime=mime, on_click="ignore", icon=icon, **more)


def settings(text: str) -> str:
    """All settings in a line, as HTML, for paper: there the controls are not seen."""
    return f'<p class="dpviz-settings">{escape(text)}</p>'


def follow_link(query: str | None = None) -> None:
    """Keep the address bar in step with the state, without a server trip and without filling the browser's history.

    `query` is the page's own query string where it has fields of its own.

    Entries that were made since stay in it (`number.js`), until the link of their answer has them. Where a browser
    refuses to change the address, because there were too many changes, it is tried again.

    An app that was started again knows nothing of the page, and Streamlit tells it the link that the page was opened
    with, not the one in the address bar: a second session on one page opens that address again.
    """
    announcement = ""
    if query is None:
        query = history.link()
        history.record(query)
        announcement = (
            f"window.dispatchEvent(new CustomEvent('dpviz-history', {{detail: {json.dumps(history.room())}}}));"
        )
    query = "&".join(filter(None, [query, present.link()]))
    script = (
        f"{announcement}"
        f"clearTimeout(window.__dpvizLink); if ((window.__dpvizSession ??= '{state.session()}') !== "
        f"'{state.session()}') location.replace(location.href); else (function write() {{"
        f"const q = {query!r}, name = '{links.ENTERED}', seen = {controls.last_entry()};"
        "const later = new URLSearchParams(location.search).getAll(name).filter((entry) => parseFloat(entry) > seen);"
        "const all = [q, ...later.map((entry) => `${name}=${encodeURIComponent(entry)}`)].filter(Boolean).join('&');"
        "const want = all ? '?' + all : '';"
        "try { if (location.search !== want) history.replaceState(history.state, '', location.pathname + want); }"
        "catch { window.__dpvizLink = setTimeout(write, 1000); }"
        "})();"
    )
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def sidebar(key: str) -> None:
    """Undo, the presets of the page called `key`, pins and reset: the same on every page that has a mechanism."""
    history.record(history.link())
    with st.sidebar:
        with st.container(key="dpviz-tools", horizontal=True, vertical_alignment="center", gap=None):
            _steps(
                key=Keys.STEPS,
                data={"room": history.room(), "seen": controls.last_undo()},
                on_entry_change=history.take_entries,
                width="content",
            )
            _tools()
        _presets(PRESETS.get(key, ()))
        _pins()


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
        format_func=lambda k: names.get(k, "– none –"),
        key=key,
        on_change=history.choose_preset,
        help="Settings of published figures. Diamonds are printed values.",
    )
    named = history.preset()
    if named is not None and named.key in names:
        st.html(f'<div class="dpviz-quiet">{escape(named.note)}</div>')


def _tools() -> None:
    """What is done with the whole state: buttons whose icons are seen and whose names are heard."""
    pins = (
        "Pin this state: its curves stay on the chart as faded curves. In a presentation, pins are the stops of your "
        f"story, in order. At most {MOST_PINS}."
    )
    full = len(history.pins()) >= MOST_PINS
    button("Pin this state", "push_pin", history.pin_state, enabled=not full, help=pins, type="tertiary")
    button("Reset everything", "restart_alt", history.reset, help="Reset everything to its default.", type="tertiary")
    way_to_present()


def way_to_present() -> None:
    button("Present", "slideshow", present.begin, help=present.HELP, type="tertiary")


def _pins() -> None:
    for index, (pin, named) in enumerate(zip(history.pins(), history.pin_names(), strict=True)):
        name = plain(named)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                name, key=f"pin.show.{index}", on_click=history.show_pin, args=(pin,), help="Go back to this state."
            )
            drop = f"pin.drop.{index}"
            button("", "close", history.unpin, key=drop, args=(index,), help=f"Unpin {name}.", type="tertiary")
