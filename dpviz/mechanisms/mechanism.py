"""What a mechanism says of itself, so that accountants need not know which one it is.

A mechanism is a frozen value: what is done to the data in one step, and whose data (`adjacency`). It gives what it has:

* a *dominating pair* (P, Q): two distributions on the real line that are at least as easy to tell apart as its outputs
  on any two neighbouring data sets (Zhu, Dong, Wang 2022, Definition 7), for the tight accountant;
* a *Rényi curve* R(α): a bound on the Rényi divergence of its outputs, for accountants that add divergences up.

Either may be missing; an accountant that needs it then says so (`Accountant.supports`). Nothing else is asked, so
fixed-size batches, correlated noise or groups are further values of this kind, one file each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpviz.mechanisms.pair import DominatingPair

Array = npt.NDArray[np.float64]
RenyiCurve = Callable[[Array], Array]


@dataclass(frozen=True)
class Adjacency:
    """Which data sets are neighbours, in the words that pages use.

    Attributes:
        name: what is done to one data set to make the other.
        unit: whose data are protected.
        neighbours: a plural subject: which data sets differ by that much.
        secret: what an attacker who knows everything else guesses, as an indirect question.
    """

    ADD_REMOVE: ClassVar[Adjacency]
    REPLACE_ONE: ClassVar[Adjacency]
    PERSON: ClassVar[Adjacency]
    name: str
    unit: str
    neighbours: str
    secret: str

    def __str__(self) -> str:
        return self.name


Adjacency.ADD_REMOVE = Adjacency(
    "add or remove one example",
    unit="one example",
    neighbours="Data sets that differ by adding or removing one example",
    secret="whether you took part",
)
Adjacency.REPLACE_ONE = Adjacency(
    "replace one example",
    unit="one example",
    neighbours="Data sets that differ in one example, replaced by any other,",
    secret="whether the data held your example or another in its place",
)
Adjacency.PERSON = Adjacency(
    "add or remove all rows of one person",
    unit="one person",
    neighbours="Data sets that differ by adding or removing all rows of one person",
    secret="whether any of your rows took part",
)


class Mechanism(ABC):
    """One step of a mechanism; a frozen, hashable value."""

    __slots__ = ()

    adjacency: ClassVar[Adjacency]

    @property
    @abstractmethod
    def text(self) -> str:
        """What it is, with today's numbers, in words."""

    @property
    @abstractmethod
    def latex(self) -> str:
        """What it releases, with today's numbers, as LaTeX."""

    @property
    @abstractmethod
    def releases(self) -> bool:
        """Whether anything at all is released; a step that never samples anyone costs nothing."""

    def pair(self) -> DominatingPair | None:
        """A dominating pair; None where none is known."""
        return None

    def renyi(self) -> RenyiCurve | None:
        """R(α) of one step for orders α > 1 of any shape, never below the truth; None where none is known."""
        return None

    @property
    def as_gaussian(self) -> float | None:
        """The noise multiplier of the unsampled Gaussian mechanism that this is exactly; None where it is none."""
        return None

    @property
    def total_variation(self) -> float:
        """An upper bound on δ(0) of one step."""
        return 1.0
