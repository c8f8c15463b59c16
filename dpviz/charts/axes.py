"""Axes and the plane between them: how far they reach, where values lie on them, and their 1-2-5 ticks."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import look
from dpviz.charts.marks import Numbers, floats
from dpviz.fields import numbers

Span = tuple[float, float]
FORMATS: dict[str, Callable[[float], str]] = {
    "plain": numbers.plain,
    "percent": lambda value: f"{numbers.plain(value)} %",
    "share": lambda value: f"{numbers.plain(100.0 * value)} %",
    "steps": numbers.short_steps,
    "delta": numbers.delta,
}
OUTLIER: Final = 30.0  # times the smallest curve's maximum, beyond which a curve leaves through the top
HEADROOM: Final = 1.15
FEW: Final = 5  # ticks that an axis has at least, where a finer pattern fits
FINER: Final = ((1, 1.5, 2, 3, 5, 7), (1, 2, 3, 5))  # of a decade, where 1-2-5 would be too few
DECADES: Final = 24.0
TOP, BOTTOM = 46, 52  # pixels above the plot, and below it: ticks and the x axis' title
WIDTH, WIDE = 700.0, 2.15  # pixels of a plot, about, and at most so many times the chart's height
PHONE = 320.0, 290  # pixels of a plot's width and of a chart's height on a phone, about


@dataclass(frozen=True, slots=True)
class AxisScale:
    """What an axis shows, from `low` to `high` in data units (positive where `log`), and where values lie on it."""

    low: float
    high: float
    log: bool = False

    @property
    def range(self) -> list[float]:
        """Its ends in its own coordinate, as Plotly takes them."""
        return [self.raw(self.low), self.raw(self.high)]

    def raw(self, value: float) -> float:
        """A value in the axis' own coordinate; −∞ where a log axis has no place for it."""
        if not self.log:
            return value
        return math.log10(value) if value > 0 else -math.inf

    def shares(self, values: Numbers | float) -> Array:
        """Where values lie: 0 at the axis' start, 1 at its end, −∞ or NaN where it has no place for them."""
        low, high = self.range
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.log10(floats(values)) if self.log else floats(values)
        return np.asarray((own - low) / (high - low))

    def share(self, value: float) -> float:
        """Where one value lies."""
        low, high = self.range
        return (self.raw(value) - low) / (high - low)

    def within(self, value: float) -> float:
        """The same, of the nearest end for what lies outside."""
        return min(max(self.share(value), 0.0), 1.0)

    def data(self, shares: Array) -> Array:
        """The values at these shares."""
        low, high = self.range
        own = low + shares * (high - low)
        return np.asarray(10.0**own if self.log else own)


class Box(NamedTuple):
    """A name: its middle in shares of the plot, its size in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Plane:
    """Both axes of a figure that is `height` pixels high.

    Attributes:
        across: pixels of the plot's width; None for about those that a large window has.
    """

    x: AxisScale
    y: AxisScale
    height: int
    across: float | None = None

    def on_phone(self) -> Self:
        """The same axes at a phone's size."""
        return replace(self, across=PHONE[0], height=PHONE[1])

    @property
    def inner(self) -> int:
        """Pixels of the plot's height."""
        return self.height - TOP - BOTTOM

    @property
    def most(self) -> int:
        """Ticks that fit beside the plot; logarithmic ones are further apart where it is crowded."""
        return max(3, self.inner // (25 if self.y.log else 30))

    @property
    def width(self) -> float:
        """Pixels of the plot's width, about: a browser decides. Only to tell which places are far apart."""
        return self.across or min(WIDTH, WIDE * self.height)

    def shows(self, x: float, y: float) -> bool:
        return 0.0 <= self.x.share(x) <= 1.0 and 0.0 <= self.y.share(y) <= 1.0

    def down(self, y: float) -> float:
        """Pixels from the top of the plot to y; infinitely many where a log axis has no place for it."""
        return self.inner * (1 - self.y.share(y))

    def course(self, x: Array, xs: Numbers, ys: Numbers) -> Array:
        """Heights of a curve at `x`, both in shares; NaN where it is not."""
        at, y = self.x.shares(xs), self.y.shares(ys)
        shown = np.isfinite(at) & np.isfinite(y)
        return np.interp(x, at[shown], y[shown], left=np.nan, right=np.nan) if shown.any() else np.full(x.size, np.nan)

    def courses(self, x: Array, curves: Sequence[tuple[Numbers, Numbers]], levels: Sequence[float] = ()) -> Array:
        """The same of several curves, (x, y) each, and of levels in shares: (curves + levels, x)."""
        rows = [self.course(x, *curve) for curve in curves] + [np.full_like(x, level) for level in levels]
        return np.array(rows).reshape(-1, x.size)

    def apart(self, boxes: Sequence[Box], x: Array, curves: Array, most: float = math.inf) -> Array:
        """Pixels from each box to the nearest point of each curve, at most `most`: (curves, boxes).

        Only points that lie that near along x are looked at.

        Args:
            x, curves: in shares, (points,), increasing, and (curves, points).
        """
        at, up, width, height = np.array(boxes).T[:, :, None]
        if math.isfinite(most):
            reach = (0.5 * width + most) / self.width
            first, last = (np.searchsorted(x, (at + side * reach)[:, 0]) for side in (-1.0, 1.0))
            places = np.minimum(first[:, None] + np.arange(int((last - first).max()) + 1), x.size - 1)
            x, y = x[places], curves[:, places]
        else:
            y = curves[:, None]
        across = np.maximum(np.abs(x - at) * self.width - 0.5 * width, 0.0)
        along = np.maximum(np.abs(y - up) * self.inner - 0.5 * height, 0.0)
        nearest = np.fmin.reduce(across * across + along * along, axis=2, initial=min(most, self.width) ** 2)
        return np.asarray(np.sqrt(nearest))


def x_span(xs: Sequence[Array], log: bool) -> Span:
    """From the smallest to the largest x of all curves (positive ones where `log`); (1, 10) where there is none."""
    values = np.concatenate([*xs, np.empty(0)])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not values.size:
        return 1.0, 10.0
    low, high = float(values.min()), float(values.max())
    if low < high:
        return low, high
    return (low / 2, low * 2) if log else (low - max(abs(low), 1.0) / 2, low + max(abs(low), 1.0) / 2)


def y_span(ys: Sequence[Array], log: bool) -> Span:
    """The y range that shows the curves `ys` well: one exploding curve does not squash the others.

    Linear: from 0 (or the lowest negative value) to 1.15 times the largest maximum among the curves whose maximum is at
    most 30 times the smallest one; what is above leaves through the top. Log: from the smallest positive to the largest
    value, at least one decade and at most 24 below the top, with a little air.
    """
    valid = [y for y in (y[np.isfinite(y) & ((y > 0) | (not log))] for y in ys) if y.size]
    if not valid:
        return (0.1, 10.0) if log else (0.0, 1.0)
    maxima = np.array([y.max() for y in valid])
    lowest = float(min(y.min() for y in valid))
    if not log:
        positive = maxima[maxima > 0]
        top = float(positive[positive <= OUTLIER * positive.min()].max()) if positive.size else 0.0
        bottom = min(lowest, 0.0)
        span = top - bottom or 1.0
        return bottom - (HEADROOM - 1) * span * (bottom < 0), top + (HEADROOM - 1) * span
    low, high = np.log10(lowest), np.log10(maxima.max())
    low = max(low, high - DECADES)
    if high - low < 1:
        middle = (high + low) / 2
        low, high = middle - 0.5, middle + 0.5
    air = 0.04 * (high - low)
    return float(10 ** max(low - air, -307)), float(10 ** min(high + air, 308))


def log_ticks(low: float, high: float, *, most: int = 12) -> list[float]:
    """Tick values of a log axis over [low, high], 0 < low ≤ high: at most `most`, on the finest pattern that fits.

    The patterns, finest first: 1-2-5 a decade, whole decades, then every 2nd, 3rd, … decade; 1-3 a decade where whole
    ones would be fewer than five. Where 1-2-5 has fewer than five, less than a decade gets linear ticks, and more than
    one gets 1-1.5-2-3-5-7, or 1-2-3-5 where that is too many.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    slack = 1 + 1e-9

    def within(pattern: Sequence[float]) -> list[float]:
        ticks = (float(f"{m}e{d}") for d in range(first, last + 1) for m in pattern)
        return [t for t in ticks if low / slack <= t <= high * slack]

    for pattern in ((1, 2, 5), (1, 3), (1,)):
        ticks = within(pattern)
        if pattern == (1, 3) and sum(f"{t:e}".startswith("1") for t in ticks) >= FEW:
            continue
        if len(ticks) <= most:
            narrow = len(ticks) < 2 or (len(ticks) < FEW and high < 10 * low)
            if narrow:
                return linear_ticks(low, high, most=min(most, 9 if high < 4 * low else 6))
            finer = map(within, FINER if len(ticks) < FEW else ())
            return next((more for more in finer if len(more) <= most), ticks)
    stride = math.ceil(len(ticks) / most)
    return [t for t in ticks if round(math.log10(t)) % stride == 0]


def linear_ticks(low: float, high: float, *, most: int = 8) -> list[float]:
    """Round tick values over [low, high], low ≤ high: multiples of 1, 2 or 5 times a power of ten, at most `most`.

    Where these are fewer than five, multiples of 4, 3, 6 or 15.
    """
    span = high - low
    if not span > 0:
        return [low]
    power = math.floor(math.log10(span / most)) - 1

    def multiples(step: float) -> list[float]:
        start, stop = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [float(f"{k * step:.12g}") for k in range(start, stop + 1)]

    def fitting(steps: tuple[int, ...]) -> Iterator[list[float]]:
        every = (multiples(float(f"{m}e{power + d}")) for d in range(4) for m in steps)
        return (ticks for ticks in every if len(ticks) <= most)

    ticks = next(fitting((1, 2, 5)), [low, high])
    if len(ticks) >= FEW or most < FEW:
        return ticks
    return next((more for m in (4, 3, 6, 15) if len(more := next(fitting((m,)), [])) >= FEW), ticks)


def axis(scale: AxisScale, *, kind: str = "plain", most: int = 10, grid: bool = True) -> look.PlotlyDict:
    """One Plotly axis with our ticks and quiet lines.

    Args:
        scale: what it shows; its ticks are 1-2-5 where it is logarithmic.
        kind: how ticks are written: "plain", "percent", "share" (0.4 as 40 %), "steps" (40k) or "delta" (1e-5).
        most: how many ticks fit.
        grid: draw grid lines.
    """
    pick = log_ticks if scale.log else linear_ticks
    ticks = pick(scale.low, scale.high, most=most)
    built: look.PlotlyDict = {
        "type": "log" if scale.log else "linear",
        "range": scale.range,
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [FORMATS[kind](tick) for tick in ticks],
        "showgrid": grid,
        "gridcolor": look.GRID,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "automargin": False,
    }
    if scale.log and grid and len(ticks) > 1 and ticks[-1] / ticks[0] > 100:
        every = log_ticks(scale.low, scale.high, most=40)
        if len(every) > len(ticks):
            built["minor"] = {"tickmode": "array", "tickvals": every, "showgrid": True, "gridcolor": look.MINOR_GRID}
    return built


def bottom_axis(
    title: str, scale: AxisScale, *, kind: str = "plain", most: int = 9, grid: bool = False
) -> look.PlotlyDict:
    """The x axis below a plot, with its line and its title; arguments as of `axis`."""
    line = {"showline": True, "linecolor": look.AXIS, "linewidth": 1}
    marks = {"ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS}
    return axis(scale, kind=kind, most=most, grid=grid) | {"title": {"text": title, "standoff": 14}} | line | marks


def row_axis(names: Sequence[str], span: Span, **more: Any) -> look.PlotlyDict:
    """The y axis of a chart of named rows, the first one on top: row k lies at y = k."""
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}
    words = {"tickfont": {"size": look.LABEL_SIZE}, "ticklabelstandoff": 6, "automargin": False}
    return {"range": list(span), "zeroline": False} | ticks | words | more
