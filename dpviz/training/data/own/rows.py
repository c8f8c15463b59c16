"""A table in a CSV file as features and labels, row by row: nothing is held but the numbers that were asked for."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

import numpy as np
import numpy.typing as npt

from dpviz.training.data.own.describe import Description, Feature, Location, NotADataSet

MOST_LINE = 10**6  # characters


def read_csv(data: Description, part: Location) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features (n, width) and labels (n,) of a part.

    Raises:
        NotADataSet: naming file, line and column; never the value, which may be private.
        OSError: if the file cannot be read.
    """
    x = np.empty((part.examples, *data.shape))
    y = np.empty(part.examples, dtype=np.int64)
    done = 0
    with (data.folder / part.file).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(_lines(file, part.file), delimiter=data.separator, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            label, *places = (_place(header, name, part.file) for name in (data.label, *(c.name for c in data.columns)))
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
    return x.astype(np.float32), y


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
    if column.scale is None:
        if cell not in column.categories and not column.others:
            raise NotADataSet(
                f"{where}, column {column.name!r}: expected one of its categories, found something else. List it, or "
                "say others = true for all zeros."
            )
        return [float(cell == category) for category in column.categories]
    if not cell and column.missing is not None:
        return [column.missing]
    try:
        value = float(cell) if "_" not in cell else float("nan")
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        hint = "" if cell else " Say what stands in for an empty cell: missing = …"
        raise NotADataSet(
            f"{where}, column {column.name!r}: expected a number, found {'another text' if cell else 'nothing'}.{hint}"
        )
    return [value]
