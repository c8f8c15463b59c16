"""A chart that stays on the page: drawn once, then only ever changed, by the server or by a control's movement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from dpviz.charts.hand.pack import Packer
from dpviz.ui.hand.served import root, stub


class Followed(NamedTuple):
    """What a chart needs that hears of entries for the page: only what shows the answer then runs again.

    Attributes:
        entered: called when there are other entries: the chart's state is
            {"entries": {field's key: {"text", "exact", "n"}}}.
        controls: what numbers' controls are to say now, by their fields' keys, where that is something else.
        late: the token under which `late` answers the figure and words with their slow parts; empty if there are none.
        whole: whether more than the chart and its words shows them: then all that shows the answer runs again.
    """

    entered: Callable[[], None]
    controls: Mapping[str, Mapping[str, Any]] = {}
    late: str = ""
    whole: bool = False


_chart = st.components.v2.component("dpviz.chart", js=stub("chart"), isolate_styles=False)


def chart(
    figure: Mapping[str, Any],
    *,
    key: str,
    alt: str,
    config: Mapping[str, Any],
    frames: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    caption: str = "",
    enlarged: bool = False,
    seen: float = 0.0,
    followed: Followed | None = None,
) -> None:
    """One chart.

    Args:
        figure: Plotly's data and layout as plain values; its layout says its height.
        key: the same as long as it is the same chart.
        alt: the chart in a sentence, for those who do not see it.
        config: Plotly's.
        words: the page's "headline", "strip" and "notes", where frames change them.
        caption: stands below the headline in the image of the chart.
        enlarged: the chart takes most of the screen's height, type and all.
        seen: the last entry of a number's control that the figure knows of.
        frames: field's key → the token under which `frames` answers what the chart would be at its other values.
        followed: for the chart that hears of what is entered, in place of the entered numbers' controls.
    """
    packer = Packer()
    told = {
        "key": key,
        "figure": packer.figure(figure),
        "columns": packer.columns,
        "alt": alt,
        "config": config,
        "frames": frames or {},
        "words": words or {},
        "caption": caption,
        "enlarged": enlarged,
        "seen": seen,
        "at": root(),
    }
    height = int(figure["layout"]["height"])
    if followed is None:
        _chart(key=key, data=told, height=height)
        return
    more = {"hears": True, "late": followed.late, "whole": followed.whole, "controls": followed.controls}
    entered = followed.entered
    _chart(key=key, data=told | more, height=height, on_entries_change=entered, on_again_change=entered)
