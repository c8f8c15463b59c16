"""Street View House Numbers, cropped digits: MATLAB files with "X" (32, 32, 3, n) and "y" (n, 1), where 10 means 0."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io

Bytes = npt.NDArray[np.uint8]


def parse_mat(raw: bytes, name: str = "SVHN file") -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and labels (n,), 0 to 9.

    Raises:
        ValueError: if it is no such file.
    """
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
