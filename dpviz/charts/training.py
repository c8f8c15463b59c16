"""Charts of a training run, live or recorded: one line a quantity against the step, the frontier, gradient norms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import FAMILIES, READINGS
from dpviz.charts import look
from dpviz.charts.axes import Span
from dpviz.charts.histogram import Mark, counted_histogram
from dpviz.charts.marks import Array, Band, Floor, Line
from dpviz.charts.plot import Axis, Chart, LinePlot
from dpviz.fields import numbers

# More points than these cannot be told apart, and every one of them travels to the browser once a second.
MOST_POINTS = 140

FAMILY = FAMILIES | {OdometerAccountant.name: "odometer_run", bayesian.NAME: bayesian.NAME}
COLORS = {
    "test": look.BLUE,
    "train": look.GREY,
    "posterior": look.ORANGE,
    "private": look.GREEN,
    "batch": look.MAUVE,
    "drawn": look.GREY,
    "expected": look.BLUE,
}


def thinned(length: int, most: int = MOST_POINTS) -> npt.NDArray[np.intp]:
    """Which of `length` points to draw: at most `most`, the first and the last among them."""
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(np.intp))


def epsilon_chart(
    steps: Array,
    epsilons: Mapping[str, Array],
    *,
    plan_steps: Array,
    plan: Mapping[str, Array],
    total: float,
    band: Band | None = None,
    budget: float | None = None,
    mark: str = "",
    height: int = 300,
) -> Chart:
    """ε of every accountant against the step, the plan's curve faint ahead of it, P(A) at its end.

    Args:
        steps: shape (n,), the steps done.
        epsilons: what each accountant read after them, shape (n,) each; keys of READINGS.
        plan_steps, plan: likewise for the whole plan; what of it lies behind is not drawn.
        total: right end of the axis, the plan's last step.
        band: the tight interval.
        budget: the filter's, a floor.
        mark: stands behind the axis title.
        height: in pixels.
    """
    keep = thinned(steps.size)
    done = float(steps[-1]) if steps.size else 0.0
    ahead = plan_steps >= done
    if np.count_nonzero(ahead) < 2:
        plan = {}
    lines = []
    for key, values in epsilons.items():
        # Where the plan goes on, its end says both: what was read now, and where it leads.
        lines.append(Line(key, READINGS[key], steps[keep], values[keep], FAMILY[key], end="" if key in plan else None))
    for key, values in plan.items():
        now = f" {numbers.epsilon(float(epsilons[key][-1]), up=True)}" if key in epsilons and steps.size else ""
        x, y = plan_steps[ahead], values[ahead]
        end = f"{READINGS[key]}{now} →"
        lines.append(Line(f"{key}.plan", f"{READINGS[key]}, plan", x, y, FAMILY[key], faded=True, end=end))
    bands = () if band is None else (band,)
    floors = () if budget is None else (Floor(budget, "filter budget", "budget"),)
    reading = Axis(f"ε{mark}", reading="attack")
    return LinePlot(steps_axis(total), reading, tuple(lines), bands=bands, floors=floors).chart(height)


def steps_axis(total: float | None = None) -> Axis:
    """Of steps, from 0, where the untrained network was looked at; as far as the curves go where no total is known."""
    shown = None if total is None else (0.0, max(total, 1.0))
    return Axis("steps", kind="steps", hover="step %{x:,d}", shown=shown)


def epsilon_axis(title: str = "ε") -> Axis:
    """Of what a training has spent, when another quantity is seen against it."""
    return Axis(title, hover="ε = %{x:.3r}")


def accuracies_shown(accuracies: Sequence[Array]) -> Span | None:
    """Where these accuracies end up, with three quarters of what was found on the way; not the whole way from guessing,
    which is alike for all. None where there is none."""
    finite = [kept for values in accuracies if (kept := values[np.isfinite(values)]).size]
    if not finite:
        return None
    lowest, top = min(float(values[-1]) for values in finite), max(float(values.max()) for values in finite)
    room = max(0.05, top - lowest)
    early = min(float(np.quantile(values, 0.25, method="higher")) for values in finite)
    return max(0.0, min(lowest - 2 * room, early - 0.25 * room)), min(1.0, top + 0.25 * room)


def aligned(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same figures with plots that begin and end below each other, so that their axes can be read as one."""
    wide = {side: max(figure["layout"]["margin"][side] for figure in figures) for side in ("l", "r")}
    return [{**figure, "layout": _with_margins(figure["layout"], wide)} for figure in figures]


def _with_margins(layout: dict[str, Any], wide: dict[str, int]) -> dict[str, Any]:
    moved = layout["margin"]["l"] - wide["l"]
    notes = [
        note | {"xshift": note["xshift"] + moved} if note.get("name") == "title" else note
        for note in layout["annotations"]
    ]
    return layout | {"margin": layout["margin"] | wide, "annotations": notes}


def series_chart(
    series: Mapping[str, tuple[Array, Array]],
    *,
    y_title: str,
    total: float,
    floors: Sequence[Floor] = (),
    y_range: Span | None = None,
    height: int = 300,
) -> Chart:
    """Quantities of one unit against the step.

    Args:
        series: name → (steps, values), each shape (n,); a name of COLORS has that colour.
        y_title: axis title with unit.
        total: right end of the axis.
        floors: named horizontal lines.
        y_range: what the axis of values shows, instead of what they suggest.
        height: in pixels.
    """
    lines = []
    for name, (x, y) in series.items():
        keep = thinned(x.size)
        if keep.size:
            color = COLORS.get(name.split()[0], look.BLUE)
            lines.append(Line(name, name, x[keep], y[keep], look.NEUTRAL, color=color))
    values = Axis(y_title, shown=y_range)
    return LinePlot(steps_axis(total), values, tuple(lines), floors=tuple(floors)).chart(height)


def frontier_chart(
    curves: Mapping[str, tuple[Array, Array]], *, y_title: str, floors: Sequence[Floor] = (), height: int = 300
) -> Chart:
    """Accuracy against ε: what each bit of privacy loss bought. `curves`: name → (ε, accuracy), ε ascending."""
    lines = [
        Line(name, name, x[np.isfinite(x)], y[np.isfinite(x)], look.NEUTRAL, color=_hue(name, i))
        for i, (name, (x, y)) in enumerate(curves.items())
        if np.isfinite(x).any()
    ]
    return LinePlot(epsilon_axis(), Axis(y_title), tuple(lines), floors=tuple(floors)).chart(height)


def _hue(name: str, place: int) -> str:
    """An accountant's own colour, else the next of the palette."""
    key = next((key for key, called in READINGS.items() if called == name and key in FAMILY), None)
    if key is None:
        return look.PALETTE[place % len(look.PALETTE)]
    return look.style(FAMILY[key]).color


def norm_chart(norms: Mapping[str, Any], *, mark: str = "", height: int = 300) -> Chart:
    """Gradient norms of one step with the clipping threshold.

    Args:
        norms: "edges", "counts", "max_grad_norm".
        mark: stands behind the axis title.
        height: in pixels.
    """
    counts = np.asarray(norms["counts"], dtype=np.float64)
    edges = np.asarray(norms["edges"], dtype=np.float64)
    clip = float(norms["max_grad_norm"])
    total = max(float(counts.sum()), 1.0)
    over = float(counts[edges[:-1] >= clip * (1 - 1e-9)].sum()) / total
    note = f"{numbers.plain(100 * over)} % longer: clipped to C"
    title = f"gradient norm of one example{mark}"
    return counted_histogram(edges, counts, marks=[Mark(clip, "C", note)], x_title=title, height=height)
