"""A table in a CSV file as features and labels, row by row: nothing is held but the numbers that were asked for."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

import numpy as np
import numpy.typing as npt

from dpviz.training.data.own.describe import Description, Feature, Location
from dpviz.training.data.own.words import NotADataSet

MOST_LINE = 10**6  # characters


def read_csv(data: Description, part: Location) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features (n, width) and labels (n,) of a part.

    Raises:
        NotADataSet: naming file, line and column; never the value, which may be private.
        OSError: if the file cannot be read.
    """
    x = np.empty((part.examples, *data.shape))
    y = np.empty(part.examples, dtype=np.int64)
    places = {name: at for at, name in enumerate(data.classes)}
    with (data.folder / part.file).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(_lines(file, part.file), delimiter=data.separator, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            at_label = _place(header, data.label, part.file)
            at = [_place(header, column.name, part.file) for column in data.columns]
            done = 0
            for row in reader:
                if not row:
                    continue
                where = f"{part.file}, line {reader.line_num}"
                if done == part.examples:
                    raise _wrong_number(data, part, "more")
                if len(row) != len(header):
                    raise NotADataSet(f"{where}: expected {len(header)} values, found {len(row)}.")
                x[done] = _features(row, data.columns, at, where)
                label = places.get(row[at_label].strip())
                if label is None:
                    raise NotADataSet(
                        f"{where}, column {data.label!r}: expected one of the classes of {data.name}.toml, found "
                        "something else. Add it there, or leave the row out."
                    )
                y[done] = label
                done += 1
        except UnicodeDecodeError:
            raise NotADataSet(f"{part.file}: expected text in UTF-8. Save it again with that encoding.") from None
        except csv.Error as problem:
            raise NotADataSet(f"{part.file}, line {reader.line_num}: expected a CSV file: {problem}.") from None
    if done < part.examples:
        raise _wrong_number(data, part, f"{done:,}")
    return _scaled(x, data.columns), y


def _scaled(x: npt.NDArray[np.float64], columns: tuple[Feature, ...]) -> npt.NDArray[np.float32]:
    at = 0
    for column in columns:
        if column.scale is not None:
            x[:, at : at + 1] = column.scale(x[:, at : at + 1])
        at += column.width
    return x.astype(np.float32)


def _lines(file: TextIO, name: str) -> Iterator[str]:
    """The file's lines, none longer than MOST_LINE: a file without line ends is not read whole to find that out."""
    while line := file.readline(MOST_LINE):
        if len(line) == MOST_LINE:
            raise NotADataSet(f"{name}: expected lines of at most {MOST_LINE:,} characters.")
        yield line


def _wrong_number(data: Description, part: Location, found: str) -> NotADataSet:
    return NotADataSet(
        f"{part.file}: expected {part.examples:,} rows as {data.name}.toml declares, found {found}. Set examples to "
        "what is public of their number, and keep as many rows."
    )


def _place(header: list[str], name: str, file: str) -> int:
    if header.count(name) != 1:
        raise NotADataSet(
            f"{file}, line 1: expected one column {name!r}, found {header.count(name)} among {len(header)} names."
        )
    return header.index(name)


def _features(row: list[str], columns: tuple[Feature, ...], at: list[int], where: str) -> list[float]:
    """The cells as numbers, before scaling."""
    found: list[float] = []
    for column, place in zip(columns, at, strict=True):
        cell = row[place].strip()
        if column.scale is not None:
            found.append(_number(cell, column, where))
            continue
        if cell not in column.categories and not column.others:
            raise NotADataSet(
                f"{where}, column {column.name!r}: expected one of its categories, found something else. List it, or "
                "say others = true for all zeros."
            )
        found.extend(float(cell == category) for category in column.categories)
    return found


def _number(cell: str, column: Feature, where: str) -> float:
    if not cell and column.missing is not None:
        return column.missing
    try:
        value = float(cell) if "_" not in cell else float("nan")
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        hint = "" if cell else " Say what stands in for an empty cell: missing = …"
        raise NotADataSet(
            f"{where}, column {column.name!r}: expected a number, found {'another text' if cell else 'nothing'}.{hint}"
        )
    return value
