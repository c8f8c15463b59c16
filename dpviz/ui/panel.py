"""The panel of controls beside a chart: which are in sight, how they are drawn, and what they say anew.

A what-if page shows what one usually moves, or (`expert=1`) all. The link says it and it stays in the session, as
presenting does: no preset, pin, undo or script knows of it. Whatever is not shown is at its default, and a line says
how many there are.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from dpviz.fields import numbers
from dpviz.fields.expression import steps_of
from dpviz.fields.field import Choice, Field, Flag, Number, Several, Text
from dpviz.questions import units
from dpviz.questions.layout import Control, InUnits, Item, Noted, Offered, Own, Row, fields_of, in_sight, moved_of
from dpviz.questions.mechanism import RATE, SIZE, STEPS
from dpviz.questions.page import Page
from dpviz.questions.question import Question
from dpviz.questions.units import BATCH, EPOCHS, UNITS
from dpviz.ui import controls, history, present, state
from dpviz.ui.controls import NumberControl
from dpviz.ui.own_controls import OWN_CONTROLS
from dpviz.ui.state import Keys

Messages = Mapping[str, Mapping[str, Any]]
BUILT = ("label", "help", "shows_label", "stops")  # what a control is built of
_HELP = (
    "Rarely used settings: other accountants, orders and axes, how samples are drawn, the image's format. Hidden "
    "settings have their defaults; `expert=1` in a link shows all."
)


def show(page: Page, question: Question[Any]) -> None:
    """All that stands beside the chart: the choice of a group, its controls, and the way to expert settings."""
    if present.presenting():
        draw(present.controls(question))
        return
    groups, hidden = _in_sight(question)
    chosen = _one_of(Keys.group(page.key), list(groups))
    if page.choice is not None and chosen == next(iter(groups)):
        _draw_one(page.choice)
    draw(groups[chosen])
    _expert_switch(hidden)


def in_view(page: Page, question: Question[Any]) -> Sequence[Control]:
    """The controls that are in view: those of the open group, or the few of a lecture."""
    if present.presenting():
        return present.controls(question)
    groups, _ = _in_sight(question)
    chosen: str = st.session_state.get(Keys.group(page.key), "")
    return groups[chosen if chosen in groups else next(iter(groups))]


def drawn(page: Page, question: Question[Any]) -> tuple[object, ...]:
    """What is drawn, but for numbers' messages: as long as it stays, messages are enough."""
    groups, hidden = ({}, 0) if present.presenting() else _in_sight(question)
    return (*groups, hidden), [*map(_shape, in_view(page, question))]


def _one_of(kept: str, names: list[str]) -> str:
    """Which group of controls is open. A widget's options never change: other names, another widget."""
    key = f"{kept}.{'.'.join(names)}"
    if key not in st.session_state:
        chosen = st.session_state.get(kept)
        st.session_state[key] = chosen if chosen in names else names[0]
    chosen = names[0]
    if len(names) > 1:
        chosen = st.segmented_control("Controls", names, required=True, key=key, label_visibility="collapsed") or chosen
    st.session_state[kept] = chosen
    return chosen


# --- which are in sight -----------------------------------------------------------------------------------------------


def _in_sight(question: Question[Any]) -> tuple[Mapping[str, Sequence[Control]], int]:
    """The controls to be drawn, without groups that have none; and how many settings are not drawn."""
    every = question.groups(state.get)
    kept = None if present.expert() else _kept(question, [item for items in every.values() for item in items])
    parts = {name: in_sight(items, kept) for name, items in every.items()}
    first = next(iter(parts))
    shown = {name: controls for name, (controls, _) in parts.items() if controls or name == first}
    return shown, len({name for _, names in parts.values() for name in names})


def _kept(question: Question[Any], items: Sequence[Item]) -> set[str]:
    """Names of settings that stay in sight: those that the link or the preset names, and those not at their defaults;
    these stay when they go back there, or a control would vanish under the hand that moved it.
    """
    before: set[str] = st.session_state.get(Keys.MOVED, set(st.query_params))
    moved = moved_of(fields_of(items), state.get) | before
    st.session_state[Keys.MOVED] = moved
    preset = history.preset()
    return moved | set(preset.values if preset is not None and preset in question.presets else ())


def _expert_switch(hidden: int) -> None:
    """The way to all controls, and back: the last line below them."""
    if present.expert():
        words, key, to, icon = "Fewer settings", "tool", "", ":material/expand_less:"
    elif hidden:
        words = f"{hidden} expert settings at their defaults" if hidden > 1 else "1 expert setting at its default"
        key, to, icon = "expert", "1", ":material/expand_more:"
    else:
        return
    st.button(words, key=f"depth.{key}", on_click=_switch, args=(to,), icon=icon, type="tertiary", help=_HELP)


def _switch(to: str) -> None:
    history.settle()
    st.session_state[Keys.EXPERT] = to
    st.session_state[Keys.MOVED] = set()


# --- drawn, and changed -----------------------------------------------------------------------------------------------


def draw(items: Sequence[Control]) -> None:
    """The controls, in their order."""
    st.session_state[Keys.DRAWINGS] = st.session_state.get(Keys.DRAWINGS, 0) + 1
    for item in items:
        _draw_one(item)
    st.session_state[Keys.MESSAGES] = messages(items)
    st.session_state[Keys.TOUCHED] = frozenset()


def messages(items: Sequence[Control]) -> Messages:
    """What the numbers' controls among them are to say now, by their fields' keys."""
    return {one.field.key: one.says for item in items for one in _numbers(item)}


def changed_messages(items: Sequence[Control]) -> Messages:
    """Messages that changed since the controls were drawn. Always all of them: a browser that receives two answers at
    once keeps only the last.
    """
    now, drawn = messages(items), st.session_state.get(Keys.MESSAGES, {})
    before: frozenset[str] = st.session_state.get(Keys.TOUCHED, frozenset())
    touched = before | {key for key, says in now.items() if says != drawn.get(key)}
    st.session_state[Keys.TOUCHED] = touched
    return {key: _differing(says, drawn.get(key, {})) for key, says in now.items() if key in touched}


def _differing(now: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in now.items() if key not in BUILT or value != before.get(key)}


def _shape(item: Control) -> object:
    """What is drawn of one control."""
    if isinstance(item, Row):
        return tuple(_shape(field) for field in item.fields)
    if isinstance(item, InUnits):
        return state.get(UNITS), *(field.key for field in item.fields)
    if isinstance(item, Offered):
        return item.field.key, item.options
    return item.field.key if isinstance(item, Noted) else item.name if isinstance(item, Own) else item.key


def _draw_one(item: Control) -> None:
    if isinstance(item, Row):
        for column, field in zip(st.columns(item.shares or len(item.fields), gap="small"), item.fields, strict=True):
            with column:
                _draw_one(field)
    elif isinstance(item, Number | Noted | InUnits):
        if isinstance(item, InUnits) and RATE in item.fields:  # there are two ways to enter it
            controls.choice(UNITS, label_visible=False)
        for one in _numbers(item):
            one.draw()
    elif isinstance(item, Offered):
        controls.several(item.field, item.options)
    elif isinstance(item, Own):
        OWN_CONTROLS[item.name]()
    elif isinstance(item, Choice):
        controls.choice(item, horizontal=not item.tall)
    elif isinstance(item, Several):
        controls.several(item)
    elif isinstance(item, Flag):
        controls.flag(item)
    elif isinstance(item, Text):
        controls.text(item)
    else:
        raise TypeError(f"Expected a field that has a control, found {type(item).__name__} {item.key!r}.")


def _numbers(item: Control) -> list[NumberControl]:
    if isinstance(item, Row):
        return [one for field in item.fields for one in _numbers(field)]
    if isinstance(item, Noted):
        more: dict[str, Any] = {"note": item.note, "offers": item.choices, "why": item.why, "size": item.size}
        return [controls.number_control(item.field, **more)]
    if isinstance(item, InUnits):
        return rate_and_steps(item.fields)
    return [controls.number_control(item, slider=bool(item.ticks))] if isinstance(item, Number) else []


# --- q and T ----------------------------------------------------------------------------------------------------------


def rate_and_steps(fields: Collection[Field[Any]]) -> list[NumberControl]:
    """The controls of q and T, as they are or as data set size N, batch size and epochs.

    Args:
        fields: Which of q and T the page uses.
    """
    if RATE not in fields:
        return [controls.number_control(STEPS)]
    size = controls.number_control(SIZE, slider=False)
    if state.get(UNITS) == "mechanism":
        return [*(controls.number_control(field) for field in (RATE, STEPS) if field in fields), size]
    _forget_old_errors()
    n = state.get(SIZE)
    caption = _resulting_mechanism(STEPS in fields)
    stops = [*(tick for tick in BATCH.ticks if tick < n), n]
    why = "" if STEPS in fields else caption
    batch = controls.number_control(BATCH, value=units.batch(state.get), stops=stops, why=why)
    if STEPS not in fields:
        return [size, batch]
    return [size, batch, controls.number_control(EPOCHS, value=units.epochs(state.get), why=caption)]


def _forget_old_errors() -> None:
    """q or T was set otherwise: a wrong batch is then of no interest."""
    now = state.get(RATE), state.get(STEPS), state.get(SIZE)
    if st.session_state.get(Keys.READ_OF) != now:
        st.session_state[Keys.READ_OF] = now
        state.forget_error(BATCH)
        state.forget_error(EPOCHS)


def _resulting_mechanism(with_steps: bool) -> str:
    """What the units make: "q = 0.01, T = 1 000 steps"."""
    rate, steps = state.get(RATE), state.get(STEPS)
    caption = f"q = {numbers.plain(rate, digits=4)}"
    if not with_steps:
        return caption
    epochs = units.epochs(state.get)
    up = rate and steps_of(epochs, rate) > float(f"{epochs / rate:.12g}")
    rounded = f" = {numbers.plain(rate * steps, digits=6)} epochs, rounded up" if up else ""
    return f"{caption}, T = {numbers.steps(steps)} step{'s' * (steps != 1)}{rounded}"
