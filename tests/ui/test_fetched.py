"""What the browser fetches by a token, without a run of the page: frames at other values of a field, and slow parts."""

import asyncio
import gc
import gzip
import inspect
import json
import os
import pickle
import re
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from starlette.requests import Request
from starlette.routing import Match
from streamlit.testing.v1 import AppTest

from dpviz._remember import MEMORY, Memory
from dpviz.charts import hand as charts_of_hand
from dpviz.fields.field import Number
from dpviz.gradients.sample import GradientSample
from dpviz.questions import units
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.gradients import File
from dpviz.questions.layout import of_texts
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.noise.expected import OWN_RUNS
from dpviz.questions.source import Held
from dpviz.runs.child import Child
from dpviz.ui import answers
from dpviz.ui.hand import ahead, beside, fetched
from dpviz.ui.hand.beside import Makers
from dpviz.ui.hand.fetched import GLANCE, LINGER, MOST
from dpviz.ui.hand.served import BUNDLE, COMPONENTS, OURS, PLOTLY, mark, root, routes
from dpviz.ui.hand.turns import Job, Turns
from dpviz.ui.registry import FIELDS
from dpviz.ui.sources import STILL_TO_MEASURE
from dpviz.ui.state import Keys
from tests.ui.driver import charts, components, enter, open_app, plain, put, said, set_to, unpacked

FIELD = {field.key: field for field in FIELDS}


def tokens(at: AppTest) -> dict[str, str]:
    frames: dict[str, str] = components(at, "dpviz.chart")[0]["frames"]
    return frames


async def stays() -> bool:
    return False


def answer(token: str, field: str, texts: Sequence[str], gone: Callable[[], Awaitable[bool]] = stays) -> bytes | None:
    return asyncio.run(fetched.frames(token, field, texts, gone))


def asked(at: AppTest, field: str, *texts: str) -> dict[str, Any]:
    """Frames by their texts, figures unpacked, asked for until all are there."""
    found: dict[str, Any] = {}
    while missing := [text for text in texts if text not in found]:
        told = answer(tokens(at)[field], field, missing)
        assert told is not None
        reply = json.loads(told)
        assert reply["frames"]
        for frame in reply["frames"].values():
            if frame is not None and "figure" in frame:
                frame["figure"] = unpacked(frame["figure"], reply["columns"])
        found |= reply["frames"]
    return found


def shown(at: AppTest) -> tuple[str, str]:
    """The page's headline, and what stands below its chart, as HTML."""
    bodies = [element.proto.body for element in at.get("html")]
    (headline,) = [body for body in bodies if body.startswith('<p class="dpviz-headline"')]
    (below,) = [body for body in bodies if body.startswith('<div class="dpviz-strip"')]
    return headline, below


@pytest.mark.parametrize(
    ("page", "query", "field", "text"),
    [
        ("compose", "curves=moments.bayesian.tight&pin=sigma%3D3", "sigma", "2.5"),
        ("compose", "mech=laplace&curves=renyi_improved", "b", "7"),
        ("compose", "preset=bdpfig1", "quantile", "0.3"),
        ("orders", "oview=divergence", "q", "0.02"),
        ("attack", "aview=town", "target", "2"),
        ("noise", "noiseview=solve", "target", "1"),
        ("budget", "bview=policy", "target", "4"),
        ("langevin", "lview=region", "target", "0.2"),
        # A person's units: another batch keeps N and the epochs, so it moves q and T.
        ("compose", "curves=moments.strong", "batch", "256"),
        ("compose", "curves=moments&q=0.123456789012345&steps=9999&n=777", "epochs", "30"),
        ("compose", "curves=moments&q=1&steps=1", "batch", "600"),
        ("noise", "noisecurves=moments&noisetight=0&noiseq=", "batch", "1000"),
        ("orders", "oview=divergence", "batch", "5000"),
        ("budget", "bview=policy&bpol=fixed", "batch", "512"),
        ("attack", "aview=roc", "epochs", "3"),
    ],
)
def test_a_frame_shows_what_the_page_then_shows_and_a_fresh_one(page: str, query: str, field: str, text: str) -> None:
    at = open_app(page, query)
    before = tokens(at)
    assert asked(at, field, text)[text] is not None
    if moves_itself := field not in ("batch", "epochs"):
        put(at, f"value.{field}", FIELD[field].parse(text))
    else:
        put(at, f"entry.{field}", {"entry": {"text": text, "n": 1e9}})
        assert tokens(at)[field] == before[field], "while it moves its frames stay"
        assert any(tokens(at)[other] != before[other] for other in before), "and those of others do not"
    frame = asked(at, field, text)[text]  # with the slow parts that the page has waited for
    moved = {one.key: one.write(set_to(at, one)) for one in (RATE, STEPS, *([FIELD[field]] if moves_itself else []))}
    for opened in (at, open_app(page, urlencode(dict(parse_qsl(query, keep_blank_values=True)) | moved))):
        headline, below = shown(opened)
        assert frame["headline"] in headline
        assert below.startswith(frame["strip"])
        assert f'<div class="dpviz-notes">{frame["notes"]}</div>' in below
        drawn = {t["uid"]: t for t in charts(opened)[0]["data"]}
        for trace in frame["figure"]["data"]:
            there = dict(zip(drawn[trace["uid"]]["x"], drawn[trace["uid"]]["y"], strict=True))
            shared = {x: y for x, y in zip(trace["x"], trace["y"], strict=True) if x in there}
            assert trace["x"][-1] in shared
            for x, y in shared.items():
                assert y == (there[x] if y is None else pytest.approx(there[x], rel=2e-3))
            if trace["y"][-1] is not None:
                assert trace["y"][-1] == there[trace["x"][-1]]
        assert frame["figure"]["layout"].get("meta") == charts(opened)[0]["layout"].get("meta")


def test_another_upload_has_other_frames() -> None:
    """No field says which file it is: it was chosen beside them."""
    at = open_app("compose", "curves=moments.bayesian&source=upload&quantile=0.9")
    seen = []
    for size, called in ((0.1, "one"), (5.0, "two")):
        norms = GradientSample(norms=np.r_[np.full(400, size), np.full(30, 5.0)], description="norms")
        put(at, Keys.UPLOAD, Held(File("norms.npy", "column 1"), norms, called))
        frame = asked(at, "sigma", "2")["2"]
        seen.append(tokens(at)["sigma"])
        put(at, "value.sigma", 2.0)
        below = shown(at)[1]
        assert below[below.index("Bayesian") : below.index('<div class="dpviz-notes"')] in frame["strip"]
        put(at, "value.sigma", 4.0)
    assert seen[0] != seen[1]


def test_what_is_no_value_has_no_frame() -> None:
    at = open_app("compose", "curves=moments")
    assert asked(at, "sigma", "0", "x", "", "nan") == dict.fromkeys(("0", "x", "", "nan"))
    many = [str(value) for value in range(1, MOST + 20)]
    asked(at, "sigma", *many[:MOST])
    assert set(json.loads(answer(tokens(at)["sigma"], "sigma", many) or b"")["frames"]) == set(many[:MOST])
    assert answer(tokens(at)["sigma"], "q", ["0.1"]) is None
    assert answer("nobody's", "sigma", ["1"]) is None


def test_another_network_has_no_frames_until_it_is_measured() -> None:
    at = open_app("compose", "curves=moments.bayesian&source=measured")
    assert asked(at, "trained", "7")["7"] == {"why": STILL_TO_MEASURE}


@pytest.mark.sweep
def test_every_question_offers_all_its_sliders() -> None:
    for page in PAGES:
        if page.key == "leakage":  # measures a network
            continue
        offered = tokens(open_app(page.key))
        fields = {one.key for one in page.questions[0].fields if isinstance(one, Number) and one.ticks}
        read = {one.key for one in units.readings(page.questions[0].fields)}
        assert offered.keys() == fields | read, page.key


async def nothing_comes() -> Any:
    await asyncio.Event().wait()


async def disconnected() -> Any:
    return {"type": "http.disconnect"}


def reply(path: str, query: str = "", receive: Callable[[], Awaitable[Any]] = nothing_comes) -> Any:
    """What the server's table answers."""
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    for route in routes(["compose"]):
        match, more = route.matches(scope)
        if match is Match.FULL:
            told = route.endpoint(Request({**scope, **more}, receive))
            return asyncio.run(told) if inspect.iscoroutine(told) else told
    return None


def test_over_http() -> None:
    at = open_app("compose", "curves=moments")
    found = reply(f"{root()}/frames/{tokens(at)['sigma']}", "field=sigma&at=2%2C3")
    assert found.status_code == 200
    assert set(json.loads(gzip.decompress(found.body))["frames"]) <= {"2", "3"}
    assert reply(f"{root()}/frames/nobody", "field=sigma&at=2").status_code == 205
    assert reply(f"{root()}/frames/{tokens(at)['sigma']}", "field=sigma&at=4", disconnected).status_code == 205
    assert reply(f"{root()}/late/nobody").status_code == 205, "the browser's console has no error"
    bundle, library = (gzip.decompress(reply(f"{root()}/{mark()}/{name}").body) for name in (BUNDLE, PLOTLY))
    assert library == charts_of_hand.plotly().read_bytes()
    assert not re.search(rb"^import ", bundle, re.MULTILINE)
    assert re.findall(rb"^export const (\w+)", bundle, re.MULTILINE) == [name.encode() for name in COMPONENTS]
    assert b"export const { link }" in bundle
    page = gzip.decompress(reply("/compose").body).decode()
    assert 'BACKEND_BASE_URL: location.origin + ""' in page
    assert f'"{root()}/{mark()}/{BUNDLE}"' in page
    assert reply("/home", "sigma=3").headers["location"] == "./?sigma=3"
    assert reply("/nowhere") is None, "Streamlit says that there is no such page"
    held = {name.decode() + ".js" for name in re.findall(rb"^const \$(\w+)", bundle, re.MULTILINE)}
    assert OURS.keys() - held == {"page.js"}, "which is that of a page without a server"
    assert reply(f"{root()}/other/{BUNDLE}").status_code == 404
    assert reply(f"{root()}/{mark()}/served.py").status_code == 404
    assert reply(f"{root()}/{mark()}/../served.py") is None


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values whose frames were begun, none of which is there before; each takes some time."""
    begun: list[str] = []
    while fetched.busy():
        time.sleep(0.01)
    fetched._frames.clear()
    frame = fetched.Recipe.frame

    def counted(recipe: fetched.Recipe, text: str) -> Any:
        begun.append(text)
        time.sleep(1.5 * GLANCE)
        return frame(recipe, text)

    monkeypatch.setattr(fetched.Recipe, "frame", counted)
    return begun


VALUES = [str(value) for value in range(1, MOST + 1)]


@pytest.mark.parametrize("session_ends", [False, True])
def test_a_page_that_was_closed_costs_few_frames_more(
    computed: list[str], session_ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The browser leaves, or the session ends meanwhile."""
    pages, over = [open_app("compose", "curves=moments")], threading.Event()
    token, frame = tokens(pages[0])["sigma"], fetched.Recipe.frame

    def slowly(recipe: fetched.Recipe, text: str) -> Any:
        shown = frame(recipe, text)
        assert over.wait(60.0)
        return shown

    monkeypatch.setattr(fetched.Recipe, "frame", slowly)

    async def gone() -> bool:
        if session_ends and computed:
            pages.clear()
            gc.collect()
        return not session_ends and bool(computed)

    assert answer(token, "sigma", VALUES, gone) is None
    over.set()
    while fetched.busy():
        time.sleep(0.01)
    assert len(computed) <= beside.COUNT


def test_an_answer_comes_with_the_first_frame_and_others_go_on_for_a_moment(computed: list[str]) -> None:
    token = tokens(open_app("compose", "curves=moments"))["sigma"]

    async def one() -> list[str]:
        told = await fetched.frames(token, "sigma", VALUES, stays)
        there = list(json.loads(told or b"")["frames"])
        await asyncio.sleep(LINGER + 0.1)
        return there

    first = asyncio.run(one())
    assert first
    assert set(first) < set(VALUES[: len(VALUES) // 2])
    begun = len(computed)
    assert len(first) < begun < len(VALUES)
    assert set(computed) == set(VALUES[:begun])
    time.sleep(3 * GLANCE)
    assert len(computed) == begun


def test_equal_frames_of_two_sessions_are_made_once(computed: list[str]) -> None:
    pages = [open_app("compose", "curves=moments") for _ in range(2)]
    one, other = (tokens(page)["sigma"] for page in pages)
    assert one != other

    async def both() -> list[bytes | None]:
        return await asyncio.gather(*(fetched.frames(token, "sigma", ["2"], stays) for token in (one, other)))

    first, second = asyncio.run(both())
    assert first == second
    assert answer(one, "sigma", ["2", "3"]) == first, "kept, and sent at once"
    while fetched.busy():
        time.sleep(0.01)
    assert sorted(computed) == ["2", "3"]


def test_a_frame_is_made_again_where_a_part_that_it_lacked_is_there(computed: list[str]) -> None:
    at = open_app("compose", "curves=moments.bayesian.tight")
    recipe = fetched._offers[tokens(at)["sigma"]].recipe
    frame = fetched.packed(recipe, "3.3")
    assert len(frame.missing) == 2
    assert fetched.packed(recipe, "3.3") is frame
    _, parts = fetched.Recipe.frame(recipe, "3.3")
    for part in parts.missing[::-1]:  # whichever is there first
        answers.start(*part).result()
        assert part.name not in fetched.packed(recipe, "3.3").missing
    assert fetched.packed(recipe, "3.3").missing == ()
    assert computed == ["3.3"] * 4


def test_all_missing_parts_begin_together_and_each_is_shown_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_pool", ThreadPoolExecutor(2))  # as where there are three cores
    question, get = QUESTIONS["langevin_cost"], of_texts({"steps": "97"})
    works, together, go_on = [one.work for one in question.slow], threading.Barrier(2), threading.Event()

    def begun(work: Callable[[Any], Any], waits: bool, answer: Any) -> Any:
        together.wait(60.0)
        assert not waits or go_on.wait(60.0)
        return work(answer)

    slow = tuple(
        one._replace(work=partial(begun, work, k == 0))
        for k, (one, work) in enumerate(zip(question.slow, works, strict=True))
    )
    other = replace(question, slow=slow)
    parts = fetched.SlowParts("langevin", other, answers.compute(question, get), fetched.Alone(question.key))

    async def both() -> list[Any]:
        contents = [await fetched.slow_parts(parts, stays)]
        go_on.set()
        contents.append(await fetched.slow_parts(parts, stays))
        return [json.loads(content or b"") for content in contents]

    first, second = asyncio.run(both())
    assert (first["late"], second["late"]) == (True, False)
    assert not first["failed"] | second["failed"]
    assert first["figure"] != second["figure"]


def test_slow_parts_of_an_answer_do_not_need_each_other() -> None:
    for key in ("compose", "noise", "solve", "langevin_cost", "langevin_region"):
        question = QUESTIONS[key]
        bare = joined = answers.compute(question, of_texts({}))
        for k, slow in enumerate(question.slow):
            name = slow.key(bare)
            assert slow.key(joined) == name
            if name is not None:
                part = slow.work(joined)
                there = answers.part_of(question, k, of_texts(question.texts(bare.given)))
                assert pickle.dumps(there) == pickle.dumps((name, part)), (key, k)
                joined = slow.join(joined, part)


def test_a_process_beside_the_app_makes_the_same_frames(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And slow parts; of pins and of what lies here none. One that ends is started again."""
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    written = [
        fetched._offers[token].recipe
        for place, query in (
            ("compose", "q=0.0123456789012345&mech=laplace&b=3.3&curves=renyi_improved.tight"),
            ("compose", "curves=moments.bayesian.tight&sigma=1.7&quantile=0.3"),
            ("noise", "noiseview=solve&delta=3e-6"),
            ("budget", "bview=policy&epochs=12"),
            ("langevin", ""),
        )
        for token in tokens(open_app(place, query)).values()
    ]
    pinned = tokens(open_app("compose", "pin=sigma%3D3"))["sigma"]
    assert fetched._offers[pinned].recipe.written is None
    makers = Makers()
    monkeypatch.setattr(beside, "makers", makers)
    monkeypatch.setattr(beside, "STEADY", 0.0)
    assert fetched._made_beside(written[0], "3") is None, "none has started"
    makers.begin(1)
    try:
        wait_for(makers)
        MEMORY.clear()  # and slow parts with it, which the other process does not know
        for recipe in written:
            text = recipe.moved.write(recipe.moved.ticks[len(recipe.moved.ticks) // 2])
            made = fetched._made_beside(recipe, text)
            assert made is not None, recipe.written
            assert made == fetched.make(recipe, text)
        solved = next(one for one in written if one.question.key == "solve")
        before, lacked = fetched._made_beside(solved, "3"), solved.frame("3")[1].missing
        for part in lacked:
            answers.start(*part).result()
        made = fetched._made_beside(solved, "3")
        assert lacked
        assert made is not None, "which is told of the parts that are here"
        assert made == fetched.make(solved, "3") != before
        question = QUESTIONS["langevin_cost"]
        answer = answers.compute(question, of_texts({"steps": "97"}))
        parts = answers.joined("langevin", question, answer).missing
        asked: list[Any] = []
        make = makers.make

        def noted(request: Any) -> Any:
            asked.append(make(request))
            return asked[-1]

        monkeypatch.setattr(makers, "make", noted)
        for part, slow in zip(parts, question.slow, strict=True):
            assert pickle.dumps(part.work()) == pickle.dumps(slow.work(answer))
            assert asked[-1] is not None
        monkeypatch.setattr(makers, "make", make)
        (child,) = makers._every
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert fetched._made_beside(written[0], "3") is None, "which the app makes"
        wait_for(makers)
        assert fetched._made_beside(written[0], "3") is not None
    finally:
        makers.end()
    assert fetched._made_beside(written[0], "3") is None


def wait_for(makers: Makers) -> None:
    while not makers.ready:
        time.sleep(0.05)


def test_a_process_that_cannot_start_is_not_started_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    monkeypatch.setattr(beside, "MODULE", "dpviz.there_is_no_such_module")
    begun: list[Child] = []

    def child(*asked: Any) -> Child:
        begun.append(Child(*asked))
        return begun[-1]

    monkeypatch.setattr(beside, "Child", child)
    makers = Makers()
    makers._over = False
    makers._keep()
    assert len(begun) == beside.SHORT
    assert makers._every == set()
    assert makers.make({}) is None


def test_sessions_take_turns_and_the_newest_wish_comes_first() -> None:
    turns, go_on, order = Turns(1, "test"), threading.Event(), list[str]()

    def ask(session: str, *names: str) -> list[Job]:
        return turns.ask(session, {name: partial(order.append, name) for name in names})

    (first,) = turns.ask("a", {"begun": lambda: go_on.wait(60.0)})
    while not first.result.running():
        time.sleep(0.01)
    jobs = [
        job for asked in (("a", "a1", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "a1")) for job in ask(*asked)
    ]
    assert ask("nothing") == []
    (left,) = ask("c", "c2")
    assert turns.crowded, "more sessions wait than one worker serves"
    turns.drop([left])
    go_on.set()
    for job in (*jobs, *ask("d", "end")):
        job.result.result(60.0)
    assert not turns.crowded
    order.remove("end")
    assert order[:3] == ["a3", "a1", "c1"]
    assert sorted(order) == ["a1", "a2", "a3", "b1", "c1"], "each once, and not what was dropped"


@pytest.mark.parametrize("patience", [60.0, 0.1])
def test_slow_parts_let_a_crowd_of_hands_pass_for_a_while(monkeypatch: pytest.MonkeyPatch, patience: float) -> None:
    waiting, begun = SimpleNamespace(crowded=True), threading.Event()
    monkeypatch.setattr(beside, "frames", waiting)
    monkeypatch.setattr(answers, "PATIENCE", patience)
    job = answers.start(("test", patience), begun.set)
    assert begun.wait(0.3) == (patience < 1.0)
    waiting.crowded = False
    job.result(60.0)
    assert begun.is_set()


def test_in_a_crowd_an_answer_brings_several_frames(computed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    token = tokens(open_app("compose", "curves=moments"))["sigma"]
    monkeypatch.setattr(Turns, "crowded", True)
    monkeypatch.setattr(fetched, "GATHER", 60.0)
    assert set(json.loads(answer(token, "sigma", VALUES[:6]) or b"")["frames"]) == set(VALUES[:6])


def test_what_is_made_ahead_is_what_the_first_visitor_asks_for() -> None:
    wanted = {(recipe.name, recipe.moved.key) for recipe, _ in ahead.first_pages()}
    for page in ("compose", "orders", "attack", "noise", "budget", "langevin"):
        at = open_app(page)
        offered = tokens(at)
        names = {fetched._offers[token].recipe.name for token in offered.values()}
        assert len({key for name, key in wanted if name in names}) == ahead.SLIDERS, page


def test_frames_around_each_page_are_made_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a session that ended not at all, and none while somebody waits."""
    monkeypatch.setattr(ahead, "_pages", {"near": OrderedDict(), "far": OrderedDict()})
    monkeypatch.setattr(ahead, "NEAR", 12)
    monkeypatch.setattr(fetched, "_frames", Memory(2**20))
    older, newer = (open_app("compose", f"curves=moments&sigma={sigma}&units=mechanism") for sigma in (2, 3))
    monkeypatch.setattr(beside.makers, "ready", 1)
    assert ahead._next(iter(())) is None, "just asked"
    monkeypatch.setattr(ahead, "_asked", time.monotonic() - 1.0)

    def prepared(count: int) -> list[tuple[str, str]]:
        made = []
        for _ in range(count):
            recipe, text = ahead._next(iter(())) or pytest.fail("nothing to make")
            assert recipe in {
                fetched._offers[token].recipe for page in (older, newer) for token in tokens(page).values()
            }
            made.append((recipe.moved.key, text))
        return made

    assert prepared(6) == [
        ("sigma", "2"),
        ("sigma", "3"),
        ("q", "0.01"),
        ("q", "0.01"),
        ("steps", "10000"),
        ("steps", "10000"),
    ]
    newer = older
    gc.collect()
    assert prepared(3) == [("sigma", "1.8"), ("sigma", "2.2"), ("q", "0.012")]
    with monkeypatch.context() as crowded:
        crowded.setattr(fetched, "busy", lambda: True)
        assert ahead._next(iter(())) is None
    every = {key: fetched._offers[token].recipe.moved for key, token in tokens(older).items()}
    ticks = {(key, every[key].write(tick)) for key in ("sigma", "q", "steps") for tick in every[key].ticks}
    prepared(12 - 6)
    assert ahead._next(iter(())) is None, "the others come later"
    monkeypatch.setattr(ahead, "_asked", time.monotonic() - 4.0)
    far = prepared(len(ticks))
    assert set(far) == ticks
    assert [key for key, _ in groupby(far, key=lambda each: each[0])] == ["sigma", "q", "steps"]
    assert ahead._next(iter(())) is None


def test_a_browser_that_leaves_while_others_are_computed(computed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its frame has not begun: it never does. The server answers others meanwhile."""
    token = tokens(open_app("compose", "curves=moments"))["sigma"]
    go_on, busy = threading.Event(), threading.Semaphore(0)
    frame = fetched.Recipe.frame

    def slowly(recipe: fetched.Recipe, text: str) -> Any:
        busy.release()
        assert go_on.wait(60.0)
        return frame(recipe, text)

    monkeypatch.setattr(fetched.Recipe, "frame", slowly)

    async def visitors() -> bytes | None:
        loop = asyncio.get_running_loop()
        others = [asyncio.ensure_future(fetched.frames(token, "sigma", [text], stays)) for text in ("2", "3")]
        for _ in others:
            assert await loop.run_in_executor(None, busy.acquire, True, 60.0)
        glances = iter((False, True))

        async def leaves() -> bool:
            return next(glances)

        mine = await fetched.frames(token, "sigma", ["4"], leaves)
        go_on.set()
        await asyncio.gather(*others)
        return mine

    assert asyncio.run(visitors()) is None
    assert sorted(computed) == ["2", "3"]


def test_leakage_follows_to_what_was_measured_before_and_says_what_was_not() -> None:
    at = open_app("leakage", "lkrun=small&lksteps=100&model=logistic&lkexamples=60")
    before = said(at, "headline")[0]
    enter(at, "lksteps", "500")
    after = said(at, "headline")[0]
    shown = asked(at, "lksteps", "100", "500", "1000")
    texts = [plain(shown[steps]["headline"]) for steps in ("100", "500")]
    assert texts == [before, after]
    assert before != after
    assert shown["1000"] == {"why": STILL_TO_MEASURE}


def fails(_: Any) -> Any:
    raise RuntimeError("as asked")


@pytest.mark.parametrize("slow", [(), (SimpleNamespace(key=fails),)])
def test_a_slow_part_that_cannot_be_named_or_shown_has_failed(slow: tuple[Any, ...]) -> None:
    """A request that fails without an answer would be repeated for ever."""
    answer: Any = SimpleNamespace()
    question: Any = SimpleNamespace(slow=slow)
    parts = fetched.SlowParts("compose", question, answer, fails)
    content = asyncio.run(fetched.slow_parts(parts, stays))
    assert content is not None
    assert json.loads(content) == {"late": False, "failed": True}


def test_frames_of_other_recorded_runs_have_another_name() -> None:
    """With equal fields: a run that ended since, and a newer network, are not shown by frames of before."""
    question = QUESTIONS["expected"]
    get = of_texts({})
    given = question.read(get)
    (own,) = (name for name, setting in question.settings.items() if setting is OWN_RUNS)

    def names(runs: tuple[object, ...]) -> dict[str, object]:
        made = fetched.recipes("noise", question, get, given | {own: runs}, (), lambda _: {})
        return {recipe.moved.key: recipe.name for recipe in made}

    assert names(()) == names(()) != {}
    assert all(names(())[key] != names(("a run",))[key] for key in names(()))
