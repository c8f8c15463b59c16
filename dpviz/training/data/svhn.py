"""Street View House Numbers, cropped digits: MATLAB files with "X" (32, 32, 3, n) and "y" (n, 1), where 10 means 0.

With its easier "extra" pictures the training set has 604,388; their file of 1.3 GB is read from a folder, not fetched.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.training.data.base import SCALED, Bytes, DataSet, Parts, coloured
from dpviz.training.data.sources import DataFile, DataSource, fetch

SOURCE = DataSource(
    name="svhn",
    files={
        "train": DataFile(
            "train_32x32.mat", "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8", whole=True
        ),
        "test": DataFile(
            "test_32x32.mat", "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b", whole=True
        ),
    },
    mirrors=("http://ufldl.stanford.edu/housenumbers/",),
)
EXTRA = DataSource(
    name="svhn-whole",
    files={
        "extra": DataFile(
            "extra_32x32.mat", "a133a4beb38a00fcdda90c9489e0c04f900b660ce8a316a5e854838379a71eb3", whole=True
        )
    },
    mirrors=(),
    package_hint=f"1.3 GB, from {SOURCE.mirrors[0]}",
)
# Published channel means and standard deviations on [0, 1].
_MEAN, _STD = (0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)


def parse_mat(raw: bytes, name: str = "SVHN file") -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and labels (n,), 0 to 9.

    Raises:
        ValueError: if it is no such file.
    """
    import scipy.io  # takes a while to load, and pages read this file

    try:
        file: Any = io.BytesIO(raw)  # the types of SciPy know paths only
        found = scipy.io.loadmat(file, variable_names=("X", "y"))
        images, labels = np.asarray(found["X"]), np.asarray(found["y"]).ravel()
    except Exception as error:
        raise ValueError(f"Expected {name} to be a MATLAB file with X and y: {error}.") from None
    if images.dtype != np.uint8 or images.shape[:3] != (32, 32, 3) or labels.shape != images.shape[3:]:
        raise ValueError(f"Expected X (32, 32, 3, n) and n labels in {name}, found {images.shape}, {labels.shape}.")
    if labels.size and (labels.min() < 1 or labels.max() > 10):
        raise ValueError(f"Expected labels from 1 to 10 in {name}, found {labels.min()} to {labels.max()}.")
    return np.ascontiguousarray(images.transpose(3, 2, 0, 1)), (labels % 10).astype(np.uint8)


def _read(folder: str | Path | None) -> Parts:
    train, test = (parse_mat(fetch(SOURCE, role, folder), role) for role in ("train", "test"))
    return coloured(train, test, _MEAN, _STD)


def _read_whole(folder: str | Path | None) -> Parts:
    extra = parse_mat(fetch(EXTRA, "extra", folder), "extra")  # first: where it is missing nothing is fetched
    train, test = (parse_mat(fetch(SOURCE, role, folder), role) for role in ("train", "test"))
    both = np.concatenate([train[0], extra[0]]), np.concatenate([train[1], extra[1]])
    return coloured(both, test, _MEAN, _STD)


SVHN = DataSet(
    key="svhn",
    title="SVHN house numbers",
    example="test pictures",
    examples=73_257,
    test_examples=26_032,
    shape=(3, 32, 32),
    classes=10,
    note=f"for non-commercial use, {SCALED}",
    read=_read,
    source=SOURCE,
)

SVHN_WHOLE = DataSet(
    key="svhn-whole",
    title="SVHN with its extra pictures",
    example="test pictures",
    examples=604_388,
    test_examples=26_032,
    shape=(3, 32, 32),
    classes=10,
    note=f"for non-commercial use, {SCALED}; 8 GB in memory, and more while it is read",
    read=_read_whole,
    source=EXTRA,
)
