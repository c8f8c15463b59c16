"""Data sets, in the order in which pages offer them: rows of `sets.toml`, read as `formats.FORMATS` says."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from dpviz.training.data.base import DataFile, DataSet
from dpviz.training.data.formats import FORMATS


def _file(copies: Any = (), **row: Any) -> DataFile:
    return DataFile(copies=tuple(_file(**copy) for copy in copies), **row)


def read_sets(text: str) -> dict[str, DataSet]:
    """The data sets of a TOML file by key."""
    sets: dict[str, DataSet] = {}
    for key, row in tomllib.loads(text).items():
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        values["reader"] = FORMATS[values.pop("format")]
        values["files"] = {role: _file(**file) for role, file in values.get("files", {}).items()}
        if values.pop("shipped", False):  # beside this file, with its licences
            values["system_folder"] = str(Path(__file__).parent)
        if "extends" in values:
            values["extends"] = sets[values["extends"]]
        sets[key] = DataSet(key=key, **values)
    return sets


DATA_SETS = read_sets((resources.files(__name__) / "sets.toml").read_text(encoding="utf-8"))
