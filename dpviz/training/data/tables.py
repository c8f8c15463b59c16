"""Tables of the UCI Machine Learning Repository: rows of values with commas between, whose columns `sets.toml` lists.

A column is a number, as (value − `middle`)/`half` or ln(1 + value)/`log`, none beyond `most`; or one of `categories`,
as many numbers as are listed. The target is 1 where a number is `least` or more, or a text is not `above`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.training.data.base import DataSet, Parts


def parse_table(raw: bytes, data: DataSet) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features (n, *shape) and labels (n,) of one file."""
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
        return
    numbers = np.array(values, dtype=np.float64)
    if "log" in column:
        yield np.log1p(numbers) / column["log"]
    else:
        yield np.clip((numbers - column["middle"]) / column["half"], -most, most)


def read(data: DataSet, folder: str | Path | None) -> Parts:
    train, *test = (parse_table(raw, data) for raw in data.fetched(folder).values())
    if test:
        return Parts(*train, *test[0])
    (x, y), n = train, data.examples
    return Parts(x[:n], y[:n], x[n:], y[n:])
