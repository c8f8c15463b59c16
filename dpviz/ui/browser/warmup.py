"""Frames made before visitors ask for them: around their pages' present values, and around every page's defaults.

They are made while nobody waits for the server, and no other program for a core.
"""

import asyncio
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from dpviz.fields import Number
from dpviz.questions import units
from dpviz.questions.acting import sliders
from dpviz.questions.catalogue import PAGES
from dpviz.questions.frames import Alone
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.question import AnyQuestion
from dpviz.ui import answers
from dpviz.ui.browser import frames
from dpviz.ui.browser.pool import COUNT, pool, share_of_core

PLACES = [page for page in PAGES if not page.trains]  # there frames are asked for one by one
SLIDERS = 3  # of each page
NEAR = 75  # frames of a page around its present values; after them all frames of one slider, then of the next
PAGES_KEPT = 64  # pages that stand; all frames of one take a process some four seconds
REST = 0.3  # seconds after the app began, or a visitor asked for something
REST_OF_STARTS = 10.0  # the same for what no visitor has looked at
LOOK = 0.05  # seconds between two looks whether somebody waits
ALONE = 0.8  # part of a core that a process has where no other program wants it
LOOK_AROUND, REST_OF_CROWDED = 1.0, 5.0  # seconds until it is looked again whether one does: none did, one did
REST_BESIDE = 0.5  # where one did, and a visitor looks at a page: its browser may be that one, for a moment
AS_IT_STARTS = ((), "", False)  # no pins, no preset, not presented: what else decides a frame (`render`)

T = TypeVar("T")

_lock = threading.Lock()
_asked = 0.0  # when a visitor last asked for something
_pages: OrderedDict[int, Iterator[tuple[str, str]]] = OrderedDict()  # session → tokens and stops


class Slider(NamedTuple):
    """A slider, by the key of its field's frames, and its value."""

    field: Number
    value: float

    def around(self, off: int) -> Iterator[str]:
        """The stops that lie so many stops off, as texts."""
        here, ticks = bisect_left(self.field.ticks, self.value), self.field.ticks
        return (self.field.write(ticks[k]) for k in {here - off, here + off} if 0 <= k < len(ticks))


def make_way() -> None:
    """A visitor asks for something."""
    global _asked
    _asked = time.monotonic()


def stands(session: int, question: AnyQuestion, get: Reader, tokens: Mapping[str, str]) -> None:
    """A session's page stands at the values that `get` tells; `tokens` are those of its frames, by field."""
    make_way()
    named = [(tokens[one.field.key], one) for one in main_sliders(question, get, tokens)]
    each = chain.from_iterable(nearest_first([one]) for one in named)
    with _lock:
        _pages.pop(session, None)
        _pages[session] = chain(islice(nearest_first(named), NEAR), each)
        if len(_pages) > PAGES_KEPT:
            _pages.popitem(last=False)


async def warm_up() -> None:
    """Make them, until this is cancelled."""
    make_way()
    first, ahead, looked = first_pages(), list[tuple[frames.Recipe, str]](), 0.0
    while True:
        ahead = ahead or list(islice(iter(lambda: next_frame(first), None), COUNT))
        if not ahead:
            await asyncio.sleep(LOOK)
            continue
        if time.monotonic() > looked + LOOK_AROUND:
            if await _crowded():
                await asyncio.sleep(REST_BESIDE if _pages else REST_OF_CROWDED)
                continue
            looked = time.monotonic()
        await asyncio.wait([frames.begun(*one) for one in ahead])
        ahead = []


async def _crowded() -> bool:
    """Whether other programs want the cores that frames made ahead would take, or there is nothing to make them."""
    try:
        shares = [asyncio.wrap_future(pool.submit(share_of_core)) for _ in range(COUNT)]
        return min(await asyncio.gather(*shares)) < ALONE
    except BrokenExecutor:
        return True


def next_frame(first: Iterator[tuple[frames.Recipe, str]]) -> tuple[frames.Recipe, str] | None:
    """The next one; None where nothing is to be made now."""
    since = time.monotonic() - _asked
    if since < REST or frames.waited_for() or answers.busy() or not pool.there:
        return None
    with _lock:
        while _pages:
            session, stops = _pages.popitem(last=False)
            for token, text in stops:
                offer = frames.find_offer(token)
                if offer is not None and offer.recipe.plain and offer.recipe.kept(text) is None:
                    _pages[session] = stops
                    return offer.recipe, text
    return next(first, None) if since > REST_OF_STARTS else None


def first_pages() -> Iterator[tuple[frames.Recipe, str]]:
    """Frames of all pages as they start, the stops next to a slider's value first."""
    get, every = of_texts({}), list[tuple[frames.Recipe, Slider]]()
    for page in PLACES:
        question, show = page.questions[0], Alone(page.questions[0].key)
        made = frames.recipes(page.key, question, get, question.read(get), AS_IT_STARTS, show)
        by_key = {recipe.sweep.moved.key: recipe for recipe in made}
        every += [(by_key[one.field.key], one) for one in main_sliders(question, get, by_key)]
    return nearest_first(every)


def nearest_first(sliders: Sequence[tuple[T, Slider]]) -> Iterator[tuple[T, str]]:
    """A slider's name, as it is given, and a stop, for all their stops: those next to the present values first."""
    longest = max((len(slider.field.ticks) for _, slider in sliders), default=0)
    return ((name, text) for off in range(longest) for name, slider in sliders for text in slider.around(off))


def main_sliders(question: AnyQuestion, get: Reader, keys: Collection[str]) -> list[Slider]:
    """The first sliders of a page, in its visitor's units, among the fields with these keys."""
    main = {field.key: Slider(field, get(field)) for field in sliders(question, get)}
    if get(units.UNITS) == "person":
        read = {RATE.key: Slider(units.BATCH, units.batch(get)), STEPS.key: Slider(units.EPOCHS, units.epochs(get))}
        readings = units.readings(question.fields)
        main |= {key: one for key, one in read.items() if key in main and one.field in readings}
    return [one for one in main.values() if one.field.key in keys][:SLIDERS]
