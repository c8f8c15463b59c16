"""Data sets, in the order in which pages offer them: rows of `sets.toml`, read by the functions of FORMATS."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from dpviz.training.data import cifar10, idx, svhn, tables
from dpviz.training.data.base import DataSet
from dpviz.training.data.sources import SHIPPED, DataFile, DataSource

FORMATS = {"subset": idx.read_subset, "idx": idx.read, "cifar10": cifar10.read, "svhn": svhn.read, "table": tables.read}


def _file(name: str, sha256: str, whole: bool = False, copies: Any = ()) -> DataFile:
    return DataFile(name, sha256, whole, tuple(_file(**copy) for copy in copies))


def _data_sets() -> dict[str, DataSet]:
    rows = tomllib.loads((resources.files(__name__) / "sets.toml").read_text(encoding="utf-8"))
    sets: dict[str, DataSet] = {}
    for key, row in rows.items():
        files = {role: _file(**file) for role, file in row.pop("files", {}).items()}
        folder = SHIPPED if row.pop("shipped", False) else row.pop("system_folder", None)
        source = DataSource(key, files, tuple(row.pop("mirrors", ())), folder, row.pop("package_hint", ""))
        reader, extends = FORMATS[row.pop("format")], sets.get(row.pop("extends", ""))
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        sets[key] = DataSet(key=key, source=source if files else None, reader=reader, extends=extends, **values)
    return sets


DATA_SETS = _data_sets()

__all__ = ["DATA_SETS", "DataSet"]
