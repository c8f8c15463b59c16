"""The tight interval of a run under way: computed beside the page every few seconds, shared by all who watch."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dpviz.accounting.pld.bounds import tight_epsilon, tight_epsilon_of_events
from dpviz.mechanisms import GaussianEvent, SampledGaussian, merge_events
from dpviz.questions.tight_band import TightBand
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import MOST_DIFFERENT
from dpviz.ui import background

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


def so_far(view: RunView, delta: float, count_noise: float, before: tuple[GaussianEvent, ...] = ()) -> TightBand | None:
    """The interval at the steps that were looked at so far, with what was spent `before`; asks for the next look."""
    steps = view.steps.get("step", np.empty(0))
    if not steps.size or "noise_multiplier" not in view.steps or np.isnan(view.steps["noise_multiplier"]).any():
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
            background.start(watched.waiting, partial(look, marks, view, count_noise, delta, before))
        if not watched.points:
            return None
        at = sorted(watched.points)
        lower, upper = np.array([watched.points[step] for step in at]).T
    return TightBand(np.array(at, dtype=np.float64), lower, upper)


def waiting(view: RunView) -> bool:
    """Whether a look at this run is under way."""
    with _lock:
        watched = _watched.get((view.record.id, view.record.attempt))
    return watched is not None and watched.waiting is not None


def _collect(watched: _Watched) -> None:
    if watched.waiting is None:
        return
    try:
        done: tuple[Points, float] | None = background.finished(watched.waiting)
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
    marks: list[int], view: RunView, count_noise: float, delta: float, before: tuple[GaussianEvent, ...]
) -> tuple[Points, float]:
    """The interval at each mark, and the seconds that it took."""
    began = time.monotonic()
    points: Points = {}
    sigma, rate = view.steps["noise_multiplier"], view.steps["sample_rate"]
    equal = (sigma == sigma[0]).all() and (rate == rate[0]).all()
    if equal and not before and not view.counts.get("step", np.empty(0)).size:
        result = tight_epsilon(SampledGaussian(float(sigma[0]), float(rate[0])), np.array(marks, float), delta)
        points = {m: (float(low), float(high)) for m, low, high in zip(marks, result.lower, result.upper, strict=True)}
    else:
        for mark in marks:
            runs = merge_events((*before, *charged(mark, view, count_noise)))
            if len({mechanism for mechanism, _ in runs}) <= MOST_DIFFERENT:
                result = tight_epsilon_of_events(runs, delta)
                points[mark] = (float(np.ravel(result.lower)[0]), float(np.ravel(result.upper)[0]))
    return points, time.monotonic() - began


def charged(mark: int, view: RunView, count_noise: float) -> tuple[GaussianEvent, ...]:
    """Everything charged up to step `mark`: the steps, and private counts taken by then."""
    done = view.steps["step"] <= mark
    charges = np.stack([view.steps["noise_multiplier"][done], view.steps["sample_rate"][done]])
    pairs, times = np.unique(charges, axis=1, return_counts=True)
    runs: list[GaussianEvent] = [
        (SampledGaussian(float(s), float(q)), int(n)) for s, q, n in zip(pairs[0], pairs[1], times, strict=True)
    ]
    counts = int(np.count_nonzero(view.counts.get("step", np.empty(0)) <= mark))
    return merge_events([*runs, (SampledGaussian(count_noise, 1.0), counts)] if counts else runs)
