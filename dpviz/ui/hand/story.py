"""The story's scroll, in the browser: which stop is in the middle of the view, and the way to its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dpviz.ui.hand.served import stub

_story = st.components.v2.component("dpviz.story", js=stub("story"), isolate_styles=False)


def scroll(key: str, *, stop: str, stops: Sequence[str], seen: float, reached: Callable[[], None]) -> None:
    """The stop that the page shows; the text of each stands in the container "story-" and its number.

    Args:
        key: of its state, {"stop": {"number": a stop's, "n": a number that grows with every stop}}, the last one.
        stops: the numbers of all stops, in their order.
        seen: the last "n" that `stop` knows of.
        reached: called when the scroll rests on another stop.
    """
    _story(key=key, data={"stop": stop, "stops": list(stops), "seen": seen}, on_stop_change=reached)
