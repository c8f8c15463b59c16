"""Shared examples of two data sets, found by where they lie in memory and by the numbers of their examples.

Data are the same where they share memory, a data set, or one example with equal numbers: a slice, a copy, a subset,
another order or another number type are seen; rescaled or augmented copies are not.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from dpviz._remember import remembered
from dpviz.training.data.rows import leaves

MOST_READ = 1000  # examples of data that are not in memory which are read to know them again: reading may be slow
_LOOKED_AT = 8  # examples of a step that are compared with what they were
_PARTS = 4096  # examples that are read at once
# Digits of shorter number types; as many as make two rows differ by more than chance are asked of a rounded row.
_SHORT = {torch.float16: 11, torch.bfloat16: 8}
_DIGITS = 40

Hashes = npt.NDArray[np.int64]


class DataIdentity:
    """What tells that two data sets share examples.

    Args:
        data: A data set with a length. In memory (tensors, lists, parts and chains of them) it is read as a whole; of
            others `MOST_READ` examples are read, and those that training draws later are added (`seen`).
        read: Gives the inputs at these positions, (b, …).
    """

    def __init__(self, data: Any, read: Callable[[list[int]], Tensor]) -> None:
        below = list(leaves(data))
        self._places = [place for leaf in below for place in _places(leaf)]
        self._whole = all(isinstance(leaf, (TensorDataset, list, tuple)) for leaf in below)
        count = len(data) if self._whole else min(MOST_READ, len(data))
        positions = np.unique(np.linspace(0, len(data) - 1, count).round().astype(np.int64))
        parts = np.array_split(positions, math.ceil(len(positions) / _PARTS))
        exact, rounded = zip(*(_of_rows(read(part.tolist())) for part in parts), strict=True)
        # Of each position, where all are in memory.
        self._at: Hashes | None = np.concatenate(exact) if self._whole else None
        self._exact, self._rounded = np.unique(np.concatenate(exact)), np.unique(np.concatenate(rounded))
        self._to_come = 0 if self._whole else len(data)

    def same(self, other: DataIdentity) -> bool:
        """Whether both are the same examples, each of which is known."""
        return self._whole and other._whole and np.array_equal(self._exact, other._exact)

    def overlaps(self, other: DataIdentity) -> bool:
        """Whether they share memory, a data set or an example."""
        alive = {id(place) for place in self._alive()} & {id(place) for place in other._alive()}
        pairs = (
            (self._exact, other._exact),
            (self._exact, other._rounded),  # mine are a copy in a shorter type
            (self._rounded, other._exact),
        )
        return bool(alive) or any(bool(np.isin(one, two, kind="sort").any()) for one, two in pairs)

    def seen(self, x: Tensor) -> None:
        """Examples that were drawn, (b, …): known from now on too, of one epoch's number."""
        if self._to_come > 0 and len(x):
            exact, rounded = _of_rows(x)
            self._exact, self._rounded = np.union1d(self._exact, exact), np.union1d(self._rounded, rounded)
            self._to_come -= len(x)

    def moved(self, positions: npt.NDArray[np.int64], x: Tensor) -> bool:
        """Whether one of the first examples x (b, …) is not the one that was at its position; only of data in memory.

        Numbers on an accelerator are not looked at: reading them would wait for it.
        """
        if self._at is None or x.device.type != "cpu" or not len(x):
            return False
        return not np.array_equal(_hashes(_numbers(x[:_LOOKED_AT])), self._at[positions[:_LOOKED_AT]])

    def _alive(self) -> Iterator[object]:
        return (place for reference in self._places if (place := reference()) is not None)


def _places(data: Any) -> Iterator[weakref.ref[Any]]:
    """Where they lie; gone with them, so that new data in the same place are no old ones."""
    places = [tensor.untyped_storage() for tensor in data.tensors] if isinstance(data, TensorDataset) else [data]
    for place in places:
        with suppress(TypeError):  # a list cannot be watched: its examples are compared
            yield weakref.ref(place)


def _of_rows(x: Tensor) -> tuple[Hashes, Hashes]:
    """One number for each example's inputs, whatever their type, and those of its copies in shorter types."""
    numbers = _numbers(x)
    short = [kind for kind, digits in _SHORT.items() if digits * numbers.shape[1] >= _DIGITS]
    rounded = [_hashes(numbers.to(kind).to(torch.float32)) for kind in short]
    return _hashes(numbers), np.concatenate([*rounded, np.empty(0, np.int64)])


def _numbers(x: Tensor) -> Tensor:
    """Examples (b, …) in single precision, (b, n); −0 is 0."""
    numbers = torch.view_as_real(x) if x.is_complex() else x
    return numbers.detach().to("cpu", torch.float32).reshape(len(x), -1) + 0.0


def _hashes(numbers: Tensor) -> Hashes:
    """Σ r_k x_k modulo 2⁶⁴ of each row's bits x, with fixed random odd r: two rows agree by chance once in 2³² or more.

    Args:
        numbers: Single precision, (b, n).
    """
    hashes: Hashes = np.einsum("bn,n->b", numbers.contiguous().view(torch.int32).numpy(), _factors(numbers.shape[1]))
    return hashes


@remembered
def _factors(count: int) -> Hashes:
    return np.random.default_rng(count).integers(-(2**63), 2**63, count) | 1
