"""Images and labels as plain arrays and as normalised tensors.

>>> digits = load_mnist_subset()
>>> digits.train_images.shape, digits.test_images.shape
((10000, 28, 28), (2000, 28, 28))
>>> digits.tensors().train_x.shape
torch.Size([10000, 1, 28, 28])
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from dpviz import _validate
from dpviz.training import sources
from dpviz.training.idx import parse_idx

Bytes = npt.NDArray[np.uint8]

SUBSET_FILE = "mnist-12k.npz"


class ImageTensors(NamedTuple):
    """What a network reads: normalised float32 images (n, 1, 28, 28) and int64 labels (n,)."""

    train_x: torch.Tensor
    train_y: torch.Tensor
    test_x: torch.Tensor
    test_y: torch.Tensor


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

    def tensors(self) -> ImageTensors:
        """The same data for a network; computed anew at each call, see `mnist_subset_tensors` for a kept copy."""
        return ImageTensors(
            train_x=self._normalised(self.train_images),
            train_y=torch.from_numpy(self.train_labels.astype(np.int64)),
            test_x=self._normalised(self.test_images),
            test_y=torch.from_numpy(self.test_labels.astype(np.int64)),
        )

    def _normalised(self, images: Bytes) -> torch.Tensor:
        scaled = torch.from_numpy(images.astype(np.float32))
        return scaled.div_(255.0).sub_(self.mean).div_(self.std).unsqueeze_(1)


_MNIST_MEAN, _MNIST_STD = 0.1307, 0.3081
_FASHION_MEAN, _FASHION_STD = 0.2860, 0.3530


@lru_cache(maxsize=1)
def load_mnist_subset() -> ImageData:
    """10,000 training and 2,000 test digits of MNIST, shipped with the package (see data/LICENSE-MNIST).

    Both are uniform random draws without replacement from MNIST's own two parts, in random order (`make_subset`), so
    every class has its natural share of 9 to 11.5 %. Arrays are read-only and shared between callers.
    """
    found = resources.files("dpviz.training") / "data" / SUBSET_FILE
    with found.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in ("train_images", "train_labels", "test_images", "test_labels")}
    for array in arrays.values():
        array.setflags(write=False)
    return ImageData(name="MNIST, shipped subset", mean=_MNIST_MEAN, std=_MNIST_STD, **arrays)


@lru_cache(maxsize=1)
def mnist_subset_tensors() -> ImageTensors:
    """`load_mnist_subset().tensors()`, kept (38 MB). Shared: do not write into it."""
    return load_mnist_subset().tensors()


def load_full(name: str, folder: str | Path | None = None) -> ImageData:
    """All 60,000 + 10,000 images of "mnist" or "fashion-mnist".

    Args:
        name: Which set.
        folder: Folder of the user's with the idx files, packed or not, and where a download is kept. Without it
            DPVIZ_DATA, else the user's cache folder; Fashion-MNIST is also found where its Debian package puts it.

    Raises:
        ValueError: for another name, or a file with the wrong checksum.
        DataUnavailable: if the files are in no folder and no mirror answers.
    """
    known = {
        "mnist": ("MNIST", sources.MNIST, _MNIST_MEAN, _MNIST_STD),
        "fashion-mnist": ("Fashion-MNIST", sources.FASHION_MNIST, _FASHION_MEAN, _FASHION_STD),
    }
    label, source, mean, std = known[_validate.choice("name", name, tuple(known))]
    return read_images(source, label=label, mean=mean, std=std, folder=folder)


def read_images(
    source: sources.Source, *, label: str, mean: float, std: float, folder: str | Path | None = None
) -> ImageData:
    """The four idx files of any set of the MNIST family, fetched and checked against each other."""
    parts = {role: parse_idx(sources.fetch(source, role, folder), role) for role in source.files}
    for part in ("train", "test"):
        images, labels = parts[f"{part}_images"], parts[f"{part}_labels"]
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise ValueError(
                f"Expected {source.name} to have a label for each {part} image, found shapes "
                f"{images.shape} and {labels.shape}."
            )
    return ImageData(name=label, mean=mean, std=std, **parts)
