"""The mechanism's controls, shared by every page that has one."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from dpviz.fields import numbers
from dpviz.fields.expression import steps_of
from dpviz.fields.field import Number
from dpviz.questions import units
from dpviz.questions.layout import InUnits, Item
from dpviz.questions.mechanism import DELTA, FIELDS, RATE, SIGMA, SIZE, STEPS
from dpviz.questions.units import BATCH, EPOCHS, UNITS
from dpviz.ui import controls, state
from dpviz.ui.controls import NumberControl
from dpviz.ui.state import Keys

__all__ = ["BATCH", "DELTA", "EPOCHS", "FIELDS", "RATE", "SIGMA", "SIZE", "STEPS", "UNITS"]


def offers_units(item: Item) -> bool:
    """Whether there are two ways to enter it."""
    return isinstance(item, InUnits) and RATE in item.fields


def in_units(asked: Collection[Number]) -> list[NumberControl]:
    """q and T, as far as they are asked for, as N, batch and epochs or as they are."""
    if RATE not in asked:
        return [controls.told(STEPS)]
    size = controls.told(SIZE, slider=False)
    if state.get(UNITS) == "mechanism":
        return [*(controls.told(field) for field in (RATE, STEPS) if field in asked), size]
    _forget_old_errors()
    most = state.get(SIZE)
    stops = [*(tick for tick in BATCH.ticks if tick < most), most]
    with_steps = STEPS in asked
    made = _said(with_steps)
    batch = controls.told(BATCH, value=units.batch(state.get), stops=stops, why="" if with_steps else made)
    epochs = [controls.told(EPOCHS, value=units.epochs(state.get), why=made)] if with_steps else []
    return [size, batch, *epochs]


def _forget_old_errors() -> None:
    """q or T was set otherwise: a wrong batch is then of no interest."""
    now = state.get(RATE), state.get(STEPS), state.get(SIZE)
    if st.session_state.get(Keys.READ_OF) != now:
        st.session_state[Keys.READ_OF] = now
        state.forget_error(BATCH)
        state.forget_error(EPOCHS)


def _said(with_steps: bool) -> str:
    """What the units make: q and T."""
    rate, steps = state.get(RATE), state.get(STEPS)
    said = f"q = {numbers.plain(rate, digits=4)}"
    if not with_steps:
        return said
    epochs = units.epochs(state.get)
    up = rate and steps_of(epochs, rate) > float(f"{epochs / rate:.12g}")
    rounded = f" = {numbers.plain(rate * steps, digits=6)} epochs, rounded up" if up else ""
    return f"{said}, T = {numbers.steps(steps)} steps{rounded}"
