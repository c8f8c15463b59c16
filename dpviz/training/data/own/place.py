"""The data sets that can be chosen here: those that dpviz knows, and `own:NAME`, from NAME.toml in DPVIZ_DATA."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from dpviz._remember import remembered
from dpviz.training.data import DATA_SETS, DataSet
from dpviz.training.data.base import DataUnavailable
from dpviz.training.data.own.describe import Description, NotADataSet, described
from dpviz.training.words import words

PREFIX = "own:"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MOST_SETS = 200


def is_own(data: object) -> bool:
    """Whether `data` names a data set of someone's own, here or elsewhere; says nothing of whether it is here."""
    return isinstance(data, str) and data.startswith(PREFIX) and _NAME.fullmatch(data.removeprefix(PREFIX)) is not None


def find(data: str, folder: str | Path | None = None) -> Description:
    """The description of `own:NAME` in `folder`, by default the folder that DPVIZ_DATA names.

    Raises:
        DataUnavailable: if it is not on this machine; the message says which file is missing where.
        NotADataSet: if it cannot be used.
    """
    name = f"{data.removeprefix(PREFIX)}.toml"
    place = folder or os.environ.get("DPVIZ_DATA")
    if not place:
        raise DataUnavailable(words("own_without_folder", data=data, name=name))
    try:
        return _described(Path(place) / name)
    except OSError:
        raise DataUnavailable(words("own_missing", data=data, name=name, place=place)) from None


def available() -> tuple[dict[str, Description], tuple[str, ...]]:
    """The data sets in DPVIZ_DATA by `own:NAME`, and what is wrong with descriptions that cannot be used."""
    place = os.environ.get("DPVIZ_DATA")
    descriptions: dict[str, Description] = {}
    problems: list[str] = []
    try:
        paths = sorted(Path(place).glob("*.toml"))[:MOST_SETS] if place else []
    except OSError:
        return {}, ()
    for path in paths:
        try:
            if not is_own(f"{PREFIX}{path.stem}"):
                raise NotADataSet(words("own_name", name=path.name[:60]))
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


def data_of(data: str) -> DataSet:
    """The data set of that name; for an own set its description here, or only its name if there is none."""
    if data in DATA_SETS:
        return DATA_SETS[data]
    own = available()[0].get(data)
    if own is None:
        return DataSet(key=data, title=f"{data.removeprefix(PREFIX)} (not on this machine)", example="test examples")
    classes = len(own.classes)
    persons = own.parts[0].persons
    return DataSet(
        key=data, title=f"{own.title} (own)", example="test examples", shape=own.shape, classes=classes, persons=persons
    )


class Titles(Mapping[str, str]):
    """The titles of all data sets that can be chosen now: those that dpviz knows, then those in DPVIZ_DATA."""

    def __getitem__(self, data: str) -> str:
        if data not in DATA_SETS and data not in available()[0]:
            raise KeyError(data)
        return data_of(data).title

    def __iter__(self) -> Iterator[str]:
        return iter((*DATA_SETS, *available()[0]))

    def __len__(self) -> int:
        return len(DATA_SETS) + len(available()[0])
