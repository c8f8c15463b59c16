"""What the browser fetches without a run of the page: scripts, and frames at other values of a field."""

import asyncio
import gc
import gzip
import inspect
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from starlette.requests import Request
from starlette.routing import Match
from streamlit.testing.v1 import AppTest

from dpviz.charts import browser as chart_scripts
from dpviz.fields.field import Number
from dpviz.gradients.sample import GradientSample
from dpviz.questions import units
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.frames import Alone, Packed, Sweep
from dpviz.questions.gradients import File
from dpviz.questions.layout import of_texts
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.noise.expected import OWN_RUNS
from dpviz.questions.source import Held
from dpviz.ui import answers
from dpviz.ui.browser import frames
from dpviz.ui.browser.frames import AT_ONCE, MOST
from dpviz.ui.browser.pool import COUNT
from dpviz.ui.browser.routes import BUNDLE, COMPONENTS, OURS, PLOTLY, mark, root, routes
from dpviz.ui.public.limits import Allowances
from dpviz.ui.registry import FIELDS
from dpviz.ui.sources import STILL_TO_MEASURE, Upload
from dpviz.ui.state import Keys
from tests.ui.driver import charts, controls, enter, open_app, plain, put, said, set_to, tokens, unpacked

FIELD = {field.key: field for field in FIELDS}


async def lines(token: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """What the browser is told, piece by piece."""
    offer = frames.find_offer(token)
    assert offer is not None
    return [json.loads(line) async for line in frames.stream(offer, texts)]


def answer(token: str, *texts: str) -> dict[str, Any]:
    """Frames by their texts, figures unpacked."""
    found: dict[str, Any] = {}
    columns: dict[str, str] = {}
    for told in asyncio.run(lines(token, texts)):
        columns |= told["columns"]
        for text, frame in told["frames"].items():
            whole = frame is not None and "figure" in frame
            found[text] = {**frame, "figure": unpacked(frame["figure"], columns)} if whole else frame
    return found


def asked(at: AppTest, field: str, *texts: str) -> dict[str, Any]:
    return answer(tokens(at)[field], *texts)


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
        ("budget", "bview=policy&preset=", "target", "4"),
        ("langevin", "lview=region", "target", "0.2"),
        # A person's units: another batch keeps N and the epochs, so it moves q and T.
        ("compose", "curves=moments.strong&units=person", "batch", "256"),
        ("compose", "curves=moments&q=0.123456789012345&steps=9999&n=777&units=person", "epochs", "30"),
        ("compose", "curves=moments&q=1&steps=1&units=person", "batch", "600"),
        ("noise", "noisecurves=moments&noisetight=0&noiseq=&units=person", "batch", "1000"),
        ("orders", "oview=divergence&units=person", "batch", "5000"),
        ("budget", "bview=policy&bpol=fixed&units=person", "batch", "512"),
        ("attack", "aview=roc&units=person", "epochs", "3"),
    ],
)
@pytest.mark.one_of(3)
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
        below_controls = {key: one["why"] for key, one in controls(opened).items() if key in frame["captions"]}
        assert below_controls == {key: frame["captions"][key] for key in below_controls}
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


@pytest.mark.parametrize("more", ["pin=sigma%3D3", "preset=abadi2", "present=1"])
def test_what_else_stands_on_a_chart_makes_other_frames(more: str) -> None:
    """Pins and a paper's points are no field's: two pages with equal fields, one of them with a pin."""
    query = "curves=moments&sigma=2&q=0.01&steps=10000&delta=1e-5"
    drawn, names = [], []
    for opened in (open_app("compose", query), open_app("compose", f"{query}&{more}"), open_app("compose", query)):
        frame = asked(opened, "sigma", "2.5")["2.5"]
        drawn.append([trace["uid"] for trace in frame["figure"]["data"]])
        offer = frames.find_offer(tokens(opened)["sigma"])
        assert offer is not None
        names.append(offer.recipe.name)
    assert names[0] == names[2] != names[1]
    assert drawn[0] == drawn[2]
    assert (drawn[1] != drawn[0]) == (more != "present=1")


def test_another_upload_has_other_frames() -> None:
    """No field says which file it is: it was chosen beside them."""
    at = open_app("compose", "curves=moments.bayesian&source=upload&quantile=0.9")
    seen = []
    for size, called in ((0.1, "one"), (5.0, "two")):
        norms = GradientSample(norms=np.r_[np.full(400, size), np.full(30, 5.0)], description="norms")
        put(at, Keys.UPLOAD, Upload(held=Held(File("norms.npy", "column 1"), norms, called)))
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
    many = [str(value) for value in range(-MOST, 20)]
    assert set(asked(at, "sigma", *many)) == set(many[:MOST])


def test_another_network_has_no_frames_until_it_is_measured() -> None:
    at = open_app("compose", "curves=moments.bayesian&source=measured")
    assert asked(at, "trained", "7")["7"] == {"why": STILL_TO_MEASURE}


@pytest.mark.usefixtures("without_slow_parts")
def test_every_question_offers_all_its_sliders() -> None:
    for page in PAGES:
        if page.key == "leakage":  # measures a network
            continue
        at = open_app(page.key)  # its offers go with it
        offered = tokens(at)
        fields = {one.key for one in page.questions[0].fields if isinstance(one, Number) and one.ticks}
        read = {one.key for one in units.readings(page.questions[0].fields)}
        assert offered.keys() == fields | read, page.key


async def nothing_comes() -> Any:
    await asyncio.Event().wait()


def reply(path: str, query: str = "") -> Any:
    """What the server's table answers."""
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    for route in routes(["compose"]):
        match, more = route.matches(scope)
        if match is Match.FULL:
            told = route.endpoint(Request({**scope, **more}, nothing_comes))
            return asyncio.run(told) if inspect.iscoroutine(told) else told
    return None


def test_over_http() -> None:
    at = open_app("compose", "curves=moments")
    found = reply(f"{root()}/frames/{tokens(at)['sigma']}", "field=sigma&at=2%2C3")
    assert (found.status_code, found.headers["x-accel-buffering"]) == (200, "no")

    async def pieces() -> list[bytes]:
        return [piece async for piece in found.body_iterator]

    told = asyncio.run(pieces())
    unzip = zlib.decompressobj(wbits=31)
    first = json.loads(unzip.decompress(told[0]))["frames"]
    assert first.keys() & {"2", "3"}, "each piece can be read when it comes, whichever is there first"
    assert gzip.decompress(b"".join(told)).count(b"\n") == len(told) - 1
    assert reply(f"{root()}/frames/nobody", "field=sigma&at=2").status_code == 205
    assert reply(f"{root()}/frames/{tokens(at)['sigma']}", "field=q&at=0.1").status_code == 205
    assert reply(f"{root()}/slow/nobody").status_code == 205, "the browser's console has no error"
    bundle, library = (gzip.decompress(reply(f"{root()}/{mark()}/{name}").body) for name in (BUNDLE, PLOTLY))
    assert library == chart_scripts.plotly().read_bytes()
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
    assert reply(f"{root()}/{mark()}/routes.py").status_code == 404
    assert reply(f"{root()}/{mark()}/../routes.py") is None


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values whose frames were begun, none of which is there before."""
    begun: list[str] = []
    frames.kept_frames.clear()
    packed = Sweep.packed

    def counted(sweep: Sweep, text: str) -> Packed:
        begun.append(text)
        return packed(sweep, text)

    monkeypatch.setattr(Sweep, "packed", counted)
    return begun


VALUES = [str(value) for value in range(1, 41)]


def test_all_that_was_asked_for_comes_what_is_kept_first_and_columns_once(computed: list[str]) -> None:
    at = open_app("compose", "curves=moments")  # its offers go with it
    token = tokens(at)["sigma"]
    kept = VALUES[20:30]
    answer(token, *kept)
    computed.clear()
    told = asyncio.run(lines(token, [*kept, *VALUES]))
    assert [text for piece in told[:2] for text in piece["frames"]] == kept
    assert max(len(piece["frames"]) for piece in told) <= AT_ONCE
    assert sorted(text for piece in told for text in piece["frames"]) == sorted(VALUES)
    assert sorted(computed) == sorted(set(VALUES) - set(kept))
    names = [name for piece in told for name in piece["columns"]]
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize("session_ends", [False, True])
def test_a_page_that_was_closed_costs_few_frames_more(computed: list[str], session_ends: bool) -> None:
    """The browser leaves, or the session ends meanwhile."""
    pages = [open_app("compose", "curves=moments")]
    token = tokens(pages[0])["sigma"]

    async def leaves() -> None:
        offer = frames.find_offer(token)
        assert offer is not None
        told = frames.stream(offer, VALUES)
        del offer
        await anext(told)
        if session_ends:
            pages.clear()
            gc.collect()
            assert len([piece async for piece in told]) <= 1
        else:
            await told.aclose()
        assert not frames.waited_for()

    asyncio.run(leaves())
    assert len(computed) <= 2 * COUNT


def test_a_visitor_s_next_request_ends_the_one_before(computed: list[str]) -> None:
    """Where the hand is now counts, and nobody asks for two streams of frames at once."""
    at = open_app("compose", "curves=moments")

    async def both() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        first = asyncio.create_task(lines(tokens(at)["sigma"], VALUES))
        while not computed:
            await asyncio.sleep(0)
        return await asyncio.gather(first, lines(tokens(at)["q"], ["0.02", "0.03"]))

    first, second = asyncio.run(both())
    assert sum(len(piece["frames"]) for piece in first) <= 2 * COUNT
    assert sum(len(piece["frames"]) for piece in second) == 2


def test_equal_frames_of_two_sessions_are_made_once_and_they_take_turns(computed: list[str]) -> None:
    pages = [open_app("compose", "curves=moments") for _ in range(2)]
    at = open_app("compose", "curves=moments&delta=1e-6")  # its offers go with it
    other = tokens(at)["sigma"]
    one, two = (tokens(page)["sigma"] for page in pages)
    assert one != two

    async def three() -> list[list[dict[str, Any]]]:
        return await asyncio.gather(*(lines(token, VALUES[:10]) for token in (one, two, other)))

    first, second, _ = asyncio.run(three())
    assert first == second
    assert sorted(computed) == sorted(2 * VALUES[:10])
    assert computed[: 2 * COUNT] == 2 * VALUES[:COUNT], "nobody's frames wait for all of another's"


def test_a_frame_is_made_again_where_a_part_that_it_lacked_is_there(computed: list[str]) -> None:
    at = open_app("compose", "curves=moments.bayesian.tight")  # its offers go with it
    token = tokens(at)["sigma"]
    recipe = frames.find_offer(token).recipe

    def now() -> Packed:
        answer(token, "3.3")
        return recipe.kept("3.3") or pytest.fail("it is not kept")

    frame = now()
    assert len(frame.missing) == 3  # the intervals of both kinds of DP, and ε after four times the steps
    assert now() is frame
    _, parts = recipe.sweep.frame("3.3")
    for count, part in enumerate(parts.missing[::-1], start=1):  # whichever is there first
        answers.start(*part).result()
        assert len(now().missing) == 3 - count
    assert computed == ["3.3"] * 4


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


def test_frames_of_other_recorded_runs_have_another_name() -> None:
    """With equal fields: a run that ended since, and a newer network, are not shown by frames of before."""
    question = QUESTIONS["expected"]
    get = of_texts({})
    given = question.read(get)
    (own,) = (name for name, setting in question.settings.items() if setting is OWN_RUNS)

    def names(runs: tuple[object, ...]) -> dict[str, object]:
        made = frames.recipes("noise", question, get, given | {own: runs}, (), Alone(question.key))
        return {recipe.sweep.moved.key: recipe.name for recipe in made}

    assert names(()) == names(()) != {}
    assert all(names(())[key] != names(("a run",))[key] for key in names(()))


def test_a_public_server_computes_only_so_many_frames_at_once_and_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    at = open_app("attack", "aview=success")
    field, token = next(iter(tokens(at).items()))
    stops = FIELD[field].stops[:5]
    allowances = Allowances(2, 1e-9)
    monkeypatch.setattr(frames, "_allowances", allowances)
    monkeypatch.setattr(frames, "LATER", 0.0)
    offer = frames.find_offer(token)
    assert offer is not None

    async def pieces() -> tuple[set[str], set[str]]:
        names: list[str] = []
        async for line in frames.stream(offer, stops):
            names += json.loads(line)["frames"]
            if len(names) == 2:
                first = set(names)
                monkeypatch.setattr(frames, "_allowances", None)
        return first, set(names)

    first, every = asyncio.run(pieces())
    assert first == set(stops[:2])
    assert every == set(stops)
