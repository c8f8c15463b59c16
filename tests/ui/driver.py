"""Opens the app without a browser (Streamlit's AppTest), and reads what a page says."""

import base64
import html
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import numpy as np
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dpviz.fields.field import Field
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import PAGES
from dpviz.questions.links import TODAY, VERSION
from dpviz.questions.question import Question
from dpviz.ui import answers, measuring, render
from dpviz.ui.browser import slow_parts

# Streamlit looks for components in every installed package at each AppTest, for longer than a page takes to run.
manifest_scanner.scan_component_manifests = lru_cache(maxsize=1)(manifest_scanner.scan_component_manifests)


def _to_the_end(at: AppTest, *told: Any, **more: Any) -> AppTest:
    """A run, and then what a browser does: it asks for slow parts until all are there."""
    _run(at, *told, **more)
    while tokens := [one["slow_parts"] for one in components(at, "dpviz.chart") if one.get("slow_parts")]:
        (missing,) = [slow_parts.find(token).parts().missing for token in tokens]
        for job in [answers.start(*part) for part in missing]:
            job.result()
        _run(at)
    return at


_run = AppTest._run
AppTest._run = _to_the_end

R = TypeVar("R")
APP = Path(__file__).parents[2] / "app.py"
_ENTRIES = itertools.count(1)


def open_app(page: str = "compose", query: str = "") -> AppTest:
    """The page called `page` as a link with the given query string opens it; fails where it shows a traceback.

    A link of today, where it does not say otherwise.
    """
    at = AppTest.from_file(str(APP), default_timeout=150)
    for key, value in parse_qsl(query, keep_blank_values=True):
        at.query_params[key] = [*at.query_params.get(key, []), value] if key == "pin" else value
    if query and VERSION not in at.query_params:
        at.query_params[VERSION] = TODAY
    if page != "home":
        go_to(at, page)
    at.run()
    assert not at.exception, at.exception[0].message
    return at


def go_to(at: AppTest, page: str) -> AppTest:
    """Switch to the page with that address; AppTest's own way knows only pages that are files."""
    at._page_hash = calc_hash(page)
    return at


def open_part(at: AppTest, kept: str, names: Sequence[str], name: str) -> None:
    """Open one of the groups of controls ("attack.group") by its name."""
    put(at, f"{kept}.{'.'.join(names)}", name)


def group(at: AppTest, label: str) -> Any:
    """The choice (pills, segments, a drop-down list) with that label."""
    (choice,) = [one for kind in ("button_group", "selectbox") for one in at.get(kind) if one.label == label]
    return choice


def controls(at: AppTest) -> dict[str, dict[str, Any]]:
    """What the browser is told of each number's control, by the field's key."""
    return {one["field"]: one for one in components(at, "dpviz.number")}


def set_to(at: AppTest, field: Field[Any]) -> Any:
    """The field's value in the session."""
    try:  # it has no `get`
        return at.session_state[f"value.{field.key}"]
    except KeyError:
        return field.default


def enter(at: AppTest, field: str, text: str) -> AppTest:
    """Enter a text into a number's control, as the browser tells it, and let the page run."""
    assert field in controls(at), f"{field} has no control among {list(controls(at))}"
    return put(at, f"entry.{field}", {"entry": {"text": text, "n": float(next(_ENTRIES))}})


def put(at: AppTest, key: str, value: Any) -> AppTest:
    """Put a value into the session under that key, as a control or the browser does, and let the page run."""
    at.session_state[key] = value
    at.run()
    assert not at.exception
    return at


def press(at: AppTest, label: str) -> AppTest:
    """Press the one button whose label begins so, and let the page run."""
    (button,) = [one for one in at.button if one.label.startswith(label)]
    button.click().run()
    assert not at.exception
    return at


def charts(at: AppTest) -> list[dict[str, Any]]:
    """The figures of the page's charts."""
    return [unpacked(**json.loads(one["packed"])) for one in components(at, "dpviz.chart")]


def components(at: AppTest, name: str) -> list[dict[str, Any]]:
    """What the browser is told of each component of that name."""
    return [json.loads(e.proto.json) for e in at.get("bidi_component") if e.proto.component_name == name]


def tokens(at: AppTest) -> dict[str, str]:
    """Of the chart's frames, by the field that may move."""
    told: dict[str, str] = components(at, "dpviz.chart")[0]["frames"]
    return told


def unpacked(figure: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    """A figure with its columns of numbers in their places; what is no number is None."""

    def column(name: str) -> list[float | None]:
        found = np.frombuffer(base64.b64decode(columns[name]), dtype=f"<{name[:2]}").astype(float)
        return [float(f"{v:.7g}") if np.isfinite(v) else None for v in found]

    data = [
        {
            key: column(value["column"]) if isinstance(value, dict) and "column" in value else value
            for key, value in t.items()
        }
        for t in figure["data"]
    ]
    return {"data": data, "layout": figure["layout"]}


def html_of(at: AppTest) -> str:
    """The HTML elements of the page, as they are, and what stands below its numbers."""
    return " ".join([element.proto.body for element in at.get("html")] + [body for _, body in _below(at)])


def plain(body: str) -> str:
    """A text without its tags; a term that is explained stays part of its words."""
    return html.unescape(re.sub("<[^>]+>", " ", re.sub("</?dfn[^>]*>", "", body))).strip()


def said(at: AppTest, kind: str) -> list[str]:
    """Plain texts of the HTML elements of one kind: "headline", "problem", "caution", "note", "strip"."""
    bodies = [body for element in at.get("html") for body in _apart(element.proto.body)]
    found = [
        plain(body) for body in bodies if body.startswith((f'<p class="dpviz-{kind}"', f'<div class="dpviz-{kind}"'))
    ]
    return found + [html.unescape(body) for which, body in _below(at) if which == kind]


_PIECE = re.compile(
    r'<p class="dpviz-.*?</p>'
    r'|<div class="dpviz-strip">.*?</div></div></div>'
    r'|<div class="dpviz-(?!notes").*?</div>',
    re.DOTALL,
)


def _apart(body: str) -> list[str]:
    """An element may hold several pieces."""
    return _PIECE.findall(body) or [body]


def _below(at: AppTest) -> list[tuple[str, str]]:
    """What stands below the numbers: ("problem" or "caution", escaped words)."""
    told = [(kind, one[key]) for one in controls(at).values() for kind, key in (("problem", "wrong"), ("note", "note"))]
    return [(kind, html.escape(words, quote=False)) for kind, words in told if words]


def compute(page: str, values: Mapping[str, Any]) -> tuple[Question[Any], Answer[Any]]:
    """What a page asks and answers under these values of its fields, by their keys, as a plain call."""

    def get(field: Field[Any]) -> Any:
        return values.get(field.key, field.default)

    question = next(one for one in PAGES if one.key == page).question(get)
    return question, render.compute(question, get)


def measured(compute: Callable[[], R]) -> R:
    """What a page shows in the end: with all that it has measured meanwhile."""
    measuring.begin()
    compute()
    engine, problem = measuring.engines.current()
    assert engine is not None, problem
    for asked in measuring.missing():
        while not engine.measure(asked).over:
            time.sleep(0.02)
    return compute()
