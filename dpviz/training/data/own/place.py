"""Which data sets of one's own there are: `own:NAME` is what NAME.toml in the folder DPVIZ_DATA describes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dpviz._remember import remembered
from dpviz.training.data.own.describe import Description, NotADataSet, described
from dpviz.training.data.sources import DataUnavailable

PREFIX = "own:"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MOST_SETS = 200


def is_own(data: object) -> bool:
    """Whether `data` names a data set of someone's own, here or elsewhere; says nothing of whether it is here."""
    return isinstance(data, str) and data.startswith(PREFIX) and _NAME.fullmatch(data.removeprefix(PREFIX)) is not None


def folder_of_sets(folder: str | Path | None = None) -> Path | None:
    """`folder`, else what DPVIZ_DATA names."""
    chosen = folder or os.environ.get("DPVIZ_DATA")
    return Path(chosen) if chosen else None


def find(data: str, folder: str | Path | None = None) -> Description:
    """The description of `own:NAME`.

    Raises:
        DataUnavailable: if it is not on this machine; the message says which file is missing where.
        NotADataSet: if it cannot be used.
    """
    name = f"{data.removeprefix(PREFIX)}.toml"
    place = folder_of_sets(folder)
    if place is None:
        raise DataUnavailable(
            f"{data} is not on the machine that trains: no folder is named there. Set DPVIZ_DATA for the worker to the "
            f"folder that holds {name} and its data."
        )
    try:
        return _described(place / name)
    except OSError:
        raise DataUnavailable(
            f"{data} is not on the machine that trains: {name} is not in {place}, the folder that DPVIZ_DATA names "
            "there. Put it and its data into that folder, on every machine that has workers."
        ) from None


def available() -> tuple[dict[str, Description], tuple[str, ...]]:
    """The data sets in DPVIZ_DATA by `own:NAME`, and what is wrong with descriptions that cannot be used."""
    place = folder_of_sets()
    descriptions: dict[str, Description] = {}
    problems: list[str] = []
    try:
        paths = sorted(place.glob("*.toml"))[:MOST_SETS] if place is not None else []
    except OSError:
        return {}, ()
    for path in paths:
        try:
            if not is_own(f"{PREFIX}{path.stem}"):
                raise NotADataSet(
                    f"{path.name[:60]}: expected a name of small letters, digits, - and _, at most 40 of them."
                )
            descriptions[f"{PREFIX}{path.stem}"] = _described(path)
        except NotADataSet as problem:
            problems.append(str(problem))
        except OSError as problem:
            problems.append(f"{path.name[:60]}: {problem.strerror}.")
    return descriptions, tuple(problems)


def _described(path: Path) -> Description:
    stat = path.stat()
    return _kept(path, stat.st_mtime_ns, stat.st_size)


@remembered
def _kept(path: Path, changed: int, size: int) -> Description:
    return described(path)
