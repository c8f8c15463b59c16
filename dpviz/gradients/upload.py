"""Norms or distances from an uploaded file: CSV text, an export of W&B or TensorBoard, or a NumPy array.

The bytes come from strangers: nothing in them is ever executed (a pickle in an NPY file is refused unread), nothing is
allocated on their word alone, and whatever they are, the answer is a sample or a ValueError that says what to change.
"""

import math
import re

import numpy as np

from dpviz._arrays import Array
from dpviz.gradients.csv_file import CsvFile, open_csv
from dpviz.gradients.npy_file import MAGIC, NpyFile, open_npy
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.tensorboard_json import TensorboardCurve, open_tensorboard

JSON = re.compile(rb"\s*\[\s*\[")
File = CsvFile | NpyFile | TensorboardCurve
# Columns that count or tell the time, and W&B's copies of a curve for its band of minimum and maximum.
COUNTERS = re.compile(
    r"(trainer/)?_?(global_?)?(step|epoch|iteration|batch|index|id|row)s?"
    r"|_?(wall|relative)?[ _]?(time|runtime|timestamp)"
    r"|unnamed: \d+|.*__(min|max)",
    re.IGNORECASE,
)


def read_distances(data: bytes, name: str, column: str | None = None) -> GradientSample:
    """Reads one column of norms or distances.

    Args:
        data: the file's bytes: CSV text in UTF-8 (separated by comma, semicolon or tab, with decimal points or
            commas, with or without a header line, one number per line), an export of W&B (CSV) or TensorBoard (CSV or
            JSON), or an NPY array of shape (n,) or (n, columns).
        name: the file's name, for messages and the description.
        column: which column, by one of the names of `columns(data, name)`; may be left out if there is only one,
            beside counters and times.

    Returns:
        A sample of plain numbers: at least 2, finite, ≥ 0.

    Raises:
        ValueError: saying which line or which limit, and what would do.
    """
    file = _opened(data, name)
    names, counters = _ordered(file)
    if column is None and len(names) - counters != 1 and len(names) > 1:
        raise ValueError(f"Expected column to choose one of {name}'s {len(names)} columns: {listed(names)}.")
    chosen = names[0] if column is None else column
    if chosen not in names:
        raise ValueError(f"Expected column={chosen!r} to be one of {name}'s columns: {listed(names)}.")
    values, empty = file.column(file.names.index(chosen))
    _check(values, file, name, chosen)
    blank = 0 if empty is None else int(empty.sum())
    values = values if empty is None else values[~empty]
    if values.size < 2:
        raise ValueError(f"Expected at least 2 numbers in {name}, {chosen}, found {values.size}.")
    named = chosen if chosen.startswith("column ") else f"column {chosen}"
    where = "" if names == ["column 1"] else f", {named}"
    steps = f" {blank:,} step{'s' if blank > 1 else ''} without a value are left out." if blank else ""
    return GradientSample(values, f"{values.size:,} numbers from the file {name}{where}.{steps}")


def columns(data: bytes, name: str) -> list[str]:
    """Names of the columns, for a chooser: counters and times come last.

    Those of a file without a header are "column 1", "column 2", …

    Raises:
        ValueError: for an empty file, one that is neither text nor NPY, one with too many rows or columns, or one
            whose lines have different numbers of cells.
    """
    return _ordered(_opened(data, name))[0]


def listed(names: list[str]) -> str:
    """The names in quotes, for a message; twenty at most."""
    shown = ", ".join(repr(one[:40]) for one in names[:20])
    return shown if len(names) <= 20 else f"{shown}, … ({len(names)} in all)"


def _opened(data: bytes, name: str) -> File:
    if not data.strip():
        raise ValueError(f"Expected numbers in {name}, found an empty file.")
    if data.startswith(MAGIC):
        return open_npy(data, name)
    return open_tensorboard(data, name) if JSON.match(data) else open_csv(data, name)


def _ordered(file: File) -> tuple[list[str], int]:
    """The names, counters and times last, and how many these are."""
    counters = [name for name in file.names if COUNTERS.fullmatch(name)]
    return [name for name in file.names if name not in counters] + counters, len(counters)


def _check(values: Array, file: File, name: str, column: str) -> None:
    """Refuses what is no distance, naming the first place."""
    for wrong, what in (
        (np.isnan(values), "a number in every row"),
        (np.isinf(values), "finite numbers"),
        (values < 0, "norms or distances >= 0"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            cell = "nothing or NaN" if math.isnan(values[row]) else f"{values[row]:.12g}"
            raise ValueError(
                f"Expected {what} in {name}, {column}: {file.place(row)} holds {cell}"
                f" ({int(wrong.sum()):,} such row{'s' if wrong.sum() > 1 else ''})."
            )
