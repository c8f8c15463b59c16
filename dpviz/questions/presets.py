"""Published settings as values, each once in presets.toml; a page offers its own by their keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpviz.charts import Point
from dpviz.fields.tables import made, tables


@dataclass(frozen=True)
class Preset:
    """One published setting.

    Attributes:
        key: its name in a link.
        name: what the list calls it.
        values: field keys → texts; every other field goes to its default.
        points: the printed values.
        note: what to know about it: what the paper leaves open, and what was chosen here.
        gallery: whether the folder of pages without a server has one of it.
    """

    key: str
    name: str
    values: dict[str, str]
    points: tuple[Point, ...] = ()
    note: str = ""
    gallery: bool = False


def read(path: Path) -> tuple[dict[str, Preset], dict[str, tuple[Point, ...]]]:
    """A file's presets by key, in its order, and points by name: ValueError where something in it is wrong."""
    file = tables(path, {"words", "settings", "presets", "points"})
    words, settings = file.get("words", {}), file.get("settings", {})

    def points(several: list[dict[str, Any]], where: str) -> tuple[Point, ...]:
        return tuple(made(Point, table, where, words) for table in several)

    def preset(table: Mapping[str, Any]) -> Preset:
        where, own = f"{path.name}, {table.get('key')!r}", dict(table)
        values: dict[str, Any] = {}
        for name in own.pop("settings", ()):
            if name not in settings:
                raise ValueError(f"{where}: {name!r} is none of the settings {sorted(settings)}.")
            values |= settings[name]
        values |= own.get("values", {})
        if wrong := [key for key, text in values.items() if not isinstance(text, str)]:
            raise ValueError(f"{where}: expected texts as values, got others for {wrong}.")
        return made(Preset, own | {"values": values, "points": points(own.get("points", []), where)}, where, words)

    several = [preset(table) for table in file["presets"]]
    if len(by_key := {one.key: one for one in several}) < len(several):
        raise ValueError(f"{path.name}: expected each key once, got {[one.key for one in several]}.")
    return by_key, {name: points(rows, name) for name, rows in file.get("points", {}).items()}


PRESETS, POINTS = read(Path(__file__).with_name("presets.toml"))


def published(*keys: str) -> tuple[Preset, ...]:
    """The presets with these keys."""
    return tuple(PRESETS[key] for key in keys)
