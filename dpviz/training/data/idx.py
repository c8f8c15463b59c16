"""The MNIST family: files of idx, a magic number, the sizes, then the bytes; and the subset of MNIST that is shipped.

Byte 4 of the magic number is the number of dimensions; each size is a big-endian 32-bit integer, and elements are
unsigned bytes (LeCun, Cortes, Burges, "The MNIST database").

>>> digits = mnist_subset()
>>> digits.train_images.shape, digits.test_images.shape
((10000, 28, 28), (2000, 28, 28))
"""

from __future__ import annotations

import struct
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpviz.training.data.base import Bytes, DataSet, Parts


class Images(NamedTuple):
    """Grey images as they lie on disk: uint8 (n, 28, 28), 0 is background, and labels uint8 (n,), 0 to 9."""

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes

    def parts(self, data: DataSet) -> Parts:
        """The same for a network: images (n, 1, 28, 28), scaled."""
        train, test = (self.train_images[:, None], self.train_labels), (self.test_images[:, None], self.test_labels)
        return data.scaled(train, test)


def parse_idx(raw: bytes) -> Bytes:
    """The array in an uncompressed idx file of unsigned bytes, read-only."""
    start = 4 + 4 * raw[3]
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(struct.unpack(f">{raw[3]}I", raw[4:start]))


def images(data: DataSet, folder: str | Path | None) -> Images:
    """The four files of a set of the family."""
    return Images(**{role: parse_idx(raw) for role, raw in data.fetched(folder).items()})


def read(data: DataSet, folder: str | Path | None) -> Parts:
    return images(data, folder).parts(data)


@lru_cache(maxsize=1)
def mnist_subset() -> Images:
    """10,000 training and 2,000 test digits of MNIST, shipped with the package (see data/LICENSE-MNIST).

    Both are uniform random draws without replacement from MNIST's own two parts, in random order
    (`tools/make_subset.py`), so every class has its natural share of 9 to 11.5 %. Arrays are read-only and shared.
    """
    shipped = resources.files("dpviz.training") / "data" / "mnist-12k.npz"
    with shipped.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {role: stored[role] for role in Images._fields}
    for array in arrays.values():
        array.setflags(write=False)
    return Images(**arrays)


def read_subset(data: DataSet, folder: str | Path | None) -> Parts:
    return mnist_subset().parts(data)
