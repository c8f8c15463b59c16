"""What a page's browser fetches without a run of the page: frames of a chart while a hand moves, and slow parts.

A session keeps what they are made from, each under a name that nobody can guess. When the session ends, what it kept is
gone.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool

from dpviz._remember import Named
from dpviz.charts.hand.pack import Packer
from dpviz.fields.field import Number
from dpviz.questions import units
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Reader, of_values
from dpviz.questions.question import Question
from dpviz.questions.source import NoSample
from dpviz.ui import answers, boundary
from dpviz.ui.answers import Joined, ToCome
from dpviz.ui.state import Keys

MOST = 48  # frames that one request may ask for
KEPT = 64  # recipes of a session
GLANCE = 0.05  # seconds between two looks, while something is computed, whether anybody still waits
PATIENCE = 20.0  # seconds that a request for a slow part may wait: then the browser asks again

Shown = Callable[[Answer[Any]], Mapping[str, Any]]
Gone = Callable[[], Awaitable[bool]]


def _token() -> str:
    return secrets.token_urlsafe(15)


def _as_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# --- frames -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Recipe:
    """How frames of one field are made.

    Attributes:
        question: what is asked.
        moved: the field that moves.
        others: the values of other fields, by key: the question's, and what another reading of q and T is made of.
        given: the settings' values at the present place, samples resolved.
        show: an answer's figure ("figure") and words.
        token: its name for the browser.
    """

    question: Question[Any]
    moved: Number
    others: Mapping[str, Any]
    given: Mapping[str, Any]
    show: Shown
    token: str = field(default_factory=_token)

    def frame(self, text: str) -> Mapping[str, Any]:
        """What is shown where the field is what `text` writes; ValueError where there is no answer."""
        sets = units.sets(self.moved, self.moved.parse(text), of_values(self.others))
        values = {**self.others, **{one.key: value for one, value in sets.items()}}
        return self.show(answers.with_samples(self.question, of_values(values), self.given))


# Frames that are computed at the same time: pages are computed beside them, and come first.
_pool = ThreadPoolExecutor(2, thread_name_prefix="frames")

_recipes: WeakValueDictionary[str, Recipe] = WeakValueDictionary()


def offer_frames(
    question: Question[Any], get: Reader, answer: Answer[Any], extra: Hashable, show: Shown
) -> dict[str, str]:
    """Tokens of frames around an answer, by the key of the field that may move.

    Args:
        question: what is asked.
        get: the present values.
        answer: the present answer.
        extra: what else decides what is shown: pins, a preset.
        show: see `Recipe`.
    """
    held: dict[Hashable, Recipe] = st.session_state.setdefault(Keys.FRAMES, {})
    values = {one.key: get(one) for one in question.fields}
    samples = tuple(value.key for value in answer.given.values() if isinstance(value, Named))  # an upload is no field's
    tokens = {}
    sliders: dict[Number, tuple[Number, ...]] = {
        one: (one,) for one in question.fields if isinstance(one, Number) and one.ticks
    }
    read = {one.key: get(one) for one in units.BEHIND} | {units.EPOCHS.key: units.epochs(get)}
    for moved, sets in (sliders | (readings := units.readings(question.fields))).items():
        others = read | values if moved in readings else values
        decide = {key: value for key, value in others.items() if key not in {one.key for one in sets}}
        name = (question.key, moved.key, tuple(decide.items()), samples, extra)
        recipe = held.pop(name, None) or Recipe(question, moved, others, answer.given, show)
        held[name] = recipe  # last in line
        _recipes[recipe.token] = recipe
        tokens[moved.key] = recipe.token
    while len(held) > KEPT:
        held.pop(next(iter(held)))
    return tokens


async def frames(token: str, field_key: str, texts: Sequence[str], gone: Gone) -> bytes | None:
    """Frames at these values as JSON, null where the field does not allow one, {"why": in words} where a sample has to
    be measured first.

    None if there is no such recipe, or from the moment when its session has ended or nobody waits any more (`gone`).
    """
    packer = Packer()
    packed: dict[str, Any] = {}
    for text in texts[:MOST]:
        if await gone():
            return None
        recipe = _recipes.get(token)  # looked up for every frame: it goes with its session
        if recipe is None or recipe.moved.key != field_key:
            return None
        job = _pool.submit(_packed, recipe, text, packer)
        del recipe
        under_way = asyncio.wrap_future(job)
        while not (await asyncio.wait([under_way], timeout=GLANCE))[0]:
            if await gone():
                job.cancel()
                return None
        packed[text] = job.result()
    return _as_json({"frames": packed, "columns": packer.columns})


def _packed(recipe: Recipe, text: str, packer: Packer) -> Mapping[str, Any] | None:
    try:
        shown = recipe.frame(text)
        return {**shown, "figure": packer.figure(shown["figure"], hover=False)}
    except NoSample as missing:
        return {"why": str(missing)}
    except ValueError:
        return None
    except Exception as error:
        boundary.log(recipe.question.key, error)
        return None


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

    def missing(self) -> ToCome | None:
        """The first part that is still to be computed; None too where that cannot be said: `as_json` says it failed."""
        try:
            return self.parts().missing
        except Exception as error:
            boundary.log(self.place, error)
            return None

    def as_json(self) -> bytes:
        """What is there, as JSON; whether more is to come, and whether something failed: then the page says what."""
        try:
            parts = self.parts()
            shown, packer = self.show(parts.answer), Packer()
            more = {"late": parts.missing is not None, "failed": bool(parts.failed)}
            return _as_json({**shown, "figure": packer.figure(shown["figure"]), "columns": packer.columns, **more})
        except Exception as error:
            boundary.log(self.place, error)
            return _as_json({"late": False, "failed": True})


_offered: WeakValueDictionary[str, SlowParts] = WeakValueDictionary()


def offer_slow_parts(parts: SlowParts) -> str:
    """The name under which `slow_parts` answers them, until the session's next one."""
    st.session_state[Keys.LATE] = parts
    _offered[parts.token] = parts
    return parts.token


def find_slow_parts(token: str) -> SlowParts | None:
    return _offered.get(token)


async def slow_parts(parts: SlowParts, gone: Gone) -> bytes | None:
    """What is shown once the next part is there; None where that takes longer, or nobody waits any more (`gone`)."""
    missing = await run_in_threadpool(parts.missing)
    if missing is not None:
        job = answers.start(*missing)
        until = time.monotonic() + PATIENCE
        while not job.done():
            if await gone():
                answers.drop(missing.name)
                return None
            if time.monotonic() > until:
                return None
            await asyncio.sleep(GLANCE / 2)
        if job.cancelled():  # by another who waited for it and went
            return None
    return await run_in_threadpool(parts.as_json)
