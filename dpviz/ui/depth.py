"""How much a what-if page shows of its controls: what one usually moves, or (`expert=1`) all.

The link says it and it stays in the session, as presenting does: no preset, pin, undo or script knows of it. Whatever
is left out is at its default, and a line says how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dpviz.questions.layout import Control, Item, fields_of, in_sight, moved_of
from dpviz.questions.question import Question
from dpviz.ui import modes, page, state
from dpviz.ui.state import Keys

_HELP = (
    "What few people move: other accountants, orders and axes, how samples are drawn, the image's format. Whatever is "
    "not shown is at its default; `expert=1` in a link shows all."
)


def groups(question: Question[Any]) -> Mapping[str, Sequence[Control]]:
    """The controls to be drawn, without groups that have none."""
    seen = _seen(question)
    first = next(iter(seen))
    return {name: controls for name, (controls, _) in seen.items() if controls or name == first}


def left_out(question: Question[Any]) -> int:
    """How many settings are not drawn."""
    return len({name for _, names in _seen(question).values() for name in names})


def _seen(question: Question[Any]) -> Mapping[str, tuple[Sequence[Control], Sequence[str]]]:
    every = question.groups(state.get)
    kept = None if modes.expert() else _kept(question, [item for items in every.values() for item in items])
    return {name: in_sight(items, kept) for name, items in every.items()}


def _kept(question: Question[Any], items: Sequence[Item]) -> set[str]:
    """Names of settings that stay in sight: those that the link or the preset names, and those not at their defaults;
    these stay when they go back there, or a control would vanish under the hand that moved it.
    """
    before: set[str] = st.session_state.get(Keys.MOVED, set(st.query_params))
    moved = moved_of(fields_of(items), state.get) | before
    st.session_state[Keys.MOVED] = moved
    preset = page.preset()
    named = preset.values.keys() if preset is not None and preset in question.presets else ()
    return moved | set(named)


def switch(question: Question[Any]) -> None:
    """The way to all controls, and back: the last line below them."""
    if modes.expert():
        _button("Fewer settings", "tool", "", ":material/expand_less:")
    elif count := left_out(question):
        said = f"{count} expert settings at their defaults" if count > 1 else "1 expert setting at its default"
        _button(said, "expert", "1", ":material/expand_more:")


def _button(said: str, key: str, to: str, icon: str) -> None:
    st.button(said, key=f"depth.{key}", on_click=_turn, args=(to,), icon=icon, type="tertiary", help=_HELP)


def _turn(to: str) -> None:
    page.settle()
    st.session_state[Keys.EXPERT] = to
    st.session_state[Keys.MOVED] = set()
