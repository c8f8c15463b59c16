"""A printed statement as a value: what a paper says, and the function that computes it anew."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dpviz.charts import look
from dpviz.fields import numbers


class Verdict(NamedTuple):
    """Its name, what it says of one claim and of several, and its color."""

    name: str
    one: str
    several: str
    color: str


VERDICTS = {
    "holds": Verdict("holds", "holds", "hold", look.GREEN),
    "under": Verdict("holds under a condition", "holds under a condition", "hold under a condition", look.BLUE),
    "misprint": Verdict("misprint", "is a misprint", "are misprints", look.MAUVE),
    "differs": Verdict("not reproduced", "is not reproduced", "are not reproduced", look.BROWN),
    "proof": Verdict("error in a proof", "is an error in a proof", "are errors in proofs", look.MAUVE),
    "baseline": Verdict("rests on its baseline", "rests on its baseline", "rest on their baseline", look.BROWN),
    "fails": Verdict("does not hold", "does not hold", "do not hold", look.ORANGE),
    "open": Verdict("cannot be checked", "cannot be checked", "cannot be checked", look.GREY),
}
KINDS = {"epsilon": "privacy", "accuracy": "accuracy", "erratum": "formula or statement"}


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
        known = "" if math.isnan(self.value) else written
        if not math.isnan(self.lower) and math.isfinite(self.upper):
            known += f"{'; itself in ' if known else ''}{numbers.interval(self.lower, self.upper)}"
        elif not math.isnan(self.lower):
            known += f"{'; ' if known else ''}at least {numbers.plain(numbers.down(self.lower, 4), digits=4)}"
        return f"{known or '–'}{f' ({self.note})' if self.note else ''}"


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
        kind: key of KINDS.
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
        link: page and query; empty where it is not drawn.
        why: in a line what is drawn here, where a sound procedure and the paper's differ, or why it is not drawn.
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
