"""Street View House Numbers, cropped digits: MATLAB files with "X" (32, 32, 3, n) and "y" (n, 1), where 10 means 0."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.training.data.base import Bytes, DataSet, Parts


def parse_mat(raw: bytes) -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and labels (n,), 0 to 9."""
    import scipy.io  # takes a while to load, and pages read this file

    file: Any = io.BytesIO(raw)  # the types of SciPy know paths only
    content = scipy.io.loadmat(file, variable_names=("X", "y"))
    images = np.ascontiguousarray(content["X"].transpose(3, 2, 0, 1))
    return images, (np.ravel(content["y"]) % 10).astype(np.uint8)


def read(data: DataSet, folder: str | Path | None) -> Parts:
    files = data.fetched(folder)  # first its own: where they are missing nothing is fetched
    if data.extends is not None:
        files |= data.extends.fetched(folder)
    parts = {role: parse_mat(raw) for role, raw in files.items()}
    train, test = parts["train"], parts["test"]
    if "extra" in parts:
        train = np.concatenate([train[0], parts["extra"][0]]), np.concatenate([train[1], parts["extra"][1]])
    return data.scaled(train, test)
