"""What the library refuses, and in which words: the tables are in ``refusals/``.

Each table of a file is a call with ``**bad``: it works where ``bad`` is empty. Each line is one change that makes it
bad, and a pattern that its message fits. ``[names]`` says whose names a file uses, and names values of its own.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz

TABLES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "refusals").glob("*.toml"))
}
CALLS = [(file, call) for file, tables in TABLES.items() for call in tables if call != "names"]
ROWS = [(file, call, *row) for file, call in CALLS for row in TABLES[file][call].items()]


@cache
def names(file: str) -> dict[str, Any]:
    known: dict[str, Any] = {"np": np, "inf": np.inf, "nan": np.nan, "dpviz": dpviz, **vars(dpviz)}
    given = dict(TABLES[file]["names"])
    for module in given.pop("modules"):
        known |= vars(importlib.import_module(module))
    for name, value in given.items():
        known[name] = eval(value, known)
    return known


def answer(file: str, call: str, **bad: Any) -> Any:
    return eval(call, names(file) | {"bad": bad})


@pytest.mark.parametrize(("file", "call"), CALLS)
def test_it_works_without(file: str, call: str) -> None:
    answer(file, call)


@pytest.mark.parametrize(("file", "call", "change", "words"), ROWS, ids=lambda text: text.replace("::", ":"))
def test_it_is_refused_in_words(file: str, call: str, change: str, words: str) -> None:
    bad = eval(f"dict({change})", names(file))
    with pytest.raises(ValueError, match=r"[.…]$") as refusal:
        answer(file, call, **bad)
    message = str(refusal.value)
    assert re.search(words, f"{refusal.type.__name__}: {message}", re.DOTALL)
    assert re.match(r"[A-Z]|\S+[=.]", message)
    ((name, value), *others) = bad.items()
    if isinstance(value, (int, float, str)) and not others:
        forms = [f"={value!r}", repr(str(value)), f"found {name}", f"Expected {name} "]
        if not isinstance(value, str):
            forms += ["NaN"] if value != value else [f"={value:.12g}", f"={value:,}", f" is {value:.12g}"]
        assert any(form in message for form in forms), message
