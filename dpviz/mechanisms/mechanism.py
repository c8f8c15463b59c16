"""The base class of mechanisms: all that accountants and pages read of one, so that they need not know which it is.

A mechanism is a frozen value, a dataclass of its parameters: what is done to the data in one step, whose data are
protected (`adjacency`), what a step is (`step`), and its words. It gives what it has:

* a *dominating pair* (P, Q): two distributions on the real line that are at least as easy to tell apart as its outputs
  on any two neighbouring data sets (Zhu, Dong, Wang 2022, Definition 7), for the tight accountant; a step may be a
  whole epoch or a whole run, whose pair is what its batches make together;
* a *Rényi curve* R(α): a bound on the Rényi divergence of its outputs, for accountants that add divergences up;
* a mechanism that shows no more (`least`), where its own pair is no lower bound, or where it has none.

Each may be missing; an accountant that needs it then says so (`Accountant.supports`). A new mechanism is one file, and
one entry in `MECHANISMS`: pages, `dpviz.ask` and the shell read that list.

An `Event` is equal steps together: a mechanism and how many times it ran.

>>> step = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> merge_events([(step, 10), (step, 5)])
((SampledGaussian(noise_multiplier=4.0, sample_rate=0.01), 15),)
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, replace
from functools import partial
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Generic, TypeVar

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.mechanisms.pair import DominatingPair

RenyiCurve = Callable[[Array], Array]

WORDS = tomllib.loads(Path(__file__).with_name("mechanisms.toml").read_text("utf-8"))
# Parameters that are whole numbers.
_WHOLE = ("rows", "batches", "size", "batch", "largest_batch", "epochs", "band")
# How parameters are checked, by their names; those called otherwise check themselves.
CHECKS: dict[str, Callable[[Any], Array]] = {
    "noise_multiplier": _validate.noise_multiplier,
    "scale": partial(_validate.positive, "scale"),
    "sample_rate": _validate.sample_rate,
    "decay": _validate.decay,
    **{name: partial(_validate.steps, name=name, minimum=1) for name in _WHOLE},
}


@dataclass(frozen=True)
class Adjacency:
    """Which data sets are neighbours, in the words that pages use.

    Attributes:
        name: what is done to one data set to make the other.
        unit: whose data are protected.
        neighbours: a plural subject: which data sets differ by that much.
        secret: what an attacker who knows everything else guesses, as an indirect question.
        size_is_secret: whether neighbours differ in how many examples they have.
        persons: the key of the same for all rows of one person, in mechanisms.toml.
    """

    ADD_REMOVE: ClassVar[Adjacency]
    REPLACE_ONE: ClassVar[Adjacency]
    PERSON: ClassVar[Adjacency]
    ZERO_OUT: ClassVar[Adjacency]
    name: str
    unit: str
    neighbours: str
    secret: str
    size_is_secret: bool = False
    persons: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def of_person(self) -> Adjacency:
        """The same of all rows of one person."""
        return _ADJACENCIES[self.persons]


_ADJACENCIES = {name: Adjacency(**each) for name, each in WORDS["adjacencies"].items()}
Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE = _ADJACENCIES["add_remove"], _ADJACENCIES["replace_one"]
Adjacency.PERSON, Adjacency.ZERO_OUT = _ADJACENCIES["person"], _ADJACENCIES["zero_out"]


class Mechanism:
    """One step of a mechanism; a frozen, hashable value.

    Attributes:
        adjacency: whose data are protected.
        kind: its name in links, `dpviz.ask` and the shell; empty for one that no page offers.
        title: what pages call it.
        assumes: what it does, as a Markdown line.
        step: what one step of it is called: "step" (a batch), "epoch", …
        several: what else is said of several steps, behind their number; empty where that is usual.
        text_template, latex_template: `text` and `latex`, with its parameters as $name. (These six stand in
            mechanisms.toml, or in the class; a subclass of no kind has its parent's.)
        most: the largest values of parameters that have one.
        sampler: how batches are made (`questions.guarantee.words.SAMPLERS`); empty where `kind` says it.
        noise, symbol: the parameter that says how much noise there is (more is more private), and its symbol.
    """

    __slots__ = ()

    adjacency: ClassVar[Adjacency]
    kind: ClassVar[str] = ""
    title: ClassVar[str] = ""
    assumes: ClassVar[str] = ""
    step: ClassVar[str] = "step"
    several: ClassVar[str] = ""
    text_template: ClassVar[str]
    latex_template: ClassVar[str]
    most: ClassVar[Mapping[str, int]] = {}
    sampler: ClassVar[str] = ""
    noise: ClassVar[str] = "noise_multiplier"
    symbol: ClassVar[str] = "σ"
    __match_args__: ClassVar[tuple[str, ...]]  # this and the next: kinds are dataclasses
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        for key, value in WORDS.get(vars(cls).get("kind", ""), {}).items():
            if key not in vars(cls):
                setattr(cls, key, value)
        if cls.kind and not (cls.title and cls.assumes):
            raise TypeError(f"Expected title and assumes of {cls.kind!r}, in its class or in mechanisms.toml.")

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of its parameters."""
        return cls.__match_args__

    def __post_init__(self) -> None:
        for name in self.parameters():
            if check := CHECKS.get(name):
                value = _validate.scalar(name, check(getattr(self, name)))
                if value > self.most.get(name, value):
                    raise ValueError(f"Expected {name}={value:.0f} <= {self.most[name]}.")
                object.__setattr__(self, name, int(value) if name in _WHOLE else value)

    def changed(self, **values: object) -> Mechanism:
        """The same with other values of parameters."""
        return replace(self, **values)

    def counted(self, steps: ArrayLike) -> Array:
        """How often it ran, checked: whole numbers ≥ 0 of any shape; ValueError where they would count something else.

        What is asked of one mechanism and so many steps goes through here; `merge_events` adds up what is known apart.
        """
        return _validate.steps(steps)

    def of_rows(self, rows: int) -> Mechanism | None:
        """What costs exactly as much as `rows` rows of one person together; None where none is known."""
        return None

    def _filled(self, template: str) -> str:
        values = {name: getattr(self, name) for name in self.parameters()}
        return Template(template).substitute(
            {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in values.items()}
        )

    @property
    def text(self) -> str:
        """What it is, with today's numbers, in words."""
        return self._filled(self.text_template)

    @property
    def latex(self) -> str:
        """What it releases, with today's numbers, as LaTeX."""
        return self._filled(self.latex_template)

    @property
    def releases(self) -> bool:
        """Whether anything at all is released; a step that never samples anyone costs nothing."""
        return True

    def pair(self) -> DominatingPair | None:
        """A dominating pair; None where none is known."""
        return None

    @property
    def has_pair(self) -> bool:
        """Whether `pair` gives one; known without computing it."""
        return type(self).pair is not Mechanism.pair

    @property
    def least(self) -> Mechanism:
        """What shows certainly no more than it: the lower ends of what is said of it are this one's."""
        return self

    def renyi(self) -> RenyiCurve | None:
        """R(α) of one step for orders α > 1 of any shape, never below the truth; None where none is known."""
        return None

    @property
    def as_gaussian(self) -> float | None:
        """The noise multiplier of the unsampled Gaussian mechanism that this is exactly; None where it is none."""
        return None

    @property
    def gaussian_above(self) -> float | None:
        """The noise multiplier of an unsampled Gaussian mechanism that shows certainly no less; None: none is known."""
        return self.as_gaussian

    @property
    def total_variation(self) -> float:
        """An upper bound on δ(0) of one step, but for rounding: its pair's, 1 where none is known."""
        if not self.releases:
            return 0.0
        pair = self.pair()
        return 1.0 if pair is None else min(math.exp(pair.log_delta(0.0)), 1.0)


class SampledSum(Mechanism):
    """Noise on the sum of a Poisson sample: each example joins it with probability `sample_rate`, q.

    Attributes:
        law, added: the noise in words: "Gaussian", and what it is added to, as LaTeX.
        what: what else it says of itself.
    """

    __slots__ = ()

    sampler: ClassVar[str] = "poisson"
    law: ClassVar[str]
    added: ClassVar[str]
    sample_rate: float

    @property
    def what(self) -> str:
        return ""

    @property
    def text(self) -> str:
        sampled = self.sample_rate != 1.0
        noise = f"{self.law}, {self.symbol} = {getattr(self, self.noise):.6g}"
        return "sampled " * sampled + noise + f", q = {self.sample_rate:.6g}" * sampled + self.what

    @property
    def latex(self) -> str:
        drawn = rf",\quad \Pr[x_i \in B] = {self.sample_rate:.6g}" * (self.sample_rate != 1.0)
        return rf"\sum_{{i \in B}} \bar {self.added % f'{getattr(self, self.noise):.6g}'}{drawn}"

    @property
    def releases(self) -> bool:
        return self.sample_rate > 0.0


Event = tuple[Mechanism, int]
_Kind = TypeVar("_Kind", bound=Mechanism)


def merge_events(events: Iterable[tuple[_Kind, int]]) -> tuple[tuple[_Kind, int], ...]:
    """Events with equal mechanisms added up, in order of first appearance; order does not matter to privacy."""
    counts: dict[_Kind, int] = {}
    for mechanism, count in events:
        # Long lists hold plain numbers: their check is quick.
        plain = type(count) is int and 0 <= count <= 2**53
        whole = count if plain else int(_validate.scalar("count", _validate.steps(count, "count")))
        counts[mechanism] = counts.get(mechanism, 0) + whole
    return tuple(counts.items())


class History(Generic[_Kind]):
    """Steps in the order in which they were taken, equal ones that follow one another together.

    >>> history = History()
    >>> for count in (2, 1):
    ...     history.add(SampledGaussian(4.0), count)
    >>> history.events, history.steps
    (((SampledGaussian(noise_multiplier=4.0, sample_rate=1.0), 3),), 3)
    """

    def __init__(self) -> None:
        self._events: list[tuple[_Kind, int]] = []
        self.steps = 0

    @property
    def events(self) -> tuple[tuple[_Kind, int], ...]:
        return tuple(self._events)

    @property
    def first(self) -> _Kind | None:
        """What came first."""
        return self._events[0][0] if self._events else None

    def add(self, mechanism: _Kind, count: int = 1) -> None:
        """`count` more steps, ≥ 1."""
        self.steps += count
        if self._events and self._events[-1][0] == mechanism:
            count += self._events.pop()[1]
        self._events.append((mechanism, count))
