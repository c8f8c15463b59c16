"""A run as it is drawn at one moment, made once for everybody who watches it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpviz._remember import MEMORY
from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import READINGS
from dpviz.charts import training
from dpviz.charts.look import NEUTRAL
from dpviz.charts.marks import Band, Floor, Line, thinned
from dpviz.charts.plot import Chart, alt_text
from dpviz.questions.answer import Note
from dpviz.questions.shown import strip
from dpviz.questions.tight_band import band
from dpviz.questions.train.plan import PlannedCost, plan
from dpviz.runs.claims import claim_of_view, claims_of_shorter_plans, settings_of
from dpviz.runs.engine import Engine
from dpviz.runs.views import Array, RunView
from dpviz.training.accounts.origins import spent_before
from dpviz.training.defaults import examples_of
from dpviz.training.events import titled
from dpviz.ui.pieces import Drawing
from dpviz.ui.train import tight
from dpviz.ui.train.watch_settings import CHARTS
from dpviz.ui.train.words import EMPTY, Look, as_planned, evaluation_steps, figures, headline, notes, setting_line

ONE, FIRST, SECOND = 430, 262, 218
CLAIMED, WITH_SECRET_NOISE = "claimed by a plan that ends there", "with secret noise, by a plan that ends there"
_FRONTIER = 24  # points of a frontier: the tight accountant is asked for each


@dataclass(frozen=True)
class Screen:
    """Everything that changes while a run goes on, ready to be shown.

    `state`: its state and what is desired of it; `moving`: its first step was taken; `final`: it is over, and nothing
    about it is still being computed.
    """

    state: tuple[str, str]
    moving: bool
    final: bool
    headline: str
    drawings: tuple[tuple[str, Drawing], ...]
    strip: str
    notes: tuple[Note, ...]
    quiet: str


def screen(engine: Engine, run: str, charts: tuple[str, ...]) -> Screen:
    """The run now. What did not change since another session looked is not made again.

    Raises:
        KeyError: if there is no such run.
        StoreError: if the store cannot be read.
    """
    look = take(engine, run)
    problem = engine.problem if not look.record.over else ""
    coming = engine.starting if look.record.state == "queued" else ""
    key = (*_version(look), charts, problem, coming)
    return MEMORY.recall(("screen", key), lambda: _made(look, charts, problem, coming))


def take(engine: Engine, run: str) -> Look:
    """The run with what is said of it. KeyError if there is none."""
    view = engine.look(run)
    settings = settings_of(view.record)
    planned, band_so_far = None, None
    if settings is not None and settings.private:
        planned = _plan_of(view)
        band_so_far = tight.so_far(view, settings.delta, settings.count_noise, spent_before(settings))
    ahead = 0
    if view.record.state == "queued":
        before = engine.runs(states=("queued", "running", "paused", "restarted"))
        # It may have started since the view was read: it never goes before itself.
        ahead = sum(other.id != run and (other.active or other.number < view.record.number) for other in before)
    return Look(view, settings, planned, band_so_far, claim_of_view(view, engine.store), ahead)


def _plan_of(view: RunView) -> PlannedCost | None:
    settings = settings_of(view.record)
    if settings is None:
        return None
    try:
        return plan(settings, int(view.started.get("examples") or examples_of(settings.data)))
    except (ValueError, KeyError):
        return None


def _version(look: Look) -> tuple[Hashable, ...]:
    view, record = look.view, look.record
    return (
        record.id,
        record.attempt,
        record.state,
        record.desired,
        record.reason,
        record.steps,
        view.steps.get("step", EMPTY).size,
        view.evaluations.get("step", EMPTY).size,
        len(view.notes),
        view.coming,
        bool(view.started),
        bool(view.final),
        look.ahead,
        0 if look.tight is None else look.tight.x.size,
        view.noise.get("signal"),
        tight.waiting(view),
    )


def _made(look: Look, charts: tuple[str, ...], problem: str, coming: str) -> Screen:
    # Of a run that ended before it began there is nothing to draw.
    empty = look.record.over and not look.view.started
    charts = () if empty else _useful(charts, look)
    heights = {0: (), 1: (ONE,), 2: (FIRST, SECOND)}[len(charts)]
    drawings = _aligned(charts, [draw(look, key, height) for key, height in zip(charts, heights, strict=True)])
    return Screen(
        state=(look.record.state, look.record.desired),
        moving=look.view.steps.get("step", EMPTY).size > 0,
        final=look.record.over and not tight.waiting(look.view),
        headline=headline(look),
        drawings=drawings,
        strip="" if empty else strip(figures(look)),
        notes=(*notes(look, problem), *([Note(coming)] if coming else [])),
        quiet=" · ".join(filter(None, (setting_line(look), evaluation_steps(look)))),
    )


def _aligned(keys: tuple[str, ...], drawings: list[Drawing]) -> tuple[tuple[str, Drawing], ...]:
    """Charts along the steps share that axis."""
    if len(keys) > 1 and not {"frontier", "norms"} & set(keys):
        figures = training.aligned([drawing.figure for drawing in drawings])
        drawings = [one._replace(figure=figure) for one, figure in zip(drawings, figures, strict=True)]
    return tuple(zip(keys, drawings, strict=True))


def _useful(charts: tuple[str, ...], look: Look) -> tuple[str, ...]:
    """Plain training has no ε: loss is drawn in its place."""
    if look.settings is None or look.settings.private:
        return charts
    return tuple(dict.fromkeys("loss" if key in ("epsilon", "frontier", "sigma") else key for key in charts))


def draw(look: Look, key: str, height: int) -> Drawing:
    """One chart of the run."""
    chart = _CHARTS[key](look, height=height)
    return Drawing(chart.figure, _alt(look, key), [Note(text) for text in chart.notes if look.record.over])


def _alt(look: Look, key: str) -> str:
    """The takeaway of a chart: where its quantity stands now, and what of it is not covered by ε."""
    return _takeaway(look, key).removesuffix(".") + _mark(look, key) + "."


def _takeaway(look: Look, key: str) -> str:
    view = look.view
    lines = []
    if key == "epsilon":
        lines = [
            Line(name, READINGS[name], view.steps["step"], values, training.FAMILY[name])
            for name, values in epsilons(view).items()
        ]
        return alt_text(lines, x_name="steps", x_kind="steps")
    columns = {"accuracy": "test_accuracy", "loss": "test_loss", "frontier": "test_accuracy"}
    if key in columns and np.isfinite(look.last(columns[key])):
        return f"{CHARTS[key]}: {look.last(columns[key]):.3g} at the last test, step {look.last('step'):.0f}."
    named = {"clipped": "clipped", "sigma": "noise_multiplier", "batch": "batch_size", "time": "seconds"}
    values = view.steps.get(named.get(key, ""), EMPTY)
    if values.size:
        return f"{CHARTS[key]}: {values[-1]:.3g} at step {look.record.steps}."
    return f"{CHARTS[key]} of the run."


def epsilons(view: RunView) -> dict[str, Array]:
    """ε by accountant, shape (steps,) each, in the order they are drawn."""
    return {name: view.steps[f"epsilon.{name}"] for name in READINGS if f"epsilon.{name}" in view.steps}


def _epsilon(look: Look, height: int) -> Chart:
    view, planned = look.view, look.plan
    budget = look.settings.filter_epsilon if look.settings is not None else None
    ahead = planned.epsilon if planned is not None and look.record.state not in ("done", "failed", "lost") else {}
    return training.epsilon_chart(
        view.steps.get("step", EMPTY),
        epsilons(view),
        plan_steps=planned.steps if planned is not None else EMPTY,
        plan={name: values for name, values in ahead.items() if name in READINGS},
        total=float(max(look.total, look.record.steps)),
        band=_band(look),
        budget=budget,
        mark=_mark(look, "epsilon"),
        height=height,
    )


def _band(look: Look) -> Band | None:
    """The tight interval: of the plan while it is followed, else of what was done had that been planned."""
    planned = look.plan
    interval = planned.tight if planned is not None and as_planned(look) else look.tight
    return band(interval) if interval is not None and interval.x.size > 1 else None


# Chart → (kind of event, name of a number) → the line's name.
_LINES: dict[str, dict[tuple[str, str], str]] = {
    "epsilon": {("step", f"epsilon.{name}"): called for name, called in READINGS.items()},
    "accuracy": {
        ("evaluation", "test_accuracy"): "test",
        ("evaluation", "train_accuracy"): "train",
        ("evaluation", "posterior_accuracy"): "posterior mean",
        ("count", "accuracy"): "private count",
    },
    "loss": {("evaluation", "test_loss"): "test", ("evaluation", "train_loss"): "train", ("step", "loss"): "batch"},
    "clipped": {("step", "clipped"): "clipped"},
    "sigma": {("step", "noise_multiplier"): "σ"},
    "batch": {("step", "batch_size"): "drawn", ("step", "expected_batch_size"): "expected"},
    "time": {("step", "seconds"): "step"},
}


def _mark(look: Look, key: str) -> str:
    """What stands behind the title of a chart: which of its lines are not covered by ε, where there is one."""
    if look.settings is not None and not look.settings.private:
        return ""
    return titled("", {("step", "norms"): "norms"}) if key == "norms" else look.view.series(_LINES.get(key, {}))[1]


def _accuracy(look: Look, height: int) -> Chart:
    series, _ = look.view.series(_LINES["accuracy"])
    target = look.settings.target_accuracy if look.settings is not None else None
    floors = [] if target is None else [Floor(target, "target", "budget")]
    if (majority := look.view.started.get("majority")) is not None:
        floors.append(Floor(majority, "majority class", NEUTRAL))
    shown = training.accuracies_shown([values for _, values in series.values()])
    return _series(look, "accuracy", "share right", height, floors=tuple(floors), y_range=shown)


def _series(
    look: Look,
    key: str,
    y_title: str,
    height: int,
    floors: tuple[Floor, ...] = (),
    y_range: tuple[float, float] | None = None,
) -> Chart:
    series, _ = look.view.series(_LINES.get(key, {}))
    title = y_title + _mark(look, key)
    across = training.steps_axis(float(max(look.total, look.record.steps)))
    return training.series_chart(series, across=across, y_title=title, floors=floors, y_range=y_range, height=height)


def frontier(view: RunView, claim: Claim) -> dict[str, tuple[Array, Array]]:
    """(ε, test accuracy) at some evaluations, the last among them: ε is what a plan that ends there may claim, of a
    demonstration what secret noise would allow; empty for plain training."""
    evaluations, steps = view.evaluations, view.steps
    if "test_accuracy" not in evaluations or "step" not in steps or not epsilons(view):
        return {}
    kept = thinned(evaluations["step"].size, _FRONTIER)
    at = evaluations["step"][kept]
    called = WITH_SECRET_NOISE if claim.demonstration else CLAIMED
    return {called: (claims_of_shorter_plans(view, claim, at), evaluations["test_accuracy"][kept])}


def _frontier(look: Look, height: int) -> Chart:
    target = look.settings.target_accuracy if look.settings is not None else None
    floors = () if target is None else (Floor(target, "target", "budget"),)
    curve, across = frontier(look.view, look.claim), training.epsilon_axis()
    return training.series_chart(curve, across=across, y_title="test accuracy", floors=floors, height=height)


def _norms(look: Look, height: int) -> Chart:
    if not look.view.norms:
        return _series(look, "norms", "gradient norms come with the first steps", height)
    return training.norm_chart(look.view.norms[-1], mark=_mark(look, "norms"), height=height)


_CHARTS: dict[str, Callable[..., Chart]] = {
    "epsilon": _epsilon,
    "accuracy": _accuracy,
    "loss": partial(_series, key="loss", y_title="mean loss"),
    "frontier": _frontier,
    "norms": _norms,
    "clipped": partial(_series, key="clipped", y_title="share of the batch"),
    "sigma": partial(_series, key="sigma", y_title="noise multiplier σ"),
    "batch": partial(_series, key="batch", y_title="examples"),
    "time": partial(_series, key="time", y_title="seconds"),
}
