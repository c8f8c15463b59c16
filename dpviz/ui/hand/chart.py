"""A chart that stays on the page: drawn once, then only ever changed, by the server or by a control's movement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpviz.charts.hand.pack import Packer
from dpviz.ui.hand.served import root, stub

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
) -> None:
    """One chart.

    Args:
        figure: Plotly's data and layout as plain values; its layout says its height.
        key: the same as long as it is the same chart.
        alt: the chart in a sentence, for those who do not see it.
        config: Plotly's.
        words: the page's "headline" and "strip", where frames change them.
        caption: stands below the headline in the image of the chart.
        enlarged: the chart takes most of the screen's height, type and all.
        seen: the last entry of a number's control that the figure knows of.
        frames: field's key → the token under which `frames` answers what the chart would be at its other values.
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
    _chart(key=key, data=told, height=int(figure["layout"]["height"]))
