"""The buttons and keys of undo and redo, in the browser."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpviz.ui.hand.served import stub

_steps = st.components.v2.component("dpviz.history", js=stub("history"), isolate_styles=False)


def steps(key: str, *, room: tuple[int, int], seen: float, asked: Callable[[], None]) -> None:
    """Undo and redo.

    Args:
        key: of their state, {"entry": {"steps": [[a number that grows with every step, -1 or 1], …]}}, the last ones.
        room: how many states there are before this one and after it.
        seen: the last step that `room` knows of.
        asked: called when there is another step.
    """
    _steps(key=key, data={"room": room, "seen": seen}, on_entry_change=asked)
