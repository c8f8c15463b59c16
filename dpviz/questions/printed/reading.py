"""A paper's file, `NAME.toml`: what it prints, and by which function of this package each value is computed anew."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from dpviz.fields.tables import made, tables
from dpviz.questions.printed.claim import Figure, Paper, Printed, Recomputed
from dpviz.questions.printed.rows import BY_KEY, train


def read(path: Path) -> tuple[list[Paper], list[Printed], list[Figure]]:
    """Papers, claims and figures in the file's order; a claim that names no paper is of the first."""
    file = tables(path, {"papers", "words", "claims", "figures"})
    words = file.get("words", {}) | {key: train(key) for key in BY_KEY}
    papers = [made(Paper, {"key": key} | paper, f"{path.name}, {key}", words) for key, paper in file["papers"].items()]

    def each(kind: Any, several: str) -> list[Any]:
        rows = []
        for table in ({"paper": papers[0].key} | one for one in file[several]):
            where = f"{path.name}, {several}, {table.get('key')!r}"
            if table["paper"] not in file["papers"]:
                raise ValueError(f"{where}: expected paper={table['paper']!r} to be one of {list(file['papers'])}.")
            if kind is Printed and "recompute" in table:
                table |= {"recompute": computation(table["recompute"], table.pop("given", {}), where)}
            rows.append(made(kind, table, where, words))
        return rows

    return papers, each(Printed, "claims"), each(Figure, "figures")


def computation(name: str, given: Mapping[str, Any], where: str) -> partial[Recomputed]:
    """`module.function` of this package with its arguments; ValueError where it computes no value or takes others."""
    module, _, function = name.partition(".")
    rule = getattr(import_module(f"{__package__}.{module}"), function, None)
    if not inspect.isfunction(rule) or get_type_hints(rule).get("return") is not Recomputed:
        raise ValueError(f"{where}: expected recompute={name!r} to be a function that returns Recomputed.")
    try:
        inspect.signature(rule).bind(**given)
    except TypeError as wrong:
        raise ValueError(f"{where}: {name} cannot take {dict(given)}: {wrong}.") from None
    return partial(rule, **given)
