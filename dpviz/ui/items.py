"""The controls of a layout: drawn, and told anew to a browser that has them already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dpviz.fields.field import Choice, Field, Flag, Number, Several
from dpviz.questions.layout import Control, InUnits, Noted, Offered, Own, Row, Suggested
from dpviz.ui import controls, mechanism, state
from dpviz.ui.controls import NumberControl
from dpviz.ui.special import SPECIAL
from dpviz.ui.state import Keys

Told = Mapping[str, Mapping[str, Any]]
BUILT = ("label", "help", "shows_label", "stops")  # what a control is built of


def draw(items: Sequence[Control]) -> None:
    """The controls, in their order."""
    st.session_state[Keys.DRAWINGS] = st.session_state.get(Keys.DRAWINGS, 0) + 1
    for item in items:
        draw_one(item)
    st.session_state[Keys.TOLD] = told(items)
    st.session_state[Keys.TOUCHED] = frozenset()


def shape(items: Sequence[Control]) -> tuple[object, ...]:
    """What is drawn, but for what numbers' controls are told: as long as it stays, telling them is enough."""
    return tuple(_shape(item) for item in items)


def told(items: Sequence[Control]) -> Told:
    """What the numbers' controls among them are to say now, by their fields' keys."""
    return {one.field.key: one.says for item in items for one in _numbers(item)}


def news(items: Sequence[Control]) -> Told:
    """What the controls say now that said something else since they were drawn. Each time all of it: a browser that
    has two answers at once looks at the last one alone.
    """
    now, drawn = told(items), st.session_state.get(Keys.TOLD, {})
    before: frozenset[str] = st.session_state.get(Keys.TOUCHED, frozenset())
    touched = before | {key for key, one in now.items() if one != drawn.get(key)}
    st.session_state[Keys.TOUCHED] = touched
    return {key: _differing(one, drawn.get(key, {})) for key, one in now.items() if key in touched}


def _differing(now: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in now.items() if key not in BUILT or value != before.get(key)}


def draw_one(item: Control) -> None:
    if isinstance(item, Row):
        for column, field in zip(st.columns(item.shares or len(item.fields), gap="small"), item.fields, strict=True):
            with column:
                draw_one(field)
    elif isinstance(item, Number | Noted | InUnits | Suggested):
        if mechanism.offers_units(item):
            controls.choice(mechanism.UNITS, label_visible=False)
        for one in _numbers(item):
            one.draw()
    elif isinstance(item, Offered):
        controls.several(item.field, item.options)
    elif isinstance(item, Own):
        SPECIAL[item.name]()
    else:
        _field(item)


def _field(field: Field[Any]) -> None:
    if isinstance(field, Choice):
        controls.choice(field, horizontal=not field.tall)
    elif isinstance(field, Several):
        controls.several(field)
    elif isinstance(field, Flag):
        controls.flag(field)
    else:
        raise TypeError(f"Expected a field that has a control, found {type(field).__name__} {field.key!r}.")


def _shape(item: Control) -> object:
    if isinstance(item, Row):
        return tuple(_shape(field) for field in item.fields)
    if isinstance(item, InUnits):
        return state.get(mechanism.UNITS), *(field.key for field in item.fields)
    if isinstance(item, Noted | Suggested):
        return item.field.key
    if isinstance(item, Offered):
        return item.field.key, item.options
    return item.name if isinstance(item, Own) else item.key


def _numbers(item: Control) -> list[NumberControl]:
    if isinstance(item, Row):
        return [one for field in item.fields for one in _numbers(field)]
    if isinstance(item, Noted):
        return [controls.told(item.field, note=item.note, why=item.why)]
    if isinstance(item, InUnits):
        return mechanism.in_units(item.fields)
    if isinstance(item, Suggested):
        return [controls.suggested(item)]
    if isinstance(item, Number):
        return [controls.told(item, slider=bool(item.ticks))]
    return []
