"""Frames that the browser fetches without a page run: what a chart is while a control moves.

A session keeps what they are made from, each under a name that nobody can guess. When the session ends, what it kept is
gone. All of this but `offer` runs in the server's event loop.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakValueDictionary

import streamlit as st

from dpviz._public import is_public
from dpviz._remember import MEMORY, Memory, Named
from dpviz.questions import frames
from dpviz.questions.computed import plain, there
from dpviz.questions.frames import Alone, Packed, Render, Sweep
from dpviz.questions.layout import Reader, Values
from dpviz.questions.question import AnyQuestion
from dpviz.ui import boundary, sources
from dpviz.ui.browser.pool import COUNT, pool
from dpviz.ui.public.limits import Allowances
from dpviz.ui.state import Keys

MOST = 200  # frames that one request may ask for: a slider's stops, and what lies between two of them
KEPT = 64  # sweeps of a session
AT_ONCE = 8  # frames that are kept and sent in one piece
LATER = 0.2  # seconds until it is looked again whether another may be computed
COMPUTED = (1_000, 20.0)  # frames that are computed for a session of a public server: at once, and a second


@dataclass(frozen=True, eq=False)
class Recipe:
    """A sweep, and what the app knows of it.

    Attributes:
        given: the settings' values at the present place, samples resolved.
        name: equal for recipes whose frames are the same.
    """

    sweep: Sweep
    given: Values
    name: Hashable

    @property
    def plain(self) -> bool:
        """Whether another process makes the same frames: they show nothing that only this one has, which are pins,
        samples that were measured or uploaded, and recorded runs."""
        return isinstance(self.sweep.show, Alone) and plain(self.sweep.question, self.given)

    @property
    def memory(self) -> Memory:
        """Where its frames are kept: those made of an upload in its own memory."""
        own = (one.memory for one in self.given.values() if isinstance(one, Named) and one.memory is not MEMORY)
        return next(own, kept_frames)

    def lacks(self, frame: Packed) -> bool:
        """Whether a slow part that a frame was made without is there by now."""
        return any(there((self.sweep.question.slow[place].work, key)) for place, key in frame.missing)

    def kept(self, text: str) -> Packed | None:
        """The frame, where it was made and no slow part that it lacks has come since."""
        frame: Packed | None = self.memory.get((self.name, text))
        return None if frame is None or self.lacks(frame) else frame


kept_frames = Memory(48 * 2**20)  # by value, whoever asked for them
_under_way: dict[Hashable, asyncio.Task[Packed]] = {}
_here = ThreadPoolExecutor(COUNT, thread_name_prefix="frames")  # makes those that no other process can


@dataclass(eq=False)
class Offer:
    """A recipe, as a session's browser asks for its frames."""

    recipe: Recipe
    session: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(15))


_offers: WeakValueDictionary[str, Offer] = WeakValueDictionary()
_latest: dict[int, object] = {}  # session → its latest request that is under way
_allowances = Allowances(*COMPUTED) if is_public() else None


def recipes(
    place: str, question: AnyQuestion, get: Reader, given: Values, extra: Hashable, show: Render
) -> Iterator[Recipe]:
    """How frames around the present values are made, for every field that may move.

    Args:
        place: the page, for the log.
        given: the settings' values, samples resolved.
        extra: what else decides a frame.
    """
    # An upload is no field's, and recorded runs are read anew: with equal fields they may be others.
    read_now = {name: value.key if isinstance(value, Named) else value for name, value in given.items()}

    for moved, sets, others in frames.movable(question, get):
        set_here = {one.key for one in sets}
        decide = {key: value for key, value in others.items() if key not in set_here}
        stays = tuple(
            read_now[name] for name in given if isinstance(given[name], Named) or not question.keys_of(name) & set_here
        )
        name = (place, question.key, moved.key, tuple(decide.items()), stays, extra)
        sweep = Sweep(
            question, moved, others, show, partial(sources.with_held, held=given), partial(boundary.log, place)
        )
        yield Recipe(sweep, given, name)


def offer(made: Iterable[Recipe]) -> dict[str, str]:
    """Tokens of their frames for the present session, by the key of the field that may move."""
    held: dict[Hashable, Offer] = st.session_state.setdefault(Keys.FRAMES, {})
    tokens = {}
    for recipe in made:
        one = held.pop(recipe.name, None) or Offer(recipe, id(held))
        held[recipe.name] = one  # last in line
        _offers[one.token] = one
        tokens[recipe.sweep.moved.key] = one.token
    while len(held) > KEPT:
        held.pop(next(iter(held)))
    return tokens


def find_offer(token: str) -> Offer | None:
    return _offers.get(token)


async def stream(offer: Offer, texts: Sequence[str]) -> AsyncIterator[bytes]:
    """Frames at these values, in about this order, in pieces of JSON: those that are kept, then others as they are
    made, a few at a time, so that visitors take turns. A session's next request ends it, and so does its end.
    """
    recipe, session, token, me = offer.recipe, offer.session, offer.token, object()
    del offer  # it goes with its session
    _latest[session] = me
    sent: set[str] = set()
    wanted = list(dict.fromkeys(texts[:MOST]))[::-1]
    tasks: dict[str, asyncio.Task[Packed]] = {}
    try:
        while (wanted or tasks) and _latest.get(session) is me and token in _offers:
            ready: dict[str, Packed] = {}
            while wanted and len(tasks) < COUNT and len(ready) < AT_ONCE:
                text = wanted.pop()
                if (frame := recipe.kept(text)) is not None:
                    ready[text] = frame
                elif _allowances is None or _allowances.of(session).spend():
                    tasks[text] = begun(recipe, text)
                else:
                    wanted.append(text)  # it waits
                    break
            if not ready and not tasks:
                await asyncio.sleep(LATER)
                continue
            if not ready:
                await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
            ready |= {text: tasks.pop(text).result() for text in list(tasks) if tasks[text].done()}
            yield frames.together(ready, sent) + b"\n"
    finally:
        if _latest.get(session) is me:
            del _latest[session]


def waited_for() -> bool:
    """Whether somebody waits for frames."""
    return bool(_latest)


def begun(recipe: Recipe, text: str) -> asyncio.Task[Packed]:
    """The frame, made once for all who ask."""
    name = (recipe.name, text)
    task = _under_way.get(name)
    if task is None:
        task = _under_way[name] = asyncio.create_task(_made(recipe, text))
        task.add_done_callback(lambda _: _under_way.pop(name, None))
    return task


async def _made(recipe: Recipe, text: str) -> Packed:
    frame = await _made_elsewhere(recipe, text) if recipe.plain else None
    if frame is None:
        frame = await asyncio.get_running_loop().run_in_executor(_here, recipe.sweep.packed, text)
    if frame.kept:
        recipe.memory.put((recipe.name, text), frame)
    return frame


async def _made_elsewhere(recipe: Recipe, text: str) -> Packed | None:
    """The frame from another process, which is told of slow parts that are here; None where none can make it."""
    sweep = recipe.sweep
    assert isinstance(sweep.show, Alone)
    asked = partial(frames.made_of_values, sweep.question.key, sweep.moved.key, sweep.others, sweep.show.slide, text)
    try:
        frame = await asyncio.wrap_future(pool.submit(asked))
        if parts := tuple(frames.finished_parts(sweep.question, frame.missing)):
            frame = await asyncio.wrap_future(pool.submit(asked, parts))
    except Exception:  # no process, or a part that failed: the app says what is wrong
        return None
    return frame if frame.kept else None
