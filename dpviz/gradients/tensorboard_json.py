"""A curve as TensorBoard writes it to JSON: points of wall time, step and value."""

import json
import math
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array

NAMES = ["Wall time", "Step", "Value"]
MOST_BYTES = 50_000_000  # half a million points; Python's parser takes some ten times as much memory


@dataclass(frozen=True)
class TensorboardCurve:
    """A table of shape (points, 3), with the names of its columns."""

    points: Array
    names: list[str]

    def column(self, position: int) -> tuple[Array, None]:
        """The numbers of one column, none of which may be left out."""
        return self.points[:, position], None

    def place(self, row: int) -> str:
        """Where a number stands, counted from 1."""
        return f"point {row + 1:,}"


def open_tensorboard(data: bytes, name: str) -> TensorboardCurve:
    """The curve in a JSON file.

    Raises:
        ValueError: it is too large, or anything else than a list of points of three numbers.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"Expected {name} of at most {MOST_BYTES:,} bytes: take the CSV that TensorBoard offers.")
    problem = ValueError(f"Expected {name} to be a curve as TensorBoard exports it: [[wall time, step, value], …].")
    try:
        points = json.loads(data)
    except (ValueError, RecursionError):
        raise problem from None
    if not all(isinstance(p, list) and len(p) == 3 and all(type(x) in (int, float) for x in p) for p in points):
        raise problem
    return TensorboardCurve(np.array([[_number(x) for x in point] for point in points], dtype=np.float64), NAMES)


def _number(value: float) -> float:
    """A float; infinite where the file writes more digits than one holds."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
