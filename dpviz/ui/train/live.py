"""A run as it is drawn at one moment, made once for everybody who watches it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from dpviz._remember import MEMORY
from dpviz.charts import training
from dpviz.questions.answer import Note
from dpviz.questions.shown import strip
from dpviz.questions.train.plan import PlannedCost, plan
from dpviz.runs.claims import claim_of_view, settings_of
from dpviz.runs.engine import Engine
from dpviz.runs.views import RunView
from dpviz.training.accounts.origins import spent_before
from dpviz.training.defaults import examples_of
from dpviz.training.settings import RunSettings
from dpviz.ui.pieces import Drawing
from dpviz.ui.runs.charts import draw
from dpviz.ui.train import tight
from dpviz.ui.train.words import EMPTY, Look, figures, headline, notes, setting_line

HEIGHTS: dict[int, tuple[int, ...]] = {0: (), 1: (430,), 2: (262, 218)}  # of so many charts


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
    drawings: tuple[Drawing, ...]
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
    key = ("screen", _version(look), charts, problem, coming)
    return MEMORY.recall(key, lambda: _made(look, charts, problem, coming))


def take(engine: Engine, run: str) -> Look:
    """The run with what is said of it. KeyError if there is none."""
    view = engine.look(run)
    settings = settings_of(view.record)
    planned, interval = None, None
    if settings is not None and settings.private:
        planned = _plan_of(view, settings)
        interval = tight.so_far(view, settings.delta, settings.count_noise, spent_before(settings))
    ahead = 0
    if view.record.state == "queued":
        before = engine.runs(states=("queued", "running", "paused", "restarted"))
        # It may have started since the view was read: it never goes before itself.
        ahead = sum(other.id != run and (other.active or other.number < view.record.number) for other in before)
    return Look(view, settings, planned, interval, claim_of_view(view, engine.store), ahead)


def _plan_of(view: RunView, settings: RunSettings) -> PlannedCost | None:
    try:
        return plan(settings, int(view.started.get("examples") or examples_of(settings.data)))
    except (ValueError, KeyError):
        return None


def _version(look: Look) -> tuple[Hashable, ...]:
    view, record = look.view, look.record
    return (
        (record.id, record.attempt, record.state, record.desired, record.reason, record.steps),
        (view.steps.get("step", EMPTY).size, view.evaluations.get("step", EMPTY).size, len(view.notes), view.coming),
        (bool(view.started), bool(view.final), view.noise.get("signal"), look.ahead),
        (0 if look.tight is None else look.tight.x.size, tight.waiting(view)),
    )


def _made(look: Look, charts: tuple[str, ...], problem: str, coming: str) -> Screen:
    empty = look.record.over and not look.view.started  # of a run that ended before it began there is nothing to draw
    if empty:
        charts = ()
    elif look.settings is not None and not look.settings.private:  # it has no ε: loss is drawn in its place
        charts = tuple(dict.fromkeys("loss" if key in ("epsilon", "frontier", "sigma") else key for key in charts))
    drawings = [draw(look, key, height) for key, height in zip(charts, HEIGHTS[len(charts)], strict=True)]
    if len(charts) > 1 and not {"frontier", "norms"} & set(charts):  # charts along the steps share that axis
        figures_aligned = training.aligned([drawing.figure for drawing in drawings])
        drawings = [one._replace(figure=figure) for one, figure in zip(drawings, figures_aligned, strict=True)]
    return Screen(
        state=(look.record.state, look.record.desired),
        moving=look.view.steps.get("step", EMPTY).size > 0,
        final=look.record.over and not tight.waiting(look.view),
        headline=headline(look),
        drawings=tuple(drawings),
        strip="" if empty else strip(figures(look)),
        notes=(*notes(look, problem), *([Note(coming)] if coming else [])),
        quiet=setting_line(look),
    )
