"""Marks of a chart as plain values: lines, bands, areas, points, rings, dots, floors, guides, references
and regions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz.accounting.methods import Tight
from dpviz.charts import look
from dpviz.fields import Number, numbers

Numbers = Array | Sequence[float]
# Of a line that grows under the eye: more cannot be told apart, and every one travels to the browser once a second.
MOST_POINTS = 140


@dataclass(frozen=True, slots=True)
class Column:
    """One more fact about each point of a line, shown in the hover.

    Attributes:
        name: what stands before the value ("α").
        values: shape (n,), numbers (NaN is written "–") or texts.
        d3_format: how the browser writes the numbers.
        key: its name in files; the name where empty.
        hovers: whether the hover shows it; the table does always.
        write: how the table writes its numbers, which are then in no file: what they are made from is.
    """

    name: str
    values: Numbers | Sequence[str]
    d3_format: str = ".4~g"
    key: str = ""
    hovers: bool = True
    write: Callable[[float], str] | None = None

    @property
    def filed(self) -> str:
        return self.key or self.name

    @property
    def numbers(self) -> Array | None:
        """Its numbers, None for texts."""
        values = np.asarray(self.values)
        return values.astype(np.float64) if values.dtype.kind in "fiu" else None

    @property
    def empty(self) -> bool:
        """Whether it has no number anywhere."""
        return self.numbers is not None and bool(np.isnan(self.numbers).all())

    def texts(self) -> list[str]:
        """Its values as they are written."""
        if self.numbers is None:
            return [str(value) for value in self.values]
        write = self.write or (lambda value: numbers.plain(value, digits=4))
        return ["–" if np.isnan(value) else write(value) for value in self.numbers.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One curve.

    Attributes:
        key: its identity, unique on the chart.
        name: what its end and the hover call it.
        x, y: shape (n,) each, x ascending; where y is NaN, infinite, or not positive on a log axis, there is a gap.
        family: the accountant family, which gives colour and dash (`look.FAMILIES`).
        faded: a pinned state: drawn thin and light.
        approximate: an approximation or an "as if planned" reading: dashed, of another lightness, for it is no bound.
        dotted_from: x from which the value is dominated by its tail: dotted from there on.
        dotted_until: x up to which it is.
        hover: more facts about each point.
        color: "#rrggbb" instead of the family's.
        end: what its end is called where that is not `name`; empty for an end without a name.
        kept: whether it stays, faded, when the plot is pinned beside another.
        label: what the table calls it where that is not `name`.
        write: how the table writes y; as the y axis says where None.
        explained: whether somebody else says why there is nothing to draw, where that is so.
        spread: lowest and highest of what y is the mean of, drawn as error bars; shape (n,) each.
        stairs: the upper side of what is known only at these x: of what is "falling", y stays until the next one; of
            what is "rising", it holds since the one before. None for a straight line between them.
        about: a sentence or two on what it is, told to a pointer that rests on it.
    """

    key: str
    name: str
    x: Numbers
    y: Numbers
    family: str
    faded: bool = False
    approximate: bool = False
    dotted_from: float | None = None
    dotted_until: float | None = None
    hover: tuple[Column, ...] = ()
    color: str | None = None
    end: str | None = None
    kept: bool = True
    label: str | None = None
    write: Callable[[float], str] | None = None
    explained: bool = False
    spread: tuple[Numbers, Numbers] | None = None
    stairs: Literal["falling", "rising"] | None = None
    about: str = ""

    def __post_init__(self) -> None:
        shapes = [np.shape(self.x), np.shape(self.y), *(np.shape(c.values) for c in self.hover)]
        shapes += [np.shape(end) for end in self.spread or ()]
        if len(shapes[0]) != 1 or any(shape != shapes[0] for shape in shapes):
            raise ValueError(
                f"Expected x, y, hover and spread of line {self.key!r} as lists of one length, found {shapes}."
            )

    @property
    def hue(self) -> str:
        color = self.color or look.style(self.family).color
        return look.estimate(color) if self.approximate else color

    @property
    def dash(self) -> str:
        return "dash" if self.approximate else look.style(self.family).dash

    @property
    def width(self) -> float:
        return 1.5 if self.faded else look.style(self.family).width

    def at(self, x: float) -> float:
        """y at x, between neighbouring points on a straight line; NaN beyond the ends."""
        return float(np.interp(x, floats(self.x), floats(self.y), left=np.nan, right=np.nan))

    def seen(self, log_y: bool) -> npt.NDArray[np.bool_]:
        """Which points can be drawn, shape (n,)."""
        y = np.asarray(self.y, dtype=np.float64)
        return np.isfinite(y) & (y > 0) if log_y else np.isfinite(y)


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """An interval between two curves: the truth that every bound lies above. Shapes (n,).

    `key` names it in files, the name where empty; `family` gives its hue: grey, or that of the bounds on this truth;
    `about` as a line's.
    """

    name: str
    x: Numbers
    lower: Numbers
    upper: Numbers
    key: str = ""
    family: str = Tight.name
    about: str = ""

    @property
    def filed(self) -> str:
        return self.key or self.name


@dataclass(frozen=True, slots=True)
class Point:
    """A published value, a diamond.

    Attributes:
        x, y: in data units.
        printed: what was printed, and where ("1.26 (moments), Abadi et al. 2016, Fig. 2").
        family: whose colour it has, and which curve it is held against (`LinePlot.compared`).
        why: why that curve gives something else: "because …"; empty where it does not, or nothing is known.
    """

    x: float
    y: float
    printed: str
    family: str
    why: str = ""

    @property
    def printed_value(self) -> str:
        """What was printed, without where: "1.26 (moments)"."""
        return re.split(r", (?![^(]*\))", self.printed)[0]


@dataclass(frozen=True, slots=True)
class Floor:
    """A value below which an accountant cannot answer, a thin dotted line with a small name."""

    y: float
    name: str
    family: str


@dataclass(frozen=True, slots=True)
class Region:
    """Where a theorem does not hold: x from `start` to `stop` (infinite: to the edge), hatched and named."""

    start: float
    stop: float
    name: str


@dataclass(frozen=True, slots=True)
class Ring:
    """An open circle: our own point, or a measured value with its interval. (Diamonds are what papers printed.)

    Attributes:
        x, y: where, in data units.
        text: what the hover says.
        color: "#rrggbb".
        low, high: ends of an interval around y, drawn as an error bar; None for none.
        name: written beside it, and before what its hover says: a state among areas.
        kept: whether it stays, grey, when the plot is pinned beside another.
        sets: the settings that its x and its y are; None for what is none. A hand pulls the ring and moves them.
    """

    x: float
    y: float
    text: str
    color: str
    low: float | None = None
    high: float | None = None
    name: str = ""
    kept: bool = False
    sets: tuple[Number | None, Number | None] = (None, None)

    @property
    def hover(self) -> str:
        return f"{self.name}: {self.text}" if self.name else self.text


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Small dots of one colour: single outcomes, which the lines tell the chances of. No row of the table has them.

    Attributes:
        x, y: where, in data units; shape (n,) each.
        name: what they are.
        color: "#rrggbb".
        size: their diameter in pixels.
        hollow: whether only their edge is drawn.
    """

    x: Numbers
    y: Numbers
    name: str
    color: str
    size: float = 5.0
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Guide:
    """A dashed line across the plot: a level to be reached, or a place to be found again.

    Attributes:
        axis: "y" for a level line, "x" for an upright one.
        at: where, in data units.
        name: beside it; empty where another mark names it.
        noted: whether a note says so where the axes do not reach it.
        sets: the setting that it is; None for none. A hand pulls the guide and moves it.
    """

    axis: str
    at: float
    name: str
    noted: bool = True
    sets: Number | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A faint dotted curve that others are held against: how fast something would grow. It is no result: it has no
    hover, and no place in tables and files.

    Attributes:
        x, y: shape (n,) each, x ascending.
        name: written once, where rising curves leave room.
    """

    x: Numbers
    y: Numbers
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """Where lower < y < upper, below everything else.

    Attributes:
        x, lower, upper: shape (n,), x ascending; infinite bounds reach to the edge, NaN leaves a gap.
        color: "#rrggbb".
        opacity: of the fill.
        name: written in its middle; empty for none.
    """

    x: Numbers
    lower: Numbers
    upper: Numbers
    color: str
    opacity: float = 0.1
    name: str = ""


@dataclass(frozen=True, slots=True)
class Grip:
    """A mark that a hand can pull along one axis, and the setting that moves with it.

    Attributes:
        field: the setting; its value is the mark's coordinate along `axis`.
        axis: "x" or "y".
        x, y: where it is, in data units; None for a guide, which has no end along that axis.
    """

    field: Number
    axis: str
    x: float | None
    y: float | None


def grips(guides: Sequence[Guide], rings: Sequence[Ring]) -> list[Grip]:
    """The marks among these that are settings."""
    built = [
        Grip(guide.sets, guide.axis, *((guide.at, None) if guide.axis == "x" else (None, guide.at)))
        for guide in guides
        if guide.sets
    ]
    for ring in rings:
        built += [Grip(field, axis, ring.x, ring.y) for axis, field in zip("xy", ring.sets, strict=True) if field]
    return built


def floats(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def short_floats(values: Any, digits: int = 6) -> list[float | None]:
    """Numbers rounded to `digits` significant digits, None for NaN and infinity: a small payload. Shape (n,)."""
    x = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(x)
    safe = np.where(finite & (x != 0), x, 1.0)
    places = (digits - 1 - np.floor(np.log10(np.abs(safe)))).clip(-300, 300)
    # Whole numbers times or by a power of ten keep the shortest decimal; a product with 1e-k would not.
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    near_zero = np.abs(x) < 1e-290  # no power of ten left to round these with: they stay as they are
    rounded = np.where(near_zero | ~finite, np.where(finite, x, 0.0), np.round(safe / down * up) / up * down)
    if finite.all():
        whole: list[float | None] = rounded.tolist()
        return whole
    return [v if ok else None for v, ok in zip(rounded.tolist(), finite.tolist(), strict=True)]


def thinned(length: int, most: int = MOST_POINTS) -> npt.NDArray[np.intp]:
    """Which of `length` points to draw: at most `most`, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.intp))


def extremes(values: Array, most: int = MOST_POINTS) -> npt.NDArray[np.intp]:
    """Which of these values, (n,), to draw: the lowest and the highest of each stretch, so that no peak is lost.

    At most `most` of them, the first and the last among them; NaN is neither.
    """
    if values.size <= most:
        return np.arange(values.size)
    begins = np.linspace(0, values.size, most // 2, endpoint=False).astype(np.intp)
    place = np.repeat(np.arange(begins.size), np.diff(begins, append=values.size))
    keep = [np.array([0, values.size - 1])]
    for extreme in (np.fmin, np.fmax):
        extremes = np.flatnonzero(values == extreme.reduceat(values, begins)[place])
        keep.append(extremes[np.flatnonzero(np.diff(place[extremes], prepend=-1))])
    return np.unique(np.concatenate(keep))
