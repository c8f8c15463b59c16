"""The session's saved states, each the query string of its link: the link itself, undo and redo, presets and pins.

What is kept is replaced, never changed: a run that is stopped in the middle loses all it stored or nothing.
"""

from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from dpviz.fields import AnyField
from dpviz.questions import links
from dpviz.questions.layout import Reader
from dpviz.questions.mechanism import RATE, SIGMA, STEPS
from dpviz.questions.presets import Preset
from dpviz.questions.readings import READINGS
from dpviz.questions.units import BATCH, UNITS
from dpviz.ui import controls, state
from dpviz.ui.registry import FIELDS, OF_PAGE, PRESET
from dpviz.ui.state import Keys

MOST = 100
MOST_NAMED = 3  # settings in a pin's name


def fields() -> tuple[AnyField, ...]:
    """All fields, as the page on screen has them."""
    return OF_PAGE.get(st.session_state.get(Keys.PAGE, ""), FIELDS)


class Past(NamedTuple):
    """States in their order, the one that the session is at, and the page on which each was reached."""

    states: tuple[str, ...] = ()
    place: int = -1
    pages: tuple[str, ...] = ()


def _past() -> Past:
    past: Past = st.session_state.get(Keys.HISTORY, Past())
    return past


def record(query: str) -> None:
    """The session is in this state: another one comes after the last, and cuts off what was undone."""
    states, place, pages = _past()
    if place < 0 or states[place] != query:
        page = st.session_state.get(Keys.PAGE, "")
        kept = (*states[: place + 1], query)[-MOST:]
        st.session_state[Keys.HISTORY] = Past(kept, len(kept) - 1, (*pages[: place + 1], page)[-MOST:])


def step(by: int) -> str | None:
    """Go one state back, or on; the state there, None where there is none. The page on which the one was made from the
    other is where its effect is seen."""
    states, place, pages = _past()
    if not 0 <= place + by < len(states):
        return None
    st.session_state[Keys.HISTORY] = Past(states, place + by, pages)
    if (page := pages[max(place, place + by)]) != st.session_state.get(Keys.PAGE, ""):
        st.session_state[Keys.GO] = page
    return states[place + by]


def changed() -> bool:
    """Whether the session is in another state than the last one that was drawn."""
    states, place, _ = _past()
    return place >= 0 and states[place] != link()


def before() -> Reader | None:
    """The state before the present one, None where there is none."""
    states, place, _ = _past()
    last = place if changed() else place - 1
    return state.reader(states[last]) if last >= 0 else None


def room() -> tuple[int, int]:
    """How many states there are before this one and after it."""
    states, place, _ = _past()
    return max(place, 0), len(states) - 1 - place


def take_entries(more: tuple[AnyField, ...] = ()) -> None:
    """Take what was entered before this, undo and redo in their places: first thing in what a button does."""
    for n, by in controls.undo_steps():
        controls.take_entries((BATCH, *fields(), *more))
        record(link())
        if (query := step(by)) is not None:
            pairs = parse_qsl(query, keep_blank_values=True)
            state.assign((*fields(), PRESET), links.read(dict(pairs)))
            st.session_state[Keys.PINS] = [text for key, text in pairs if key == "pin"]
        controls.undo_taken(n)
    controls.take_entries((BATCH, *fields(), *more))


def link(more: tuple[AnyField, ...] = ()) -> str:
    """The query string of this state, pins included; `more` as in `begin`. What its preset says it need not say."""
    named = preset()
    return state.query((*fields(), PRESET, *more), pins(), named.values if named else None)


# --- presets ----------------------------------------------------------------------------------------------------------


def preset() -> Preset | None:
    """The preset chosen last, until reset; its published points stay on the chart while sliders move."""
    return links.PRESETS.get(state.get(PRESET))


def as_published(preset: Preset) -> bool:
    """Whether all that it set is as it was set."""
    set_by_it = [field for field in fields() if field.key in preset.values]
    return all(state.get(field) == field.parse(preset.values[field.key]) for field in set_by_it)


def choose_preset() -> None:
    chosen = links.PRESETS.get(st.session_state[Keys.PRESET])
    if chosen is None:
        state.put(PRESET, "")
        return
    apply(chosen.values)
    state.put(PRESET, chosen.key)


def open_question() -> None:
    """Give the chosen question the published setting at which it opens, if the visitor has set nothing else yet."""
    opens = None if pins() else links.opening(state.texts((*fields(), PRESET)))
    if opens is not None:
        apply(opens.values)
        state.put(PRESET, opens.key)


def apply(values: dict[str, str]) -> None:
    """Set every field: to `values`, the rest to defaults. For presets and the story."""
    take_entries()
    state.assign((*_set(), PRESET), values)
    st.session_state[Keys.MOVED] = set()


def _set() -> tuple[AnyField, ...]:
    """What presets, pins and the tour set: all but the way in which q and T are entered."""
    return tuple(field for field in fields() if field is not UNITS)


def reset() -> None:
    apply({})
    state.put(UNITS, UNITS.default)
    st.session_state[Keys.PINS] = []


# --- pins -------------------------------------------------------------------------------------------------------------


def pins() -> list[str]:
    """Pinned states, each a query string."""
    kept: list[str] = st.session_state.get(Keys.PINS, [])
    return kept


def pin_state() -> None:
    take_entries()
    pin = urlencode(links.at_defaults(state.texts(_set())))
    if pin not in pins():
        st.session_state[Keys.PINS] = [*pins(), pin]


def unpin(index: int) -> None:
    st.session_state[Keys.PINS] = [pin for i, pin in enumerate(pins()) if i != index]


def show_pin(pin: str) -> None:
    """Go back to a pinned state."""
    apply(dict(parse_qsl(pin, keep_blank_values=True)))


def pin_names() -> list[str]:
    """Each pin by its values of what differs, among the pins first, then from the present state; three at most.

    A pin that says what the present state says is called by its mechanism.
    """
    readers = [state.reader(pin) for pin in pins()]
    named = [field for field in fields() if field.symbol and field.key not in READINGS]
    written = {field.key: [field.write(read(field)) for read in readers] for field in named}
    among = [field for field in named if len(set(written[field.key])) > 1]
    others = [field for field in named if len(set(written[field.key])) == 1]
    beside = [field for field in others if field.write(state.get(field)) not in written[field.key]]
    return [_name(read, [*among, *beside] or [SIGMA, RATE, STEPS]) for read in readers]


def _name(read: Reader, differing: list[AnyField]) -> str:
    text = " · ".join(f"{field.symbol} {field.show(read(field))}" for field in differing[:MOST_NAMED])
    return text + " …" * (len(differing) > MOST_NAMED)
