"""Trainings of one process on the same data: whoever is in these data is told of by all of them, so costs add up.

Data are the same where they share memory, a data set, or one example with equal numbers: a slice, a copy, a subset or
another order are seen; rescaled or augmented copies, and trainings of other processes, are not.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, Subset, TensorDataset

from dpviz.mechanisms import Event, merge_events
from dpviz.training.samplers import stored
from dpviz.training.values import OTHER_DATA, SAME_DATA, Origin

OWN_DATA = "own:python"  # no description of that name says anything of them
MOST_READ = 1000  # examples of a data set without tensors that are read to know them again: reading may be slow


class DataIdentity:
    """What tells that two data sets share examples.

    Args:
        data: A data set with a length.
        read: Gives the inputs at these positions, (b, …).
    """

    def __init__(self, data: Any, read: Callable[[list[int]], Tensor]) -> None:
        self._places = [place for leaf in _leaves(data) for place in _places(leaf)]
        whole = isinstance(data, TensorDataset)
        positions = np.unique(np.linspace(0, len(data) - 1, len(data) if whole else MOST_READ).round().astype(np.int64))
        parts = np.array_split(positions, math.ceil(len(positions) / 4096))
        self._examples = np.unique(np.concatenate([_hashes(read(part.tolist())) for part in parts]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataIdentity) and np.array_equal(self._examples, other._examples)

    __hash__ = None  # type: ignore[assignment]

    def overlaps(self, other: DataIdentity) -> bool:
        """Whether they share memory, a data set or an example."""
        alive = {id(place) for place in self._alive()} & {id(place) for place in other._alive()}
        return bool(alive) or bool(np.isin(self._examples, other._examples, kind="sort").any())

    def _alive(self) -> Iterator[object]:
        return (place for reference in self._places if (place := reference()) is not None)


@dataclass(eq=False)
class _Spent:
    """What trainings on one data set may have cost: whole plans, for an early end may have been decided by losses."""

    data: DataIdentity
    unit: str = "example"
    trainings: int = 0
    demonstrations: int = 0
    mechanisms: tuple[Event, ...] = ()


_ledger: list[_Spent] = []
_charging = threading.Lock()


def earlier(data: DataIdentity, *, disjoint: bool = False) -> tuple[Origin, ...]:
    """What trainings that began before may have spent on these data.

    Args:
        disjoint: Whether somebody says that nobody is in both, so that nothing adds up.
    """
    same = [spent for spent in list(_ledger) if spent.data.overlaps(data)]
    origins = []
    for unit in dict.fromkeys(spent.unit for spent in same):
        alike = [spent for spent in same if spent.unit == unit]
        events = merge_events(event for spent in alike for event in spent.mechanisms)
        plans = tuple(tuple(stored(mechanism, count)) for mechanism, count in events)
        if trainings := sum(spent.trainings for spent in alike):
            name, run = _counted(trainings, "training"), OTHER_DATA if disjoint else SAME_DATA
            origins.append(Origin(run=run, name=name, data=OWN_DATA, mechanisms=plans, unit=unit))
    if (demonstrations := sum(spent.demonstrations for spent in same)) and not disjoint:
        name = _counted(demonstrations, "demonstration")
        origins.append(Origin(run=SAME_DATA, name=name, data=OWN_DATA, replayable=True, unit=same[0].unit))
    return tuple(origins)


def charge(
    data: DataIdentity, plan: tuple[Event, ...], *, unit: str, replayable: bool = False, disjoint: bool = False
) -> tuple[Origin, ...]:
    """Notes that a training with this plan begins, `replayable` for a demonstration; `earlier` as it was before."""
    with _charging:
        before = earlier(data, disjoint=disjoint)
        spent = next((spent for spent in _ledger if (spent.data, spent.unit) == (data, unit)), None)
        if spent is None:
            _ledger.append(spent := _Spent(data, unit))
        if replayable:
            spent.demonstrations += 1
        else:
            spent.trainings += 1
            spent.mechanisms = merge_events((*spent.mechanisms, *plan))
    return before


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'} before it"


def _leaves(data: Any) -> Iterator[Any]:
    """The data sets that hold the examples."""
    if isinstance(data, Subset):
        yield from _leaves(data.dataset)
    elif isinstance(data, ConcatDataset):
        for part in data.datasets:
            yield from _leaves(part)
    else:
        yield data


def _places(data: Any) -> Iterator[weakref.ref[Any]]:
    """Where they lie; gone with them, so that new data in the same place are no old ones."""
    places = [tensor.untyped_storage() for tensor in data.tensors] if isinstance(data, TensorDataset) else [data]
    for place in places:
        with suppress(TypeError):  # a list cannot be watched: its examples are compared
            yield weakref.ref(place)


def _hashes(x: Tensor) -> npt.NDArray[np.int64]:
    """One number for each example's inputs, whatever their type."""
    numbers = torch.view_as_real(x) if x.is_complex() else x
    rows = numbers.detach().to("cpu", torch.float32).reshape(len(x), -1).numpy() + np.float32(0.0)  # −0 is 0
    return np.fromiter((hash(row.tobytes()) for row in rows), dtype=np.int64, count=len(rows))
