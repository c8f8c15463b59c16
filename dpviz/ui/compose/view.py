"""The Compose page on screen."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpviz.charts.alt import alt_text
from dpviz.charts.export import export_config
from dpviz.charts.histogram import distance_histogram
from dpviz.ui import controls, mechanism, page, sources, state
from dpviz.ui.compose import details, explain, settings
from dpviz.ui.compose.curves import Curves, compute
from dpviz.ui.compose.figure import chart
from dpviz.ui.sources import Sample

CHART_HEIGHT = 430
_GROUPS = ("Mechanism", "Gradients", "Bayesian", "Show")


def show() -> None:
    """Sidebar first, then everything that follows the sliders in one fragment."""
    page.sidebar()
    _body()


@st.fragment
def _body() -> None:
    top = st.container()
    left, right = st.columns([0.73, 0.27], gap="medium")
    with right:
        _controls()
    chosen = settings.read(state.get)
    sample, problem = _sample(chosen)
    curves = compute(chosen, sample)
    with top:
        page.sentence(explain.sentence(curves))
    with left:
        _chart(curves)
        st.html(explain.strip_html(explain.figures(curves)))
        _remarks(curves, problem)
        details.show(curves, sample)
    page.follow_link()


def _controls() -> None:
    group = st.segmented_control(
        "Controls", _GROUPS, default=_GROUPS[0], required=True, key=state.Keys.GROUP, label_visibility="collapsed"
    )
    if group == "Gradients":
        sources.draw_controls()
        controls.number(settings.QUANTILE)
        controls.choice(settings.CLIP)
    elif group == "Bayesian":
        controls.number(settings.DELTA_MU)
        controls.number(settings.FAILURE)
        if controls.choice(settings.ORDER) == "fixed":
            controls.number(settings.FIXED_ORDER)
        controls.choice(settings.READING, horizontal=False)
    elif group == "Show":
        controls.several(settings.CURVES)
        controls.flag(settings.LOG_X)
        controls.flag(settings.LOG_Y)
        controls.choice(settings.AMPLIFICATION)
        details.image_format_control()
    else:
        mechanism.controls_group()


def _sample(chosen: settings.Settings) -> tuple[Sample | None, str]:
    """The gradient sample where Bayesian DP is drawn, or why there is none."""
    if chosen.bayesian is None:
        return None, ""
    try:
        return sources.read(state.get), ""
    except ValueError as problem:
        return None, str(problem)


def _pinned() -> list[tuple[str, Curves]]:
    """Pinned states' curves, named by what differs."""
    built = []
    held = page.pins()
    for pin, name in zip(held, page.pin_names(held), strict=True):
        read = state.reader(pin)
        chosen = settings.read(read)
        try:
            sample = sources.read(read) if chosen.bayesian is not None else None
        except ValueError:
            sample = None
        built.append((name, compute(chosen, sample)))
    return built


def _chart(curves: Curves) -> None:
    found = page.preset()
    built, lines = chart(
        curves,
        _pinned(),
        found.points if found else (),
        log_y=state.get(settings.LOG_Y),
        height=CHART_HEIGHT,
    )
    st.plotly_chart(
        built.figure,
        key="compose.chart",
        theme=None,
        config=export_config(filename="dpviz-compose", image_format=details.image_format()),
        alt=alt_text(lines, x_name="steps", x_kind="steps"),
    )
    for text in built.remarks:
        page.remark(text)


def _remarks(curves: Curves, problem: str) -> None:
    if problem:
        page.remark(f"Bayesian DP: {problem}", "problem")
    for text in explain.remarks(curves):
        page.remark(text)
    warning = explain.tail_warning(curves)
    if warning:
        page.remark(warning, "note")
        histogram(curves)


def histogram(curves: Curves) -> None:
    """The distances with C (or 2C for pairs) and the noise level marked."""
    if curves.scene is None:
        return
    scene = curves.scene
    built = distance_histogram(
        scene.distances,
        clip=scene.threshold,
        noise_std=scene.noise_std,
        log_count=bool(np.ptp(scene.distances) > 0),
        height=260,
    )
    st.plotly_chart(
        built.figure,
        key="compose.histogram",
        theme=None,
        config=export_config(filename="dpviz-distances"),
        alt=f"Histogram of {scene.distances.size} gradient distances with clipping threshold and noise level.",
    )
    for text in built.remarks:
        page.remark(text)
