"""What is known of a data set before anything is loaded, and how to read it: NumPy alone, as pages read these files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.training.data.sources import DataSource
from dpviz.training.models import MODELS

Bytes = npt.NDArray[np.uint8]
# float32 (n, c, h, w) or (n, features) and int64 (n,), of training; then of test.
Parts = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]

SCALED = "scaled by the published mean and standard deviation"


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
        read: Its examples, from files in a folder of the user's where it needs any; None of one's own (`own`).
        source: Where its files come from; None where they are shipped, or one's own.
        part_of: The key of the set that its examples are taken from; empty where they are its own.
        usual: Settings with which it trains well, whatever the model.
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
    read: Callable[[str | Path | None], Parts] | None = None
    source: DataSource | None = None
    part_of: str = ""
    usual: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, int]:
        """The numbers of parameters by model that can read it."""
        if not self.shape:
            return {}
        fitting = {key: model for key, model in MODELS.items() if model.suits(self.shape)}
        return {key: model.parameters(self.shape, self.classes) for key, model in fitting.items()}


def scaled(images: Bytes, mean: Any, std: Any) -> npt.NDArray[np.float32]:
    """Bytes as numbers on [0, 1], less `mean`, over `std`; each a number or one a channel, (c, 1, 1)."""
    found = images.astype(np.float32)
    found /= np.float32(255.0)
    found -= np.asarray(mean, dtype=np.float32)
    found /= np.asarray(std, dtype=np.float32)
    return found


def coloured(
    train: tuple[Bytes, Bytes], test: tuple[Bytes, Bytes], mean: tuple[float, ...], std: tuple[float, ...]
) -> Parts:
    """Images (n, 3, h, w) and labels of both parts, scaled channel by channel."""
    scale = (np.array(mean)[:, None, None], np.array(std)[:, None, None])
    return scaled(train[0], *scale), train[1].astype(np.int64), scaled(test[0], *scale), test[1].astype(np.int64)
