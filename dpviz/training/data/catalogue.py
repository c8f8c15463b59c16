"""Data sets as tensors, by name.

>>> data = load("abalone")
>>> tuple(data.train_x.shape), data.classes
((3133, 10), 2)
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dpviz import _validate
from dpviz.training.data import DATA_SETS
from dpviz.training.data.base import Parts
from dpviz.training.data.own.describe import Description
from dpviz.training.data.own.place import find, is_own
from dpviz.training.data.own.read import content, mark, read
from dpviz.training.values import RunValues
from dpviz.training.words import refusal


class TrainingData(NamedTuple):
    """Examples and labels, ready for a network; shared between callers, not to be written into.

    Attributes:
        name, title: Key and words.
        note: What it is, its licence and how it was scaled, in words.
        train_x, test_x: float32 (n, c, h, w) for images, (n, features) for tables.
        train_y, test_y: int64 (n,), 0 to `classes` − 1.
        classes: Number of labels.
        flips: Whether an example's mirror image is one of the same kind.
        persons: Whose each training example is, (n,); None where the data name no persons.
        mark: Of data of one's own: the same for the same files, by a key that stays with them; else "".
    """

    name: str
    title: str
    note: str
    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor
    classes: int
    mark: str = ""
    flips: bool = False
    persons: npt.NDArray[np.int64] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one example."""
        return tuple(self.train_x.shape[1:])

    def units(self, settings: RunValues) -> int:
        """N, what a run's batches are drawn from: examples, or persons where they are protected.

        Raises:
            ValueError: where these data name no persons.
        """
        if not settings.by_person:
            return len(self.train_y)
        if self.persons is None:
            raise refusal("unit_of_data", data=settings.data)
        return np.unique(self.persons).size


def load(name: str, folder: str | Path | None = None) -> TrainingData:
    """The data set `name`.

    Args:
        name: A key of `dpviz.training.data.DATA_SETS`, or "own:NAME" for what NAME.toml in the folder describes.
        folder: Folder of the user's with its files; else DPVIZ_DATA, else the cache folder. A download is kept there.

    Raises:
        ValueError: for another name, a damaged file, or files of one's own that are not as described.
        DataUnavailable: if its files are in no folder and no mirror answers; the message says where they may be put.
    """
    if is_own(name):
        description = find(name, folder)
        return _read(name, description, content(description))
    _validate.choice("data", name, tuple(DATA_SETS))
    return _loaded(name, None if folder is None else str(folder))


@lru_cache(maxsize=2)
def _loaded(name: str, folder: str | None) -> TrainingData:
    data = DATA_SETS[name]
    return _tensors(name, data.title, data.note, data.read(folder), classes=data.classes, flips=data.flips)


@lru_cache(maxsize=1)
def _read(name: str, data: Description, digest: str) -> TrainingData:
    """Kept by content: files that changed are read again."""
    return _tensors(name, data.title, data.note, read(data), classes=len(data.classes), mark=mark(data, digest))


def _tensors(name: str, title: str, note: str, parts: Parts, **facts: Any) -> TrainingData:
    x, y, test_x, test_y = (torch.from_numpy(np.ascontiguousarray(part)) for part in parts[:4])
    return TrainingData(name, title, note, x, y, test_x, test_y, persons=parts.persons, **facts)
