"""The drawing of a run at one moment, made once for everybody who watches it: the first one with the page, all others
are fetched by the browsers (`ui.browser.updates`).

The tight interval of its ε is computed beside the page every few seconds, for all of them too.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import escape

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import MEMORY
from dpviz.accounting.pld.bounds import tight_epsilon, tight_epsilon_of_events
from dpviz.charts import training
from dpviz.mechanisms import Event, SampledGaussian, merge_events
from dpviz.questions.computed import finished
from dpviz.questions.plain_text import first_sentences
from dpviz.questions.rendered import LINE, noted, strip
from dpviz.questions.tight_band import TightBand
from dpviz.questions.train.plan import PlannedCost, plan, plan_of_told
from dpviz.runs.claims import claim_of_view, settings_of, told_settings_of, trained_on
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import OPEN, StoreError
from dpviz.runs.told.settings import ToldSettings
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import MOST_DIFFERENT
from dpviz.training.accounts.origins import spent_before
from dpviz.training.defaults import units_of
from dpviz.training.samplers import read
from dpviz.training.settings import RunSettings
from dpviz.ui import answers
from dpviz.ui.browser.updates import Update
from dpviz.ui.plots import Drawing, packed
from dpviz.ui.runs.charts import draw
from dpviz.ui.train.look import EMPTY, Look
from dpviz.ui.train.words import figures, headline, notes, setting_line

HEIGHTS: dict[int, tuple[int, ...]] = {0: (), 1: (430,), 2: (262, 218)}  # of so many charts


@dataclass(frozen=True)
class Screen:
    """Everything that changes while a run goes on, ready to be shown.

    Attributes:
        state: its state and what is desired of it.
        moving: whether its first step was taken.
        final: whether it is over, and nothing about it is still being computed.
        headline: as HTML.
        drawings: of the charts, packed.
        below: what stands below them, as HTML: figures, notes, its settings.
    """

    state: tuple[str, str]
    moving: bool
    final: bool
    headline: str
    drawings: tuple[Drawing, ...]
    below: str

    @property
    def coming(self) -> bool:
        """Whether something was asked of the run that it has not done yet."""
        state, desired = self.state
        if self.final or state not in ("running", "paused", "restarted"):
            return False
        return desired in ("stop", "kill") or (desired == "pause") != (state == "paused")

    @property
    def page(self) -> str:
        """Another one where the controls beside it, or its charts, are others."""
        return f"{' '.join(self.state)} {self.moving} {self.final} {len(self.drawings)}"

    @cached_property
    def update(self) -> Update:
        charts = [
            {"key": f"{place_of(number)}.chart", "packed": drawing.packed, "alt": drawing.alt}
            for number, drawing in enumerate(self.drawings)
        ]
        return Update.of({"page": self.page, "headline": self.headline, "below": self.below, "charts": charts})


def place_of(number: int) -> str:
    """The key of a run's chart on its page."""
    return f"train-{number}"


def unreadable(problem: Exception) -> str:
    """Why the run cannot be shown, which is then all of its page that is."""
    return f"The run cannot be read now: {problem}"


def update(engine: Engine, run: str, charts: tuple[str, ...], slide: bool) -> Update:
    """What browsers put in place of what they show of the run."""
    try:
        return screen(engine, run, charts, slide=slide).update
    except (KeyError, StoreError) as problem:
        return Update.of({"page": unreadable(problem)})


def screen(engine: Engine, run: str, charts: tuple[str, ...], *, slide: bool = False) -> Screen:
    """The run now. What did not change since another session looked is not made again.

    On a slide its headline is one line, and its charts stand side by side.

    Raises:
        KeyError: if there is no such run.
        StoreError: if the store cannot be read.
    """
    look = take(engine, run)
    waits = "" if look.record.over else engine.waits(look.record)
    key = ("screen", _version(look), charts, waits, slide)
    return MEMORY.recall(key, lambda: _made(look, charts, waits, slide=slide))


def take(engine: Engine, run: str) -> Look:
    """The run with what is said of it. KeyError if there is none."""
    view = engine.look(run)
    settings = settings_of(view.record)
    settings = None if settings is None else trained_on(settings, view.started)
    terms = told_settings_of(view.record)
    planned, interval = None, None
    if terms is not None:
        interval = tight_so_far(view, terms.delta, 1.0, terms.charged_before)
        planned = _plan_of_told(view, terms)
    if settings is not None and settings.private:
        planned = _plan_of(view, settings)
        if not (settings.secure_noise and view.record.restarts):  # else the claim has that of all attempts
            interval = tight_so_far(view, settings.delta, settings.count_noise, spent_before(settings))
    ahead = 0
    if view.record.state == "queued":
        before = engine.states(OPEN)  # oldest first
        # It may have started since the view was read: it never goes before itself.
        older = list(before)[: list(before).index(run)] if run in before else list(before)
        ahead = sum(other != run and (state != "queued" or other in older) for other, state in before.items())
    return Look(view, settings, planned, interval, claim_of_view(view, engine.store), ahead, terms)


def _plan_of(view: RunView, settings: RunSettings) -> PlannedCost | None:
    try:
        return plan(settings, int(view.started.get("examples") or units_of(settings)))
    except (ValueError, KeyError):
        return None


def _plan_of_told(view: RunView, terms: ToldSettings) -> PlannedCost | None:
    """What it planned, as long as every step so far is as its first one."""
    ahead = view.charged.get("mechanisms", ()) if view.charged else ()  # of the step under way, too
    first, *others = {read(one)[0] for one in (*view.spent, *ahead)} or (None,)
    if first is None or others or (terms.steps is not None and view.record.steps > terms.steps):
        return None
    return plan_of_told(terms, first)


def _version(look: Look) -> tuple[Hashable, ...]:
    view, record = look.view, look.record
    return (
        (record.id, record.attempt, record.state, record.desired, record.reason, record.steps),
        (_last_step(view.steps), _last_step(view.evaluations), view.notes[-1:], view.coming),
        (bool(view.started), bool(view.final), view.noise.get("signal"), look.ahead),
        (0 if look.tight is None else look.tight.x.size, tight_waiting(view)),
    )


def _last_step(table: Mapping[str, Array]) -> tuple[float, ...]:
    return tuple(table.get("step", EMPTY)[-1:].tolist())


def _made(look: Look, charts: tuple[str, ...], waits: str, *, slide: bool) -> Screen:
    empty = look.record.over and not look.view.started  # of a run that ended before it began there is nothing to draw
    if empty:
        charts = ()
    elif look.settings is not None and not look.settings.private:  # it has no ε: loss is drawn in its place
        charts = tuple(dict.fromkeys("loss" if key in ("epsilon", "frontier", "sigma") else key for key in charts))
    heights = HEIGHTS[1] * len(charts) if slide else HEIGHTS[len(charts)]
    drawings = [draw(look, key, height) for key, height in zip(charts, heights, strict=True)]
    if (
        len(charts) > 1 and not slide and not {"frontier", "norms"} & set(charts)
    ):  # charts along the steps share that axis
        figures_aligned = training.aligned([drawing.figure for drawing in drawings])
        drawings = [one._replace(figure=figure) for one, figure in zip(drawings, figures_aligned, strict=True)]
    return Screen(
        state=(look.record.state, look.record.desired),
        moving=look.view.steps.get("step", EMPTY).size > 0,
        final=look.record.over and not tight_waiting(look.view),
        headline=first_sentences(headline(look, waits), LINE) if slide else headline(look, waits),
        drawings=tuple(one._replace(packed=packed(one.figure)) for one in drawings),
        below=("" if empty else strip(figures(look))) + "".join(map(noted, notes(look))) + _quiet(setting_line(look)),
    )


def _quiet(text: str) -> str:
    return f'<div class="dpviz-quiet">{escape(text)}</div>' if text else ""


# --- the tight interval of a run under way ----------------------------------------------------------------------------

Points = dict[int, tuple[float, float]]

EVERY = 3.0  # seconds between two looks at a run
MARKS = 8  # steps that a run opened late is looked at
_SHARE = 10.0  # at most a tenth of a core: the pause is this many times what the last look took
_KEPT = 48


@dataclass
class _Watched:
    """What is known of one attempt of one run."""

    points: Points = field(default_factory=dict)
    asked: float = float("-inf")
    took: float = 0.0
    waiting: Hashable | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_watched: OrderedDict[tuple[str, int], _Watched] = OrderedDict()
_lock = threading.Lock()


def tight_so_far(view: RunView, delta: float, count_noise: float, before: tuple[Event, ...] = ()) -> TightBand | None:
    """The interval at the steps that were looked at so far, with what was spent `before`; asks for the next look."""
    steps = view.steps.get("step", np.empty(0))
    if not steps.size or any(isinstance(one[0], str) for one in view.spent):
        return None
    if sum(count for *_, count in view.spent) != steps[-1]:  # a step is missing, or nothing was charged
        return None
    with _lock:
        watched = _watched.setdefault((view.record.id, view.record.attempt), _Watched())
        while len(_watched) > _KEPT:
            _watched.popitem(last=False)
    with watched.lock:
        _collect(watched)
        marks = _due(watched, int(steps[-1]), view.record.over)
        if marks:
            watched.asked = time.monotonic()
            watched.waiting = ("live tight", view.record.id, view.record.attempt, marks[-1])
            answers.start(watched.waiting, partial(look, marks, view, count_noise, delta, before))
        if not watched.points:
            return None
        at = sorted(watched.points)
        lower, upper = np.array([watched.points[step] for step in at]).T
    return TightBand(np.array(at, dtype=np.float64), lower, upper)


def tight_waiting(view: RunView) -> bool:
    """Whether a look at this run is under way."""
    with _lock:
        watched = _watched.get((view.record.id, view.record.attempt))
    return watched is not None and watched.waiting is not None


def _collect(watched: _Watched) -> None:
    if watched.waiting is None:
        return
    try:
        done: tuple[Points, float] | None = finished(watched.waiting)
    except ValueError:
        done = ({}, 0.0)  # no interval here: the other accountants stand
    if done is not None:
        watched.points |= done[0]
        watched.took, watched.waiting = done[1], None


def _due(watched: _Watched, last: int, over: bool) -> list[int]:
    """The steps to be looked at next; none while a look is under way, too early, or where there is no interval."""
    pause = 0.0 if over else max(EVERY, _SHARE * watched.took)
    if last in watched.points or watched.waiting is not None or time.monotonic() - watched.asked < pause:
        return []
    if watched.points:
        return [last]
    without = over and watched.asked > 0 and watched.took == 0.0
    return [] if without else sorted({int(mark) for mark in np.linspace(1, last, MARKS)})


def look(
    marks: list[int], view: RunView, count_noise: float, delta: float, before: tuple[Event, ...]
) -> tuple[Points, float]:
    """The interval at each mark, and the seconds that it took."""
    began = time.monotonic()
    points: Points = {}
    if len(view.spent) == 1 and not before and not view.counts.get("step", np.empty(0)).size:
        mechanism, _ = read(view.spent[0])
        result = tight_epsilon(mechanism, np.array(marks, float), delta)
        points = {m: (float(low), float(high)) for m, low, high in zip(marks, result.lower, result.upper, strict=True)}
    else:
        for mark in marks:
            runs = merge_events((*before, *charged(mark, view, count_noise)))
            if len({mechanism for mechanism, _ in runs}) <= MOST_DIFFERENT:
                result = tight_epsilon_of_events(runs, delta)
                points[mark] = (float(np.ravel(result.lower)[0]), float(np.ravel(result.upper)[0]))
    return points, time.monotonic() - began


def charged(mark: int, view: RunView, count_noise: float) -> tuple[Event, ...]:
    """Everything charged up to step `mark`: the steps, and private counts taken by then."""
    runs: list[Event] = []
    left = mark
    for mechanism, count in map(read, view.spent):
        runs.append((mechanism, min(count, left)))
        left -= runs[-1][1]
        if not left:
            break
    counts = int(np.count_nonzero(view.counts.get("step", np.empty(0)) <= mark))
    return merge_events([*runs, (SampledGaussian(count_noise, 1.0), counts)] if counts else runs)
