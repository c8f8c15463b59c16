"""Arrays of an npz file: sizes are held against the description before anything is allocated, pickles are refused."""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.training.data.own.describe import Description, Location, NotADataSet

_BLOCK = 2**24
_ITEM = 8  # bytes a number
_LETTERS = 200  # in a label
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npz(data: Description, part: Location) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features (n, *shape) and labels (n,) of a part.

    Raises:
        NotADataSet: naming file, array and position; never a value.
        OSError: if the file cannot be read.
    """
    path = data.folder / part.file
    try:
        with zipfile.ZipFile(path) as archive:
            raw = _array(archive, part, part.x, (part.examples, *data.stored), "buif", _ITEM)
            x = _scaled(raw, data, f"{part.file}, array {part.x!r}")
            del raw
            labels = _array(archive, part, part.y, (part.examples,), "buiU", 4 * _LETTERS)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as problem:
        raise NotADataSet(f"{part.file}: expected a file of numpy.savez: {str(problem)[:200]}.") from None
    return x, _labels(labels, data, f"{part.file}, array {part.y!r}")


def _array(
    archive: zipfile.ZipFile, part: Location, name: str, shape: tuple[int, ...], kinds: str, item: int
) -> npt.NDArray[Any]:
    """The array of that name; its header is looked at before its numbers are read."""
    where = f"{part.file}, array {name!r}"
    if f"{name}.npy" not in archive.namelist():
        raise NotADataSet(f"{where}: expected it in the file, found no such array.")
    try:
        with archive.open(f"{name}.npy") as file:
            read_header = _HEADERS[np.lib.format.read_magic(file)]
            stored, _, dtype = read_header(file)
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError):
        raise NotADataSet(f"{where}: expected an array as numpy.savez writes it.") from None
    if dtype.hasobject:
        raise NotADataSet(f"{where}: expected numbers, found Python objects, never read: they could run code.")
    if dtype.kind not in kinds or dtype.itemsize > item:
        raise NotADataSet(f"{where}: expected {'numbers' if 'f' in kinds else 'labels'}, found type {dtype}.")
    if stored != shape:
        raise NotADataSet(f"{where}: expected shape {shape} as declared, found {stored}.")
    with archive.open(f"{name}.npy") as file:
        try:
            array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            padded = bool(file.read(1))  # the end, where the checksum is compared
        except ValueError:
            padded = True
    if padded:
        size = math.prod(shape) * dtype.itemsize
        raise NotADataSet(f"{where}: expected {size:,} bytes of numbers, found another length: cut or padded.")
    return array


def _scaled(raw: npt.NDArray[Any], data: Description, where: str) -> npt.NDArray[np.float32]:
    """As a network reads it, some examples at a time."""
    x = np.empty((len(raw), *data.shape), dtype=np.float32)
    few = max(1, _BLOCK // max(1, 8 * math.prod(data.shape)))
    for first in range(0, len(raw), few):
        block = raw[first : first + few].astype(np.float64)
        if not np.isfinite(block).all():
            bad = first + int(np.argmin(np.isfinite(block).reshape(len(block), -1).all(axis=1)))
            raise NotADataSet(f"{where}, example {bad}: expected finite numbers. Fill in what is missing.")
        x[first : first + few] = scaled_examples(block, data)
    return x


def scaled_examples(block: npt.NDArray[np.float64], data: Description) -> npt.NDArray[np.float32]:
    """Examples (n, *stored) as (n, *shape), scaled by feature or channel."""
    if len(data.stored) == 2:
        block = block[..., None]
    channels_first = len(data.stored) == 3 and data.stored == data.shape and data.stored[2] not in (1, 3)
    if channels_first:
        block = block.transpose(0, 2, 3, 1)
    scaled = data.scale(block)
    return scaled if len(data.shape) == 1 else scaled.transpose(0, 3, 1, 2)


def _labels(stored: npt.NDArray[Any], data: Description, where: str) -> npt.NDArray[np.int64]:
    if stored.dtype.kind == "b":
        stored = stored.astype(np.int64)
    names, places = np.unique(stored, return_inverse=True)
    numbers = {name: at for at, name in enumerate(data.classes)}
    labels = np.array([numbers.get(str(name), -1) for name in names.tolist()], dtype=np.int64)[places.reshape(-1)]
    if labels.size and labels.min() < 0:
        raise data.no_class(f"{where}, example {int(np.argmin(labels))}")
    return labels
