"""Frames that visitors will want, made before a hand comes: around the values at which their pages stand, for each page
in turn; and, before anyone comes, around those at which every page starts.

As many threads as there are processes beside the app make them, and only while nobody waits for the server.
"""

import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from dpviz.fields.field import Number
from dpviz.questions import units
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.question import Question
from dpviz.questions.shown import sliders
from dpviz.ui import answers
from dpviz.ui.hand import beside, fetched

PLACES = [page for page in PAGES if page.key not in ("train", "leakage")]  # there frames are asked for one by one
SLIDERS = 3  # of each page
NEAR = 75  # frames of a page that come first
PAGES_KEPT = 64  # pages that stand; all frames of one take a process some four seconds
REST = {"near": 0.3, "far": 3.0, "starts": 10.0}  # seconds after the app began, or a visitor asked for something
LOOK = 0.05  # seconds between two looks whether somebody waits
AS_IT_STARTS = ((), "", False)  # no pins, no preset, not presented: what else decides a frame (`render`)

T = TypeVar("T")

_lock = threading.Lock()
_asked = 0.0  # when a visitor last asked for something
_pages = {rest: OrderedDict[int, Iterator[tuple[str, str]]]() for rest in ("near", "far")}  # session → tokens, stops


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


def stands(session: int, question: Question[Any], get: Reader, tokens: Mapping[str, str]) -> None:
    """A session's page stands at the values that `get` tells; `tokens` are those of its frames, by field."""
    make_way()
    sliders = main_sliders(question, get, tokens)
    named = [(tokens[one.field.key], one) for one in sliders]
    far = chain.from_iterable(nearest_first([one]) for one in named)  # one slider after the other
    with _lock:
        for rest, stops in (("near", islice(nearest_first(named), NEAR)), ("far", far)):
            _pages[rest].pop(session, None)
            _pages[rest][session] = stops
            if len(_pages[rest]) > PAGES_KEPT:
                _pages[rest].popitem(last=False)


def begin() -> threading.Event:
    """Begin to make them; setting the event ends it."""
    make_way()
    over, first = threading.Event(), first_pages()
    for _ in range(beside.COUNT):
        threading.Thread(target=_make, args=(over, first), name="frames-ahead", daemon=True).start()
    return over


def _make(over: threading.Event, first: Iterator[tuple[fetched.Recipe, str]]) -> None:
    frame = None
    while not over.wait(0.0 if frame else LOOK):
        if frame := _next(first):
            fetched.prepare(*frame)


def _next(first: Iterator[tuple[fetched.Recipe, str]]) -> tuple[fetched.Recipe, str] | None:
    """The next one; None where nothing is to be made now."""
    if fetched.busy() or answers.busy() or not beside.makers.ready:
        return None
    since = time.monotonic() - _asked
    with _lock:
        for rest, pages in _pages.items():
            while pages and since > REST[rest]:
                session, stops = pages.popitem(last=False)
                for token, text in stops:
                    offer = fetched.find_offer(token)
                    if offer is not None and fetched.kept(offer.recipe, text) is None:
                        pages[session] = stops
                        return offer.recipe, text
        return next(first, None) if since > REST["starts"] else None


def first_pages() -> Iterator[tuple[fetched.Recipe, str]]:
    """Frames of all pages as they start, the stops next to a slider's value first."""
    get, every = of_texts({}), list[tuple[fetched.Recipe, Slider]]()
    for page in PLACES:
        question, show = page.questions[0], fetched.Alone(page.questions[0].key)
        made = fetched.recipes(page.key, question, get, question.read(get), AS_IT_STARTS, show)
        by_key = {recipe.moved.key: recipe for recipe in made}
        every += [(by_key[one.field.key], one) for one in main_sliders(question, get, by_key)]
    return nearest_first(every)


def nearest_first(sliders: Sequence[tuple[T, Slider]]) -> Iterator[tuple[T, str]]:
    """A slider's name, as it is given, and a stop, for all their stops: those next to the present values first."""
    longest = max((len(slider.field.ticks) for _, slider in sliders), default=0)
    return ((name, text) for off in range(longest) for name, slider in sliders for text in slider.around(off))


def main_sliders(question: Question[Any], get: Reader, keys: Collection[str]) -> list[Slider]:
    """The first sliders of a page, in its visitor's units, among the fields with these keys."""
    main = {field.key: Slider(field, get(field)) for field in sliders(question, get)}
    if get(units.UNITS) == "person":
        read = {RATE.key: Slider(units.BATCH, units.batch(get)), STEPS.key: Slider(units.EPOCHS, units.epochs(get))}
        readings = units.readings(question.fields)
        main |= {key: one for key, one in read.items() if key in main and one.field in readings}
    return [one for one in main.values() if one.field.key in keys][:SLIDERS]
