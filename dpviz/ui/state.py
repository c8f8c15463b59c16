"""The session's state: one value a field, whichever page or widget wrote it.

Widgets come and go with their page; the values here stay. Every session key of the app is named in `Keys`.
"""

import math
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from dpviz.fields.field import AnyField, Field
from dpviz.questions import links, readings
from dpviz.questions.layout import Reader, SettingsSnapshot, of_texts
from dpviz.questions.readings import READINGS

V = TypeVar("V")


def _of_page(name: str) -> Callable[[str], str]:
    return staticmethod(lambda page: f"{page}.{name}")


def _of_field(name: str) -> Callable[[AnyField], str]:
    return staticmethod(lambda field: f"{name}.{field.key}")


class Keys:
    """Names of session keys, by who writes them."""

    # `state`: a name for the session, what of its link was read, and what of that could not be used.
    SESSION, LOADED, NOTES = "session", "loaded_from_url", "notes_on_link"
    VALUE = "value"
    value, error = _of_field(VALUE), _of_field("error")

    # `controls`: of each field its widgets, the last entry taken, and the field of N in its text; of all, the last
    # entry and undo that were taken. Streamlit keeps the state of widgets under the names of `slider` and `entry`.
    slider, entry, seen, size = _of_field("slider"), _of_field("entry"), _of_field("seen"), _of_field("size")
    LAST_ENTRY, STEPS, STEPS_SEEN = "last_entry", "history.steps", "history.seen"

    # `strip`: what the strip of the run says, and its numbers' entries.
    STRIP, in_strip = "strip", _of_field("strip")

    # `history`: states to go back to, pins, and the chooser of presets.
    HISTORY, PINS, PRESET = "history", "pins", "preset"

    # `page`: the address that is open, the page drawn last, and where a button leads.
    ADDRESS, PAGE, GO = "address", "page", "go_to_page"

    # `present`: the modes that a link asks for, and which pin of a lecture is shown.
    PRESENT, EMBED, EXPERT, STOP = "present", "embed", "expert", "present.stop"

    # `boundary`: values with which a page was drawn whole, and whether one of these was asked for.
    worked, AGAIN = _of_page("worked"), "whole_page_again"

    # `panel`: the open group, settings that stay in sight, how often controls were drawn, as what, which messages
    # differ since, and the mechanism that wrong batches were entered for.
    group, MOVED, READ_OF = _of_page("group"), "expert.moved", "units.read_of"
    DRAWINGS, MESSAGES, TOUCHED = "drawings", "messages", "touched"

    # `render` and `plots`: as what the page was drawn, and the chart that hears of entries.
    DRAWN, CHART = "drawn", "chart"

    # `browser`: what frames and slow parts are made from, and what goes on changing; all go with the session.
    FRAMES, SLOW_PARTS, UPDATES = "frames", "slow_parts", "updates"

    # `details`: which part is open, and the experiment that is run again.
    details, RERUN = _of_page("details"), "rerun"

    # `own_controls`: the pasted text, what was read of it, and what it filled in.
    SNIPPET, SNIPPET_READ, SNIPPET_FILLED = "snippet", "snippet.read", "snippet.filled"

    # `sources`: the chooser of a file and of its column, and what is known of the file.
    UPLOAD_WIDGET, UPLOAD_COLUMN, UPLOAD = "upload.widget", "upload.column", "upload"

    # `measuring`: what this run of the page asks for, and what the visitor stopped.
    ASKED, STOPPED = "measuring.asked", "measuring.stopped"

    # `lecture`: the stop whose reply is shown.
    REPLY = "lecture.reply"

    # `home`: the stop of the story that the browser reached, and the last one taken.
    STORY, STORY_SEEN = "story", "story.seen"


def session() -> str:
    """A name that no other session has."""
    name: str = st.session_state.setdefault(Keys.SESSION, uuid.uuid4().hex)
    return name


def number_of(sent: Any) -> float:
    """A number that a browser sent, where a stranger may send anything; NaN for all but a finite number."""
    if isinstance(sent, (int, float)) and abs(sent) <= sys.float_info.max:  # whole numbers may be longer than a float
        return float(sent)
    return math.nan


def get(field: Field[V]) -> V:
    """The value of `field` in this session."""
    value: V = _read(field)
    return value


def _kept(field: AnyField) -> Any:
    return st.session_state.get(Keys.value(field), field.default)


_read = readings.beside(_kept, lambda field: Keys.value(field) in st.session_state)


def snapshot() -> SettingsSnapshot:
    """All values of this moment: those that a run of a page answers to."""
    return SettingsSnapshot(get)


def put(field: Field[V], value: V) -> None:
    """Set `field`; what was wrongly typed for it, and what a link got wrong, is forgotten.

    Raises:
        ValueError: it is kept in other fields, and they cannot say it.
    """
    reading = READINGS.get(field.key)
    kept = [(field, value)] if reading is None else [*reading.sets(value, get)]
    for one in (field, *(one for one, _ in kept)):
        for key in (one.key, *readings.of(one)):
            st.session_state.pop(f"{Keys.VALUE}.{key}", None)
    for one, each in kept:
        st.session_state[Keys.value(one)] = each
        forget_error(one)
    st.session_state.pop(Keys.NOTES, None)
    forget_error(field)


def reader(query: str) -> Reader:
    """The state that a query string holds; what it does not name, or names wrongly, is at its default."""
    texts = links.read(dict(parse_qsl(query, keep_blank_values=True)))
    return readings.beside(of_texts(texts), lambda field: field.key in texts)


def error(field: AnyField) -> str:
    """What was wrong with the text last typed for `field`; empty when nothing was."""
    text: str = st.session_state.get(Keys.error(field), "")
    return text


def forget_error(field: AnyField) -> None:
    st.session_state.pop(Keys.error(field), None)


def assign(fields: Iterable[AnyField], texts: Mapping[str, str]) -> None:
    """Set every field: to what `texts` writes for it, else to its default (presets, pins, the story, reset, clones).

    A default is not stored: it may be another on each page. What a field does not allow is made legal and noted, as it
    is for a link.
    """
    known = {field.key: field for field in fields}
    values, notes = _legal(known, texts, whose="value asked for")
    for field in known.values():
        st.session_state.pop(Keys.value(field), None)
        forget_error(field)
    _put_all(known, values)
    st.session_state.pop(Keys.NOTES, None)
    if notes:
        st.session_state[Keys.NOTES] = notes


def texts(fields: Iterable[AnyField], beneath: Mapping[str, str] | None = None) -> dict[str, str]:
    """What differs from the defaults, or from the preset's values `beneath`, as text: what a link carries."""
    beneath = beneath or {}
    written: dict[str, str] = {}
    for field in fields:
        if Keys.value(field) not in st.session_state and field.key not in beneath:
            continue  # at its default
        text, usual = field.write(get(field)), field.write(field.default)
        if text != usual or text != beneath.get(field.key, usual):
            written[field.key] = text
    return written


def query(fields: Iterable[AnyField], pins: Iterable[str] = (), beneath: Mapping[str, str] | None = None) -> str:
    """The query string of a link to this state; `beneath` as in `texts`."""
    return links.written([*texts(fields, beneath).items(), *(("pin", pin) for pin in pins)])


def _put_all(known: Mapping[str, AnyField], values: Mapping[str, Any]) -> None:
    """Set these fields: those that are kept in others last."""
    for key in sorted(values, key=READINGS.__contains__):
        put(known[key], values[key])


MOST_PINS = 6


def load_from_url(fields: Iterable[AnyField]) -> None:
    """Once a session and field: take every value of the page's link, made legal, and note what had to be changed.

    Pages bring fields of their own, so each field is looked for once.
    """
    loaded: frozenset[str] = st.session_state.get(Keys.LOADED, frozenset())
    known = {field.key: field for field in fields if field.key not in loaded}
    if not known:
        return
    st.session_state[Keys.LOADED] = loaded | known.keys()
    link = {key: st.query_params[key] for key in st.query_params}
    values, notes = _legal(known, links.read(link))
    _put_all(known, values)
    if not loaded:
        refusal = links.refusal(link)
        st.session_state[Keys.PINS], wrong = _pins(known, [] if refusal else st.query_params.get_all("pin"))
        notes = [*([refusal] if refusal else []), *notes, *wrong]
    if not loaded or notes:
        st.session_state[Keys.NOTES] = notes


def follow(fields: Iterable[AnyField]) -> None:
    """Take what a link within the app says, which was followed to this page: all of it, also what was set before."""
    known = {field.key: field for field in fields}
    link = {key: st.query_params[key] for key in st.query_params}
    values, notes = _legal(known, links.read(links.at_defaults(link) if texts(known.values()) else link))
    _put_all(known, values)
    if values or notes:
        st.session_state[Keys.NOTES] = notes


def _legal(
    known: Mapping[str, AnyField], texts: Mapping[str, str], whose: str = "link's value"
) -> tuple[dict[str, Any], list[str]]:
    """The values that `texts` writes for known fields, made legal, and what had to be said about them."""
    values, notes = {}, []
    for key, text in texts.items():
        if (field := known.get(key)) is None:
            continue
        try:
            values[key] = field.parse(text)
        except ValueError as problem:
            values[key] = field.nearest(text)
            notes.append(f"{problem} The {whose} was replaced by “{field.show(values[key])}”.")
    return values, notes


def _pins(known: Mapping[str, AnyField], texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Pinned states of a link, each written as the app itself would write it, and notes."""
    pins: list[str] = []
    notes: list[str] = []
    for text in dict.fromkeys(texts):
        pin = links.read(dict(parse_qsl(text, keep_blank_values=True)))
        values, wrong = _legal(known, pin)
        if text and not known.keys() & pin.keys():
            notes.append(f"Pinned state: “{text[:40]}” holds no settings and was left out.")
            continue
        notes += [f"Pinned state: {note}" for note in wrong]
        written = {key: known[key].write(value) for key, value in values.items()}
        texts_of_pin = {k: t for k, t in written.items() if t != known[k].write(known[k].default)}
        pins.append(urlencode(links.at_defaults(texts_of_pin)))
    if len(pins) > MOST_PINS:
        notes.append(f"The link holds {len(pins)} pinned states; the first {MOST_PINS} are kept.")
    return list(dict.fromkeys(pins))[:MOST_PINS], notes
