"""Equal steps together: a mechanism and how many times it ran.

>>> step = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> merge_events([(step, 10), (step, 5)])
((SampledGaussian(noise_multiplier=4.0, sample_rate=0.01), 15),)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from dpviz import _validate
from dpviz.mechanisms.mechanism import Mechanism
from dpviz.mechanisms.sampled_gaussian import SampledGaussian

Event = tuple[Mechanism, int]
GaussianEvent = tuple[SampledGaussian, int]
_Kind = TypeVar("_Kind", bound=Mechanism)


def merge_events(events: Iterable[tuple[_Kind, int]]) -> tuple[tuple[_Kind, int], ...]:
    """Events with equal mechanisms added up, in order of first appearance; order does not matter to privacy."""
    counts: dict[_Kind, int] = {}
    for mechanism, count in events:
        whole = int(_validate.scalar("count", _validate.steps(count, "count")))
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
