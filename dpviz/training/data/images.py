"""Sets of grey images of the MNIST family, as they lie on disk and as a network reads them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpviz.training.data.base import Bytes, Parts, scaled
from dpviz.training.data.idx import parse_idx
from dpviz.training.data.sources import DataSource, fetch


class ImageData(NamedTuple):
    """A set of grey images as it lies on disk.

    Attributes:
        name: For charts and descriptions.
        train_images: uint8 (n, 28, 28), 0 is background.
        train_labels: uint8 (n,), 0 to 9.
        test_images: uint8 (m, 28, 28).
        test_labels: uint8 (m,).
        mean: Mean pixel of the whole training set, on [0, 1].
        std: Standard deviation of the same. Both are published constants, so they cost no privacy here.
    """

    name: str
    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes
    mean: float
    std: float

    def parts(self) -> Parts:
        """The same for a network: images (n, 1, 28, 28), scaled."""
        return (
            scaled(self.train_images, self.mean, self.std)[:, None],
            self.train_labels.astype(np.int64),
            scaled(self.test_images, self.mean, self.std)[:, None],
            self.test_labels.astype(np.int64),
        )


def read_images(
    source: DataSource, *, label: str, mean: float, std: float, folder: str | Path | None = None
) -> ImageData:
    """The four idx files of any set of the MNIST family, fetched and checked against each other."""
    parts = {role: parse_idx(fetch(source, role, folder), role) for role in source.files}
    for part in ("train", "test"):
        images, labels = parts[f"{part}_images"], parts[f"{part}_labels"]
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise ValueError(
                f"Expected {source.name} to have a label for each {part} image, found shapes "
                f"{images.shape} and {labels.shape}."
            )
    return ImageData(name=label, mean=mean, std=std, **parts)
