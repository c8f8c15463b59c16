"""Several runs on one chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import READINGS
from dpviz.charts import look
from dpviz.charts.marks import Array, Line, floats, thinned
from dpviz.charts.plot import Axis, Chart, LinePlot
from dpviz.charts.training import accuracies_shown, epsilon_axis, steps_axis
from dpviz.runs.claims import claims_along
from dpviz.runs.exchange.disputes import MISMATCH
from dpviz.runs.views import RunView
from dpviz.training.events import titled
from dpviz.ui.plain import on_chart
from dpviz.ui.train.live import CLAIMED, frontier
from dpviz.ui.train.words import EMPTY

DASHED_FROM = len(look.PALETTE)
HEIGHT = 400


def titles(views: Sequence[RunView]) -> list[str]:
    """What each is called on the chart: no two alike."""
    plain = [view.record.title for view in views]
    return [
        f"{name} (no. {view.record.number})" if plain.count(name) > 1 else name
        for name, view in zip(plain, views, strict=True)
    ]


def _series(view: RunView, claim: Claim, kind: str, accountant: str) -> tuple[Array, Array]:
    if kind == "epsilon":
        if accountant == "claim":
            return view.steps.get("step", EMPTY), claims_along(view, claim)
        return view.steps.get("step", EMPTY), view.steps.get(f"epsilon.{accountant}", EMPTY)
    if kind == "accuracy":
        return view.evaluations.get("step", EMPTY), view.evaluations.get("test_accuracy", EMPTY)
    return next(iter(frontier(view, claim).values()), (EMPTY, EMPTY))


def overlay(views: Sequence[RunView], claims: Sequence[Claim], kind: str, accountant: str) -> tuple[Chart, list[Line]]:
    """The chart, and the lines on it.

    Args:
        views: the runs, at most eight; beyond six colours their lines are told apart by a long dash.
        kind: "epsilon", "accuracy" (both against the step) or "frontier" (accuracy against ε).
        claims: what may be claimed of each.
        accountant: whose ε is drawn along the steps, or "claim".
    """
    reading = titled(f"ε, {READINGS.get(accountant)}", {("step", f"epsilon.{accountant}"): accountant})
    epsilon = "ε claimed, had it ended there" if accountant == "claim" else reading
    lines, gone = [], []
    for place, (view, claim, name) in enumerate(zip(views, claims, titles(views), strict=True)):
        x, y = _series(view, claim, kind, accountant)
        if not (x.size and x.size == y.size and np.isfinite(y).any()):
            gone.append(name)
            continue
        keep = thinned(x.size)
        color = look.PALETTE[place % DASHED_FROM]
        family = look.NEUTRAL if place < DASHED_FROM else look.DASHED
        label = f"{name} (demonstration)" if claim.demonstration else name
        lines.append(Line(view.record.id, on_chart(label), x[keep], y[keep], family, color=color))
    epsilons = kind == "epsilon"
    span = None if epsilons or not lines else accuracies_shown([floats(line.y) for line in lines])
    across = epsilon_axis(f"ε {CLAIMED}") if kind == "frontier" else steps_axis()
    up = Axis(epsilon, reading="attack") if epsilons else Axis("test accuracy", shown=span)
    chart = LinePlot(across, up, tuple(lines)).chart(HEIGHT)
    what = {"epsilon": "ε", "accuracy": "test accuracy"}.get(kind, "ε and test accuracy")
    notes = tuple(f"{name} has no {what} to draw." for name in gone)
    shown = kind == "frontier" or (kind == "epsilon" and accountant == "claim")
    notes += tuple(
        f"{view.record.title} is a demonstration: its noise can be replayed. Its ε is what secret noise would allow."
        for view, claim in zip(views, claims, strict=True)
        if claim.demonstration and shown
    )
    notes += tuple(f"{view.record.title}: {MISMATCH}; what is drawn is recomputed." for view in views if view.disputes)
    return Chart(chart.figure, chart.notes + notes), lines
