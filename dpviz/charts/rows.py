"""Charts of named rows: an answer a row as a dot, or what bounds allow an attacker as bars and what attacks reached."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Self

import numpy as np
import pandas as pd

from dpviz.charts import look
from dpviz.charts.axes import BOTTOM, AxisScale, bottom_axis, row_axis
from dpviz.charts.labels import Mark, small, text_width, uprights
from dpviz.charts.marks import Numbers, floats
from dpviz.charts.plot import HEIGHT, Axis, Chart
from dpviz.charts.traces import QUIET, Trace, scatter, unseen
from dpviz.fields import numbers as written

TOP = 28
ROW = 20  # pixels of a row, at least
BEHIND = 170  # pixels right of the plot, for the words behind the dots
GUESSING = 50.0  # percent
BAR = 0.55  # a bar's share of its row


def _left(names: Sequence[str]) -> int:
    """Pixels of the margin that holds the rows' names."""
    return int(max((text_width(name, look.LABEL_SIZE) for name in names), default=40)) + 18


def _beside(words: str, row: int, x: float, shift: int) -> look.PlotlyDict:
    """What stands right of a place in a row."""
    where = {"xref": "paper", "x": x, "xanchor": "left", "xshift": shift, "yref": "y", "y": row, "yanchor": "middle"}
    return small(words, size=look.LABEL_SIZE, align="left", **where)


# --- an answer a row --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dot:
    """One row.

    Attributes:
        name: what stands left of it; rows of one name share their place.
        value: where the dot is; None, infinite or (on a log axis) not positive: no dot, only words.
        text: the value, written right of the dot.
        hover: what the hover says.
        color: "#rrggbb".
        faded: a pinned state's: small, and without words.
        note: written behind the text: what it saves, say.
        label: what tables and sentences call it where that is not `name`.
        key: its name in files; the label where empty.
        instead: written right of it in place of both, where there is no dot.
        why: why there is no value, in files.
    """

    name: str
    value: float | None
    text: str
    hover: str
    color: str
    faded: bool = False
    note: str = ""
    label: str = ""
    key: str = ""
    instead: str = ""
    why: str = ""

    @property
    def called(self) -> str:
        return self.label or self.name

    @property
    def words(self) -> str:
        """What stands right of it."""
        return self.instead or f"<b>{self.text}</b>" + (f"  {self.note}" if self.note else "")


@dataclass(frozen=True, eq=False)
class DotPlot:
    """Dots in rows, from top to bottom: what each of several methods answers to the same question.

    Attributes:
        x: the axis of all dots.
        dots: the rows; faded ones are of pinned plots, and stand in the row of their name, or in none.
        rows: what a row is, as a column of tables and files.
        reference: the value that all are tied to by a line; None for none.
        compared: the column of the dots' notes.
        summary: what is shown, before the answers, in the sentence for those who do not see it.
    """

    x: Axis
    dots: tuple[Dot, ...]
    rows: str = "method"
    reference: float | None = None
    compared: str = "compared"
    summary: str = ""

    @property
    def own(self) -> list[Dot]:
        """Without those of pinned plots."""
        return [dot for dot in self.dots if not dot.faded]

    def chart(self, height: int = HEIGHT) -> Chart:
        """The figure; higher where the rows need it."""
        log = self.x.log
        names = list(dict.fromkeys(dot.name for dot in self.own))
        places = {
            dot: dot.value
            for dot in self.dots
            if dot.name in names and dot.value is not None and math.isfinite(dot.value) and (dot.value > 0 or not log)
        }
        scale = _scale([*places.values()], log)
        tied = self.reference is not None and scale.low <= self.reference <= scale.high
        data: list[Trace] = []
        words = []
        for dot in self.own:
            row, at = names.index(dot.name), places.get(dot)
            end = at
            if tied and at is not None and self.reference is not None:
                end = max(at, self.reference)  # the words stand right of the line too
                tie = {"color": look.rgba(dot.color, 0.45), "width": 5}
                data.append(scatter([self.reference, at], [row, row], line=tie) | QUIET)
            words.append(_beside(dot.words, row, *((0.0, 6) if end is None else (scale.share(end), 13))))
        for dot, at in sorted(places.items(), key=lambda placed: not placed[0].faded):
            marker = {"color": dot.color, "size": 9 if dot.faded else 15, "opacity": 0.5 if dot.faded else 1}
            hover = {"name": dot.name, "hovertemplate": f"{dot.hover}<extra></extra>", "cliponaxis": False}
            data.append(scatter([at], [names.index(dot.name)], "markers", marker=marker, **hover))
        height = max(height, TOP + BOTTOM + ROW * len(names))
        layout = look.base_layout(height, {"l": _left(names), "r": BEHIND, "t": TOP, "b": BOTTOM}) | {
            "hovermode": "closest",
            "xaxis": bottom_axis(self.x.title, scale, kind=self.x.kind, grid=True),
            "yaxis": row_axis(names, (len(names) - 0.5, -0.5), showgrid=True, gridcolor=look.MINOR_GRID),
            "annotations": words,
            "shapes": [],
            "meta": {"rows": names},
        }
        return Chart({"data": data or [unseen(scale.low, 0)], "layout": layout}, ())

    @property
    def alt(self) -> str:
        return f"{self.summary or self.x.title}: {'; '.join(f'{dot.called} {dot.text}' for dot in self.own)}."

    def table(self) -> pd.DataFrame:
        rows = [(dot.called, dot.text, dot.note or "–") for dot in self.own]
        return pd.DataFrame(rows, columns=[self.rows, self.x.short_name, self.compared])

    def data(self) -> pd.DataFrame:
        rows = [(dot.key or dot.called, dot.value, dot.why) for dot in self.own]
        return pd.DataFrame(rows, columns=[self.rows, self.x.filed, "why_none"])

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same plot with the dots of others on the same axis."""
        kept = tuple(
            replace(dot, hover=f"{escape(name)}: {dot.text}", faded=True)
            for name, other in pinned
            if isinstance(other, DotPlot) and other.x.filed == self.x.filed
            for dot in other.own
            if dot.value is not None
        )
        return replace(self, dots=self.dots + kept)


def _scale(values: list[float], log: bool) -> AxisScale:
    """A little beyond the values on both sides, at least a factor of 3 (log) or from 0 (linear)."""
    if not values:
        return AxisScale(0.1, 10.0, log) if log else AxisScale(0.0, 1.0)
    low, high = min(values), max(values)
    if not log:
        return AxisScale(min(low, 0.0), 1.1 * high or 1.0)
    first, last = math.log10(low), math.log10(high)
    air = max(0.06 * (last - first), 0.5 * (math.log10(3.0) - (last - first)), 0.02)
    return AxisScale(10 ** max(first - air, -307.0), 10 ** min(last + air, 307.0), log)


# --- bounds and attacks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed:
    """A plot whose table and file follow from no axis: a list of quantities, all numbers one below another.

    Attributes:
        alt: the plot in a sentence.
        subject: what it shows, in pinned plots' names.
        rows: of the table: quantity, value, what else to know of it.
        numbers: of the file: quantity → its values, shape (m,).
    """

    alt: str
    subject: str = ""
    rows: tuple[tuple[str, str, str], ...] = ()
    numbers: Mapping[str, Numbers] = field(default_factory=dict)

    def of_kind(self, pinned: Sequence[tuple[str, Any]]) -> list[tuple[str, Self]]:
        """Pinned plots of the same kind by their subject, or by what else differs where that is the same."""
        others = [(name, other) for name, other in pinned if isinstance(other, type(self))]
        return [(name if other.subject == self.subject else other.subject, other) for name, other in others]

    def table(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows, columns=["quantity", "value", "interval or source"])

    def data(self) -> pd.DataFrame:
        """Long format: "quantity" and "value"."""
        columns = [floats(values) for values in self.numbers.values()]
        quantities = np.repeat([*self.numbers], [column.size for column in columns])
        return pd.DataFrame({"quantity": quantities, "value": np.concatenate([np.empty(0), *columns])})


@dataclass(frozen=True, slots=True)
class Allowed:
    """One bound.

    Attributes:
        name: what stands left of its bar.
        success: the highest success that it allows, in [0.5, 1].
        text: what stands right of its bar.
        hover: what the hover says.
        color: "#rrggbb".
        note: small words below `text`; why it promises less than the others, say.
    """

    name: str
    success: float
    text: str
    hover: str
    color: str
    note: str = ""


def reached(name: str, success: float, low: float, high: float, color: str) -> Mark:
    """What an attack was measured to reach, with its interval."""
    interval = f"{written.probability(low)} to {written.probability(high)}"
    return Mark(100 * success, name, interval, color, 100 * low, 100 * high)


@dataclass(frozen=True, eq=False, kw_only=True)
class AllowedPlot(Listed):
    """Bars from guessing (50 %) to what each bound allows, and measured attacks as upright lines across all rows.

    Attributes:
        bounds: from top to bottom, at least one, names all different.
        reached: measured attacks, those of pinned plots too; one below 50 % widens the axis.
        x_title: axis title.
    """

    bounds: tuple[Allowed, ...]
    reached: tuple[Mark, ...]
    x_title: str

    def chart(self, height: int = HEIGHT) -> Chart:
        names = [bound.name for bound in self.bounds]
        ends = [end for attack in self.reached for end in (attack.low or 0.0, attack.high or 0.0)]
        low, high = min([GUESSING, *ends]), max([100 * bound.success for bound in self.bounds] + ends)
        air = 0.04 * max(high - low, 0.1)
        scale = AxisScale(max(low - air, 0.0), high if high == 100.0 else min(high + air, 100.0))
        right = max(text_width(text, look.LABEL_SIZE) for bound in self.bounds for text in (bound.text, bound.note))
        margin = {"l": _left(names), "r": int(right) + 20, "t": 14 + 17 * max(len(self.reached), 1), "b": BOTTOM}
        layout = look.base_layout(height, margin) | uprights(self.reached, scale, _percent)
        layout |= {
            "hovermode": "closest",
            "xaxis": bottom_axis(self.x_title, scale, kind="percent", most=8, grid=True),
            "yaxis": row_axis(names, (len(names) - 0.4, -0.6), showgrid=False),
            "meta": {"rows": names, "bars": True},
        }
        data = []
        for row, bound in enumerate(self.bounds):
            note = f"<br><span style='font-size:{look.SMALL_SIZE}px'>{bound.note}</span>" if bound.note else ""
            layout["annotations"].append(_beside(bound.text + note, row, 1.0, 10))
            data.append(_bar(bound, row, BAR * min(1.0, len(names) / 3)))
        return Chart({"data": data + [_spots(attack, len(names)) for attack in self.reached], "layout": layout}, ())

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        others = self.of_kind(pinned)
        kept = tuple(replace(mark, name=name, faded=True) for name, other in others for mark in other.reached)
        return replace(self, reached=self.reached + kept)


def _percent(percent: float) -> str:
    return written.probability(percent / 100)


def _bar(bound: Allowed, row: int, width: float) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "base": [GUESSING],
        "x": [max(100 * bound.success - GUESSING, 0.0)],
        "y": [row],
        "width": [width],
        "marker": {"color": look.rgba(bound.color, 0.45), "line": {"color": bound.color, "width": 1.5}},
        "name": bound.name,
        "hovertemplate": f"{bound.hover}<extra></extra>",
    }


def _spots(attack: Mark, rows: int) -> Trace:
    """Unseen points on the line that answer the cursor between the bars."""
    hover = f"{attack.name}: <b>{_percent(attack.x)}</b> ({attack.note})<extra></extra>"
    marker = {"size": 14, "opacity": 0, "color": attack.color}
    more = {"marker": marker, "name": attack.name, "hovertemplate": hover}
    return scatter([attack.x] * rows, [row + 0.5 for row in range(rows)], "markers", **more)
