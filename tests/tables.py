"""Tables of tests: TOML files whose keys are Python. ``[names]`` says whose names a file uses, and names its own."""

import importlib
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dpviz

HERE = Path(__file__).parent


@cache
def tables(folder: str) -> dict[str, dict[str, Any]]:
    """The files of a folder beside this one, by name."""
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted((HERE / folder).glob("*.toml"))}


@cache
def names(folder: str, file: str) -> dict[str, Any]:
    known: dict[str, Any] = {"np": np, "inf": np.inf, "nan": np.nan, "dpviz": dpviz, "refused": refused}
    given = dict(tables(folder)[file]["names"])
    for module in given.pop("modules"):
        known |= vars(importlib.import_module(module))
    for name, value in given.items():
        known[name] = eval(value, known)
    return known


def refused(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> str:
    """The words in which a call is refused; none where it is not."""
    try:
        call(*arguments, **keywords)
    except ValueError as refusal:
        return str(refusal)
    return ""
