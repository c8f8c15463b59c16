"""A data set of one's own as arrays, and the mark by which its owner knows it again."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dpviz.training.data.base import Parts
from dpviz.training.data.own.arrays import read_npz
from dpviz.training.data.own.describe import Description, Location, NotADataSet
from dpviz.training.data.own.pictures import files, read_images
from dpviz.training.data.own.rows import read_csv
from dpviz.training.data.sources import DataUnavailable

KEY = ".dpviz-key"
_KEY_BYTES = 32

Reader = Callable[[Description, Location], tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]]
READERS: dict[str, Reader] = {"csv": read_csv, "npz": read_npz, "images": read_images}


def read(data: Description) -> Parts:
    """All examples of training and of test, x (n, *shape) scaled as declared.

    Raises:
        NotADataSet: if a file does not hold what the description says.
        DataUnavailable: if a file is not on this machine.
    """
    with _worded(data):
        parts = [READERS[data.kind](data, part) for part in data.parts]
    if len(parts) == 2:
        return Parts(*parts[0], *parts[1])
    ((x, y),) = parts
    order = np.random.default_rng(data.seed).permutation(len(y))
    test, train = np.sort(order[: data.test]), np.sort(order[data.test :])
    return Parts(x[train], y[train], x[test], y[test])


def content(data: Description) -> str:
    """SHA-256, in hexadecimal, of the description and of every file that it names: another one, another data set.

    Not to be passed on: whoever knows all examples but one could try which the last one is. See `mark`.
    """
    digest = hashlib.sha256(hashlib.sha256(data.text).digest())
    with _worded(data):
        for name, path in _files(data):
            with path.open("rb") as file:
                digest.update(hashlib.sha256(os.fsencode(name)).digest() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def mark(data: Description, digest: str) -> str:
    """`content` under the folder's secret key: the same for the same data, and nothing without the key.

    Empty where the folder holds no key and none can be written into it.
    """
    key = _key(data.folder / KEY)
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()[:32] if key else ""


def _key(path: Path) -> bytes:
    """Made once, whole and for its owner only; of several processes that make it at once, the first one's counts."""
    with suppress(OSError):
        if not path.exists():
            partial = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
            try:
                with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(secrets.token_bytes(_KEY_BYTES))
                with suppress(FileExistsError):
                    os.link(partial, path)
            finally:
                partial.unlink(missing_ok=True)
        key = path.read_bytes()
        return key if len(key) >= _KEY_BYTES else b""
    return b""


def _files(data: Description) -> Iterator[tuple[str, Path]]:
    for part in dict.fromkeys(data.parts):
        if data.kind == "images":
            for _, path in files(data, part):
                yield f"{part.file}/{path.parent.name}/{path.name}", path
        else:
            yield part.file, data.folder / part.file


@contextmanager
def _worded(data: Description) -> Iterator[None]:
    """Says of a file that is missing or cannot be read which it is, without the folders above."""
    try:
        yield
    except OSError as problem:
        name = str(problem.filename or "a file").removeprefix(str(data.folder)).lstrip("/\\")
        if isinstance(problem, FileNotFoundError):
            raise DataUnavailable(
                f"{data.name}: {name} is not on the machine that trains. Put it beside {data.name}.toml, in the folder "
                "that DPVIZ_DATA names there."
            ) from None
        raise NotADataSet(f"{data.name}: {name} cannot be read: {problem.strerror}.") from None
