"""A chart on a page: drawn once under its key, and then updated by the server or by a control's movement."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from dpviz.charts.browser.pack import Packer
from dpviz.charts.look import export_config
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.computed import Joined
from dpviz.questions.frames import Render, as_json
from dpviz.questions.layout import Reader
from dpviz.questions.question import AnyQuestion
from dpviz.questions.words import Note, settings_in
from dpviz.ui import controls, history, page, present
from dpviz.ui.browser import frames, slow_parts, warmup
from dpviz.ui.browser.routes import component, root
from dpviz.ui.state import Keys

_chart = component("chart")


class Drawing(NamedTuple):
    """A chart with the sentence that stands for it to those who do not see it, and notes of its own.

    `packed`: its figure as `packed` makes it, where many see the same one.
    """

    figure: Mapping[str, Any]
    alt: str
    notes: Sequence[Note] = ()
    packed: str = ""


def packed(figure: Mapping[str, Any]) -> str:
    """The figure as a chart in the browser takes it: a text, which Streamlit passes on without a look inside."""
    packer = Packer()
    return as_json({"figure": packer.figure(figure), "columns": packer.columns}).decode()


def live_plot(
    place: str,
    question: AnyQuestion,
    get: Reader,
    answer: AnyAnswer,
    parts: Joined,
    show: Render,
    *,
    key: str,
    extra: Hashable,
    caption: str = "",
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    run: Mapping[str, Any] | None = None,
    whole: bool,
    fills: bool = False,
    controls_of: Callable[[Collection[str]], Mapping[str, Any]] = lambda _: {},
    camera: bool = True,
) -> dict[str, Any]:
    """The chart of an answer: it follows a hand by frames, and its slow parts join when they are there.

    Args:
        place: the page, for the log.
        get: the present values.
        answer: without its slow parts.
        parts: the same with those that are there.
        show: an answer's figure ("figure") and words.
        extra: what else decides what is shown: pins, a preset.
        changed: what numbers' controls are to say now, by their fields' keys, where that is something else.
        run: what the strip of the run is to say, where there is one.
        whole: whether more than the chart and its words shows entries: then all that shows the answer runs again.
        fills: whether the chart fills the height that is left in the window.
        controls_of: what the controls of fields with these keys show, where marks and numbers in sentences move them.
        camera: whether a button above it saves its image.

    Returns:
        Its words.
    """
    words = dict(show(parts.answer))
    if history.pins():  # they may lack a part that is there for others
        extra = (extra, id(st.session_state))
    tokens = frames.offer(frames.recipes(place, question, get, answer.given, extra, show))
    warmup.stands(id(st.session_state[Keys.FRAMES]), question, get, tokens)
    slow = slow_parts.SlowParts(place, question, answer, show)
    token = slow_parts.offer(slow, parts.missing)
    drawing = Drawing(words.pop("figure"), words["alt"])
    pulled = controls_of(pulled_fields(drawing.figure, words["headline"]))
    hears = {"controls": changed or {}, "slow_parts": token, "whole": whole, "fills": fills, "pulled": pulled}
    hears |= run or {}
    plot(drawing, key=key, name=question.key, tokens=tokens, words=words, caption=caption, hears=hears, camera=camera)
    return words


def pulled_fields(figure: Mapping[str, Any], headline: str) -> set[str]:
    """Keys of the fields that marks of a figure and numbers of its headline are."""
    grips = figure["layout"].get("meta", {}).get("grips", ())
    return {grip["field"] for grip in grips} | settings_in(headline)


def plot(
    drawing: Drawing,
    *,
    key: str,
    name: str = "",
    tokens: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    caption: str = "",
    hears: Mapping[str, Any] | None = None,
    camera: bool = True,
) -> None:
    """One chart, and its notes.

    Args:
        drawing: its figure's layout says its height.
        key: the same as long as it is the same chart.
        name: what it shows, where the same chart shows one thing after another.
        tokens: field's key → the token under which the browser fetches what the chart would be at its other values.
        words: the page's "headline", "strip" and "notes", where frames change them.
        caption: stands below the headline in the image of the chart.
        hears: for the chart that hears of what is entered, in place of the entered numbers' controls (its state is
            {"entries": {field's key: {"text", "exact", "n"}}}): "controls", "whole" and "fills" as in `live_plot`,
            "pulled", what the controls of settings show that are pulled on it, and "slow_parts", the token under which
            the browser fetches figure and words with slow parts, "" without any.
        camera: as in `live_plot`.
    """
    data: dict[str, Any] = {
        "key": f"{name or key}.chart",
        "packed": drawing.packed or packed(drawing.figure),
        "alt": drawing.alt,
        "config": export_config(filename=f"dpviz-{name or key}"),
        "frames": tokens or {},
        "words": words or {},
        "caption": caption,
        "enlarged": present.presenting(),
        "camera": camera,
        "seen": controls.last_entry(),
        "at": root(),
    }
    more: dict[str, Any] = {}
    if hears is not None:
        st.session_state[Keys.CHART] = f"{key}.chart"
        data |= {"hears": True, **hears}
        more = {"on_entries_change": history.take_entries, "on_again_change": history.take_entries}
    _chart(key=f"{key}.chart", data=data, height=int(drawing.figure["layout"]["height"]), **more)
    for note in drawing.notes:
        page.note(*note)
