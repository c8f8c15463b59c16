"""Frames that the first visitors will want, made before anyone comes: of each page as it starts, slider by slider.

One thread makes them, one frame at a time, and only while nobody waits for the server.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import zip_longest

from dpviz.questions import units
from dpviz.questions.catalogue import PAGES
from dpviz.questions.layout import of_texts
from dpviz.questions.mechanism import RATE, STEPS
from dpviz.questions.page import Page
from dpviz.questions.shown import acting
from dpviz.ui.hand import fetched

PLACES = [page for page in PAGES if page.key not in ("train", "leakage")]  # there frames are asked for one by one
SLIDERS = 3  # of each page
REST = 2.0  # seconds after a visitor asked for something
AS_IT_STARTS = ((), "", False)  # no pins, no preset, not presented: what else decides a frame (`render`)

_asked = 0.0  # when a visitor last asked for something


def make_way() -> None:
    """A visitor asks for something."""
    global _asked
    _asked = time.monotonic()


def begin() -> threading.Event:
    """Begin to make them; setting the event ends it."""
    over = threading.Event()
    threading.Thread(target=_make, args=(over,), name="frames-ahead", daemon=True).start()
    return over


def _make(over: threading.Event) -> None:
    for recipe, text in wanted():
        begun = time.monotonic()
        fetched.packed(recipe, text)
        took = time.monotonic() - begun  # half of one core at most
        while over.wait(took) or fetched.busy() or time.monotonic() - _asked < REST:
            if over.is_set():
                return
            took = 0.1


def wanted() -> Iterator[tuple[fetched.Recipe, str]]:
    """The first slider of each place, then the second ones, …; of each the stops next to its value first."""
    for turn in zip_longest(*map(_sliders, PLACES)):
        for recipe, value in filter(None, turn):
            ticks = recipe.moved.ticks
            here = bisect_left(ticks, value)
            for k in sorted(range(len(ticks)), key=lambda k: abs(k - here)):
                yield recipe, recipe.moved.write(ticks[k])


def _sliders(page: Page) -> list[tuple[fetched.Recipe, float]]:
    """The first sliders of a page as it starts, in a person's units, and their values."""
    question, get = page.questions[0], of_texts({})
    show = fetched.Alone(question.key)
    made = fetched.recipes(page.key, question, get, question.read(get), AS_IT_STARTS, show)
    by_key = {recipe.moved.key: recipe for recipe in made}
    values = {units.BATCH.key: units.batch(get), units.EPOCHS.key: units.epochs(get)}
    person = {RATE.key: units.BATCH.key, STEPS.key: units.EPOCHS.key}
    sliders = []
    for field in acting(question, get):
        key = person[field.key] if person.get(field.key) in by_key else field.key
        if key in by_key:
            sliders.append((by_key[key], values[key] if key in values else get(field)))
    return sliders[:SLIDERS]
