"""The Langevin page's widgets: bad input, pins, and what moving a control computes."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from dpviz._remember import MEMORY
from dpviz.questions.langevin import LANGEVIN
from dpviz.ui import answers, render
from tests.ui.driver import html_of, open_app, put, said


def test_a_batch_beyond_the_data_is_told_in_place() -> None:
    at = open_app("langevin", "ltau=60000&steps=777")
    assert "60000 is more than the data set's 50000" in said(at, "problem")[0]
    assert at.session_state["value.steps"] == 777
    assert "A batch cannot exceed N = 50000." in html_of(at) + " ".join(c.value for c in at.caption)


def test_another_question_about_the_same_steps_computes_no_interval_again(monkeypatch: pytest.MonkeyPatch) -> None:
    MEMORY.clear()
    started: list[Any] = []
    begin = answers.start
    monkeypatch.setattr(answers, "start", lambda key, work: (started.append(key), begin(key, work))[1])
    at = open_app("langevin", "lview=cost&ldecay=fixed&steps=37")
    tight = LANGEVIN.questions[1].slow[0].work
    assert [key[0] for key in started if key[0] == tight] == [tight]
    before = len(started)
    moves: dict[str, Any] = {"lview": "clip", "target": 0.3, "conversion": "improved", "lgam": 1e-9, "lrule": False}
    for name, value in moves.items():
        put(at, f"value.{name}", value)
        assert at.session_state[f"value.{name}"] == value
    assert len(started) == before
    assert ">…<" not in html_of(at)


def test_a_pinned_state_answers_the_question_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinned while costs were shown, it stays as its largest step sizes; among the regions it is a ring."""
    drawn: list[Any] = []
    rendered = render.rendered
    monkeypatch.setattr(
        render, "rendered", lambda q, a, plot, slide: (drawn.append(plot), rendered(q, a, plot, slide=slide))[1]
    )
    open_app("langevin", f"lview=epsilon&pin={quote('lclip=2&steps=500')}")
    assert [line.key.rpartition(".")[2] for line in drawn[-1].lines if line.faded] == ["theorem3"]
    open_app("langevin", f"lview=region&pin={quote('lclip=2&steps=500&ltau=100')}")
    assert [(ring.x, ring.y) for ring in drawn[-1].rings if not ring.name] == [(100.0, 0.1)]


def test_another_question_keeps_the_chart_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old chart stands until the new one is drawn, and the browser knows that it shows something else."""
    monkeypatch.setattr("dpviz.ui.browser.slow_parts.offer", lambda parts, missing: "")
    ids, keys = set(), []
    for view in ("lview=clip", "lview=cost&steps=37"):
        at = open_app("langevin", view)
        (element,) = [one for one in at.get("bidi_component") if one.proto.component_name == "dpviz.chart"]
        ids.add(element.proto.id)
        keys.append(json.loads(element.proto.json)["key"])
    assert len(ids) == 1
    assert len(set(keys)) == 2
