"""Make one run of a recorded experiment again, beside the app, and hold it against the record."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.experiments.record import Trial, recorded
from dpviz.fields import numbers
from dpviz.questions.answer import Note
from dpviz.questions.shown import noted
from dpviz.questions.source import NoSample
from dpviz.runs.measuring.measurement import Request
from dpviz.ui import measuring
from dpviz.ui.state import Keys

NAMED = {"epsilon": "ε that secret noise would let it claim"}
TARGET = "dpviz.experiments.catalogue:again"


def show(key: str) -> None:
    """Which run, the button, and what came of it; while it runs the top of the page says how far it is."""
    record = recorded(key)
    arms, seeds = list(record.settings), sorted({trial.seed for trial in record.trials})
    left, middle, right = st.columns([2, 2, 1], vertical_alignment="bottom")
    arm = left.selectbox("Arm", arms, key=f"{Keys.RERUN}.{key}.arm")
    seed = middle.segmented_control("Seed", seeds, key=f"{Keys.RERUN}.{key}.seed", default=seeds[0], required=True)
    right.button(
        "Run again",
        key=f"{Keys.RERUN}.{key}.run",
        on_click=lambda: st.session_state.update({Keys.RERUN: (key, arm, seed)}),
        icon=":material/replay:",
        width="stretch",
    )
    [before] = [trial for trial in record.of(arm) if trial.seed == seed]
    took = f"It took {before.seconds:.0f} s of computing when it was recorded ({before.device}, {before.date})."
    st.html(f'<div class="dpviz-quiet">{escape(took)}</div>')
    if st.session_state.get(Keys.RERUN) != (key, arm, seed):
        return
    asked = {"key": key, "arm": arm, "seed": seed}
    try:
        trial: Trial = measuring.result(Request((Keys.RERUN, key, arm, seed), TARGET, asked))
    except NoSample as why:
        words = "It runs now: how far it is stands at the top of the page." if why.coming else str(why)
        st.html(noted(Note(words, "note" if why.coming else "problem")))
        return
    st.html(noted(Note(verdict(before.found, trial.found))))
    st.dataframe(compared(before, trial), width="stretch", hide_index=True)


def verdict(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Whether the same came out."""
    other = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not other:
        return "The same came out, to the last digit."
    return (
        f"Recorded and made here differ in {', '.join(name.replace('_', ' ') for name in other)}. Another processor or "
        "another PyTorch rounds otherwise, and from there on runs go their own ways; seeds differ as much."
    )


def compared(before: Trial, now: Trial) -> pd.DataFrame:
    """What was recorded beside what came out here: a row a single number or word."""
    rows = [("made", before.date, now.date), ("version", before.version, now.version)]
    rows.append(("computing", f"{before.seconds:.0f} s", f"{now.seconds:.0f} s"))
    for name, value in before.found.items():
        if not isinstance(value, list | dict):
            rows.append((NAMED.get(name, name.replace("_", " ")), _written(value), _written(now.found.get(name))))
    return pd.DataFrame(rows, columns=["", "recorded", "here"])


def _written(value: Any) -> str:
    return numbers.plain(value, digits=6) if isinstance(value, float) else "–" if value is None else str(value)
