"""Words of a question about its answer: functions of the answer's facts, a frozen dataclass with all that they need."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from dpviz.fields import Number, numbers
from dpviz.questions.plain_text import plain_text

F = TypeVar("F")
VOID = 20.0  # ε from which on an attack may be right but once in 5e8 times: 1/(1 + e^ε)
_EPSILON = re.compile(rf"ε [≤=] ([\d.{numbers.THIN}]+(?:e\d+)?)")


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


def extremes(headline: str) -> Iterator[Note]:
    """What must be said beside a headline, as HTML, whose largest ε, a bound or a target, promises nothing.

    >>> [note.text for note in extremes("After 3 steps, <b>ε ≤ 1.58e5</b> at δ = 1e-5.")]
    ['An ε of 1.58e5 promises nothing in practice: it allows an attack that is always right. A smaller one takes more \
noise, fewer steps or a smaller sampling rate.']
    >>> list(extremes("After 3 steps, <b>ε ≤ 1.04</b>."))
    []
    """
    epsilons = _EPSILON.findall(plain_text(headline))
    largest = max(epsilons, key=_value, default="0")
    if _value(largest) >= VOID:
        yield Note(
            f"An ε of {largest} promises nothing in practice: it allows an attack that is always right. A smaller one "
            "takes more noise, fewer steps or a smaller sampling rate.",
            "caution",
        )


def _value(text: str) -> float:
    return float(text.replace(numbers.THIN, "").rstrip("."))


def settings_in(headline: str) -> set[str]:
    """Keys of the fields that a headline's numbers are."""
    return set(re.findall(r'<span data-sets="([^"]+)">', headline))
