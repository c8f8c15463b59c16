"""The answer of a question: a plot, facts, and the slow parts that come later."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NoReturn, TypeVar

from dpviz.charts import Plot
from dpviz.questions.layout import Values

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

F = TypeVar("F")
D = TypeVar("D", bound="DataclassInstance")
F_co = TypeVar("F_co", covariant=True)

LATER = "still being computed"  # what words say of a slow part that is not there yet


class Pending(Enum):
    """The type of a number that a slow part brings later: it has no order, truth, equality, size or text.

    A verdict that is made of it raises TypeError; `value is PENDING` asks whether it is there.
    """

    PENDING = LATER

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(f"Expected a number: this one is {LATER}. Wait for it before computing with it.")

    __bool__ = __eq__ = __ne__ = __str__ = __format__ = _refuse  # type: ignore[assignment]
    __hash__ = Enum.__hash__


PENDING: Final = Pending.PENDING


@dataclass(frozen=True, eq=False)
class Answer(Generic[F_co]):
    """What the pure function of a question returns.

    Attributes:
        plot: curves, bands and points on their axes.
        facts: the numbers that words are made of.
        given: the values that it answers to, by keyword; `Question.asked` puts them in.
    """

    plot: Plot
    facts: F_co
    given: Values = field(default_factory=dict)


AnyAnswer = Answer[Any]  # the answer of any question


class Folded(NamedTuple):
    """A name that opens: Markdown, and below it a text to copy; `language` colours it ("text" wraps its lines)."""

    name: str
    text: str = ""
    source: str = ""
    language: str = "text"
    open: bool = False


class Onward(NamedTuple):
    """A button to another page, with these texts of its fields and all else as it is in the session."""

    name: str
    page: str
    texts: Mapping[str, str]


class Rerun(NamedTuple):
    """A recorded experiment, one run of which can be made again here."""

    experiment: str


class Slow(NamedTuple, Generic[F]):
    """The part of an answer that takes longer than a slider move should (the tight interval, a simulation).

    It is kept under its key alone and joined to whatever answer asks for it: what else changes costs nothing.

    Attributes:
        key: the values that decide the part, and no others; None when there is nothing slow to add.
        work: computes the part from the answer, in a thread of its own; never returns None.
        join: the answer with the part in it; fast, for it is done at every redraw.
        quick: the same part in some milliseconds, on the safe side and at most 1 % off, in the place of one that is
            not there yet: while a hand moves, at first, and in files. None where there is nothing so fast.
    """

    key: Callable[[Answer[F]], Hashable | None]
    work: Callable[[Answer[F]], Any]
    join: Callable[[Answer[F], Any], Answer[F]]
    quick: Callable[[Answer[F]], Any] | None = None


def slow_facts(
    key: Callable[[Answer[D]], Hashable | None],
    work: Callable[[Answer[D]], Mapping[str, Any]],
    quick: Callable[[Answer[D]], Mapping[str, Any]] | None = None,
    drawn: Callable[[Answer[D]], Plot] = attrgetter("plot"),
) -> Slow[D]:
    """A slow part that brings facts, by their names; `drawn` is the plot of an answer that has them."""

    def join(answer: Answer[D], part: Mapping[str, Any]) -> Answer[D]:
        filled = replace(answer, facts=replace(answer.facts, **part))
        return replace(filled, plot=drawn(filled))

    return Slow(key, work, join, quick)


def given(*names: str) -> Callable[[AnyAnswer], Hashable]:
    """The key of a slow part that these settings decide."""
    return lambda answer: tuple(answer.given[name] for name in names)


def whole(answer: Answer[F], slow: tuple[Slow[F], ...]) -> Answer[F]:
    """The answer with all its slow parts, one after the other."""
    for part in slow:
        if part.key(answer) is not None:
            answer = part.join(answer, part.work(answer))
    return answer


def soon(answer: Answer[F], slow: tuple[Slow[F], ...]) -> Answer[F]:
    """The answer with the quick ones in the places of its slow parts, where there are such."""
    for part in slow:
        if part.quick is not None and part.key(answer) is not None:
            answer = part.join(answer, part.quick(answer))
    return answer
