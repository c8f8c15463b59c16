"""A user's own data set as arrays, and the mark by which its owner recognises it.

Sizes are held against the description before anything is allocated or unpacked, pickles are refused, and no message
tells a value that stands in a file: that may be private.
"""

import csv
import hashlib
import hmac
import math
import os
import secrets
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from dpviz.training.data.base import DataUnavailable, Parts
from dpviz.training.data.own.describe import Description, Feature, Location, NotADataSet
from dpviz.training.words import words

KEY = ".dpviz-key"
_KEY_BYTES = 32
_BLOCK = 2**24  # numbers of an array that are scaled at once
_ITEM = 8  # bytes a number
_LETTERS = 200  # in a label
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_FORMATS = ("PNG", "JPEG", "BMP", "PPM")
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")  # eight bits a channel, or fewer
MOST_FILE = 2**26  # bytes of one image
MOST_LINE = 10**6  # characters

# Features or pixels, labels, and whose each row is where the part names persons.
Examples = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.int64] | None]


def read(data: Description) -> Parts:
    """All examples of training and of test, x (n, *shape) scaled as declared.

    Raises:
        NotADataSet: if a file does not hold what the description says; naming file, line, column or position.
        DataUnavailable: if a file is not on this machine.
    """
    with _worded(data):
        parts = [READERS[data.kind](data, part) for part in data.parts]
    if len(parts) == 2:
        (x, y, persons), (test_x, test_y, _) = parts
        return Parts(x, y, test_x, test_y, persons)
    ((x, y, _),) = parts
    order = np.random.default_rng(data.seed).permutation(len(y))
    test, train = np.sort(order[: data.test]), np.sort(order[data.test :])
    return Parts(x[train], y[train], x[test], y[test])


def content(data: Description) -> str:
    """SHA-256, in hexadecimal, of the description and of every file that it names: another one, another data set.

    Not to be passed on: whoever knows all examples but one could try which the last one is. See `mark`.
    """
    digest = hashlib.sha256(hashlib.sha256(data.text).digest())
    with _worded(data):
        for part in dict.fromkeys(data.parts):
            images = data.kind == "images"
            for path in [path for _, path in image_files(data, part)] if images else [data.folder / part.file]:
                name = f"{part.file}/{path.parent.name}/{path.name}" if images else part.file
                with path.open("rb") as file:
                    same = hashlib.file_digest(file, "sha256").digest()
                digest.update(hashlib.sha256(os.fsencode(name)).digest() + same)
    return digest.hexdigest()


def mark(data: Description, digest: str) -> str:
    """`content` under the folder's secret key: the same for the same data, and nothing without the key.

    Empty where the folder holds no key and none can be written into it.
    """
    key = _key(data.folder / KEY)
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()[:32] if key else ""


def _key(path: Path) -> bytes:
    """The folder's secret key, readable by its owner only. If several processes create it, the first one's counts."""
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


@contextmanager
def _worded(data: Description) -> Iterator[None]:
    """Turns errors of a missing or unreadable file into messages that name the file without its folders."""
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


# CSV, row by row: nothing is held but the numbers that were asked for.


def read_csv(data: Description, part: Location) -> Examples:
    """Features (n, width), labels (n,) and persons (n,) of a part."""
    x, y, done = np.empty((part.examples, *data.shape)), np.empty(part.examples, dtype=np.int64), 0
    owners: list[str] = []
    with (data.folder / part.file).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(_lines(file, part.file), delimiter=data.separator, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            label, *places = (_place(header, name, part.file) for name in (data.label, *(c.name for c in data.columns)))
            owner = _place(header, data.person, part.file) if part.persons else None
            for row in filter(None, reader):
                where = f"{part.file}, line {reader.line_num}"
                if done == part.examples:
                    raise data.wrong_number(part, "more")
                if len(row) != len(header):
                    raise NotADataSet(f"{where}: expected {len(header)} values, found {len(row)}.")
                cells = [row[place].strip() for place in places]
                x[done] = [number for at in zip(cells, data.columns, strict=True) for number in _numbers(*at, where)]
                if row[label].strip() not in data.classes:
                    raise data.no_class(f"{where}, column {data.label!r}")
                y[done] = data.classes.index(row[label].strip())
                if owner is not None:
                    owners.append(row[owner].strip())
                done += 1
        except UnicodeDecodeError:
            raise NotADataSet(f"{part.file}: expected text in UTF-8. Save it again with that encoding.") from None
        except csv.Error as problem:
            raise NotADataSet(f"{part.file}, line {reader.line_num}: expected a CSV file: {problem}.") from None
    if done < part.examples:
        raise data.wrong_number(part, f"{done:,}")
    at = 0
    for column in data.columns:
        if column.scale is not None:
            x[:, at : at + 1] = column.scale(x[:, at : at + 1])
        at += column.width
    return x.astype(np.float32), y, _persons(data, part, owners) if part.persons else None


def _persons(data: Description, part: Location, owners: list[str]) -> npt.NDArray[np.int64]:
    """A number for the person of each row, (n,)."""
    names, persons = np.unique(owners, return_inverse=True)
    column = f"{part.file}, column {data.person!r}"
    if "" in names:
        raise NotADataSet(f"{column}: expected the person of every row, found an empty cell.")
    if len(names) != part.persons:
        raise NotADataSet(
            f"{column}: expected {part.persons:,} persons as {data.name}.toml declares, found {len(names):,}. Set "
            "persons to the public number of persons, and keep the rows of so many persons."
        )
    return persons.astype(np.int64)


def _lines(file: TextIO, name: str) -> Iterator[str]:
    """The file's lines, none longer than MOST_LINE: a file without line ends is not read whole to find that out."""
    while line := file.readline(MOST_LINE):
        if len(line) == MOST_LINE:
            raise NotADataSet(f"{name}: expected lines of at most {MOST_LINE:,} characters.")
        yield line


def _place(header: list[str], name: str, file: str) -> int:
    if header.count(name) != 1:
        raise NotADataSet(
            f"{file}, line 1: expected one column {name!r}, found {header.count(name)} among {len(header)} names."
        )
    return header.index(name)


def _numbers(cell: str, column: Feature, where: str) -> list[float]:
    """A cell as numbers, before scaling."""
    expected, way_out = "one of its categories, found something else", "List it, or set others = true for all zeros."
    if column.scale is None:
        if cell in column.categories or column.others:
            return [float(cell == category) for category in column.categories]
    else:
        if not cell and column.missing is not None:
            return [column.missing]
        with suppress(ValueError):
            value = float(cell)
            if math.isfinite(value) and "_" not in cell:
                return [value]
        expected = f"a number, found {'another text' if cell else 'nothing'}"
        way_out = "" if cell else "State the value of an empty cell: missing = …"
    raise NotADataSet(f"{where}, column {column.name!r}: expected {expected}. {way_out}".rstrip())


# Arrays of an npz file.


def read_npz(data: Description, part: Location) -> Examples:
    """Features (n, *shape) and labels (n,) of a part, which names no persons."""
    try:
        with zipfile.ZipFile(data.folder / part.file) as archive:
            raw = _array(archive, part, part.x, (part.examples, *data.stored), "buif", _ITEM)
            x = _scaled(raw, data, f"{part.file}, array {part.x!r}")
            del raw
            labels = _array(archive, part, part.y, (part.examples,), "buiU", 4 * _LETTERS)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as problem:
        raise NotADataSet(f"{part.file}: expected a file of numpy.savez: {str(problem)[:200]}.") from None
    names, places = np.unique(labels.astype(np.int64) if labels.dtype.kind == "b" else labels, return_inverse=True)
    numbers = {name: at for at, name in enumerate(data.classes)}
    y = np.array([numbers.get(str(name), -1) for name in names.tolist()], dtype=np.int64)[places.reshape(-1)]
    if y.size and y.min() < 0:
        raise data.no_class(f"{part.file}, array {part.y!r}, example {int(np.argmin(y))}")
    return x, y, None


def _array(
    archive: zipfile.ZipFile, part: Location, name: str, shape: tuple[int, ...], kinds: str, item: int
) -> npt.NDArray[Any]:
    """The array of that name. Its header is checked before its numbers are read."""
    where = f"{part.file}, array {name!r}"
    if f"{name}.npy" not in archive.namelist():
        raise NotADataSet(f"{where}: expected it in the file, found no such array.")
    try:
        with archive.open(f"{name}.npy") as file:
            stored, _, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError):
        raise NotADataSet(f"{where}: expected an array as numpy.savez writes it.") from None
    if dtype.hasobject:
        raise NotADataSet(words("own_objects", where=where))
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
        raise NotADataSet(words("own_length", where=where, size=size))
    return array


def _scaled(raw: npt.NDArray[Any], data: Description, where: str) -> npt.NDArray[np.float32]:
    """The examples as a network reads them, some at a time."""
    x = np.empty((len(raw), *data.shape), dtype=np.float32)
    few = max(1, _BLOCK // max(1, 8 * math.prod(data.shape)))
    for first in range(0, len(raw), few):
        block = raw[first : first + few].astype(np.float64)
        finite = np.isfinite(block).reshape(len(block), -1).all(axis=1)
        if not finite.all():
            bad = first + int(np.argmin(finite))
            raise NotADataSet(f"{where}, example {bad}: expected finite numbers. Replace missing values.")
        x[first : first + few] = _scaled_examples(block, data)
    return x


def _scaled_examples(block: npt.NDArray[np.float64], data: Description) -> npt.NDArray[np.float32]:
    """Examples (n, *stored) as (n, *shape), scaled by feature or channel."""
    if len(data.stored) == 2:
        block = block[..., None]
    elif len(data.stored) == 3 and data.stored == data.shape and data.stored[2] not in (1, 3):  # channels first
        block = block.transpose(0, 2, 3, 1)
    scaled = data.scale(block)
    return scaled if len(data.shape) == 1 else scaled.transpose(0, 3, 1, 2)


# Folders of images, one folder a class.


def read_images(data: Description, part: Location) -> Examples:
    """Pixels (n, channels, height, width) and labels (n,) of a part, in the order of classes and file names."""
    x = np.empty((part.examples, *data.shape), dtype=np.float32)
    y, done = np.empty(part.examples, dtype=np.int64), 0
    for label, path in image_files(data, part):
        if done == part.examples:
            raise data.wrong_number(part, "more")
        pixels = _pixels(path, f"{part.file}/{path.parent.name}/{path.name}", data)
        x[done], y[done] = _scaled_examples(pixels[None].astype(np.float64), data)[0], label
        done += 1
    if done < part.examples:
        raise data.wrong_number(part, f"{done:,}")
    return x, y, None


def image_files(data: Description, part: Location) -> Iterator[tuple[int, Path]]:
    """Label and path of every image, without hidden files."""
    root = data.folder / part.file
    here = {path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")}
    if here - set(data.classes):
        raise NotADataSet(
            f"{part.file}: expected folders named after the classes of {data.name}.toml only, found another. Add its "
            "class there, or remove the folder."
        )
    for label, name in enumerate(data.classes):
        if name in here:
            files = (path for path in (root / name).iterdir() if path.is_file() and not path.name.startswith("."))
            yield from ((label, path) for path in sorted(files))


def _pixels(path: Path, where: str, data: Description) -> npt.NDArray[np.uint8]:
    """One image in the shape `data.stored`, bytes from 0 to 255. The size is checked before its pixels are decoded."""
    channels, height, width = data.shape
    if path.stat().st_size > MOST_FILE:
        raise NotADataSet(f"{where}: expected a file of at most {MOST_FILE:,} bytes.")
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")  # Pillow's, of huge images: refused below
            with Image.open(file, formats=_FORMATS) as image:
                if image.size != (width, height):
                    raise NotADataSet(
                        f"{where}: expected {width} × {height} pixels as declared, found {image.size[0]:,} × "
                        f"{image.size[1]:,}. All images must have the same size."
                    )
                if image.mode not in _MODES:
                    raise NotADataSet(f"{where}: expected eight bits a channel. Save it again as PNG or JPEG.")
                pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    except NotADataSet:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as problem:
        if isinstance(problem, OSError) and problem.errno is not None:
            raise
        raise NotADataSet(f"{where}: expected a whole image ({', '.join(_FORMATS)}).") from None
    return pixels.reshape(data.stored)


READERS: dict[str, Callable[[Description, Location], Examples]] = {
    "csv": read_csv,
    "npz": read_npz,
    "images": read_images,
}
