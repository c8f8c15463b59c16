"""Data of one's own, example by example: arrays, a data set or the rows that a loader reads, drawn from by position."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    default_collate,
)

from dpviz.training.accounts.earlier import DataIdentity
from dpviz.training.sampling import Persons
from dpviz.training.words import refusal


class IndexedExamples:
    """All examples of a training.

    Args:
        data: (x, y) of tensors or arrays, whose numbers get the precision of the network; a data set with a length; or
            a loader of one.
        like: A parameter of the network.

    Attributes:
        batch_size: A loader's; else None.

    Raises:
        ValueError: for what cannot be drawn from by position, with the way out.
    """

    def __init__(self, data: Any, like: Tensor) -> None:
        self._device = like.device
        self._collate: Callable[[list[Any]], Any] | None = None
        self.batch_size: int | None = None
        if isinstance(data, DataLoader):
            self._collate, self.batch_size = data.collate_fn, getattr(data.batch_sampler, "batch_size", None)
            data = _rows(data)
        elif isinstance(data, (tuple, list)) and len(data) == 2 and all(hasattr(part, "__array__") for part in data):
            data = _tensors(data, like)
        else:
            self._collate = default_collate
        if isinstance(data, IterableDataset) or not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
            raise refusal("no_examples", kind=type(data).__name__)
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def at(self, positions: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Examples and targets at these positions, (b, …) and (b, …), on the network's device."""
        if self._collate is None:
            batch = self._data[list(positions)]
        else:
            batch = self._collate([self._data[position] for position in positions])
        if not (isinstance(batch, (tuple, list)) and len(batch) == 2 and all(torch.is_tensor(part) for part in batch)):
            raise ValueError("Expected each example as a pair of numbers: what the network reads, and the target.")
        x, y = batch
        return x.to(self._device), y.to(self._device)

    def persons(self, persons: Any) -> Persons:
        """Whose rows they are.

        Raises:
            ValueError: unless each row has one person.
        """
        owners = np.asarray(persons)
        if owners.shape != (len(self),) or owners.dtype.kind not in "iubUS":
            raise refusal("no_persons", rows=len(self), owners=owners)
        return Persons(owners)

    def identity(self) -> DataIdentity:
        """By which other trainings on the same data are known."""
        return DataIdentity(self._data, lambda positions: self.at(positions)[0])


def _rows(loader: DataLoader[Any]) -> Any:
    """What a loader reads: its data set, or the part of it that its sampler takes."""
    if isinstance(loader.dataset, IterableDataset):
        return loader.dataset
    batches = loader.batch_sampler
    if type(batches) is not BatchSampler:
        reason = "no batches of its own" if batches is None else f"batch_sampler={type(batches).__name__}"
        raise refusal("loader_batches", reason=reason)
    sampler, whole = batches.sampler, len(loader.dataset)  # type: ignore[arg-type]
    if type(sampler) is SubsetRandomSampler and len(set(map(int, sampler.indices))) == len(sampler.indices):
        return Subset(loader.dataset, [int(row) for row in sampler.indices])
    ordered = type(sampler) in (SequentialSampler, RandomSampler)  # exactly: a subclass may leave rows out
    if ordered and len(getattr(sampler, "data_source", ())) == whole:
        return loader.dataset
    raise refusal("loader_order", sampler=type(sampler).__name__)


def _tensors(data: Sequence[Any], like: Tensor) -> TensorDataset:
    x, y = (part if torch.is_tensor(part) else _tensor(part, like) for part in data)
    if x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
        raise ValueError(f"Expected a target for each example, found shapes {tuple(x.shape)} and {tuple(y.shape)}.")
    return TensorDataset(x, y)


def _tensor(part: Any, like: Tensor) -> Tensor:
    """An array in the network's precision; whole numbers as int64, which losses and embeddings read."""
    array = np.asarray(part)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"Expected arrays of real numbers, found dtype={array.dtype}: encode them as numbers first.")
    kind = str(like.dtype).removeprefix("torch.") if array.dtype.kind == "f" else "int64"
    return torch.from_numpy(np.require(array, dtype=kind, requirements=["C", "W"]))
