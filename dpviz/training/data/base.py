"""What is known of a data set before anything is loaded, and how to read it: NumPy alone, as pages read these files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz.training.data.sources import DataSource, fetch
from dpviz.training.models import MODELS

Bytes = npt.NDArray[np.uint8]


class Parts(NamedTuple):
    """Training and test examples: x float32 (n, c, h, w) or (n, features), y int64 (n,)."""

    train_x: npt.NDArray[np.float32]
    train_y: npt.NDArray[np.int64]
    test_x: npt.NDArray[np.float32]
    test_y: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class DataSet:
    """A set that can be asked for by name; all but its examples is known before anything is loaded.

    Attributes:
        key, title: In settings and links; on pages.
        example: What several test examples are called.
        examples, test_examples: Sizes.
        shape: Of one example; empty where that is not known.
        classes: Number of labels.
        note: Origin, licence, scaling.
        flips: Whether an example's mirror image is one of the same kind: of clothes, not of digits.
        source: Where its files come from; None where it needs none, or of one's own.
        part_of: The key of the set that its examples are taken from; empty where they are its own.
        usual: Settings with which it trains well, whatever the model.
        reader: Reads its examples, from files in a folder of the user's where it needs any; None of one's own (`own`).
        extends: The set to whose training examples it adds its own.
        mean, std: Published, of pixels on [0, 1]: one number, or one a channel.
        columns, most, target: Of a table, see `tables`.
    """

    key: str
    title: str
    example: str
    examples: int = 0
    test_examples: int = 0
    shape: tuple[int, ...] = ()
    classes: int = 0
    note: str = ""
    flips: bool = False
    source: DataSource | None = None
    part_of: str = ""
    usual: Mapping[str, Any] = field(default_factory=dict)
    reader: Callable[[DataSet, str | Path | None], Parts] | None = None
    extends: DataSet | None = None
    mean: float | tuple[float, ...] = 0.0
    std: float | tuple[float, ...] = 1.0
    columns: tuple[Mapping[str, Any], ...] = ()
    most: float = float("inf")
    target: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, int]:
        """The numbers of parameters by model that can read it."""
        if not self.shape:
            return {}
        fitting = {key: model for key, model in MODELS.items() if model.suits(self.shape)}
        return {key: model.parameters(self.shape, self.classes) for key, model in fitting.items()}

    def read(self, folder: str | Path | None = None) -> Parts:
        """Its examples.

        Raises:
            ValueError: for a file with the wrong checksum.
            DataUnavailable: if a file is in no folder and no mirror answers.
        """
        assert self.reader is not None
        return self.reader(self, folder)

    def fetched(self, folder: str | Path | None) -> dict[str, bytes]:
        """The bytes of each of its files, by role: always those of the checksum."""
        return {} if self.source is None else {role: fetch(self.source, role, folder) for role in self.source.files}

    def scaled(self, train: tuple[Bytes, Bytes], test: tuple[Bytes, Bytes]) -> Parts:
        """Images (n, c, h, w) and labels of both parts for a network: on [0, 1], less `mean`, over `std`."""
        mean, std = (np.asarray(number, dtype=np.float32).reshape(-1, 1, 1) for number in (self.mean, self.std))

        def numbers(images: Bytes) -> npt.NDArray[np.float32]:
            x = images.astype(np.float32)
            x /= np.float32(255.0)
            x -= mean
            x /= std
            return x

        return Parts(numbers(train[0]), train[1].astype(np.int64), numbers(test[0]), test[1].astype(np.int64))
