"""Charts of a training run, live or recorded: one line a quantity against the step, the frontier, gradient norms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import FAMILIES, READINGS, MixtureOdometer
from dpviz.charts import Axis, Chart, LinePlot, Mark, Span, look
from dpviz.charts.histogram import counted_histogram
from dpviz.charts.marks import Band, Floor, Line, extremes, floats
from dpviz.fields import numbers

FAMILY = FAMILIES | {name: name for name in (MixtureOdometer.name, bayesian.NAME)}


def epsilon_chart(
    steps: Array,
    epsilons: Mapping[str, Array],
    *,
    plan_steps: Array,
    plan: Mapping[str, Array],
    total: float,
    band: Band | None = None,
    budget: float | None = None,
    reported: Array | None = None,
    followed: tuple[Array, Array, Array] | None = None,
    mark: str = "",
    height: int = 300,
) -> Chart:
    """ε of every accountant against the step, the plan's curve faint ahead of it.

    Args:
        steps: shape (n,), the steps done.
        epsilons: what each accountant read after them, shape (n,) each; keys of READINGS.
        plan_steps, plan: likewise for the whole plan; what of it lies behind is not drawn.
        total: right end of the axis, the plan's last step.
        band: the tight interval.
        budget: the filter's, a floor.
        reported: what a program's own library said after the steps, shape (n,); NaN where it said nothing.
        followed: lowest, median and highest ε of single examples after the steps, shape (n,) each.
        mark: stands behind the axis title.
        height: in pixels.
    """
    drawn = {key: extremes(values) for key, values in epsilons.items()}
    ahead = plan_steps >= (float(steps[-1]) if steps.size else 0.0)
    if np.count_nonzero(ahead) < 2:
        plan = {}
    # Where the plan goes on, its end says both: what was read now, and where it leads.
    lines = [
        Line(key, READINGS[key], steps[drawn[key]], values[drawn[key]], FAMILY[key], end="" if key in plan else None)
        for key, values in epsilons.items()
    ]
    for key, values in plan.items():
        now = f" {numbers.epsilon(float(epsilons[key][-1]), up=True)}" if key in epsilons and steps.size else ""
        end, name = f"{READINGS[key]}{now} →", f"{READINGS[key]}, plan"
        lines.append(Line(f"{key}.plan", name, plan_steps[ahead], values[ahead], FAMILY[key], faded=True, end=end))
    if reported is not None:
        rows = np.flatnonzero(np.isfinite(reported))
        rows = rows[extremes(reported[rows])]
        color = look.measured("reported")
        lines.append(Line("reported", "reported by its library", steps[rows], reported[rows], look.DASHED, color=color))
    bands = () if band is None else (band,)
    if followed is not None:
        lowest, median, highest = followed
        rows = extremes(median)
        name = "followed examples"
        bands = (*bands, Band(name, steps[rows], lowest[rows], highest[rows], family=look.FOLLOWED))
        middle = f"{name}, median"  # the band's end has the name
        lines.append(Line("followed_median", middle, steps[rows], median[rows], look.FOLLOWED, end=""))
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


def aligned(figures: Sequence[look.PlotlyPart]) -> list[look.PlotlyDict]:
    """The same figures with plots that begin and end below each other, so that their axes can be read as one; titles
    stay where they were, at the charts' edges."""
    wide = {side: max(figure["layout"]["margin"][side] for figure in figures) for side in ("l", "r")}
    moved = []
    for figure in figures:
        layout = figure["layout"]
        by = layout["margin"]["l"] - wide["l"]
        notes = [n | {"xshift": n["xshift"] + by} if n.get("name") == "title" else n for n in layout["annotations"]]
        moved.append({**figure, "layout": layout | {"margin": layout["margin"] | wide, "annotations": notes}})
    return moved


def series_chart(
    series: Mapping[str, tuple[Array, Array]],
    *,
    across: Axis,
    y_title: str,
    kind: str = "plain",
    floors: Sequence[Floor] = (),
    y_range: Span | None = None,
    height: int = 300,
) -> Chart:
    """Quantities of one unit against the step, or against the ε that each was bought with.

    Args:
        series: name → (x, values), each shape (n,), x ascending; `look.measured` says its colour.
        across: the axis of x.
        y_title: axis title with unit.
        kind: how values are written, as of an Axis.
        floors: named horizontal lines.
        y_range: what the axis of values shows, instead of what they suggest.
        height: in pixels.
    """
    lines = []
    for name, (x, y) in series.items():
        keep = extremes(y)
        keep = keep[np.isfinite(x[keep])]
        if keep.size:
            lines.append(Line(name, name, x[keep], y[keep], look.NEUTRAL, color=look.measured(name)))
    return LinePlot(across, Axis(y_title, kind=kind, shown=y_range), tuple(lines), floors=tuple(floors)).chart(height)


def norm_chart(norms: Mapping[str, Any], *, mark: str = "", height: int = 300) -> Chart:
    """Gradient norms of one step with the clipping threshold.

    Args:
        norms: "edges", "counts", "max_grad_norm".
        mark: stands behind the axis title.
        height: in pixels.
    """
    counts, edges, clip = floats(norms["counts"]), floats(norms["edges"]), float(norms["max_grad_norm"])
    over = float(counts[edges[:-1] >= clip * (1 - 1e-9)].sum()) / max(float(counts.sum()), 1.0)
    mark_of_clip = Mark(clip, "C", f"{numbers.plain(100 * over)} % longer: clipped to C")
    title = f"gradient norm of one example{mark}"
    return counted_histogram(edges, counts, marks=[mark_of_clip], x_title=title, height=height)
