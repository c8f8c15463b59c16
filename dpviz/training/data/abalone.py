"""UCI Abalone (Warwick Nash and others): which shells are older than most."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpviz.training.data.base import DataSet, Parts
from dpviz.training.data.rows import Array, Labels, number, rows_of
from dpviz.training.data.sources import SHIPPED, DataFile, DataSource, fetch

SOURCE = DataSource(
    name="abalone",
    files={"all": DataFile("abalone.data", "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f")},
    mirrors=(),
    system_folder=SHIPPED,
)
_SEXES = ("M", "F", "I")
# Published means and standard deviations (abalone.names): length, diameter, height, and four weights.
_MEAN = np.array([0.524, 0.408, 0.140, 0.829, 0.359, 0.181, 0.239])
_STD = np.array([0.120, 0.099, 0.042, 0.490, 0.222, 0.110, 0.139])
_OLD_RINGS = 10
_TRAIN = 3_133  # the customary split: the last 1,044 rows are for testing


def parse_abalone(raw: bytes, name: str = "abalone") -> tuple[Array, Labels]:
    """Features (n, 10) and labels (n,), 1 for ten rings or more (eleven and a half years), the older half."""
    rows = rows_of(raw, 9, name)
    unknown = {row[0] for row in rows} - set(_SEXES)
    if unknown:
        raise ValueError(f"Expected M, F or I in {name}, found {sorted(unknown)[0]!r}.")
    sexes = np.array([[row[0] == sex for sex in _SEXES] for row in rows], dtype=np.float64)
    sizes = np.array([[number(cell, name) for cell in row[1:8]] for row in rows])
    labels = np.array([number(row[8], name) >= _OLD_RINGS for row in rows], dtype=np.int64)
    # One height of 1.13 (metres for millimetres) would be 24 deviations off.
    scaled = np.clip((sizes - _MEAN) / _STD, -4.0, 4.0)
    return np.concatenate([sexes, scaled], axis=1).astype(np.float32), labels


def _read(folder: str | Path | None) -> Parts:
    x, y = parse_abalone(fetch(SOURCE, "all", folder))
    return x[:_TRAIN], y[:_TRAIN], x[_TRAIN:], y[_TRAIN:]


ABALONE = DataSet(
    key="abalone",
    title="UCI Abalone",
    example="test shells",
    examples=_TRAIN,
    test_examples=1_044,
    shape=(10,),
    classes=2,
    note="ten rings or more? CC BY 4.0, scaled by published statistics",
    read=_read,
    usual={"batch_size": 256},
)
