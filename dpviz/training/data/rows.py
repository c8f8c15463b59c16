"""Rows of a data set, traced through parts (`Subset`) and chains (`ConcatDataset`) to where they lie.

>>> from torch.utils.data import Subset
>>> repeats(Subset(["a", "b", "c"], [2, 0, 2])).tolist()
[0, 1, 0]
"""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import ConcatDataset, Subset, TensorDataset

Index = npt.NDArray[np.int64]


def leaves(data: Any) -> Iterator[Any]:
    """The data sets that hold the examples."""
    if isinstance(data, Subset):
        yield from leaves(data.dataset)
    elif isinstance(data, ConcatDataset):
        for part in data.datasets:
            yield from leaves(part)
    else:
        yield data


def repeats(data: Any) -> Index:
    """For each position the first one at which the same row stands, (rows,): its own where no row is given twice.

    Rows are the same where they lie at the same place: of one data set, in the same memory, or one Python object.
    Copies of a row are rows of their own, for two persons may be alike.
    """
    _, first, which = np.unique(_places(data), axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[which.reshape(-1)], dtype=np.int64)


def _places(data: Any) -> Index:
    """Two numbers that say where each row lies, (rows, 2)."""
    if type(data) is Subset:
        return _places(data.dataset)[np.asarray(data.indices, dtype=np.int64)]
    if type(data) is ConcatDataset:
        return np.concatenate([_places(part) for part in data.datasets])
    at = np.arange(len(data))
    if isinstance(data, TensorDataset):
        # Where each of its tensors has the row; more than two are mixed, each with an odd factor of its own.
        starts = [(t.data_ptr(), (t.stride(0) * t.element_size()) if len(t) else 0) for t in data.tensors]
        lies = [start + at * step for start, step in starts]
        mixed = sum((part * np.int64(2 * k + 3) for k, part in enumerate(lies[1:])), np.zeros_like(at))
        return np.stack([lies[0], mixed], axis=1)
    if isinstance(data, (list, tuple)):
        return np.stack([np.asarray([id(row) for row in data], dtype=np.int64), np.full_like(at, -1)], axis=1)
    return np.stack([np.full_like(at, id(data)), at], axis=1)


def mark(data: Any) -> Hashable:
    """What changes when the rows of `data` are replaced, or written by PyTorch: no number is read."""
    if isinstance(data, Subset):
        return id(data.indices), len(data.indices), mark(data.dataset)
    if isinstance(data, ConcatDataset):
        return tuple(mark(part) for part in data.datasets)
    if isinstance(data, TensorDataset):
        return tuple((id(t), t.data_ptr(), -1 if t.is_inference() else t._version) for t in data.tensors)
    return id(data), len(data)
