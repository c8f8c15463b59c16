"""Frames: what a page shows at other values of one field, made from values alone and packed for a browser.

No screen, no session and no process of an app is needed: whoever has the values can make them.
"""

import json
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from dpviz._extras import MissingExtra
from dpviz.charts.browser.pack import Packer
from dpviz.fields import AnyField, Field, Number
from dpviz.questions import units
from dpviz.questions.acting import below
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.computed import Joined, computed, finished, joined, keep
from dpviz.questions.layout import Reader, SettingsSnapshot, V, Values, of_values
from dpviz.questions.question import AnyQuestion
from dpviz.questions.rendered import rendered
from dpviz.questions.source import NoSample

Render = Callable[[AnyAnswer], Mapping[str, Any]]  # an answer's figure ("figure") and words

_log = logging.getLogger(__name__)


class Packed(NamedTuple):
    """A frame as it travels: JSON, and the columns that it shares with others.

    Attributes:
        content: null where the field does not allow the value, {"why": in words} where a sample has to be measured or a
            package is missing that makes it.
        missing: the slow parts that it was made without, by their places in the question and their keys.
        kept: whether it may be shown again.
    """

    content: bytes
    columns: Mapping[str, str] = {}
    missing: tuple[tuple[int, Hashable], ...] = ()
    kept: bool = True


@dataclass(frozen=True)
class Alone:
    """Shows an answer as its question draws it, with nothing beside it."""

    question: str
    slide: bool = False

    def __call__(self, answer: AnyAnswer) -> Mapping[str, Any]:
        return rendered(QUESTIONS[self.question], answer, answer.plot, slide=self.slide)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A field that moves while all others stay.

    Attributes:
        question: what is asked.
        moved: the field that moves.
        others: the values of other fields, by key: the question's, and what another reading of q and T is made of.
        show: what is shown of an answer.
        resolve: the settings' values with the samples among them; NoSample where one is not there.
        log: told of what failed.
    """

    question: AnyQuestion
    moved: Number
    others: Values
    show: Render
    resolve: Callable[[Values], Values]
    log: Callable[[Exception], object]

    def frame(self, text: str) -> tuple[Mapping[str, Any], Joined]:
        """What is shown where the field is what `text` writes, and of which answer.

        Raises:
            ValueError: there is no answer.
        """
        sets = units.sets(self.moved, self.moved.parse(text), of_values(self.others))
        values = {**self.others, **{one.key: value for one, value in sets.items()}}

        def read(one: Field[V], /) -> V:  # a layout reads more than its question
            value: V = values.get(one.key, one.default)
            return value

        get = SettingsSnapshot(read)
        given = self.resolve(self.question.read(get))
        parts = joined(self.question, computed(self.question, given, coarse=True), self.log)
        return {**self.show(parts.answer), **below(self.question, get)}, parts

    def packed(self, text: str) -> Packed:
        """The same for a browser."""
        packer = Packer()
        try:
            shown, parts = self.frame(text)
            figure = packer.figure(shown["figure"], hover=False)
            content = as_json({**shown, "figure": figure, "waits": bool(parts.missing)})
            works = [slow.work for slow in self.question.slow]
            missing = tuple((works.index(work), key) for work, key in (part.name for part in parts.missing))
            return Packed(content, packer.columns, missing, kept=not parts.failed)
        except (NoSample, MissingExtra) as why:  # the latter where there is no PyTorch, as in a browser
            return Packed(as_json({"why": str(why)}), kept=False)
        except ValueError:
            return Packed(b"null")
        except Exception as error:
            self.log(error)
            return Packed(b"null", kept=False)


def made_of_values(
    question: str, moved: str, others: Values, slide: bool, text: str, parts: Sequence[tuple[int, Hashable, Any]] = ()
) -> Packed:
    """A frame of nothing but values, which may come from another process.

    Args:
        question, moved: keys.
        others: values of fields, by key.
        slide: whether the page is presented.
        text: the value that the field has moved to.
        parts: slow parts that are known there: places in the question, keys, parts.
    """
    asked = QUESTIONS[question]
    for place, key, part in parts:
        keep((asked.slow[place].work, key), partial(lambda value: value, part))
    field = fields(asked)[moved]
    assert isinstance(field, Number)
    log = partial(_log.error, "%s at %s = %r failed: %r", question, moved, text[:40])
    return Sweep(asked, field, others, Alone(question, slide), lambda values: values, log).packed(text)


def finished_parts(
    question: AnyQuestion, missing: Sequence[tuple[int, Hashable]]
) -> Iterator[tuple[int, Hashable, Any]]:
    """Those of the missing slow parts that are here, as `made_of_values` takes them."""
    for place, key in missing:
        part = finished((question.slow[place].work, key))
        if part is not None:
            yield place, key, part


def fields(question: AnyQuestion) -> dict[str, AnyField]:
    """All fields that a question's sweeps may name, by key; its own where a page has another of that key."""
    return {one.key: one for one in (*units.BEHIND, units.BATCH, units.EPOCHS, *question.fields)}


def movable(question: AnyQuestion, get: Reader) -> Iterator[tuple[Number, tuple[Number, ...], dict[str, Any]]]:
    """Every field that may move, which fields it sets, and the values of all others that its frames are made of."""
    values = {one.key: get(one) for one in question.fields}
    readings = units.readings(question.fields)
    read = {one.key: get(one) for one in units.BEHIND} | {units.EPOCHS.key: units.epochs(get)}
    for one in question.fields:
        if isinstance(one, Number) and one.ticks and one not in readings:
            yield one, (one,), values
    for one, sets in readings.items():
        yield one, sets, read | values


def as_json(value: Mapping[str, Any]) -> bytes:
    """As it travels."""
    return json.dumps(value, separators=(",", ":")).encode()


def together(made: Mapping[str, Packed], sent: set[str]) -> bytes:
    """Frames by their texts as one JSON, with those of their columns that are not among those `sent`; they are then."""
    columns = {name: column for one in made.values() for name, column in one.columns.items() if name not in sent}
    sent.update(columns)
    content = b",".join(json.dumps(text).encode() + b":" + one.content for text, one in made.items())
    return b'{"frames":{%b},"columns":%b}' % (content, as_json(columns))
