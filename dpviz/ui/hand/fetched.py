"""What a page's browser fetches without a run of the page: frames of a chart while a hand moves, and slow parts.

A session keeps what they are made from, each under a name that nobody can guess. When the session ends, what it kept is
gone.
"""

import asyncio
import json
import pickle
import secrets
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool

from dpviz._remember import MEMORY, Memory, Named
from dpviz.charts.hand.pack import Packer
from dpviz.charts.plot import HEIGHT
from dpviz.fields.field import Field, Number
from dpviz.questions import units
from dpviz.questions.answer import Answer
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.layout import Reader, of_values
from dpviz.questions.question import Question
from dpviz.questions.shown import frame
from dpviz.questions.source import NoSample
from dpviz.ui import answers, boundary
from dpviz.ui.answers import Joined, ToCome
from dpviz.ui.hand import beside
from dpviz.ui.state import Keys

MOST = 48  # frames that one request may ask for
KEPT = 64  # recipes of a session
LINGER = 0.3  # seconds for which frames are still begun after an answer: a round trip from afar
GLANCE = 0.2  # seconds between two looks, while something is computed, whether anybody still waits
GATHER = 0.1  # seconds for which an answer waits for more frames than one in a crowd: each answer costs as much as one
PATIENCE = 20.0  # seconds that a request for a slow part may wait: then the browser asks again

Shown = Callable[[Answer[Any]], Mapping[str, Any]]
Gone = Callable[[], Awaitable[bool]]


def _token() -> str:
    return secrets.token_urlsafe(15)


def _as_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Alone:
    """Shows an answer as its question draws it, with nothing beside it."""

    question: str
    height: int = HEIGHT

    def __call__(self, answer: Answer[Any]) -> Mapping[str, Any]:
        return frame(QUESTIONS[self.question], answer, answer.plot, self.height)


# --- frames -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Recipe:
    """How frames of one field are made.

    Attributes:
        place: the page, for the log.
        question: what is asked.
        moved: the field that moves.
        others: the values of other fields, by key: the question's, and what another reading of q and T is made of.
        given: the settings' values at the present place, samples resolved.
        show: an answer's figure ("figure") and words.
        name: equal for recipes whose frames are the same.
    """

    place: str
    question: Question[Any]
    moved: Number
    others: Mapping[str, Any]
    given: Mapping[str, Any]
    show: Shown
    name: Hashable

    def frame(self, text: str) -> tuple[Mapping[str, Any], Joined]:
        """What is shown where the field is what `text` writes, and of which answer; ValueError where there is none."""
        sets = units.sets(self.moved, self.moved.parse(text), of_values(self.others))
        values = {**self.others, **{one.key: value for one, value in sets.items()}}
        answer = answers.with_samples(self.question, of_values(values), self.given)
        parts = answers.joined(self.place, self.question, answer)
        return self.show(parts.answer), parts

    @cached_property
    def written(self) -> dict[str, Any] | None:
        """The recipe as JSON, of which another process makes the same frames; None where it takes what only this one
        has: pins, samples that were measured or uploaded, recorded runs.
        """
        if not (isinstance(self.show, Alone) and answers.plain(self.question, self.given)):
            return None
        fields = _fields(self.question)
        others = {key: fields[key].write(value) for key, value in self.others.items()}
        names = {"place": self.place, "question": self.question.key, "moved": self.moved.key}
        return {**names, "others": others, "height": self.show.height}


def recipe_of(written: Mapping[str, Any]) -> Recipe:
    """The recipe that is `written`.

    Raises:
        ValueError: no field allows one of its texts.
    """
    question = QUESTIONS[written["question"]]
    fields = _fields(question)
    others = {key: fields[key].parse(text) for key, text in written["others"].items()}
    given, moved = question.read(of_values(others)), fields[written["moved"]]
    assert isinstance(moved, Number)
    show = Alone(question.key, written["height"])
    return Recipe(written["place"], question, moved, others, given, show, None)


def _fields(question: Question[Any]) -> dict[str, Field[Any]]:
    """All that recipes of a question may name, by key; its own where a page has another of that key."""
    return {one.key: one for one in (*units.BEHIND, units.BATCH, units.EPOCHS, *question.fields)}


class Packed(NamedTuple):
    """A frame as it travels: JSON, and the columns that it shares with others."""

    content: bytes
    columns: Mapping[str, str] = {}
    missing: tuple[Any, ...] = ()  # names of the slow parts that it was made without
    kept: bool = True  # whether it may be shown again


# Packed frames by value, whoever asked for them. Those made of an upload lie in its own memory.
_frames = Memory(48 * 2**20)


@dataclass(eq=False)
class Offer:
    """A recipe, as a session's browser asks for its frames."""

    recipe: Recipe
    session: int
    token: str = field(default_factory=_token)


_offers: WeakValueDictionary[str, Offer] = WeakValueDictionary()


def recipes(
    place: str, question: Question[Any], get: Reader, given: Mapping[str, Any], extra: Hashable, show: Shown
) -> Iterator[Recipe]:
    """How frames around the present values are made, for every field that may move."""
    values = {one.key: get(one) for one in question.fields}
    # An upload is no field's, and recorded runs are read anew: with equal fields they may be others.
    read_now = {name: value.key if isinstance(value, Named) else value for name, value in given.items()}
    sliders: dict[Number, tuple[Number, ...]] = {
        one: (one,) for one in question.fields if isinstance(one, Number) and one.ticks
    }
    read = {one.key: get(one) for one in units.BEHIND} | {units.EPOCHS.key: units.epochs(get)}
    for moved, sets in (sliders | (readings := units.readings(question.fields))).items():
        others = read | values if moved in readings else values
        set_here = {one.key for one in sets}
        decide = {key: value for key, value in others.items() if key not in set_here}
        stays = tuple(
            read_now[name] for name in given if isinstance(given[name], Named) or not question.keys_of(name) & set_here
        )
        name = (place, question.key, moved.key, tuple(decide.items()), stays, extra)
        yield Recipe(place, question, moved, others, given, show, name)


def offer_frames(made: Iterable[Recipe]) -> dict[str, str]:
    """Tokens of their frames for the present session, by the key of the field that may move."""
    held: dict[Hashable, Offer] = st.session_state.setdefault(Keys.FRAMES, {})
    tokens = {}
    for recipe in made:
        offer = held.pop(recipe.name, None) or Offer(recipe, id(held))
        held[recipe.name] = offer  # last in line
        _offers[offer.token] = offer
        tokens[recipe.moved.key] = offer.token
    while len(held) > KEPT:
        held.pop(next(iter(held)))
    return tokens


def find_offer(token: str) -> Offer | None:
    return _offers.get(token)


async def frames(token: str, field_key: str, texts: Sequence[str], gone: Gone) -> bytes | None:
    """Frames at these values as JSON: those that are there, or the first that is made, as asked in turn. null where
    the field does not allow one, {"why": in words} where a sample has to be measured first.

    Others go on being made for a moment: whoever still wants them asks again, and where its hand is meanwhile.

    None if there is no such recipe, or from the moment when its session has ended or nobody waits any more (`gone`).
    """
    offer = find_offer(token)
    if offer is None or offer.recipe.moved.key != field_key or await gone():
        return None
    recipe, session = offer.recipe, offer.session
    del offer  # it goes with its session
    made = {text: frame for text in texts[:MOST] if (frame := kept(recipe, text))}
    wanted = [text for text in dict.fromkeys(texts[:MOST]) if text not in made]
    jobs = beside.frames.ask(session, {(recipe.name, text): partial(packed, recipe, text) for text in wanted})
    under_way = [asyncio.wrap_future(job.result) for job in jobs]
    while (
        not made
        and jobs
        and not (await asyncio.wait(under_way, timeout=GLANCE, return_when=asyncio.FIRST_COMPLETED))[0]
    ):
        if await gone() or token not in _offers:
            beside.frames.drop(jobs)
            return None
    if under_way and beside.frames.crowded and not made:
        await asyncio.wait(under_way, timeout=GATHER)
    asyncio.get_running_loop().call_later(LINGER, beside.frames.drop, jobs)
    made |= {text: job.result.result() for text, job in zip(wanted, jobs, strict=True) if job.result.done()}
    columns = {name: column for frame in made.values() for name, column in frame.columns.items()}
    content = b",".join(json.dumps(text).encode() + b":" + frame.content for text, frame in made.items())
    return b'{"frames":{%b},"columns":%b}' % (content, _as_json(columns))


def busy() -> bool:
    """Whether somebody waits for frames."""
    return beside.frames.busy


def kept(recipe: Recipe, text: str) -> Packed | None:
    """The frame, where it was made and no slow part that it lacks has come since."""
    frame: Packed | None = _memory(recipe).get((recipe.name, text))
    return None if frame is None or any(map(answers.there, frame.missing)) else frame


def packed(recipe: Recipe, text: str) -> Packed:
    """The frame, made once for all who ask."""
    return kept(recipe, text) or _keep(recipe, text, _made_beside(recipe, text) or make(recipe, text))


def prepare(recipe: Recipe, text: str) -> None:
    """Have the frame made beside the app, for whoever may ask."""
    if kept(recipe, text) is None and (frame := _made_beside(recipe, text)) is not None:
        _keep(recipe, text, frame)


def _keep(recipe: Recipe, text: str, frame: Packed) -> Packed:
    if frame.kept:
        _memory(recipe).put((recipe.name, text), frame)
    return frame


def _memory(recipe: Recipe) -> Memory:
    own = (one.memory for one in recipe.given.values() if isinstance(one, Named) and one.memory is not MEMORY)
    return next(own, _frames)


def _made_beside(recipe: Recipe, text: str) -> Packed | None:
    """The frame from another process, which is told of slow parts that are here; None where none can make it."""
    request = {"recipe": recipe.written, "text": text}
    frame: Packed | None = None if recipe.written is None else beside.makers.make(request)
    if frame is None:
        return None
    works = [slow.work for slow in recipe.question.slow]
    with suppress(Exception):  # that a part failed with: the app says so
        parts = [(k, key, part) for k, key in frame.missing if (part := answers.finished((works[k], key))) is not None]
        frame = beside.makers.make({**request, "parts": pickle.dumps(parts).hex()}) if parts else frame
    missing = () if frame is None else tuple((works[k], key) for k, key in frame.missing)
    return None if frame is None or any(map(answers.there, missing)) else frame._replace(missing=missing)


def make(recipe: Recipe, text: str) -> Packed:
    """The frame, made here."""
    packer = Packer()
    try:
        shown, parts = recipe.frame(text)
        content = _as_json({**shown, "figure": packer.figure(shown["figure"], hover=False)})
        missing = tuple(part.name for part in parts.missing)
        return Packed(content, packer.columns, missing, kept=not parts.failed)
    except NoSample as why:
        return Packed(_as_json({"why": str(why)}), kept=False)
    except ValueError:
        return Packed(b"null")
    except Exception as error:
        boundary.log(recipe.place, error)
        return Packed(b"null", kept=False)


# --- slow parts -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class SlowParts:
    """What is shown of an answer once its slow parts are there.

    Attributes:
        place: the page, for the log.
        question, answer: what is asked, and the answer without them.
        show: an answer's figure ("figure") and words.
        token: its name for the browser.
    """

    place: str
    question: Question[Any]
    answer: Answer[Any]
    show: Shown
    token: str = field(default_factory=_token)

    def parts(self) -> Joined:
        return answers.joined(self.place, self.question, self.answer)

    def missing(self) -> tuple[ToCome, ...]:
        """Parts that are still to be computed; none too where that cannot be said: `as_json` says it failed."""
        try:
            return self.parts().missing
        except Exception as error:
            boundary.log(self.place, error)
            return ()

    def as_json(self) -> bytes:
        """What is there, as JSON; whether more is to come, and whether something failed: then the page says what."""
        try:
            parts = self.parts()
            shown, packer = self.show(parts.answer), Packer()
            more = {"late": bool(parts.missing), "failed": bool(parts.failed)}
            return _as_json({**shown, "figure": packer.figure(shown["figure"]), "columns": packer.columns, **more})
        except Exception as error:
            boundary.log(self.place, error)
            return _as_json({"late": False, "failed": True})


_offered: WeakValueDictionary[str, SlowParts] = WeakValueDictionary()


def offer_slow_parts(parts: SlowParts, missing: Sequence[ToCome]) -> str:
    """The name under which `slow_parts` answers them, until the session's next one; empty where none is missing.

    They are begun now where processes beside the app compute them: here they would hold up the page, which is still
    being drawn. Nobody waits for those of the answer before any more.
    """
    before: tuple[SlowParts, Sequence[ToCome]] | None = st.session_state.get(Keys.LATE)
    if beside.makers.ready:
        for one in before[1] if before else ():
            answers.drop(one.name)
        for one in missing:
            answers.start(*one)
    st.session_state[Keys.LATE] = parts, missing
    if not missing:
        return ""
    _offered[parts.token] = parts
    return parts.token


def find_slow_parts(token: str) -> SlowParts | None:
    return _offered.get(token)


async def slow_parts(parts: SlowParts, gone: Gone) -> bytes | None:
    """What is shown once one part more is there; None where that takes longer, or nobody waits any more (`gone`)."""
    missing = await run_in_threadpool(parts.missing)
    jobs = [asyncio.wrap_future(answers.start(*part)) for part in missing]
    until = time.monotonic() + PATIENCE
    while jobs and not (await asyncio.wait(jobs, timeout=GLANCE, return_when=asyncio.FIRST_COMPLETED))[0]:
        if await gone():
            for part in missing:
                answers.drop(part.name)
            return None
        if time.monotonic() > until:
            return None
    if any(job.cancelled() for job in jobs):  # by another who waited for it and went
        return None
    return await run_in_threadpool(parts.as_json)
