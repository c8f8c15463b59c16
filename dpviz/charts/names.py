"""The names of what is drawn, in place of a legend: at lines' ends or on them, of areas, floors, regions and guides."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import look
from dpviz.charts.axes import AxisScale, Box, Plane
from dpviz.charts.labels import pushed_apart, shortened, small, text_width
from dpviz.charts.marks import Area, Band, Floor, Guide, Line, Reference, Region, Ring, floats
from dpviz.charts.traces import Trace, clipped
from dpviz.fields import numbers

Annotation = look.PlotlyDict
GAP, AIR = 17, 4  # pixels from one name to the next, and from the plot's edges
LONGEST = 30  # letters of a name
RISE = 11  # pixels that a name inside the plot stands above or below its line's end
UPRIGHT, LEVEL = "upright", "level"  # what the names of guides are called
LEAD = 16  # pixels from a line's end to its name, crossed by a hair line

_PAPER: Annotation = {"xref": "paper", "yref": "paper"}
_EDGE = 0.12  # names on lines keep off the edges by so much of the plot
_AWAY = 7  # pixels between a line and its name
_OFF = 4.0  # pixels that a name keeps off its own line, where it can
_CORNERS = ((-1, 1), (1, -1), (1, 1), (-1, -1))  # of a point on a line: left and above it, and so on
_RISES = (0, 13, 17, 21, 26, 34, 51, 68, 85)  # pixels that a ring's name may stand above or below its ring
_RING = 16.0  # pixels across a ring, and some around it
_ON = 2.0  # pixels from a curve within which a ring lies on it
_SOME, _FEW = 8, 8  # of so many points of a curve one, and so many names, are looked at first
_UNDER = np.linspace(0.35, 0.97, 32)  # of the plot's width: above a reference's name, which a phone has little room for
_NARROW = 400.0  # pixels of a plot beside the controls of a small window
_INDENT = 6  # pixels from a guide, or its end, to its name
_KNOB = 24  # the same where the knob is that pulls it
_ROW, _ROWS = 16, 6  # pixels from one row of names of upright guides to the next, and rows that are tried
_CLEAR = 8.0  # pixels between a guide's name and a curve that are enough


# --- at lines' ends ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class End:
    """Where a line ends: x and y in data units, `reach` pixels from the plot's top, `beside`: at the plot's right edge.

    `rise`: pixels that a name inside the plot stands above it, below where the line's last quarter lies above its end.
    """

    line: Line
    x: float
    y: float
    reach: float
    beside: bool
    rise: float

    @property
    def hair(self) -> str:
        """The colour of the hair line to its name."""
        return look.rgba(self.line.hue, 0.55)


RIGHT = 0.99  # of the plot's width: from there on a line ends at its edge


def end_of(line: Line, plane: Plane) -> End | None:
    """The last point of a line that lies in the x range; None where there is none."""
    x, values, scale = floats(line.x), floats(line.y), plane.x
    within = np.flatnonzero(line.seen(plane.y.log) & (x >= scale.low) & (x <= scale.high))
    if not within.size:
        return None
    last = within[-1]
    y, before = float(values[last]), values[within[-1 - len(within) // 4 : -1]]
    falls = bool(before.size) and before.mean() > y
    beside = scale.share(float(x[last])) >= RIGHT
    return End(line, float(x[last]), y, plane.down(y), beside, 0 if beside else -RISE if falls else RISE)


def _text(end: End, arrow: str, writes: Callable[[float], str] | None) -> tuple[str, float]:
    """The name in the line's colour and the value in the theme's; the width in pixels, arrow included."""
    line = end.line
    name = shortened(line.name if line.end is None else line.end, LONGEST)
    value = f"  {writes(end.y)}" if writes else ""
    strong = value if line.faded else f"<b>{value}</b>"  # a pinned state's is not faded: it must be readable
    return f"{look.named(name, line.hue)}{strong}", text_width(arrow + name + value, look.LABEL_SIZE)


def _named_ends(lines: Sequence[Line], bands: Sequence[Band], plane: Plane) -> list[End]:
    """The ends that carry names, of lines and of bands' upper edges, from the top of the plot down."""
    edges = [Line(key=band.name, name=band.name, x=band.x, y=band.upper, family=band.family) for band in bands]
    ends = [end for line in [*lines, *edges] if line.end != "" and (end := end_of(line, plane))]
    # Curves that left through the top keep their order there: the largest on top.
    return sorted(ends, key=lambda end: (max(end.reach, 0.0), -end.y))


def _arrow(end: End, plane: Plane) -> str:
    """Where the line left the plot, through the top or the bottom; empty where it did not."""
    return "↑ " if end.reach < 0 else "↓ " if end.reach > plane.inner else ""


def end_names(
    lines: Sequence[Line], bands: Sequence[Band], plane: Plane, *, writes: Callable[[float], str] | None
) -> tuple[list[Annotation], int, list[look.PlotlyDict]]:
    """The names as annotations that never overlap, and the pixels they need right of the plot.

    And the same as they are, for whoever moves the lines: the line's name, text, x and y in data units, rise and size
    in pixels, the share of the width where it has room, its own share of a narrow plot, colour of the hair line.

    Args:
        lines, bands: what carries names.
        writes: how the last value is written behind the name; None for none.
    """
    ends, inner = _named_ends(lines, bands, plane), plane.inner
    size = min(look.LABEL_SIZE, max(9.0, 0.82 * inner / max(len(ends) - 1, 1)))
    names, free, widest = [], [], 0.0
    for chosen in _meeting(ends, plane, writes):
        wanted = [min(max(end.reach, 0.0), inner) - end.rise for end in chosen]
        for end, place in zip(chosen, pushed_apart(wanted, gap=GAP, low=AIR, high=inner - AIR), strict=True):
            arrow = _arrow(end, plane)
            text, width = _text(end, arrow, writes)
            widest = max(widest, width) if end.beside else widest
            at = {"x": 1, "xref": "paper"} if end.beside else {"x": plane.x.raw(end.x), "xref": "x"}
            room = 1.0 - width / plane.width  # left of which it stands behind its end, else on its line
            anchor = "left" if end.beside or plane.x.share(end.x) < room else "right"
            note: Annotation = {"name": "end", "text": re.sub(r">(?=[^<])", f">{arrow}", text, count=1)}
            note |= {"font": {"size": size}, "align": "left", "yanchor": "middle", "xanchor": anchor, "borderpad": 2}
            names.append(note | at | {"captureevents": True} | _lead(end, place, plane))
            own = {"line": end.line.name, "text": text, "x": end.x, "y": end.y, "rise": end.rise, "room": room}
            free.append(own | {"span": width / _NARROW, "size": size, "hair": end.hair})
    return names, int(widest) + (LEAD + 15 if any(end.beside for end in ends) else 16), free


def _meeting(ends: Sequence[End], plane: Plane, writes: Callable[[float], str] | None) -> Iterator[list[End]]:
    """Ends whose names may meet, each group from the top down: all beside the plot; inside, where names lie over each
    other across on a narrow one."""
    yield [end for end in ends if end.beside]
    spans = []
    for order, end in enumerate(ends):
        if not end.beside:
            width, at = _text(end, _arrow(end, plane), writes)[1], plane.x.share(end.x)
            left = at if at < 1.0 - width / plane.width else at - width / _NARROW
            spans.append((left, left + width / _NARROW, order))
    group: list[int] = []
    reached = 0.0
    for left, right, order in sorted(spans):
        if group and left > reached:
            yield [ends[k] for k in sorted(group)]
            group = []
        group, reached = [*group, order], max(right, reached)
    yield [ends[k] for k in sorted(group)]


def _lead(end: End, place: float, plane: Plane) -> Annotation:
    """Where the name stands vertically (`place` pixels from the plot's top), and the hair line that leads to it."""
    if not 0 <= end.reach <= plane.inner:
        return {
            "showarrow": False,
            "yref": "paper",
            "y": 1 - place / plane.inner,
            "xshift": LEAD - 2 if end.beside else 0,
        }
    y = {"yref": "y", "y": plane.y.raw(end.y)}
    if not end.beside:
        return y | {"showarrow": False, "yshift": round(end.reach - place, 1)}
    hair = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": end.hair, "standoff": 3}
    return y | hair | {"showarrow": True, "ax": LEAD, "ay": round(place - end.reach, 1)}


# --- on lines and in areas --------------------------------------------------------------------------------------------


def names_on_lines(
    lines: Sequence[Line], plane: Plane, taken: Sequence[Annotation], rings: Sequence[Ring]
) -> list[Annotation]:
    """Each line's name (its `end`, none where that is empty) beside it, where other lines leave most room: for lines
    that leave through the top or the bottom, where a name at the line's end would stand beside nothing.

    No name covers what is `taken` by other words, nor a ring or an error bar. Each is an annotation named "line" and
    its line's name: a chart without room for them shows them below.
    """
    x = np.linspace(0.0, 1.0, 400)
    courses = plane.courses(x, [(line.x, line.y) for line in lines])
    boxes_taken = [_box(plane, n["x"], n["y"], n["text"]) for n in taken if n.get("xref") == n.get("yref") == "paper"]
    boxes_taken += _boxes_of_marks(lines, rings, plane)
    names = []
    for i, (line, y) in enumerate(zip(lines, courses, strict=True)):
        text = line.end or line.name
        inside = np.flatnonzero((x > _EDGE) & (x < 1.0 - _EDGE) & (y > _EDGE) & (y < 1.0 - _EDGE))[::8].tolist()
        if not inside or line.end == "":
            continue
        places = [(float(x[k]), float(y[k]), side) for k in inside for side in _CORNERS]
        boxes = [_box(plane, at, up, text, side) for at, up, side in places]
        [off] = plane.apart(boxes, x, y[None], _OFF)  # from its own line: first of all it does not lie on that
        free = np.flatnonzero(off == off.max())
        best = int(free[_roomiest(plane, x, np.delete(courses, i, axis=0), boxes_taken, [boxes[k] for k in free])])
        boxes_taken.append(boxes[best])
        at, up, (right, high) = places[best]
        where: Annotation = {"xanchor": "right" if right < 0 else "left", "yanchor": "bottom" if high > 0 else "top"}
        shift: Annotation = {"xshift": right * _AWAY, "yshift": high * _OFF}
        words = look.named(f"<b>{text}</b>", line.hue)
        names.append(_on_paper(words, at, up, look.LABEL_SIZE, name=f"line {line.name}", **where, **shift))
    return names


def _boxes_of_marks(lines: Sequence[Line], rings: Sequence[Ring], plane: Plane) -> list[Box]:
    """Around rings and error bars."""
    boxes = [Box(plane.x.share(ring.x), plane.y.share(ring.y), 90.0, 30.0) for ring in rings if ring.low is None]
    bars = [(ring.x, ring.low, ring.high) for ring in rings if ring.low is not None and ring.high is not None]
    bars += [bar for line in lines if line.spread for bar in zip(line.x, *line.spread, strict=True)]
    for at, low, high in bars:
        low, high = plane.y.share(low), plane.y.share(high)
        boxes.append(Box(plane.x.share(at), 0.5 * (low + high), 14.0, (high - low) * plane.inner + 14.0))
    return boxes


def _on_paper(text: str, x: float, y: float, size: float = look.SMALL_SIZE, **where: Any) -> Annotation:
    """A name at these shares of the plot."""
    return small(text, size=size, **_PAPER, x=x, y=y, **where)


def _box(plane: Plane, x: float, y: float, text: str, side: tuple[int, int] = (0, 0)) -> Box:
    """Around a name that stands left (−1) or right (+1) of a point, and below (−1) or above it (+1); (0, 0): on it."""
    width, height = text_width(text, look.LABEL_SIZE), 1.2 * look.LABEL_SIZE
    across, up = side[0] * (0.5 * width + _AWAY) / plane.width, side[1] * (0.5 * height + _OFF) / plane.inner
    return Box(x + across, y + up, width, height)


def _between(boxes: Sequence[Box], others: Sequence[Box], plane: Plane) -> Array:
    """Pixels between each box and each of some others, 0 where they touch: (boxes, others)."""
    x, y, width, height = np.array(boxes).T[:, :, None]
    x_other, y_other, wide, high = np.array(others).reshape(-1, 4).T[:, None, :]
    across = np.maximum(np.abs(x - x_other) * plane.width - 0.5 * (width + wide), 0.0)
    along = np.maximum(np.abs(y - y_other) * plane.inner - 0.5 * (height + high), 0.0)
    return np.asarray(np.hypot(across, along))


def _room(plane: Plane, x: Array, others: Array, taken: Sequence[Box], boxes: Sequence[Box]) -> Array:
    """Pixels between each of some names and the nearest other line, name or edge."""
    at, _, width, _ = np.array(boxes).T
    room = np.minimum(at, 1.0 - at) * plane.width - 0.5 * width
    room = np.minimum(room, _between(boxes, taken, plane).min(axis=1, initial=math.inf))
    return np.asarray(np.minimum.reduce([room, *plane.apart(boxes, x, others)]))


def _roomiest(plane: Plane, x: Array, others: Array, taken: Sequence[Box], boxes: Sequence[Box]) -> int:
    """Which of some names has most room, the first of equals.

    A curve is no further away than some of its points are: only where these leave enough room are all of them asked.
    """
    most = _room(plane, x[::_SOME], others[:, ::_SOME], taken, boxes)
    order = np.argsort(-most, kind="stable")
    few = order[:_FEW]
    least = _room(plane, x, others, taken, [boxes[k] for k in few.tolist()]).max()
    left = np.flatnonzero(~(most < least))  # all of them where a gap in a curve makes the least no number
    return int(left[_room(plane, x, others, taken, [boxes[k] for k in left.tolist()]).argmax()])


def area_names(areas: Sequence[Area], plane: Plane) -> list[Annotation]:
    """In the middle of the longest level stretch within each area, off its edges where it is high enough for words
    on a phone."""
    names = []
    levels = np.linspace(0.06, 0.94, 45)
    half = 0.6 * look.LABEL_SIZE / plane.on_phone().inner
    for area in areas:
        x, low, high = clipped(area, plane)
        if not area.name or not (high > low).any():
            continue
        off = half if (high - low).max() > 3.0 * half else 0.0
        inside = (low + off < levels[:, None]) & (levels[:, None] < high - off)
        long = inside.sum(axis=1)
        widest = np.flatnonzero(long >= 0.98 * long.max())
        level = int(widest[widest.size // 2])
        across, y = x[inside[level]], levels[level]
        if not across.size:
            across, y = x[high > low], 0.5 * float((low + high)[high > low].mean())
        names.append(_on_paper(f"<b>{area.name}</b>", float(across.mean()), float(y), look.LABEL_SIZE))
    return names


def reference_names(
    references: Sequence[Reference], lines: Sequence[Line], bands: Sequence[Band], plane: Plane
) -> list[Annotation]:
    """Each reference's name below all curves at the right, where curves that rise leave room, on a phone too; nowhere
    where they leave none."""
    names: list[Annotation] = []
    curves = [(line.x, line.y) for line in lines] + [(band.x, band.lower) for band in bands]
    curves += [(reference.x, reference.y) for reference in references]
    lowest = min((float(np.fmin.reduce(plane.course(_UNDER, x, y), initial=1.0)) for x, y in curves), default=1.0)
    for reference in references:
        place = lowest - (_AWAY + 1.3 * look.SMALL_SIZE * len(names)) / plane.inner
        if place * plane.inner > 1.3 * look.SMALL_SIZE + AIR:
            names.append(_on_paper(reference.name, _UNDER[-1], place, xanchor="right", yanchor="top"))
    return names


# --- of all else ------------------------------------------------------------------------------------------------------


def hover_note(x: float, y: float, text: str, plane: Plane) -> Annotation:
    """An unseen word on a mark whose hover says this.

    In the unified hover a lone point would show wherever the cursor is, for it is always its trace's nearest.
    """
    return small("◆◆", x=plane.x.raw(x), y=plane.y.raw(y), hovertext=text, captureevents=True, opacity=0)


def ring_names(
    rings: Sequence[Ring],
    lines: Sequence[Line],
    bands: Sequence[Band],
    guides: Sequence[Guide],
    plane: Plane,
    words: Sequence[Annotation] = (),
) -> list[Annotation]:
    """Beside rings that have one: near their rings, where lines, guides, other rings and words leave room; `words`: on
    the plot already."""
    x = np.linspace(0.0, 1.0, 400)
    curves = [*((line.x, line.y) for line in lines), *((band.x, band.upper) for band in bands)]
    courses = plane.courses(x, curves, [plane.y.share(guide.at) for guide in guides if guide.axis == "y"])
    uprights = [plane.x.share(guide.at) for guide in guides if guide.axis == "x"]
    marks = _spots(rings, plane)
    taken = [*marks, *_bars(rings, plane), *boxes_of(words, plane)]
    names = []
    for ring, mark in zip(rings, marks, strict=True):
        if not ring.name:
            continue
        width, first = text_width(ring.name, look.LABEL_SIZE), -1 if mark.x > 0.7 else 1
        places = [
            (side * 0.5 * (width + _RING + 2.0), sign * rise)
            for rise in _RISES
            for side in (first, -first, 0)
            for sign in (1, -1)
            if side or rise
        ]
        boxes = [Box(mark.x + dx / plane.width, mark.y + dy / plane.inner, width, look.LABEL_SIZE) for dx, dy in places]
        others = [box for box in taken if box is not mark]
        best = int(_costs(mark, boxes, others, courses, uprights, plane).argmin())
        taken.append(boxes[best])
        dx, dy = places[best]
        text = look.named(f"<b>{ring.name}</b>", ring.color)
        where: Annotation = {"name": "ring", "x": plane.x.raw(ring.x), "y": plane.y.raw(ring.y), "xanchor": "center"}
        names.append(small(text, size=look.LABEL_SIZE, **where, yanchor="middle", xshift=round(dx, 1), yshift=dy))
    return names


def _bars(rings: Sequence[Ring], plane: Plane) -> list[Box]:
    """Around the error bars of rings."""
    ends = [(ring.x, ring.low, ring.high) for ring in rings if ring.low is not None and ring.high is not None]
    spans = [(plane.x.share(at), plane.y.share(low), plane.y.share(high)) for at, low, high in ends]
    return [Box(at, 0.5 * (low + high), 0.5 * _RING, (high - low) * plane.inner) for at, low, high in spans]


def _costs(
    ring: Box,
    boxes: Sequence[Box],
    taken: Sequence[Box],
    courses: Array,
    uprights: Sequence[float],
    plane: Plane,
) -> Array:
    """How bad each place of a ring's name is: pixels away from its ring, and the square of those of room that it lacks,
    more where a line crosses it.

    Worse than any distance is a name behind another curve, as whose name it would be read; worse than that is one that
    lies on another name, and one at the plot's edge.

    Args:
        ring: around it.
        boxes: around the name at its places.
        taken: by other rings, their names and error bars.
        courses, uprights: heights of curves along the plot, and where guides stand upright, in shares.
    """
    at, up, width, height = np.array(boxes).T
    x, steps = np.linspace(0.0, 1.0, 400), np.linspace(0.0, 1.0, 12)[1:]
    across, along = ring.x + np.outer(at - ring.x, steps), ring.y + np.outer(up - ring.y, steps)  # on the way to a name
    room = free = _room(plane, x, courses[:0], taken, boxes)
    for upright in uprights:
        room = np.minimum(room, np.abs(at - upright) * plane.width - 0.5 * width)
    below = ring.y - _heights(courses, np.array(ring.x))
    own = np.abs(below) * plane.inner < _ON
    apart = plane.apart(boxes, x, courses, _AWAY) * np.where(own, _AWAY / _OFF, 1.0)[:, None]
    room = np.minimum.reduce([room, *apart])
    beyond = (along - _heights(courses, across)) * below[:, None, None] < 0.0
    behind = beyond[~own].any(axis=(0, 2))
    away = np.hypot(
        np.maximum(np.abs(at - ring.x) * plane.width - 0.5 * width, 0.0),
        np.maximum(np.abs(up - ring.y) * plane.inner - 0.5 * height, 0.0),
    )
    outside = np.abs(up - 0.5) * plane.inner > 0.5 * plane.inner - GAP
    worst = behind + 2.0 * (free < 1.0) + 4.0 * outside
    costs = away + np.clip(_AWAY - room, 0.0, _AWAY) ** 2 + GAP * (room <= 0.0) + plane.height * worst
    return np.asarray(costs.round(1))  # so that of equally good places the first one is taken


def _heights(courses: Array, at: Array) -> Array:
    """Of curves, (curves, points) along the whole plot, at these shares of it: (curves, *at.shape)."""
    place = np.clip(at, 0.0, 1.0) * (courses.shape[1] - 1)
    left = np.minimum(place.astype(np.intp), courses.shape[1] - 2)
    share = place - left
    return np.asarray((1.0 - share) * courses[:, left] + share * courses[:, left + 1])


def _straight(axis: str, place: float, **stroke: Any) -> look.PlotlyDict:
    """A line across the plot at this share of an axis; at its very end it still moves with the axis."""
    place = min(max(place, 1e-9), 1.0 - 1e-9)
    ends = {"x0": 0, "x1": 1, "y0": place, "y1": place} if axis == "y" else {"x0": place, "x1": place, "y0": 0, "y1": 1}
    return {"type": "line", "layer": "below", "line": stroke} | _PAPER | ends


def _reaching(ends: Sequence[look.PlotlyDict], plane: Plane) -> Iterator[tuple[float, float]]:
    """Pixels from the left of a narrow plot to where the name of a line that ends inside it stops, and from its top to
    the name's middle, as `end_names` tells them."""
    for end in ends:
        at = plane.x.share(end["x"])
        if at < RIGHT:
            down = min(max(plane.down(end["y"]), 0.0), plane.inner) - end["rise"]
            stop = at + end["span"] * (at < end["room"])
            yield stop * _NARROW, min(max(down, AIR), plane.inner - AIR)


def floor_lines(
    floors: Sequence[Floor],
    lines: Sequence[Line],
    ends: Sequence[look.PlotlyDict],
    plane: Plane,
    *,
    share: bool = False,
) -> tuple[list[look.PlotlyDict], list[Annotation]]:
    """Thin dotted horizontal lines below the curves, for the floors that show; and their names at the right, inside,
    where growing curves have long left their floor, or at the left where curves end before the right edge, with their
    names behind them, or a curve or one of the names that `end_names` tells is in the way; never overlapping. A `share`
    is written in percent.

    A floor that all but touches the bottom of the plot binds nothing that shows, and gets no name.
    """
    inner = plane.inner
    shown = [floor for floor in floors if 0 <= plane.down(floor.y) <= inner]
    colors = [look.rgba(look.style(floor.family).color, 0.7) for floor in shown]
    dotted = [
        _straight("y", plane.y.share(floor.y), color=color, width=1, dash="dot")
        for floor, color in zip(shown, colors, strict=True)
    ]
    named = [floor for floor in shown if plane.down(floor.y) <= inner - 14]
    places = pushed_apart([plane.down(floor.y) - 8 for floor in named], gap=14, low=8, high=inner - 8)
    write = numbers.tenths if share else numbers.epsilon
    texts = [f"{floor.name}: {write(floor.y)}" for floor in named]
    right = bool(texts) and _at_right(texts, places, lines, ends, plane)
    side: Annotation = {"xanchor": "right", "xshift": -_INDENT} if right else {"xanchor": "left", "xshift": _INDENT}
    return dotted, [
        _on_paper(text, int(right), 1 - place / inner, yanchor="middle", **side)
        for text, place in zip(texts, places, strict=True)
    ]


def _at_right(
    texts: Sequence[str], places: Sequence[float], lines: Sequence[Line], ends: Sequence[look.PlotlyDict], plane: Plane
) -> bool:
    """Whether names of floors, `places` pixels from the plot's top, stand at its right end and not at its left one."""
    widths = np.array([text_width(text, look.SMALL_SIZE) for text in texts])
    free = _NARROW - _INDENT - widths.max()
    if any(stop > free and abs(down - place) < GAP for stop, down in _reaching(ends, plane) for place in places):
        return False
    if not any(plane.x.share(float(line.x[-1])) >= RIGHT for line in lines if len(line.x)):
        return False
    x = np.linspace(0.0, 1.0, 200)
    courses = plane.courses(x, [(line.x, line.y) for line in lines])
    middles = (_INDENT + 0.5 * widths) / plane.width

    def crossed(across: Array) -> bool:
        rows = zip(across, places, widths, strict=True)
        boxes = [Box(at, 1.0 - place / plane.inner, width, look.SMALL_SIZE) for at, place, width in rows]
        return bool((plane.apart(boxes, x, courses, _CLEAR) < _ON).any())

    return not crossed(1.0 - middles) or crossed(middles)


def region_names(regions: Sequence[Region], plane: Plane) -> list[Annotation]:
    """Each region's name at its top, in rows of their own, for the width of a region is not known."""
    names: list[Annotation] = []
    low, high = plane.x.low, plane.x.high
    for region in regions:
        start, stop = max(region.start, low), min(region.stop, high)
        if start < stop:
            # Anchored at whichever edge of the region leaves more room for the words: on a narrow plot they are whole.
            room = (1.0 - plane.x.share(start)) * _NARROW
            left = start - low < high - stop or (plane.x.log and text_width(region.name, look.SMALL_SIZE) < room)
            at, anchor, shift = (start, "left", 6) if left else (stop, "right", -6)
            where: Annotation = {"xref": "x", "x": plane.x.raw(at), "xanchor": anchor, "xshift": shift}
            names.append(small(region.name, **where, yref="paper", y=1, yanchor="top", yshift=-4 - 16 * len(names)))
    return names


def guide_lines(guides: Sequence[Guide], plane: Plane) -> tuple[list[look.PlotlyDict], list[str]]:
    """The guides' lines, and what is to be said of those that the axes do not reach."""
    stroke = {"color": look.rgba(look.QUIET, 0.8), "width": 1.5, "dash": "dash"}
    lines = [_straight(guide.axis, _place(guide, plane), **stroke) for guide in guides if _crosses(guide, plane)]
    beyond = [guide for guide in guides if guide.noted and not _crosses(guide, plane)]
    return lines, [f"{guide.name} lies outside the chart." for guide in beyond]


def _place(guide: Guide, plane: Plane) -> float:
    """In shares of the plot."""
    return (plane.y if guide.axis == "y" else plane.x).share(guide.at)


def _crosses(guide: Guide, plane: Plane) -> bool:
    return -1e-9 <= _place(guide, plane) <= 1 + 1e-9


def guide_names(
    guides: Sequence[Guide],
    plane: Plane,
    traces: Sequence[Trace],
    words: Sequence[Annotation] = (),
    rings: Sequence[Ring] = (),
) -> list[Annotation]:
    """The guides' names, those of levels first: where curves, rings and other words leave room.

    Args:
        traces: drawn already.
        words: on the plot already.
    """
    x = np.linspace(0.0, 1.0, 200)
    curves = [trace for trace in traces if "lines" in trace.get("mode", "") and len(trace.get("x", ()))]
    courses = plane.courses(x, [(trace["x"], trace["y"]) for trace in curves])
    shown = [guide for guide in guides if guide.name and _crosses(guide, plane)]
    levels = [_place(guide, plane) for guide in guides if guide.axis == "y"]
    taken = [*boxes_of(words, plane), *_spots(rings, plane)]
    names = []
    for guide in sorted(shown, key=lambda guide: guide.axis == "x"):
        place = _place(guide, plane)
        if guide.axis == "y":
            others = np.vstack([courses, *(np.full_like(x, level) for level in levels if level != place)])
            name = _on_level(guide, place, plane, x, others, taken)
        else:
            name = _on_upright(guide.name, place, plane, x, courses, taken)
        names.append(name)
        taken += boxes_of([name], plane)
    return names


def _spots(rings: Sequence[Ring], plane: Plane) -> list[Box]:
    return [Box(plane.x.share(ring.x), plane.y.share(ring.y), _RING, _RING) for ring in rings]


def boxes_of(words: Sequence[Annotation], plane: Plane) -> list[Box]:
    """Around words that show and lie on the plot, or on its axes."""
    boxes = []
    for note in words:
        if note.get("opacity") == 0 or note.get("name") == "title":
            continue
        size = note["font"]["size"]
        width, height = text_width(re.sub("<[^>]*>", "", note["text"]), size), 1.3 * size
        x, y = (_share(note[axis], note.get(f"{axis}ref"), getattr(plane, axis)) for axis in "xy")
        across = note.get("xshift", 0) + width * {"left": 0.5, "right": -0.5}.get(note.get("xanchor", ""), 0.0)
        up = note.get("yshift", 0) + height * {"bottom": 0.5, "top": -0.5}.get(note.get("yanchor", ""), 0.0)
        boxes.append(Box(x + across / plane.width, y + up / plane.inner, width, height))
    return boxes


def _share(value: float, reference: str | None, scale: AxisScale) -> float:
    """Where a coordinate of an annotation lies on the plot."""
    low, high = scale.range
    return value if reference == "paper" else (value - low) / (high - low)


def _on_level(guide: Guide, place: float, plane: Plane, x: Array, courses: Array, taken: Sequence[Box]) -> Annotation:
    """At the left end, above, or wherever else at the line's ends the curves and other words leave more room; right of
    the knob at the left end, where a hand pulls the guide. Two names of levels never stand in one row, for on a
    phone each may be as wide as the plot.

    Args:
        guide, place: whose name is written, and its height in shares.
        x, courses: the curves and the other levels, in shares.
        taken: by other words and rings.
    """
    width, height = text_width(guide.name, look.SMALL_SIZE), 1.3 * look.SMALL_SIZE
    indents = _KNOB if guide.sets else _INDENT, _INDENT
    rooms: dict[tuple[int, int], float] = {}
    for right, high in ((0, 1), (0, -1), (1, 1), (1, -1)):
        middle = (0.5 * width + indents[right]) / plane.width
        box = Box(abs(right - middle), place + high * (0.5 * height + 1) / plane.inner, width, height)
        inside = 0.5 * height / plane.inner < box.y < 1.0 - 0.5 * height / plane.inner
        room = plane.apart([box], x, courses, _CLEAR)[:, 0].tolist() if inside else [-1.0]
        rooms[right, high] = min([*room, *_between([box], taken, plane)[0].tolist(), _CLEAR])
    right, high = max(rooms, key=lambda corner: rooms[corner])
    where: Annotation = {"xanchor": "right" if right else "left", "yanchor": "bottom" if high > 0 else "top"}
    return _on_paper(
        guide.name, right, place, name=LEVEL, **where, xshift=-indents[1] if right else indents[0], yshift=high
    )


def _on_upright(name: str, place: float, plane: Plane, x: Array, courses: Array, taken: Sequence[Box]) -> Annotation:
    """At the top, on the side with more room; in a lower row or on the other side where other words or curves are.

    Args:
        name, place: what is written, and where the guide stands in shares.
        x, courses: the curves, in shares.
        taken: by other words and rings.
    """
    width, height = text_width(name, look.SMALL_SIZE), 1.3 * look.SMALL_SIZE
    first = -1 if place > 0.7 else 1
    places = [(row, side) for row in range(_ROWS) for side in (first, -first)]
    boxes = [
        Box(
            place + side * (0.5 * width + _INDENT) / plane.width,
            1.0 - (_ROW * row + 0.5 * height) / plane.inner,
            width,
            height,
        )
        for row, side in places
    ]
    crossed = (plane.apart(boxes, x, courses, _CLEAR) < _ON).sum(axis=0)
    covered = (_between(boxes, taken, plane) <= 0.0).any(axis=1)
    outside = [abs(box.x - 0.5) * plane.width + 0.5 * width > 0.5 * plane.width for box in boxes]
    away = [row + 0.5 * (side != first) for row, side in places]
    costs = 1000.0 * covered + 500.0 * np.array(outside) + 10.0 * crossed + np.array(away)
    row, side = places[int(np.argmin(costs))]
    where: Annotation = {"xanchor": "left" if side > 0 else "right", "xshift": side * _INDENT}
    return _on_paper(name, place, 1, name=UPRIGHT, **where, yanchor="top", yshift=-_ROW * row)
