"""UCI Adult and Abalone as features and labels.

Features are scaled by ranges that are common knowledge (years of age, hours in a week, the largest shell), never by
the data itself: a mean computed from the training data would be a release of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

# The published description of the set (adult.names) lists these; "?" is a category of its own nowhere, but all zeros.
_ADULT_CATEGORIES: dict[int, tuple[str, ...]] = {
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
_ADULT_NUMBERS = {0: (45.0, 25.0), 4: (9.0, 7.0), 12: (40.0, 20.0)}
# Gains and losses are mostly 0 and sometimes very large: ln(1 + dollars)/10.
_ADULT_DOLLARS = (10, 11)
_ADULT_COLUMNS = 15

_ABALONE_SEXES = ("M", "F", "I")
# Published means and standard deviations (abalone.names): length, diameter, height, and four weights.
_ABALONE_MEAN = np.array([0.524, 0.408, 0.140, 0.829, 0.359, 0.181, 0.239])
_ABALONE_STD = np.array([0.120, 0.099, 0.042, 0.490, 0.222, 0.110, 0.139])
_OLD_RINGS = 10


def _rows(raw: bytes, columns: int, name: str) -> list[list[str]]:
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


def _number(cell: str, name: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"Expected numbers in {name}, found {cell!r}.") from None


def parse_adult(raw: bytes, name: str = "adult") -> tuple[Array, Labels]:
    """Features (n, 48) and labels (n,), 1 for more than 50,000 dollars a year, of adult.data or adult.test."""
    rows = _rows(raw, _ADULT_COLUMNS, name)
    columns: list[npt.NDArray[np.float64]] = []
    for at, (middle, half) in _ADULT_NUMBERS.items():
        columns.append((np.array([_number(row[at], name) for row in rows]) - middle) / half)
    columns.extend(np.log1p([_number(row[at], name) for row in rows]) / 10.0 for at in _ADULT_DOLLARS)
    for at, categories in _ADULT_CATEGORIES.items():
        columns.extend(np.array([row[at] == category for row in rows], dtype=np.float64) for category in categories)
    answers = [row[14].rstrip(".") for row in rows]
    unknown = set(answers) - {"<=50K", ">50K"}
    if unknown:
        raise ValueError(f"Expected <=50K or >50K in {name}, found {sorted(unknown)[0]!r}.")
    labels = np.array([answer == ">50K" for answer in answers], dtype=np.int64)
    return np.stack(columns, axis=1).astype(np.float32), labels


def parse_abalone(raw: bytes, name: str = "abalone") -> tuple[Array, Labels]:
    """Features (n, 10) and labels (n,), 1 for ten rings or more (eleven and a half years), the older half."""
    rows = _rows(raw, 9, name)
    unknown = {row[0] for row in rows} - set(_ABALONE_SEXES)
    if unknown:
        raise ValueError(f"Expected M, F or I in {name}, found {sorted(unknown)[0]!r}.")
    sexes = np.array([[row[0] == sex for sex in _ABALONE_SEXES] for row in rows], dtype=np.float64)
    sizes = np.array([[_number(cell, name) for cell in row[1:8]] for row in rows])
    labels = np.array([_number(row[8], name) >= _OLD_RINGS for row in rows], dtype=np.int64)
    # One height of 1.13 (metres for millimetres) would be 24 deviations off.
    scaled = np.clip((sizes - _ABALONE_MEAN) / _ABALONE_STD, -4.0, 4.0)
    return np.concatenate([sexes, scaled], axis=1).astype(np.float32), labels
