"""Charts of runs: one quantity of one run along its steps, and several runs beside each other."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.claims import TOLD, Claim
from dpviz.accounting.methods import READINGS
from dpviz.charts import look as style
from dpviz.charts import training
from dpviz.charts.look import NEUTRAL
from dpviz.charts.marks import Floor, Line, extremes, floats, thinned
from dpviz.charts.plot import Axis, Chart, LinePlot, alt_text
from dpviz.fields import numbers
from dpviz.questions.tight_band import band
from dpviz.questions.words import Note
from dpviz.runs.claims import claims_along, claims_of_shorter_plans
from dpviz.runs.exchange.disputes import MISMATCH
from dpviz.runs.views import RunView
from dpviz.training.accounts.followed import COLUMNS
from dpviz.training.covered import titled
from dpviz.ui.plain import on_chart
from dpviz.ui.plots import Drawing
from dpviz.ui.runs.fields import CHART_TABLE, CHARTS
from dpviz.ui.train.look import EMPTY, Look

CLAIMED, WITH_SECRET_NOISE = "claim of a plan that ends there", "claim of such a plan with secret noise"
SHARES = (0.0, 1.0)  # shown of one run, from its first step to its last: an axis that follows the values would jump
HEIGHT = 400  # of several runs beside each other
_FRONTIER = 24  # points of a frontier: the tight accountant is asked for each

# Chart → (kind of event, name of a number) → the line's name.
LINES: dict[str, dict[tuple[str, str], str]] = {
    key: {tuple(name.split()): label for name, label in row.get("lines", {}).items()}
    for key, row in CHART_TABLE.items()
} | {
    "epsilon": {
        **{("step", f"epsilon.{name}"): label for name, label in READINGS.items()},
        ("step", "followed_median"): "followed examples",
    }
}


# --- one run ----------------------------------------------------------------------------------------------------------


def draw(look: Look, key: str, height: int) -> Drawing:
    """One chart of the run."""
    if key == "norms" and look.view.norms:
        chart = training.norm_chart(look.view.norms, mark=_mark(look, key), height=height)
    elif key in ("epsilon", "frontier"):
        chart = (_epsilon if key == "epsilon" else _frontier)(look, height)
    else:
        chart = _series(look, key, height)
    alt = _takeaway(look, key).removesuffix(".") + _mark(look, key) + "."
    return Drawing(chart.figure, alt, [Note(text) for text in chart.notes if look.record.over])


def _takeaway(look: Look, key: str) -> str:
    """Where the chart's quantity stands now."""
    steps = look.view.steps
    if key == "epsilon":
        lines = [
            Line(name, READINGS[name], steps["step"], values, training.FAMILY[name])
            for name, values in epsilons(look.view).items()
        ]
        return alt_text(lines, x_name="steps", x_kind="steps")
    kind, name = next(iter(LINES[key]), ("evaluation", "test_accuracy" if key == "frontier" else key))
    write = numbers.tenths if "kind" in CHART_TABLE[key] else numbers.epsilon
    if kind == "evaluation" and np.isfinite(look.last(name)):
        return f"{CHARTS[key]}: {write(look.last(name))} at the last test, step {look.last('step'):.0f}."
    if kind == "step" and steps.get(name, EMPTY).size:
        return f"{CHARTS[key]}: {write(steps[name][-1])} at step {look.record.steps}."
    return f"{CHARTS[key]} of the run."


def _mark(look: Look, key: str) -> str:
    """What stands behind the title of a chart: which of its lines are not covered by ε, where there is one."""
    if look.settings is not None and not look.settings.private:
        return ""
    return titled("", {("step", "norms"): "norms"}) if key == "norms" else look.view.series(LINES[key])[1]


def epsilons(view: RunView) -> dict[str, Array]:
    """ε by accountant, shape (steps,) each, in the order they are drawn."""
    return {name: view.steps[f"epsilon.{name}"] for name in READINGS if f"epsilon.{name}" in view.steps}


def followed(view: RunView) -> tuple[Array, Array, Array] | None:
    """Lowest, median and highest ε of the followed examples, shape (steps,) each; None without any."""
    if not all(name in view.steps for name in COLUMNS):
        return None
    lowest, median, highest = (view.steps[name] for name in COLUMNS)
    return lowest, median, highest


def _epsilon(look: Look, height: int) -> Chart:
    planned, interval = look.plan, look.interval
    if look.record.over and "epsilon.tight" in look.view.steps:
        interval = None  # its upper end is the reading
    ahead = planned.epsilon if planned is not None and look.record.state not in ("done", "failed", "lost") else {}
    return training.epsilon_chart(
        look.view.steps.get("step", EMPTY),
        epsilons(look.view),
        plan_steps=planned.steps if planned is not None else EMPTY,
        plan={name: values for name, values in ahead.items() if name in READINGS},
        total=float(max(look.total, look.record.steps)),
        band=band(interval) if interval is not None and interval.x.size > 1 else None,
        budget=None if (settings := look.terms or look.settings) is None else settings.filter_epsilon,
        reported=None if math.isnan(look.reported[1]) else look.view.steps["reported_epsilon"],
        followed=followed(look.view),
        mark=_mark(look, "epsilon"),
        height=height,
    )


def _target(look: Look) -> tuple[Floor, ...]:
    target = look.settings.target_accuracy if look.settings is not None else None
    return () if target is None else (Floor(target, "target", "budget"),)


def _series(look: Look, key: str, height: int) -> Chart:
    series, _ = look.view.series(LINES[key])
    floors: tuple[Floor, ...] = ()
    if key == "accuracy":
        majority = look.view.started.get("majority")
        floors = (*_target(look), *([] if majority is None else [Floor(majority, "majority class", NEUTRAL)]))
    return training.series_chart(
        series,
        y_title=CHART_TABLE[key]["axis"] + _mark(look, key),
        kind=CHART_TABLE[key].get("kind", "plain"),
        across=training.steps_axis(float(max(look.total, look.record.steps))),
        floors=floors,
        y_range=SHARES if CHART_TABLE[key].get("kind") == "share" else None,
        height=height,
    )


def frontier(view: RunView, claim: Claim) -> dict[str, tuple[Array, Array]]:
    """(ε, test accuracy) at some evaluations, the last among them: ε is what a plan that ends there may claim, of a
    demonstration what secret noise would allow; empty for plain training."""
    evaluations, steps = view.evaluations, view.steps
    if "test_accuracy" not in evaluations or "step" not in steps or not epsilons(view):
        return {}
    kept = thinned(evaluations["step"].size, _FRONTIER)
    at = evaluations["step"][kept]
    label = WITH_SECRET_NOISE if claim.demonstration else CLAIMED
    return {label: (claims_of_shorter_plans(view, claim, at), evaluations["test_accuracy"][kept])}


def _frontier(look: Look, height: int) -> Chart:
    curve, row = frontier(look.view, look.claim), CHART_TABLE["frontier"]
    end = look.plan.claim.shown.epsilon if look.plan is not None else math.inf
    across = replace(training.epsilon_axis(), shown=(0.0, end) if math.isfinite(end) else None)
    own = {"y_title": row["axis"], "kind": row["kind"], "y_range": SHARES}
    return training.series_chart(curve, across=across, **own, floors=_target(look), height=height)


# --- several runs -----------------------------------------------------------------------------------------------------


def titles(views: Sequence[RunView]) -> list[str]:
    """What each is called on the chart: no two alike."""
    plain = [view.record.title for view in views]
    return [
        f"{name} (no. {view.record.number})" if plain.count(name) > 1 else name
        for name, view in zip(plain, views, strict=True)
    ]


def _of_several(view: RunView, claim: Claim, kind: str, accountant: str) -> tuple[Array, Array]:
    if kind == "frontier":
        return next(iter(frontier(view, claim).values()), (EMPTY, EMPTY))
    if kind == "accuracy":
        return view.evaluations.get("step", EMPTY), view.evaluations.get("test_accuracy", EMPTY)
    values = claims_along(view, claim) if accountant == "claim" else view.steps.get(f"epsilon.{accountant}", EMPTY)
    return view.steps.get("step", EMPTY), values


def overlay(views: Sequence[RunView], claims: Sequence[Claim], kind: str, accountant: str) -> tuple[Chart, list[Line]]:
    """The chart, and the lines on it.

    Args:
        views: the runs, at most eight; beyond six colours their lines are told apart by a long dash.
        kind: "epsilon", "accuracy" (both against the step) or "frontier" (accuracy against ε).
        claims: what may be claimed of each.
        accountant: whose ε is drawn along the steps, or "claim".
    """
    reading = titled(f"ε, {READINGS.get(accountant)}", {("step", f"epsilon.{accountant}"): accountant})
    lines, notes = [], []
    quantity = {"epsilon": "ε", "accuracy": "test accuracy"}.get(kind, "ε and test accuracy")
    for place, (view, claim, name) in enumerate(zip(views, claims, titles(views), strict=True)):
        x, y = _of_several(view, claim, kind, accountant)
        if not (x.size and x.size == y.size and np.isfinite(y).any()):
            notes.append(f"{name} has no {quantity} to draw.")
            continue
        keep = extremes(y)
        color = style.PALETTE[place % len(style.PALETTE)]
        family = NEUTRAL if place < len(style.PALETTE) else style.DASHED
        label = name + " (demonstration)" * claim.demonstration + " (as told)" * claim.as_told
        lines.append(Line(view.record.id, on_chart(label), x[keep], y[keep], family, color=color))
    across = training.epsilon_axis(f"ε {CLAIMED}") if kind == "frontier" else training.steps_axis()
    if kind == "epsilon":
        up = Axis("ε claimed if the run had ended there" if accountant == "claim" else reading, reading="attack")
    else:
        span = training.accuracies_shown([floats(line.y) for line in lines]) if lines else None
        up = Axis("test accuracy", kind="share", shown=span)
    chart = LinePlot(across, up, tuple(lines)).chart(HEIGHT)
    for view, claim in zip(views, claims, strict=True):
        if claim.demonstration and (kind == "frontier" or (kind == "epsilon" and accountant == "claim")):
            replayed = "is a demonstration: its noise can be replayed. Its ε is what secret noise would allow."
            notes.append(f"{view.record.title} {replayed}")
    notes += [
        f"{view.record.title} is {TOLD}: dpviz did not see its steps."
        for view, claim in zip(views, claims, strict=True)
        if claim.as_told
    ]
    notes += [f"{view.record.title}: {MISMATCH}; what is drawn is recomputed." for view in views if view.disputes]
    return Chart(chart.figure, (*chart.notes, *notes)), lines
