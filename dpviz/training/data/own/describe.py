"""The description of a user's own data set, NAME.toml: sizes, classes, shape and scaling, all declared public.

Scaling is never computed from the data: a mean, a range or a list of the categories that occur is a statistic of
private data, which ε of the training does not cover. What the description leaves out is refused, not guessed.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.training.words import words

MOST_BYTES = 2 * 2**30  # of all examples in single precision: what a machine for such runs can hold a few times
MOST_TEXT = 10**6
_FAR = 5.0  # standard deviations at which scaled numbers end
KINDS = ("csv", "npz", "images")
_RANGE = {"low", "high", "mean", "std"}

_NOT_COVERED = words("own_ranges")


class NotADataSet(ValueError):
    """A description or a file of data cannot be used; the message says which, where in it, and what would do.

    It names lines and columns and never a value that stands there: that may be private, and runs are passed on.
    """


class Table:
    """One table of a description.

    Args:
        where: What messages call it ("heart.toml, [train]").
        entries: What it holds.
    """

    def __init__(self, where: str, entries: dict[str, Any]) -> None:
        self.where, self.entries = where, entries

    def refuse(self, expected: str) -> NotADataSet:
        return NotADataSet(f"{self.where}: expected {expected}.")

    def only(self, names: Iterable[str]) -> None:
        """Refuses unknown names: they are usually typing errors."""
        unknown = sorted(set(self.entries) - set(names))
        if unknown:
            raise self.refuse(f"only {', '.join(names)}, found {unknown[0][:60]!r}")

    def value(self, name: str, expected: str, fits: Callable[[Any], bool], default: Any = None) -> Any:
        """The value under `name` if it is valid; `expected` describes a valid value for the error message."""
        value = self.entries.get(name, default)
        if not fits(value):
            raise self.refuse(f"{name} = {expected}")
        return value

    def text(self, name: str, default: str | None = None, *, longest: int = 200) -> str:
        def fits(value: Any) -> bool:
            return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()

        return str(self.value(name, f"a text of 1 to {longest} characters", fits, default))

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        expected = f"a whole number from {low:,} to {high:,}"
        return int(self.value(name, expected, lambda value: type(value) is int and low <= value <= high, default))

    def flag(self, name: str) -> bool:
        return bool(self.value(name, "true or false", lambda value: isinstance(value, bool), False))

    def numbers(self, name: str, length: int = 1) -> tuple[float, ...]:
        """One number for all, or a list of `length`; always `length` numbers."""
        given: Any = self.entries.get(name)
        values: list[Any] = given if isinstance(given, list) else [given] * length
        if len(values) != length:
            raise self.refuse(f"{name} = one number or a list of {length}, found a list of {len(values)}")
        if not all(type(value) in (int, float) and abs(value) <= 1e30 for value in values):
            raise self.refuse(f"{name} = a number, at most 1e30 in size")
        return tuple(map(float, values))

    def names(self, name: str, least: int, most: int) -> tuple[str, ...]:
        """A list of different texts; whole numbers stand for their digits."""
        expected = f"a list of {least} to {most:,} names"
        names = self.value(name, expected, lambda names: isinstance(names, list) and least <= len(names) <= most)
        if not all(type(one) in (str, int) and len(str(one)) <= 200 for one in names):
            raise self.refuse(f"{name} to hold texts or whole numbers, none longer than 200 characters")
        texts = tuple(map(str, names))
        if len(set(texts)) != len(texts):
            raise self.refuse(f"{name} to hold each name once")
        return texts

    def table(self, name: str) -> Table:
        entries = self.entries.get(name)
        if not isinstance(entries, dict):
            raise self.refuse(f"a table [{name}]")
        inside = self.where.endswith("]")
        return Table(f"{self.where[:-1]}.{name}]" if inside else f"{self.where}, [{name}]", entries)


@dataclass(frozen=True)
class Scaling:
    """clip((value − middle) ÷ half, −most, most), number by number.

    Attributes:
        middle, half: One number for each feature or channel.
        most: 1 for a declared range, which becomes [−1, 1]; 5 for a declared mean and standard deviation.
    """

    middle: tuple[float, ...]
    half: tuple[float, ...]
    most: float

    def __call__(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        """Finite values (…, len(middle)), scaled. Those beyond the range are set to its end, with no message."""
        with np.errstate(over="ignore"):
            scaled = (values - np.array(self.middle)) / np.array(self.half)
        return np.asarray(np.clip(scaled, -self.most, self.most), dtype=np.float32)


@dataclass(frozen=True)
class Feature:
    """A feature of a table: a number with its scale, or a category that becomes as many numbers as are listed.

    Attributes:
        name: In the file's first line.
        scale: Of a number; None for a category.
        categories: Listed values; empty for a number.
        missing: What stands in for an empty cell of a number; None where that is refused.
        others: Whether values that are not listed become all zeros; else they are refused.
    """

    name: str
    scale: Scaling | None = None
    categories: tuple[str, ...] = ()
    missing: float | None = None
    others: bool = False

    @property
    def width(self) -> int:
        return len(self.categories) or 1


@dataclass(frozen=True)
class Location:
    """Where examples lie.

    Attributes:
        file: File, or folder of images, below the folder of the description, with "/" between names.
        examples: How many there are, declared public and held against the file.
        x, y: Names of arrays in an npz file.
        persons: Whose examples they are, where the description names a column of persons; held against the file.
    """

    file: str
    examples: int
    x: str = "x"
    y: str = "y"
    persons: int = 0


@dataclass(frozen=True)
class Description:
    """One data set.

    Attributes:
        name: Of the file, without ".toml".
        title: For the screen.
        kind: One of KINDS.
        classes: Labels as the files write them; their places are what a network learns.
        shape: Of one example as a network reads it: (features,) or (channels, height, width).
        stored: Of one example as an npz file holds it.
        scale: Of npz and images.
        columns, label, separator: Of csv.
        person: Of csv, the column that names the person of a row; empty for none.
        parts: One, which is split, or training and test.
        test: How many of a single part are for testing.
        seed: Of that split, which has nothing to do with a run's seed.
        folder: Where it lies.
        text: The description itself.
    """

    name: str
    title: str
    kind: str
    classes: tuple[str, ...]
    shape: tuple[int, ...]
    parts: tuple[Location, ...]
    test: int
    seed: int
    folder: Path
    text: bytes
    stored: tuple[int, ...] = ()
    scale: Scaling = Scaling((0.0,), (1.0,), 1.0)
    columns: tuple[Feature, ...] = ()
    label: str = ""
    separator: str = ","
    person: str = ""

    @property
    def examples(self) -> int:
        """N, the number of training examples."""
        return self.parts[0].examples - (self.test if len(self.parts) == 1 else 0)

    @property
    def test_examples(self) -> int:
        return self.parts[1].examples if len(self.parts) == 2 else self.test

    @property
    def note(self) -> str:
        return "your own data; scaling, sizes and classes declared public by the owner"

    def wrong_number(self, part: Location, number: str) -> NotADataSet:
        """The error for a part that does not contain as many examples as declared."""
        what = "images" if self.kind == "images" else "rows"
        return NotADataSet(
            f"{part.file}: expected {part.examples:,} {what} as {self.name}.toml declares, found {number}. Set "
            f"examples to their public number, and keep as many {what}."
        )

    def no_class(self, where: str) -> NotADataSet:
        """The error for a label that is not one of the classes."""
        return NotADataSet(
            f"{where}: expected one of the classes of {self.name}.toml, found something else. Add it there, or leave "
            "the example out."
        )


def described(path: Path) -> Description:
    """The description in `path`.

    Raises:
        NotADataSet: saying what in it cannot be used and what would do.
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        text = file.read(MOST_TEXT + 1)
    if len(text) > MOST_TEXT:
        raise NotADataSet(f"{path.name}: expected at most {MOST_TEXT:,} bytes.")
    try:
        entries = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as problem:  # TOML's own words name line and column
        raise NotADataSet(f"{path.name}: expected a description in TOML: {str(problem)[:200]}.") from None
    return _of(Table(path.name, entries), path, text)


def _of(top: Table, path: Path, text: bytes) -> Description:
    kind = top.value("kind", f"one of {', '.join(KINDS)}", lambda kind: kind in KINDS)
    own = ("label", "separator", "columns", "person") if kind == "csv" else ("shape", "scale")
    top.only(("title", "kind", "public", "classes", "train", "test", "split", *own))
    if not top.flag("public"):
        raise top.refuse(words("own_public"))
    if kind == "csv":
        columns = _columns(top.table("columns"), label := top.text("label"))
        shape: tuple[int, ...] = (sum(column.width for column in columns),)
        layout: dict[str, Any] = {"columns": columns, "label": label}
        layout["separator"] = top.text("separator", ",", longest=1)
        layout["person"] = top.text("person") if "person" in top.entries else ""
        if layout["person"] and "split" in top.entries:
            raise top.refuse(words("own_split_of_persons"))
    else:
        stored, shape = _shape(top, kind)
        if "scale" not in top.entries:
            raise top.refuse(f"scale = {{ low = …, high = … }} or {{ mean = …, std = … }}. {_NOT_COVERED}")
        table = top.table("scale")
        table.only(sorted(_RANGE))
        layout = {"stored": stored, "scale": _scale(table, shape[0], "the examples")}
    parts, test, seed = _parts(top, kind, bool(layout.get("person")))
    size = 4 * math.prod(shape) * sum(part.examples for part in parts)
    if size > MOST_BYTES:
        raise top.refuse(f"at most {MOST_BYTES / 2**30:.0f} GiB of examples in single precision, found {size:,} bytes")
    return Description(
        name=path.stem, title=top.text("title", path.stem, longest=60), kind=kind, shape=shape, parts=parts, test=test,
        seed=seed, classes=top.names("classes", 2, 1000), folder=path.parent, text=text, **layout,
    )  # fmt: skip


def _columns(table: Table, label: str) -> tuple[Feature, ...]:
    if not 0 < len(table.entries) <= 10_000:
        raise table.refuse("a table [columns.NAME] for each of 1 to 10,000 features")
    if label in table.entries:
        raise table.refuse(f"no column {label!r}: it is the label")
    return tuple(_column(table.table(name), name) for name in table.entries)


def _column(table: Table, name: str) -> Feature:
    if "categories" in table.entries:
        table.only(("categories", "others"))
        return Feature(name, categories=table.names("categories", 1, 1000), others=table.flag("others"))
    table.only((*sorted(_RANGE), "missing"))
    scale = _scale(table, 1, f"column {name!r}, or the categories that may occur")
    return Feature(name, scale, missing=table.numbers("missing")[0] if "missing" in table.entries else None)


def _scale(table: Table, length: int, what: str) -> Scaling:
    given = _RANGE & table.entries.keys()
    if given == {"low", "high"}:
        low, high = np.array(table.numbers("low", length)), np.array(table.numbers("high", length))
        if not (low < high).all():
            raise table.refuse("low < high")
        return Scaling(tuple(((low + high) / 2.0).tolist()), tuple(((high - low) / 2.0).tolist()), 1.0)
    if given == {"mean", "std"}:
        std = table.numbers("std", length)
        if not min(std) > 0.0:
            raise table.refuse("std > 0")
        return Scaling(table.numbers("mean", length), std, _FAR)
    raise table.refuse(f"low and high, or mean and std, of {what}. {_NOT_COVERED}")


def _shape(top: Table, kind: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of one example: as stored, and as (features,) or (channels, height, width)."""
    sizes = top.entries.get("shape")
    whole = [n for n in sizes if isinstance(n, int) and not isinstance(n, bool)] if isinstance(sizes, list) else []
    if whole != sizes or not 1 <= len(whole) <= 3 or not all(1 <= n <= 10**6 for n in whole):
        raise top.refuse("shape = [features], [height, width] or [height, width, channels], of one example")
    stored = tuple(whole)
    if len(stored) == 1 and kind == "npz":
        return stored, stored
    if len(stored) == 2:
        return stored, (1, *stored)
    if len(stored) == 3 and stored[2] in (1, 3):
        return stored, (stored[2], *stored[:2])
    if len(stored) == 3 and stored[0] in (1, 3) and kind == "npz":
        return stored, stored
    raise top.refuse("shape = [height, width] for grey images or [height, width, 3] for colour")


def _parts(top: Table, kind: str, persons: bool) -> tuple[tuple[Location, ...], int, int]:
    """The parts; if there is only one, the number of its test examples and the seed that selects them."""
    if "split" not in top.entries:
        more = ("persons",) if persons else ()
        return (_part(top.table("train"), kind, more), _part(top.table("test"), kind)), 0, 0
    if {"train", "test"} & set(top.entries):
        raise top.refuse("either [split], or [train] and [test]")
    table = top.table("split")
    part = _part(table, kind, ("test_share", "seed"))
    (share,) = table.numbers("test_share")
    test = round(share * part.examples)
    if not 0 < test < part.examples:
        raise table.refuse(f"test_share between 0 and 1 that leaves some of {part.examples:,} on both sides")
    return (part,), test, table.whole("seed", 0, 2**53, 0)


def _part(table: Table, kind: str, more: tuple[str, ...] = ()) -> Location:
    place = "folder" if kind == "images" else "file"
    table.only((place, "examples", *(("x", "y") if kind == "npz" else ()), *more))
    file = table.text(place)
    pure = PurePosixPath(file)
    if pure.is_absolute() or ".." in pure.parts or "\\" in file or ":" in file or not pure.parts:
        raise table.refuse(f"{place} = a name below the folder of the description, with / between its parts")
    names = {key: table.text(key, key) for key in ("x", "y")} if kind == "npz" else {}
    examples = table.whole("examples", 1, 10**9)
    persons = table.whole("persons", 1, examples) if "persons" in more else 0
    return Location(file, examples, **names, persons=persons)
