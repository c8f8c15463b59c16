"""Values that stand in TOML files: each key is checked, and a wrong one is named."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
_TYPES: Any = {str: str, bool: bool, float: int | float}


def tables(path: Path, known: set[str]) -> dict[str, Any]:
    """A file's tables; ValueError where it has others than `known`."""
    read = tomllib.loads(path.read_text("utf-8"))
    if wrong := read.keys() - known:
        raise ValueError(f"Expected only {sorted(known)} in {path.name}, got {sorted(wrong)}.")
    return read


def made(kind: type[T], table: Mapping[str, Any], where: str, words: Mapping[str, str]) -> T:
    """The dataclass with a table's values, in whose texts {name} stands for a word; ValueError says what is wrong."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    needed = {name for name, one in fields.items() if one.default is one.default_factory is dataclasses.MISSING}
    if wrong := (table.keys() - fields.keys()) | (needed - table.keys()):
        raise ValueError(f"{where}: {sorted(wrong)} is unknown or missing; {kind.__name__} has {sorted(fields)}.")
    types = get_type_hints(kind)
    for key, value in table.items():
        if not isinstance(value, _TYPES.get(types[key], object)):
            raise ValueError(f"{where}: expected {key}={value!r} to be of type {types[key].__name__}.")
    try:
        return kind(**{key: v.format_map(words) if isinstance(v, str) else v for key, v in table.items()})
    except KeyError as unknown:
        raise ValueError(f"{where}: {{{unknown.args[0]}}} is no word of this file.") from None
