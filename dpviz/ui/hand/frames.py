"""What a question's chart and words would be at other values of one field, for a browser that asks while a hand moves.

A session keeps recipes, each under a name that nobody can guess; the browser asks for frames by that name, without a
run of the page. When the session ends, its recipes and what they hold are gone.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from dpviz._remember import Named
from dpviz.charts.hand.pack import Packer
from dpviz.fields.field import Number
from dpviz.questions import units
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Reader, of_values
from dpviz.questions.question import Question
from dpviz.questions.source import NoSample
from dpviz.ui import answers, boundary
from dpviz.ui.state import Keys

MOST = 48  # frames that one request may ask for
KEPT = 64  # recipes of a session
GLANCE = 0.05  # seconds between two looks, while a frame is computed, whether anybody still waits

Shown = Callable[[Answer[Any]], Mapping[str, Any]]


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
    token: str = field(default_factory=lambda: secrets.token_urlsafe(15))

    def frame(self, text: str) -> Mapping[str, Any]:
        """What is shown where the field is what `text` writes; ValueError where there is no answer."""
        sets = units.sets(self.moved, self.moved.parse(text), of_values(self.others))
        values = {**self.others, **{one.key: value for one, value in sets.items()}}
        return self.show(answers.with_samples(self.question, of_values(values), self.given))


# Frames that are computed at the same time: pages are computed beside them, and come first.
_pool = ThreadPoolExecutor(2, thread_name_prefix="frames")

_recipes: WeakValueDictionary[str, Recipe] = WeakValueDictionary()


def offer(question: Question[Any], get: Reader, answer: Answer[Any], extra: Hashable, show: Shown) -> dict[str, str]:
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


async def answer(token: str, field_key: str, texts: Sequence[str], gone: Callable[[], Awaitable[bool]]) -> bytes | None:
    """Frames at these values as JSON, null where the field does not allow one, {"why": in words} where a sample has to
    be measured first.

    None if there is no such recipe, or from the moment when its session has ended or nobody waits any more (`gone`).
    """
    packer = Packer()
    frames: dict[str, Any] = {}
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
        frames[text] = job.result()
    return json.dumps({"frames": frames, "columns": packer.columns}, separators=(",", ":")).encode()


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
