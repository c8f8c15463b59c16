"""UCI Adult (Barry Becker, Ronny Kohavi): who earned more than 50,000 dollars in the census of 1994."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from dpviz.training.data.base import DataSet, Parts
from dpviz.training.data.rows import Array, Labels, number, rows_of
from dpviz.training.data.sources import SHIPPED, DataFile, DataSource, fetch

SOURCE = DataSource(
    name="adult",
    files={
        "train": DataFile("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
        "test": DataFile("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
    },
    mirrors=(),
    system_folder=SHIPPED,
)
# The published description of the set (adult.names) lists these; "?" is a category of its own nowhere, but all zeros.
_CATEGORIES: dict[int, tuple[str, ...]] = {
    1: (
        "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
        "Never-worked",
    ),
    5: (
        "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    6: (
        "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
        "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
        "Priv-house-serv", "Protective-serv", "Armed-Forces",
    ),
    7: ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    8: ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    9: ("Female", "Male"),
    13: ("United-States",),
}  # fmt: skip
# Column → (middle, half width): age, years of education, hours a week. Education by name repeats its years, and the
# census weight is no attribute of a person: both are left out.
_NUMBERS = {0: (45.0, 25.0), 4: (9.0, 7.0), 12: (40.0, 20.0)}
# Gains and losses are mostly 0 and sometimes very large: ln(1 + dollars)/10.
_DOLLARS = (10, 11)
_COLUMNS = 15


def parse_adult(raw: bytes, name: str = "adult") -> tuple[Array, Labels]:
    """Features (n, 48) and labels (n,), 1 for more than 50,000 dollars a year, of adult.data or adult.test."""
    rows = rows_of(raw, _COLUMNS, name)
    columns: list[npt.NDArray[np.float64]] = []
    for at, (middle, half) in _NUMBERS.items():
        columns.append((np.array([number(row[at], name) for row in rows]) - middle) / half)
    columns.extend(np.log1p([number(row[at], name) for row in rows]) / 10.0 for at in _DOLLARS)
    for at, categories in _CATEGORIES.items():
        columns.extend(np.array([row[at] == category for row in rows], dtype=np.float64) for category in categories)
    answers = [row[14].rstrip(".") for row in rows]
    unknown = set(answers) - {"<=50K", ">50K"}
    if unknown:
        raise ValueError(f"Expected <=50K or >50K in {name}, found {sorted(unknown)[0]!r}.")
    labels = np.array([answer == ">50K" for answer in answers], dtype=np.int64)
    return np.stack(columns, axis=1).astype(np.float32), labels


def _read(folder: str | Path | None) -> Parts:
    train, test = (parse_adult(fetch(SOURCE, role, folder), role) for role in ("train", "test"))
    return (*train, *test)


ADULT = DataSet(
    key="adult",
    title="UCI Adult, incomes",
    example="test people",
    examples=32_561,
    test_examples=16_281,
    shape=(48,),
    classes=2,
    note="more than $50,000 a year? CC BY 4.0, scaled by fixed ranges",
    read=_read,
    usual={"batch_size": 1024},
)
