"""Norms or distances from a file that someone brings: CSV text or a NumPy array.

The bytes come from strangers: nothing in them is ever executed (a pickle in an NPY file is refused unread), nothing is
allocated on their word alone, and whatever they are, the answer is a sample or a ValueError that says what to change.
"""

import csv
import io
import math
import re
from typing import NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.gradients.sample import GradientSample

MOST_ROWS = 20_000_000
_MOST_COLUMNS = 10_000
_NPY = b"\x93NUMPY"
_SEPARATORS = (",", ";", "\t")


def read_distances(data: bytes, name: str, column: str | None = None) -> GradientSample:
    """Reads one column of norms or distances.

    Args:
        data: the file's bytes: CSV text in UTF-8 (separated by comma, semicolon or tab, with or without a header
            line, one number per row), or an NPY array of shape (n,) or (n, columns).
        name: the file's name, for messages and the description.
        column: which column, by one of the names of `columns(data, name)`; may be left out if there is only one.

    Returns:
        A sample of plain numbers: at least 2, finite, ≥ 0.

    Raises:
        ValueError: saying which row or which limit, and what would do.
    """
    names = columns(data, name)
    if column is None and len(names) > 1:
        raise ValueError(f"Expected column to choose one of {name}'s {len(names)} columns: {_listed(names)}.")
    chosen = names[0] if column is None else column
    if chosen not in names:
        raise ValueError(f"Expected column={chosen!r} to be one of {name}'s columns: {_listed(names)}.")
    position = names.index(chosen)
    values = _npy_column(data, name, position) if data.startswith(_NPY) else _csv_column(data, name, position)
    _check(values, name, chosen)
    named = chosen if chosen.startswith("column ") else f"column {chosen}"
    where = "" if names == ["column 1"] else f", {named}"
    return GradientSample(values, f"{values.size:,} numbers from the file {name}{where}.")


def columns(data: bytes, name: str) -> list[str]:
    """Names of the columns, for a chooser; those of a file without a header are "column 1", "column 2", …

    Raises:
        ValueError: for an empty file, one that is neither text nor NPY, or one with too many rows or columns.
    """
    if not data.strip():
        raise ValueError(f"Expected numbers in {name}, found an empty file.")
    if data.startswith(_NPY):
        shape = _npy_shape(data, name)
        return [f"column {i + 1}" for i in range(shape[1] if len(shape) == 2 else 1)]
    return _csv_layout(data, name).names


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(one[:40]) for one in names[:20])
    return shown if len(names) <= 20 else f"{shown}, … ({len(names)} in all)"


def _check(values: Array, name: str, column: str) -> None:
    """Refuses what is no distance, naming the first row, counted from 1 without header and blank lines."""
    if values.size < 2:
        raise ValueError(f"Expected at least 2 numbers in {name}, {column}, found {values.size}.")
    for wrong, what in (
        (np.isnan(values), "a number in every row"),
        (np.isinf(values), "finite numbers"),
        (values < 0, "norms or distances >= 0"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            cell = "nothing or NaN" if math.isnan(values[row]) else f"{values[row]:.12g}"
            raise ValueError(
                f"Expected {what} in {name}, {column}: row {row + 1:,} holds {cell}"
                f" ({int(wrong.sum()):,} such row{'s' if wrong.sum() > 1 else ''})."
            )


def _too_many(name: str, rows: int) -> ValueError:
    return ValueError(f"Expected at most {MOST_ROWS:,} rows in {name}, found {rows:,}: take a random part of them.")


def _npy_shape(data: bytes, name: str) -> tuple[int, ...]:
    """Checks the header against the bytes that are there: a header may claim any shape."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, dtype = read(stream)
        shape = tuple(int(length) for length in shape)
    except Exception:  # the parser raises whatever rubbish makes it raise, from SyntaxError to RecursionError
        raise ValueError(f"Expected {name} to be a NumPy array of numbers; its header cannot be read.") from None
    if dtype.hasobject:
        raise ValueError(f"Expected {name} to hold numbers, found Python objects, which are never loaded: save floats.")
    if dtype.kind not in "fiu":
        raise ValueError(f"Expected {name} to hold real numbers, found type {dtype}: save it as floats.")
    if len(shape) not in (1, 2):
        raise ValueError(f"Expected {name} of shape (rows,) or (rows, columns), found {shape}.")
    if min(shape) < 0 or len(data) - stream.tell() != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"Expected {name} to hold an array of shape {shape}; it is cut off or damaged.")
    if shape[0] > MOST_ROWS:
        raise _too_many(name, shape[0])
    if len(shape) == 2 and not 1 <= shape[1] <= _MOST_COLUMNS:
        raise ValueError(f"Expected {name} of 1 to {_MOST_COLUMNS:,} columns, found shape {shape}.")
    return shape


def _npy_column(data: bytes, name: str, position: int) -> Array:
    _npy_shape(data, name)
    table = np.load(io.BytesIO(data), allow_pickle=False)
    with np.errstate(over="ignore"):
        return np.array(table if table.ndim == 1 else table[:, position], dtype=np.float64)


class _Layout(NamedTuple):
    """Of a CSV file."""

    names: list[str]
    separator: str
    header: bool


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv_layout(data: bytes, name: str) -> _Layout:
    """Separator, header and names from the first line that is not blank."""
    if data.startswith(b"PK\x03\x04"):
        raise ValueError(f"Expected {name} as CSV or NPY, found a zip archive (NPZ or a spreadsheet): unpack it first.")
    head = data[: 1 << 20]
    if b"\x00" in head or b"\x00" in data:
        raise ValueError(f"Expected {name} as CSV text or NPY, found binary data.")
    try:
        text = head.decode("utf-8-sig") if len(head) == len(data) else _cut(head).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"Expected {name} as CSV text in UTF-8 or NPY, found other bytes.") from None
    if name.lower().endswith(".npy"):
        raise ValueError(f"Expected {name} to be a NumPy array; it does not begin like one.")
    rows = max(data.count(b"\n"), data.count(b"\r")) + (not data.endswith((b"\n", b"\r")))
    if rows > MOST_ROWS + 1:
        raise _too_many(name, rows)
    line = text.lstrip("\r\n").split("\n")[0].split("\r")[0]
    separator = max(_SEPARATORS, key=line.count)
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        raise ValueError(f"Expected {name} as CSV text; its first line cannot be read.") from None
    if len(cells) > _MOST_COLUMNS or not cells:
        raise ValueError(f"Expected {name} of 1 to {_MOST_COLUMNS:,} columns, found {len(cells):,}.")
    header = not any(_is_number(cell) for cell in cells) and any(cells)
    return _Layout(_unique(cells) if header else [f"column {i + 1}" for i in range(len(cells))], separator, header)


def _cut(head: bytes) -> bytes:
    """Whole lines only, or whole characters where there is no line end: a character may lie across the cut."""
    end = head.rfind(b"\n")
    return head[: end + 1] if end >= 0 else head.decode("utf-8-sig", errors="ignore").encode()


def _unique(cells: list[str]) -> list[str]:
    """Names that tell columns apart: empty and repeated ones get their position."""
    names: list[str] = []
    for i, cell in enumerate(cells):
        names.append(cell if cell and cell not in names else f"{cell or 'column'} {i + 1}")
    return names


def _csv_column(data: bytes, name: str, position: int) -> Array:
    layout = _csv_layout(data, name)
    column = layout.names[position]
    if layout.header and b"\n" not in data.strip() and b"\r" not in data.strip():
        raise ValueError(f"Expected numbers in {name}, found only the line of column names {_listed(layout.names)}.")
    # text in, not bytes: NumPy's parser reads 10⁷ rows in two seconds so, and four times slower from bytes
    lines = io.TextIOWrapper(io.BytesIO(data.lstrip(b"\r\n")), encoding="utf-8-sig")
    try:
        return np.loadtxt(
            lines, delimiter=layout.separator, skiprows=int(layout.header), usecols=[position], comments=None,
            quotechar='"', ndmin=1,
        )  # fmt: skip
    except UnicodeDecodeError:
        raise ValueError(f"Expected {name} as CSV text in UTF-8, found other bytes.") from None
    except ValueError as error:
        raise _csv_error(str(error), name, column) from None


def _csv_error(reason: str, name: str, column: str) -> ValueError:
    """NumPy's message in our words, with rows counted from 1."""
    text = re.search(r"could not convert string '(.*)' to float64 at row (\d+)", reason, re.DOTALL)
    if text:
        cell = f"the text {text[1][:40]!r}" if text[1].strip() else "nothing"
        return ValueError(f"Expected numbers in {name}, {column}: row {int(text[2]) + 1:,} holds {cell}.")
    short = re.search(r"invalid column index \d+ at row (\d+) with (\d+) columns", reason)
    if short:
        return ValueError(f"Expected {column} in every row of {name}: row {short[1]} has {short[2]} column(s) only.")
    return ValueError(f"Expected {name} as CSV text with one number per row and column: {reason[:200]}.")
