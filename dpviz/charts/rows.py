"""Charts of named rows: an answer a row as a dot, or what bounds allow an attacker as bars and what attacks reached."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpviz.charts import look
from dpviz.charts.axes import BOTTOM, Span, bottom_axis, position, row_axis
from dpviz.charts.labels import above, small, text_width
from dpviz.charts.marks import Numbers, floats
from dpviz.charts.plot import HEIGHT, Axis, Chart
from dpviz.charts.traces import QUIET, Trace, scatter, unseen
from dpviz.fields import numbers as written

if TYPE_CHECKING:
    import pandas as pd

TOP = 28
ROW = 20  # pixels of a row, at least
BEHIND = 170  # pixels right of the plot, for the words behind the dots
GUESSING = 0.5
BAR = 0.55  # a bar's share of its row


def _left(names: Sequence[str]) -> int:
    """Pixels of the margin that holds the rows' names."""
    return int(max((text_width(name, look.LABEL_SIZE) for name in names), default=40)) + 18


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

    def place(self, log: bool) -> float | None:
        """Where it is drawn."""
        shown = self.value is not None and math.isfinite(self.value) and (self.value > 0 or not log)
        return self.value if shown else None


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
        places = {dot: at for dot in self.dots if dot.name in names and (at := dot.place(log)) is not None}
        span = _span([*places.values()], log)
        reference = self.reference if self.reference is not None and span[0] <= self.reference <= span[1] else None
        height = max(height, TOP + BOTTOM + ROW * len(names))
        layout = look.base_layout(height, {"l": _left(names), "r": BEHIND, "t": TOP, "b": BOTTOM}) | {
            "hovermode": "closest",
            "xaxis": bottom_axis(self.x.title, span=span, log=log, kind=self.x.kind, grid=True),
            "yaxis": row_axis(names, (len(names) - 0.5, -0.5), showgrid=True, gridcolor=look.MINOR_GRID),
            "annotations": [
                _behind(dot.words, names.index(dot.name), places.get(dot), reference, span, log) for dot in self.own
            ],
            "shapes": [],
            "meta": {"rows": names},
        }
        data: list[Trace] = []
        if reference is not None:
            data += [
                scatter([reference, at], [names.index(dot.name)] * 2, line=_tie(dot.color)) | QUIET
                for dot, at in places.items()
                if not dot.faded
            ]
        for dot, at in sorted(places.items(), key=lambda placed: not placed[0].faded):
            marker = {"color": dot.color, "size": 9 if dot.faded else 15, "opacity": 0.5 if dot.faded else 1}
            hover = {"name": dot.name, "hovertemplate": f"{dot.hover}<extra></extra>", "cliponaxis": False}
            data.append(scatter([at], [names.index(dot.name)], "markers", marker=marker, **hover))
        return Chart({"data": data or [unseen(span[0], 0)], "layout": layout}, ())

    @property
    def alt(self) -> str:
        return f"{self.summary or self.x.title}: {'; '.join(f'{dot.called} {dot.text}' for dot in self.own)}."

    def table(self) -> pd.DataFrame:
        import pandas as pd

        rows = [(dot.called, dot.text, dot.note or "–") for dot in self.own]
        return pd.DataFrame(rows, columns=[self.rows, self.x.short_name, self.compared])

    def data(self) -> pd.DataFrame:
        import pandas as pd

        rows = [(dot.key or dot.called, dot.value, dot.why) for dot in self.own]
        return pd.DataFrame(rows, columns=[self.rows, self.x.filed, "why_none"])

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same plot with the dots of others on the same axis."""
        kept = tuple(
            replace(dot, hover=f"{escape(name)}: {dot.text}", faded=True)
            for name, other in pinned
            if isinstance(other, DotPlot) and other.x.filed == self.x.filed
            for dot in other.own
            if dot.value is not None
        )
        return replace(self, dots=self.dots + kept)


def _tie(color: str) -> dict[str, Any]:
    return {"color": look.rgba(color, 0.45), "width": 5}


def _span(values: list[float], log_x: bool) -> Span:
    """A little beyond the values on both sides, at least a factor of 3 (log) or from 0 (linear)."""
    if not values:
        return (0.1, 10.0) if log_x else (0.0, 1.0)
    low, high = min(values), max(values)
    if not log_x:
        return min(low, 0.0), 1.1 * high or 1.0
    air = max(0.06 * math.log10(high / low), 0.5 * math.log10(max(3.0 * low / high, 1.0)), 0.02)
    return 10 ** max(math.log10(low) - air, -307.0), 10 ** min(math.log10(high) + air, 307.0)


def _behind(words: str, row: int, at: float | None, reference: float | None, span: Span, log: bool) -> dict[str, Any]:
    """Right of the dot and of the line that ties it; at the plot's left end where there is none."""
    x, shift = (0.0, 6) if at is None else (position(max(at, reference or 0.0), span, log), 13)
    where = {"xref": "paper", "x": x, "xanchor": "left", "xshift": shift, "yref": "y", "y": row, "yanchor": "middle"}
    return {"text": words, "showarrow": False, "font": {"size": look.LABEL_SIZE}, "align": "left"} | where


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

    def named(self, difference: str, other: Listed) -> str:
        """A pinned plot by its subject; by what else differs where that is the same."""
        return difference if other.subject == self.subject else other.subject

    def table(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(self.rows, columns=["quantity", "value", "interval or source"])

    def data(self) -> pd.DataFrame:
        """Long format: "quantity" and "value"."""
        import pandas as pd

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


@dataclass(frozen=True, slots=True)
class Reached:
    """What an attack was measured to reach: an upright line with its interval behind it."""

    name: str
    success: float
    low: float
    high: float
    color: str
    faded: bool = False

    @property
    def interval(self) -> str:
        return f"{written.probability(self.low)} to {written.probability(self.high)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class AllowedPlot(Listed):
    """Bars from guessing (50 %) to what each bound allows, and measured attacks as upright lines across all rows.

    Attributes:
        bounds: from top to bottom, at least one, names all different.
        reached: measured attacks, those of pinned plots too; one below 50 % widens the axis.
        x_title: axis title.
    """

    bounds: tuple[Allowed, ...]
    reached: tuple[Reached, ...]
    x_title: str

    def chart(self, height: int = HEIGHT) -> Chart:
        names = [bound.name for bound in self.bounds]
        span = self._span()
        right = max(text_width(text, look.LABEL_SIZE) for bound in self.bounds for text in (bound.text, bound.note))
        margin = {"l": _left(names), "r": int(right) + 20, "t": 14 + 17 * max(len(self.reached), 1), "b": BOTTOM}
        x_axis = bottom_axis(self.x_title, span=(100 * span[0], 100 * span[1]), log=False, most=8, grid=True)
        layout = look.base_layout(height, margin) | {
            "hovermode": "closest",
            "xaxis": x_axis | {"ticktext": [f"{text} %" for text in x_axis["ticktext"]]},
            "yaxis": row_axis(names, (len(names) - 0.4, -0.6), showgrid=False),
            "shapes": [shape for attack in self.reached for shape in _upright(attack)],
            "annotations": [_beside(bound, row) for row, bound in enumerate(self.bounds)]
            + [
                above(row, position(min(max(attack.success, span[0]), span[1]), span, False), _named(attack))
                for row, attack in enumerate(self.reached)
            ],
        }
        data = [_bar(bound, row, BAR * min(1.0, len(names) / 3)) for row, bound in enumerate(self.bounds)]
        return Chart({"data": data + [_spots(attack, len(names)) for attack in self.reached], "layout": layout}, ())

    def _span(self) -> Span:
        """From guessing, or the lowest interval, to the largest bound, with air; all of it in [0, 1]."""
        low = min([GUESSING, *(attack.low for attack in self.reached)])
        high = max([*(bound.success for bound in self.bounds), *(attack.high for attack in self.reached)])
        air = 0.04 * max(high - low, 1e-3)
        return max(low - air, 0.0), high if high == 1.0 else min(high + air, 1.0)

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        kept = tuple(
            replace(attack, name=self.named(name, other), faded=True)
            for name, other in pinned
            if isinstance(other, AllowedPlot)
            for attack in other.reached
        )
        return replace(self, reached=self.reached + kept)


def _bar(bound: Allowed, row: int, width: float) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "base": [100 * GUESSING],
        "x": [max(100 * (bound.success - GUESSING), 0.0)],
        "y": [row],
        "width": [width],
        "marker": {"color": look.rgba(bound.color, 0.45), "line": {"color": bound.color, "width": 1.5}},
        "name": bound.name,
        "hovertemplate": f"{bound.hover}<extra></extra>",
    }


def _upright(attack: Reached) -> list[dict[str, Any]]:
    whole: dict[str, Any] = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    stroke = {"color": look.rgba(attack.color, 0.5 if attack.faded else 1), "width": 1.2 if attack.faded else 2.5}
    line = whole | {"type": "line", "x0": 100 * attack.success, "x1": 100 * attack.success, "line": stroke}
    if attack.faded:
        return [line]
    ground = {"fillcolor": look.rgba(attack.color, 0.18), "line": {"width": 0}}
    return [whole | {"type": "rect", "x0": 100 * attack.low, "x1": 100 * attack.high} | ground, line]


def _spots(attack: Reached, rows: int) -> Trace:
    """Unseen points on the line that answer the cursor between the bars."""
    hover = f"{attack.name}: <b>{written.probability(attack.success)}</b> ({attack.interval})<extra></extra>"
    marker = {"size": 14, "opacity": 0, "color": attack.color}
    more = {"marker": marker, "name": attack.name, "hovertemplate": hover}
    return scatter([100 * attack.success] * rows, [row + 0.5 for row in range(rows)], "markers", **more)


def _beside(bound: Allowed, row: int) -> dict[str, Any]:
    """In a column right of the plot."""
    where = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 10, "yref": "y", "y": row, "yanchor": "middle"}
    note = f"<br><span style='font-size:{look.SMALL_SIZE}px'>{bound.note}</span>" if bound.note else ""
    return small(bound.text + note, size=look.LABEL_SIZE, align="left", **where)


def _named(attack: Reached) -> str:
    return look.named(f"<b>{attack.name} {written.probability(attack.success)}</b> · {attack.interval}", attack.color)
