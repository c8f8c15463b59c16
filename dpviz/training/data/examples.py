"""A user's own data, example by example: arrays, a data set or the rows that a loader reads, indexed by position."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
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

from dpviz.training.accelerator import fits, sent
from dpviz.training.data.identity import DataIdentity
from dpviz.training.data.rows import mark, repeats
from dpviz.training.data.structure import in_arrays, inputs_and_target, rebuilt, side_by_side, single
from dpviz.training.engine.inputs import Inputs, each, tensors
from dpviz.training.sampling import Persons
from dpviz.training.words import refusal


class IndexedExamples:
    """All examples of a training.

    Args:
        data: (x, y) of tensors or arrays, whose numbers get the precision of the network, ((x1, x2), y) of several
            inputs; a dictionary of them with the target under one of the names `structure.TARGETS`; a data set with a
            length of such rows; or a loader of one.
        like: A parameter of the network.

    Attributes:
        batch_size: A loader's; else None.

    Raises:
        ValueError: for what cannot be drawn from by position, with the way out.
    """

    def __init__(self, data: Any, like: Tensor) -> None:
        self._device, self._dtype = like.device, like.dtype
        self._collate: Callable[[list[Any]], Any] | None = None
        self._whole: Callable[[Sequence[Tensor]], Inputs] = single
        self.batch_size: int | None = None
        if isinstance(data, DataLoader):
            self._collate, self.batch_size = data.collate_fn, getattr(data.batch_sampler, "batch_size", None)
            data = _rows(data)
        elif in_arrays(data):
            x, y = inputs_and_target(data)
            data, self._whole = _tensors([*tensors(x), y], like), rebuilt(x)
        else:
            self._collate = default_collate
        if isinstance(data, IterableDataset) or not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
            raise refusal("no_examples", kind=type(data).__name__)
        self._data = data
        self._parts: Sequence[Tensor] = () if self._collate is not None else data.tensors
        # A copy of them on the network's device, which is trained on then.
        self._near = [part.to(self._device) for part in self._parts] if fits(self._parts, self._device) else []

    def __len__(self) -> int:
        return len(self._data)

    def at(self, positions: Sequence[int] | npt.NDArray[np.int64]) -> tuple[Inputs, Tensor]:
        """Examples and targets at these positions, (b, …) and (b, …), on the network's device."""
        return self._sent(*self._lying(positions, self._near or self._parts))

    def _lying(
        self, positions: Sequence[int] | npt.NDArray[np.int64], parts: Sequence[Tensor]
    ) -> tuple[Inputs, Tensor]:
        """`at` on the device of `parts`, or where a data set's rows lie."""
        if self._collate is None:
            index = torch.from_numpy(np.asarray(positions, dtype=np.int64))
            *columns, y = (part.index_select(0, sent(index, part.device)) for part in parts)
            x = self._whole(columns)
        else:
            rows = [self._data[position] for position in map(int, positions)]
            x, y = inputs_and_target(self._collate(rows))
        for part in (*tensors(x), y):
            if not torch.is_tensor(part):
                raise refusal("no_pair", kind=type(part).__name__)
        whole = not (y.is_floating_point() or y.is_complex() or y.dtype is torch.bool)
        return each(self._as_read, x), self._as_read(y.long() if whole else y)

    def _as_read(self, part: Tensor) -> Tensor:
        """Numbers in the network's precision."""
        return part.to(self._dtype) if part.is_floating_point() else part

    def _sent(self, x: Inputs, y: Tensor) -> tuple[Inputs, Tensor]:
        """On the network's device."""
        return each(lambda part: sent(part, self._device), x), sent(y, self._device)

    @property
    def targets(self) -> Tensor | None:
        """All targets, (N, …), where they are at hand; None where rows are read one by one."""
        return self._data.tensors[-1] if isinstance(self._data, TensorDataset) else None

    def persons(self, persons: Any) -> Persons:
        """Whose rows they are.

        Raises:
            ValueError: unless each row has one person.
        """
        owners = _named(persons)
        if owners.shape != (len(self),) or owners.dtype.kind not in "iubUS":
            raise refusal("no_persons", rows=len(self), shape=owners.shape, dtype=owners.dtype)
        return Persons(owners)

    def refuse_repeats(self, persons: Any) -> None:
        """Refuses a row that is given twice: whoever it is of would change more than ε counts.

        Args:
            persons: Whose each row is, who may then have a row twice; None for rows that are persons of their own.

        Raises:
            ValueError: naming two positions of one row.
        """
        first, owners = repeats(self._data), np.arange(len(self)) if persons is None else _named(persons)
        (again,) = np.nonzero(owners[first] != owners)
        if again.size:
            rule = "repeated_rows" if persons is None else "repeats_of_others"
            raise refusal(rule, number=again.size, rows=len(self), one=first[again[0]], other=again[0])

    def identity(self) -> DataIdentity:
        """By which other trainings on the same data are known, and these data in later steps."""
        self._mark, self._known = mark(self._data), DataIdentity(self._data, self._numbers)
        return self._known

    def _numbers(self, positions: Sequence[int]) -> Tensor:
        return side_by_side(self._lying(positions, self._parts)[0])

    def of_step(
        self, positions: npt.NDArray[np.int64], refuse: Callable[[Tensor], None] | None = None
    ) -> tuple[Inputs, Tensor]:
        """`at` for a step, of data that are still what they were when asked for their `identity`.

        Numbers in the host's memory are looked at there, before they are sent.

        Args:
            positions: Of its examples.
            refuse: Raises for targets that cannot be trained on; None where all were looked at before.

        Raises:
            ValueError: where rows were replaced, or moved to other positions.
        """
        if mark(self._data) != self._mark:
            raise refusal("changed_data")
        x, y = self._lying(positions, self._near or self._parts)
        numbers = side_by_side(x)
        if self._known.moved(positions, numbers):
            raise refusal("changed_data")
        self._known.seen(numbers)
        if refuse is not None:
            refuse(y)
        return self._sent(x, y)


def _named(persons: Any) -> npt.NDArray[Any]:
    """Numbers or names as an array; of objects, as tables hold names, those that are all text or all whole numbers."""
    owners = np.asarray(persons)
    if owners.dtype.kind not in "OT":
        return owners
    for kind in (str, (int, np.integer)):
        if all(isinstance(owner, kind) and owner != "" for owner in owners.flat):
            return np.array(owners.tolist())
    raise refusal("no person")


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
    parts = [part if torch.is_tensor(part) else _tensor(part, like) for part in data]
    if any(part.ndim == 0 or len(part) != len(parts[-1]) for part in parts):
        shapes = " and ".join(str(tuple(part.shape)) for part in parts)
        raise ValueError(f"Expected a target for each example, found shapes {shapes}.")
    return TensorDataset(*parts)


def _tensor(part: Any, like: Tensor) -> Tensor:
    """An array in the network's precision; whole numbers as int64, which losses and embeddings read."""
    array = np.asarray(part)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"Expected arrays of real numbers, found dtype={array.dtype}: encode them as numbers first.")
    kind = str(like.dtype).removeprefix("torch.") if array.dtype.kind == "f" else "int64"
    return torch.from_numpy(np.require(array, dtype=kind, requirements=["C", "W"]))
