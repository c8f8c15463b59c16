"""One number of a composition, searched for so that a target ε is kept: what every solver shares.

A solver says what its bound is at a value of the missing number (`gap`), and where to look first; which number is the
least, the largest or the longest one, and on which side it is rounded, is decided here and in `boundary`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from dpviz.accounting.boundary import largest_share, last_whole, least_share, smallest
from dpviz.accounting.no_answer import NoAnswer

TOLERANCE = 2e-7  # of ln σ and ln q: a fifth of what is promised
LARGEST_STEPS = 2.0**53
HARDLY_ANY_NOISE = 0.01  # σ that hides nothing: a method must agree there that no noise is needed


@dataclass
class Calibration(ABC):
    """One target, and all numbers but one.

    Attributes:
        target: what the bound may be at most.
        known: the other numbers, by name.
        tolerance: relative, of a missing noise, rate or δ.
        starts: where a search begins if nothing better is known.
    """

    target: float
    known: dict[str, float]
    tolerance: float

    starts: ClassVar[dict[str, float]] = {"steps": 1000.0, "sample_rate": 0.01, "delta": math.exp(-1.0)}

    @abstractmethod
    def gap(self, name: str, value: float) -> float:
        """`size_of_gap` of the bound at this value of the missing number."""

    def fits(self, name: str, value: float) -> bool:
        """Whether the target is kept at this very value."""
        return self.gap(name, value) <= 0.0

    def start(self, name: str) -> float:
        """Where a search begins."""
        return self.starts.get(name, 1.0)

    @abstractmethod
    def check_floor(self) -> None:
        """Raises NoAnswer for a target that no value of any number can reach."""

    @abstractmethod
    def unreachable(self, name: str) -> NoAnswer:
        """Why no value of this number will do."""

    def least(self, name: str) -> float:
        """The least value > 0 of a number that helps, such as noise."""
        self.check_floor()
        return self._searched(smallest, name)

    def largest(self, name: str) -> float:
        """The largest value in (0, 1] of a number that costs, such as a sampling rate."""
        self.check_floor()
        return self._searched(largest_share, name)

    def least_delta(self, name: str) -> float:
        """The least δ below 1, which promises nothing; no target is too small for all of them."""
        return self._searched(least_share, name)

    def longest(self) -> float:
        """The largest whole number of steps, at most LARGEST_STEPS; 0.0 where one step costs too much."""
        self.check_floor()
        steps = last_whole(partial(self.gap, "steps"), self.start("steps"), LARGEST_STEPS)
        while steps > 0.0 and not self.fits("steps", steps):  # a table refined elsewhere may read a unit higher
            steps -= 1.0
        return steps

    def _searched(self, search: Callable[..., float | None], name: str) -> float:
        gap, fits = partial(self.gap, name), partial(self.fits, name)
        answer = search(gap, fits, self.start(name), self.tolerance)
        if answer is None:
            raise self.unreachable(name)
        return answer
