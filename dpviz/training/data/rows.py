"""Tables of the UCI Machine Learning Repository: rows of values with commas between.

Their features are scaled by ranges that are common knowledge (years of age, hours in a week, the largest shell), never
by the data itself: a mean computed from the training data would be a release of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


def rows_of(raw: bytes, columns: int, name: str) -> list[list[str]]:
    rows = []
    for number, line in enumerate(raw.decode("ascii", errors="replace").splitlines(), start=1):
        if not line.strip() or line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != columns:
            raise ValueError(f"Expected {columns} values in line {number} of {name}, found {len(cells)}.")
        rows.append(cells)
    if not rows:
        raise ValueError(f"Expected {name} to hold rows of {columns} values, found none.")
    return rows


def number(cell: str, name: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"Expected numbers in {name}, found {cell!r}.") from None
