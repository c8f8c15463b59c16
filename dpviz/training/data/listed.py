"""Data sets as pages name them: those that dpviz knows, and those of one's own that are described on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dpviz.training.data import DATA_SETS, DataSet
from dpviz.training.data.own.place import PREFIX, available


def data_of(data: str) -> DataSet:
    """The data set of that name; of one's own what is described here, else its name."""
    if data in DATA_SETS:
        return DATA_SETS[data]
    described = available()[0].get(data)
    if described is None:
        return DataSet(key=data, title=f"{data.removeprefix(PREFIX)} (not on this machine)", example="test examples")
    return DataSet(
        key=data,
        title=f"{described.title} (own)",
        example="test examples",
        shape=described.shape,
        classes=len(described.classes),
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
