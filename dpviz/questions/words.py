"""Words of a question about its answer: functions of the answer's facts, a frozen dataclass with all that they need."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from dpviz.fields import Number

F = TypeVar("F")


class Note(NamedTuple):
    """A line below the chart; `kind` is "note", "caution" (amber), "problem" (red), or "printed": beside what a paper
    prints, and in view as cautions and problems are.
    """

    text: str
    kind: str = "note"


class Metric(NamedTuple):
    """One of at most four numbers below the chart."""

    name: str
    value: str
    note: str = ""


class Formula(NamedTuple):
    """A formula with today's numbers, in LaTeX."""

    name: str
    latex: str


@dataclass(frozen=True)
class Words(Generic[F]):
    """Headline, metrics, notes, formulas and assumptions of a question.

    Attributes:
        headline: the result in plain words, as HTML.
        metrics: at most four numbers below the chart.
        notes: what must be said beside it.
        formulas: with today's numbers.
        assumptions: what the answer takes for granted, as Markdown.
    """

    headline: Callable[[F], str]
    metrics: Callable[[F], Iterable[Metric]] = lambda _: ()
    notes: Callable[[F], Iterable[Note]] = lambda _: ()
    formulas: Callable[[F], Iterable[Formula]] = lambda _: ()
    assumptions: str | Callable[[F], str] = ""


def setting(field: Number, *words: str) -> str:
    """The setting's value in a headline, with words around it, as HTML: a hand pulls it there, or types over it."""
    return f'<span data-sets="{field.key}">{" ".join(words)}</span>'


def settings_in(headline: str) -> set[str]:
    """Keys of the fields that a headline's numbers are."""
    return set(re.findall(r'<span data-sets="([^"]+)">', headline))
