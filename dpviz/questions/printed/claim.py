"""A printed statement as a value: what a paper says, and the function that computes it anew; read from `NAME.toml`."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints
from urllib.parse import urlencode

import numpy as np

from dpviz.charts import look
from dpviz.fields import numbers
from dpviz.fields.tables import made, tables
from dpviz.questions import presets


class Verdict(NamedTuple):
    """Its name and its color."""

    name: str
    color: str


VERDICTS = {
    key: Verdict(name, getattr(look, color))
    for key, (name, color) in tables(Path(__file__).with_name("verdicts.toml"), {"verdicts"})["verdicts"].items()
}
KINDS = ("epsilon", "accuracy", "erratum")  # an erratum: a formula or a statement


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: in links.
        name: authors and year.
        title: as printed.
    """

    key: str
    name: str
    title: str


class Recomputed(NamedTuple):
    """What comes out.

    Attributes:
        value: by the paper's own rule where it has one; NaN where none can be computed.
        lower, upper: where the quantity itself lies, whichever rule is asked; NaN where nothing is known.
        note: what the number is, where that is not plain.
    """

    value: float
    lower: float = math.nan
    upper: float = math.nan
    note: str = ""

    def text(self, *, share: bool = False) -> str:
        """Value and interval, as a table writes them; a `share` in percent."""
        written = numbers.probability(self.value) if share else numbers.plain(self.value, digits=4)
        text = "" if math.isnan(self.value) else written
        if not math.isnan(self.lower) and math.isfinite(self.upper):
            text += f"{'; true value in ' if text else ''}{numbers.interval(self.lower, self.upper)}"
        elif not math.isnan(self.lower):
            text += f"{'; ' if text else ''}at least {numbers.plain(numbers.rounded_down(self.lower, 4), digits=4)}"
        return f"{text or '–'}{f' ({self.note})' if self.note else ''}"


@dataclass(frozen=True)
class Printed:
    """One printed value or statement.

    Attributes:
        key: its name in files.
        paper: key of the paper.
        where: table, figure, section.
        what: what it is said of.
        printed: as printed, a number where there is one.
        how: accountant, conversion and assumptions of what comes out.
        verdict: key of VERDICTS.
        why: the verdict in a line; of an erratum its proof.
        link: page and query that compute it, relative to the app's root; empty where no page does.
        recompute: what comes out; None where nothing can be computed.
        missing: what would be needed, where it cannot be checked.
        kind: one of KINDS.
        slow: whether it takes more than a page should wait for.
    """

    key: str
    paper: str
    where: str
    what: str
    printed: str
    how: str
    verdict: str
    why: str
    link: str = ""
    recompute: partial[Recomputed] | None = None
    missing: str = ""
    kind: str = "epsilon"
    slow: bool = False

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS or self.kind not in KINDS:
            raise ValueError(f"Expected verdict={self.verdict!r} in VERDICTS and kind={self.kind!r} in KINDS.")
        if bool(self.missing) != (self.verdict == "open"):
            raise ValueError(f"Expected `missing` of {self.key!r} exactly where the verdict is 'open'.")

    @property
    def share(self) -> bool:
        """Whether percent are printed."""
        return self.printed.endswith(" %")

    @property
    def number(self) -> float:
        """The printed number; NaN where words were printed."""
        try:
            return float(self.printed.removesuffix(" %")) / (100.0 if self.share else 1.0)
        except ValueError:
            return math.nan

    @property
    def unit(self) -> float:
        """One unit of the last printed digit."""
        mantissa, _, power = self.printed.removesuffix(" %").partition("e")
        digits = len(mantissa.partition(".")[2])
        return 10.0 ** (int(power or 0) - digits) / (100.0 if self.share else 1.0)

    @property
    def computed(self) -> bool:
        """Whether the verdict rests on a number computed here; otherwise the source was only read."""
        return self.recompute is not None and self.verdict != "open"

    @property
    def compared(self) -> bool:
        """Whether a number was printed that stands or falls by another one."""
        return not math.isnan(self.number) and self.computed


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, and where it is drawn here.

    Attributes:
        key: its name in files.
        paper: key of the paper.
        where: "Fig. 1a".
        shows: what it shows.
        link: page and query.
        why: in a line what is drawn here, or where a sound procedure and the paper's differ.
    """

    key: str
    paper: str
    where: str
    shows: str
    link: str
    why: str


def tight(lower_upper: tuple[object, object], value: float = math.nan, note: str = "") -> Recomputed:
    """A value between the ends of an interval."""
    low, high = (float(np.asarray(end).reshape(())) for end in lower_upper)
    return Recomputed(value, low, high, note)


# --- papers' files ----------------------------------------------------------------------------------------------------

# What papers trained, and what was trained for this project, as settings of the Train page: one for each row of a table
# or figure. What a paper leaves open is chosen there and said in the note; data that dpviz does not ship the page asks
# for.
TRAINED, _ = presets.read(Path(__file__).with_name("rows.toml"))


def train(key: str) -> str:
    """The link that opens the Train page with this row's settings."""
    return f"train?{urlencode(TRAINED[key].values)}"


def read(path: Path) -> tuple[list[Paper], list[Printed], list[Figure]]:
    """Papers, claims and figures in the file's order; a claim that names no paper is of the first."""
    file = tables(path, {"papers", "words", "claims", "figures"})
    words = file.get("words", {}) | {key: train(key) for key in TRAINED}
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
