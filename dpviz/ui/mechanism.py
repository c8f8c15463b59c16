"""The mechanism's controls, shared by every page that has one."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from dpviz.charts import numbers
from dpviz.questions import units
from dpviz.questions.expression import steps_of
from dpviz.questions.fields import Number
from dpviz.questions.mechanism import DELTA, FIELDS, RATE, SIGMA, SIZE, STEPS
from dpviz.questions.units import BATCH, EPOCHS, UNITS
from dpviz.ui import controls, state
from dpviz.ui.state import Keys

__all__ = ["BATCH", "DELTA", "EPOCHS", "FIELDS", "RATE", "SIGMA", "SIZE", "STEPS", "UNITS"]


def in_units(asked: Collection[Number]) -> None:
    """q and T, as far as they are asked for, as N, batch and epochs or as they are."""
    if RATE not in asked:
        controls.number(STEPS)
        return
    controls.choice(UNITS, label_visible=False)
    if state.get(UNITS) == "mechanism":
        for field in (RATE, STEPS):
            if field in asked:
                controls.number(field)
        controls.typed(SIZE)
        return
    _forget_old_errors()
    size = state.get(SIZE)
    controls.typed(SIZE)
    controls.entry(BATCH, value=units.batch(state.get), stops=[*(tick for tick in BATCH.ticks if tick < size), size])
    if STEPS in asked:
        controls.entry(EPOCHS, value=units.epochs(state.get))
    st.html(f'<div class="dpviz-quiet">{_said(STEPS in asked)}</div>')


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
    return f"{said}, T = {numbers.steps(steps)} steps{', rounded up' if up else ''}"
