"""Widgets bound to fields: a slider and a text for the same number always agree, and a bad text loses nothing."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from dpviz.charts import look
from dpviz.fields import AnyField
from dpviz.fields.field import Choice, Flag, Number, Several, Text
from dpviz.questions import kinds, links, readings, units
from dpviz.questions.check.fields import UNSETTLED
from dpviz.questions.page import Group
from dpviz.ui import state
from dpviz.ui.browser.routes import component
from dpviz.ui.state import Keys

Act = Callable[[], None]

LONGEST = 100  # characters of an entry that are read
MOST_STEPS = 100  # of undo and redo that are read

# Slider, exact text, and what is said below, drawn and moved in the browser. Its state is {"entry": {"text": what was
# entered, "exact": whether the slider or a choice wrote it, not a person, "n": a number that grows with every entry}}.
_number = component("number")
_run = component("run")  # it has no state: the number's own control tells the server


class NumberControl(NamedTuple):
    """A number's control.

    Attributes:
        field: its field.
        says: what the browser draws: field, label, shows_label, help; text: what stands in the text field; said: the
            same for the ear; stops: the slider's stops as texts, none for a text field alone; whole: whether only whole
            numbers will do; seen: the last entry that `text` knows of; picture, ends, note, wrong, offers, why: below.
    """

    field: Number
    says: Mapping[str, Any]

    def draw(self, *, in_strip: bool = False) -> None:
        """Draw it: where the page has it, or in the strip of the run."""
        # What differs at every drawing is told at every drawing: a chart may have told the control something else.
        drawing = st.session_state.get(Keys.DRAWINGS, 0)
        data = {**self.says, "drawing": drawing, "kept_as": links.ENTERED}
        key = Keys.in_strip(self.field) if in_strip else Keys.entry(self.field)
        _number(key=key, data=data, on_entry_change=partial(take, self.field))


def number_control(
    field: Number,
    *,
    slider: bool = True,
    note: str = "",
    value: float | None = None,
    stops: Sequence[str] | None = None,
    offers: Mapping[str, str] | None = None,
    why: str = "",
    picture: str | None = None,
    size: Number | None = None,
    pulled: bool = False,
) -> NumberControl:
    """A number's control, as it is now.

    Args:
        note: stands below in amber.
        value, stops: what it shows and the texts at which its slider stops, where those are not the field's own.
        offers: small choices below it, each with the text that it enters; `why` stands below all, in grey.
        picture: between the slider and what stands below, as SVG (`FieldControl.picture`).
        size: the field of what "N" stands for in its text, where there is one.
        pulled: whether it is not drawn, and set on the chart or in the headline: what was wrongly typed is told there.
    """
    st.session_state[Keys.size(field)] = size
    take(field)
    if not pulled and not _is_drawn(field):  # what was wrongly typed went with its control
        state.forget_error(field)
    wrong, sent = state.error(field), _entry(field)
    value = state.get(field) if value is None else value
    says = {
        "field": field.key,
        "label": field.label,
        "shows_label": True,
        "help": field.help,
        "value": value if math.isfinite(value) else field.write(value),
        "text": sent.text if wrong and sent else field.write(value),
        "said": field.show(value),
        "stops": list(field.stops if stops is None else stops) if slider else [],
        "offers": list((offers or {}).items()),
        "why": why,
        "picture": picture,
        "whole": field.whole,
        "seen": sent.n if sent else 0.0,
        "ends": field.ends if slider and (offers or not why) else ("", ""),  # what a value means is said in their place
        "note": note,
        "wrong": wrong,
    }
    return NumberControl(field, says)


def _is_drawn(field: Number) -> bool:
    return Keys.entry(field) in st.session_state or Keys.in_strip(field) in st.session_state


class Entered(NamedTuple):
    """What the browser says was entered last, in its order; `exact` where no person typed it (a slider's stop)."""

    text: str
    n: float
    exact: bool


def _entry(field: Number, reports: Mapping[str, Sequence[Any]] | None = None) -> Entered | None:
    """The field's last entry, which its control told, or the chart that it moves, or the link (`reports`)."""
    controls = (st.session_state.get(key(field)) for key in (Keys.entry, Keys.in_strip))
    entries = *controls, *(_reports() if reports is None else reports).get(field.key, ())
    return max(filter(None, map(_sensible, entries)), key=lambda one: one.n, default=None)


def _reports() -> dict[str, list[Any]]:
    """What was entered as the chart tells it, and just before the page was loaded again: the browser kept it in the
    address. By keys of fields.
    """
    reports: dict[str, list[Any]] = {}
    with suppress(KeyError, TypeError, AttributeError):
        entries = st.session_state[st.session_state[Keys.CHART]]["entries"]
        reports |= {key: [{"entry": entries[key]}] for key in entries}
    for entry in st.query_params.get_all(links.ENTERED):
        n, key, exact, text = (entry.split(" ", 3) + [""] * 4)[:4]
        kept = {"text": text, "n": float(n) if n.isdecimal() else None, "exact": exact == "1"}
        reports.setdefault(key, []).append({"entry": kept})
    return reports


def _sensible(sent: Any) -> Entered | None:
    """What was entered, if that makes sense: a stranger may send anything."""
    try:
        text, n = sent["entry"]["text"], state.number_of(sent["entry"]["n"])
    except (KeyError, TypeError, AttributeError):
        return None
    exact = sent["entry"].get("exact") is True
    return Entered(text[:LONGEST], n, exact) if isinstance(text, str) and math.isfinite(n) else None


def take(field: Number) -> None:
    """Make what was entered last the field's value, or say why it cannot be; once an entry, and not before an undo that
    was asked for first.

    The browser numbers its entries, so none is lost or taken twice, however runs follow each other: a run that is
    stopped in the middle loses what callbacks stored, and what the browser says always arrives.
    """
    sent = _entry(field)
    if sent is None or sent.n <= st.session_state.get(Keys.seen(field), 0.0) or sent.n > _first_undo():
        return
    try:
        known = units.known(field, st.session_state.get(Keys.size(field)), state.get)
        entered = (field.parse if sent.exact else field.typed)(sent.text, known)
        moved = kinds.sets(field, entered, state.get) if field.key in units.LINKED else {field: entered}
        for one, value in moved.items():
            state.put(one, value)
        _mark_settled(field)
        state.forget_error(field)
    except ValueError as problem:
        st.session_state[Keys.error(field)] = str(problem)
    st.session_state[Keys.seen(field)] = sent.n
    st.session_state[Keys.LAST_ENTRY] = max(last_entry(), sent.n)


def last_entry() -> float:
    """The last entry that was taken."""
    last: float = st.session_state.get(Keys.LAST_ENTRY, 0.0)
    return last


def take_entries(fields: Iterable[AnyField]) -> None:
    """Before anything else is done: values are what the visitor entered last (and before the next undo)."""
    reports = _reports()
    numeric = [field for field in fields if isinstance(field, Number)]
    entered = [field for field in numeric if _is_drawn(field) or field.key in reports]
    numbers = [(sent.n, field) for field in entered if (sent := _entry(field, reports))]
    for _, field in sorted(numbers, key=lambda one: one[0]):
        take(field)


# --- undo and redo, as the browser asks for them ----------------------------------------------------------------------


def undo_steps() -> list[tuple[float, int]]:
    """Steps that were asked for and not yet taken, in their order: when, and how far. A stranger may send anything."""
    try:
        steps = [(state.number_of(n), state.number_of(by)) for n, by in st.session_state[Keys.STEPS]["entry"]["steps"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
    after = last_undo()
    return sorted((n, int(by)) for n, by in steps[-MOST_STEPS:] if n > after and by in (-1, 1))


def _first_undo() -> float:
    """When the first of them was asked for; what was entered later waits for it."""
    return min((n for n, _ in undo_steps()), default=math.inf)


def undo_taken(n: float) -> None:
    st.session_state[Keys.STEPS_SEEN] = n


def last_undo() -> float:
    """The last step that was taken."""
    last: float = st.session_state.get(Keys.STEPS_SEEN, 0.0)
    return last


# --- what is no number ------------------------------------------------------------------------------------------------


def choice(
    field: Choice,
    *,
    horizontal: bool = True,
    label_visible: bool = True,
    in_strip: bool = False,
    then: Act = lambda: None,
) -> str:
    """One of a few: segments side by side, or a drop-down list; a label that is not seen is still heard.

    `then` is done when another one was picked; `in_strip` as for a number.
    """
    value = state.get(field)
    widget: Callable[..., object] = partial(st.segmented_control, required=True) if horizontal else st.selectbox
    options: dict[str, Any] = {"options": list(field.options), "format_func": lambda key: field.options[key]}
    seen = "visible" if label_visible else "collapsed"
    key = Keys.in_strip(field) if in_strip else Keys.slider(field)
    _bound(widget, field, value, partial(_picked, field, key, then), key=key, label_visibility=seen, **options)
    return value


def listed(field: Choice, groups: Iterable[Group]) -> None:
    """One of many, as a list with a heading for each group: the open one has what is chosen."""
    value = state.get(field)
    for group in groups:
        key, here = f"{Keys.slider(field)}.{group.topic}", value in group.options
        place = st.expander(group.heading, expanded=here) if group.source else st.container()
        set_widget(key, value if here else None)
        place.radio(
            group.heading,
            group.options,
            format_func=group.options.__getitem__,
            key=key,
            on_change=_listed,
            args=(field, key),
            label_visibility="collapsed",
        )


def _listed(field: Choice, key: str) -> None:
    if (picked := st.session_state[key]) is not None:
        state.put(field, picked)


def several(field: Several, offered: Sequence[str] | None = None) -> None:
    """Pills, any number of them on; of all options, or of those offered: other pills, another widget."""
    options = list(field.options if offered is None else offered)

    def picked() -> None:
        on = {*(st.session_state[key] or ()), *(option for option in state.get(field) if option not in options)}
        state.put(field, tuple(option for option in field.options if option in on))

    key = ".".join([Keys.slider(field), *(options if len(options) < len(field.options) else ())])
    pills = partial(st.pills, options=options, selection_mode="multi", format_func=lambda key: field.options[key])
    _bound(pills, field, [option for option in state.get(field) if option in options], picked, key=key)
    if swatches := _swatches(key, options):
        st.html(f"<style>{swatches}</style>")


def _swatches(key: str, options: Sequence[str]) -> str:
    """A piece of each curve's line in its pill, as CSS; nothing for options that are no curves."""
    pills = f".st-key-{re.sub(r'[^a-zA-Z0-9_-]', '-', key)} [data-testid='stButtonGroup'] button[data-variant]"
    lines = {place: look.FAMILIES.get(option) for place, option in enumerate(options, start=1)}
    return "".join(
        f"{pills}:nth-of-type({place})::before {{ content: ''; width: 1.1em; margin-right: .4em; "
        f"border-top: 3px {'solid' if line.dash == 'solid' else 'dashed'} {line.color}; }}"
        for place, line in lines.items()
        if line is not None
    )


def run_button(field: Number, stops: Sequence[str] | None = None, name: str = "") -> None:
    """A button that lets the number's slider go by itself through these stops, or all of the field's."""
    _run(key=f"run.{name or field.key}", data={"field": field.key, "stops": list(stops or field.stops)})


def flag(field: Flag) -> None:
    def switched() -> None:
        state.put(field, bool(st.session_state[Keys.slider(field)]))

    _bound(st.toggle, field, state.get(field), switched)


def text(field: Text) -> None:
    """A line that is typed, whatever it says."""

    def typed() -> None:
        state.put(field, field.parse(st.session_state[Keys.slider(field)]))

    _bound(st.text_input, field, state.get(field), typed, max_chars=field.longest)


def _bound(
    widget: Callable[..., object], field: AnyField, value: object, changed: Act, key: str = "", **more: Any
) -> None:
    """A widget of the field that shows `value`; `changed` is done when a visitor changes it."""
    key = key or Keys.slider(field)
    set_widget(key, value)
    widget(field.label, key=key, help=field.help or None, on_change=changed, **more)


def set_widget(key: str, value: object) -> None:
    """A widget's state. Assign only what differs: assigning to a slider that is being dragged would throw it back."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def _picked(field: Choice, key: str, then: Act) -> None:
    picked = st.session_state[key]
    if picked is not None:
        steps = kinds.follows(state.get(field), picked, state.get) if field == kinds.KIND else {}
        state.put(field, picked)
        for number, value in steps.items():
            state.put(number, value)
        _mark_settled(field)
        then()


def _mark_settled(field: AnyField) -> None:
    """An entered value settles what pasted code leaves open."""
    unsettled = state.get(UNSETTLED)
    settled = {field.key, *readings.of(field)}
    if settled & {*unsettled}:
        state.put(UNSETTLED, tuple(key for key in unsettled if key not in settled))
