"""Frames: what a page would show at other values of one field, by a token, without a run of the page."""

from __future__ import annotations

import gc
import gzip
import json
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from starlette.requests import Request
from starlette.routing import Match
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.charts import numbers
from dpviz.gradients.sample import GradientSample
from dpviz.questions import units
from dpviz.questions.catalogue import PAGES
from dpviz.questions.fields import Number
from dpviz.questions.gradients import File
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.source import Held
from dpviz.ui.hand import frames
from dpviz.ui.hand.frames import MOST
from dpviz.ui.hand.served import FILES, mark, root, routes
from dpviz.ui.registry import FIELDS
from dpviz.ui.state import Keys
from tests.ui.driver import charts, controls, enter, open_app, unpacked

FIELD = {field.key: field for field in FIELDS}


def tokens(at: AppTest) -> dict[str, str]:
    told = [json.loads(e.proto.json) for e in at.get("bidi_component") if e.proto.component_name == "dpviz.chart"]
    found: dict[str, str] = told[0]["frames"]
    return found


def asked(at: AppTest, field: str, *texts: str) -> dict[str, Any]:
    """Frames by their texts, figures unpacked."""
    told = frames.answer(tokens(at)[field], field, texts)
    assert told is not None
    reply = json.loads(told)
    for frame in reply["frames"].values():
        if frame is not None:
            frame["figure"] = unpacked(frame["figure"], reply["columns"])
    found: dict[str, Any] = reply["frames"]
    return found


@pytest.mark.parametrize(
    ("page", "query", "field", "text"),
    [
        ("compose", "curves=moments.bayesian.tight&pin=sigma%3D3", "sigma", "2.5"),
        ("compose", "mech=laplace&curves=renyi_improved", "b", "7"),
        ("compose", "preset=bdpfig1", "quantile", "0.3"),
        ("orders", "oview=divergence", "q", "0.02"),
        ("attack", "aview=town", "aeps", "2"),
        ("noise", "noiseview=solve", "target", "1"),
        ("budget", "bview=policy", "beps", "4"),
        ("langevin", "lview=region", "leps", "0.2"),
    ],
)
def test_a_frame_shows_what_the_page_then_shows(page: str, query: str, field: str, text: str) -> None:
    at = open_app(page, query)
    assert asked(at, field, text)[text] is not None
    at.session_state[f"value.{field}"] = FIELD[field].parse(text)
    at.run()
    assert not at.exception
    bodies = [element.proto.body for element in at.get("html")]
    (headline,) = [body for body in bodies if body.startswith('<p class="dpviz-headline"')]
    (below,) = [body for body in bodies if body.startswith('<div class="dpviz-strip"')]
    known = asked(at, field, text)[text]  # with the slow parts that the page has waited for
    assert known["headline"] in headline
    assert below.startswith(known["strip"])
    assert f'<div class="dpviz-notes">{known["notes"]}</div>' in below
    drawn = {t["uid"]: t for t in charts(at)[0]["data"]}
    for trace in known["figure"]["data"]:
        there = dict(zip(drawn[trace["uid"]]["x"], drawn[trace["uid"]]["y"], strict=True))
        shared = {x: y for x, y in zip(trace["x"], trace["y"], strict=True) if x in there}
        assert trace["x"][-1] in shared
        for x, y in shared.items():
            assert y == (there[x] if y is None else pytest.approx(there[x], rel=2e-3))
        if trace["y"][-1] is not None:
            assert trace["y"][-1] == there[trace["x"][-1]]
    assert known["figure"]["layout"].get("meta") == charts(at)[0]["layout"].get("meta")


@pytest.mark.parametrize(
    ("page", "query", "field", "text"),
    [
        ("compose", "curves=moments.strong", "batch", "256"),
        ("compose", "curves=moments&q=0.123456789012345&steps=9999&n=777", "epochs", "30"),
        ("compose", "curves=moments&q=1&steps=1", "batch", "600"),
        ("noise", "noisecurves=moments&noisetight=0&noiseq=", "batch", "1000"),
        ("orders", "oview=divergence", "batch", "5000"),
        ("budget", "bview=policy&bpol=fixed", "batch", "512"),
        ("attack", "aview=roc", "epochs", "3"),
    ],
)
def test_a_frame_of_a_persons_units_is_a_fresh_page(page: str, query: str, field: str, text: str) -> None:
    """Another batch keeps N and the epochs, so it moves q and T; a link that says those two is the same page."""
    at = open_app(page, query)
    before = tokens(at)[field]
    assert asked(at, field, text)[text] is not None
    if field in controls(at):
        enter(at, field, text)
    else:  # in another group of controls
        at.session_state[f"entry.{field}"] = {"entry": {"text": text, "n": 1e9}}
        at.run()
    assert tokens(at)[field] == before, "while it moves its frames stay"
    frame = asked(at, field, text)[text]  # with the slow parts that the page has waited for
    rate, steps = (at.session_state[f"value.{key}"] if f"value.{key}" in at.session_state else FIELD[key].default
                   for key in ("q", "steps"))  # fmt: skip
    link = {k: v for k, v in parse_qsl(query, keep_blank_values=True) if k not in ("q", "steps")}
    fresh = open_app(page, urlencode(link | {"q": RATE.write(rate), "steps": STEPS.write(steps)}))
    for shown in (at, fresh):
        bodies = [element.proto.body for element in shown.get("html")]
        (headline,) = [body for body in bodies if body.startswith('<p class="dpviz-headline"')]
        assert frame["headline"] in headline
        for trace in frame["figure"]["data"]:
            drawn = {t["uid"]: t for t in charts(shown)[0]["data"]}[trace["uid"]]
            assert drawn["x"][-1] == trace["x"][-1]
            assert drawn["y"][-1] == trace["y"][-1]


def test_a_frame_holds_the_librarys_numbers() -> None:
    at = open_app("compose", "curves=moments")
    for text, frame in asked(at, "sigma", "2", "3.7").items():
        expected = dpviz.epsilon("moments", noise_multiplier=float(text), sample_rate=0.01, steps=10_000, delta=1e-5)
        assert f"ε ≤ {numbers.epsilon(expected, up=True)}" in frame["headline"]
        assert frame["figure"]["data"][0]["y"][-1] == pytest.approx(expected, rel=1e-5)


def test_the_place_of_the_moved_field_does_not_matter() -> None:
    at = open_app("compose", "curves=moments")
    before = tokens(at)
    enter(at, "sigma", "2")
    after = tokens(at)
    assert after["sigma"] == before["sigma"]
    assert after["q"] != before["q"]


def test_another_upload_has_other_frames() -> None:
    """No field says which file it is: it was chosen beside them."""
    at = open_app("compose", "curves=moments.bayesian&source=upload&quantile=0.9")
    seen = []
    for size, called in ((0.1, "one"), (5.0, "two")):
        norms = GradientSample(norms=np.r_[np.full(400, size), np.full(30, 5.0)], description="norms")
        at.session_state[Keys.UPLOAD] = Held(File("norms.npy", "column 1"), norms, called)
        at.run()
        assert not at.exception
        frame = asked(at, "sigma", "2")["2"]
        seen.append((tokens(at)["sigma"], frame["strip"]))
        at.session_state["value.sigma"] = 2.0
        at.run()
        (body,) = [e.proto.body for e in at.get("html") if e.proto.body.startswith('<div class="dpviz-strip"')]
        shown = body[body.index("Bayesian") : body.index('<div class="dpviz-notes"')]
        assert shown in frame["strip"]
        at.session_state["value.sigma"] = 4.0
        at.run()
    assert seen[0] != seen[1]
    assert seen[0][0] != seen[1][0]


def test_what_is_no_value_has_no_frame() -> None:
    at = open_app("compose", "curves=moments")
    assert asked(at, "sigma", "0", "x", "", "nan") == dict.fromkeys(("0", "x", "", "nan"))
    assert len(asked(at, "sigma", *map(str, range(1, MOST + 20)))) == MOST
    assert frames.answer(tokens(at)["sigma"], "q", ["0.1"]) is None
    assert frames.answer("nobody's", "sigma", ["1"]) is None


def test_recipes_go_with_their_session() -> None:
    at = open_app("compose", "curves=moments")
    token = tokens(at)["sigma"]
    assert frames.answer(token, "sigma", ["2"]) is not None
    del at
    gc.collect()
    assert frames.answer(token, "sigma", ["2"]) is None


def test_another_network_has_no_frames_until_it_is_measured() -> None:
    at = open_app("compose", "curves=moments.bayesian&source=measured")
    frame = asked(at, "trained", "7")["7"]
    assert frame is None or "Bayesian DP, certified" not in frame["headline"]


def test_every_question_offers_all_its_sliders() -> None:
    for page in PAGES:
        if page.key == "leakage":  # measures a network
            continue
        offered = tokens(open_app(page.key))
        fields = {one.key for one in page.questions[0].fields if isinstance(one, Number) and one.ticks}
        read = {one.key for one in units.readings(page.questions[0].fields)}
        assert offered.keys() == fields | read, page.key


def reply(path: str, query: str = "") -> Any:
    """What the server's table answers."""
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    for route in routes():
        match, more = route.matches(scope)
        if match is Match.FULL:
            return route.endpoint(Request({**scope, **more}))
    return None


def test_over_http() -> None:
    at = open_app("compose", "curves=moments")
    found = reply(f"{root()}/frames/{tokens(at)['sigma']}", "field=sigma&at=2%2C3")
    assert found.status_code == 200
    assert set(json.loads(gzip.decompress(found.body))["frames"]) == {"2", "3"}
    assert reply(f"{root()}/frames/nobody", "field=sigma&at=2").status_code == 404
    for name in FILES:
        assert gzip.decompress(reply(f"{root()}/{mark()}/{name}").body) == FILES[name].read_bytes()
        assert reply(f"{root()}/other/{name}").status_code == 404
    assert reply(f"{root()}/{mark()}/served.py").status_code == 404
    assert reply(f"{root()}/{mark()}/../served.py") is None
