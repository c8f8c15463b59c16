"""What a recorded run has spent, from the mechanisms in its events and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.mechanisms import GaussianEvent, SampledGaussian, merge_events
from dpviz.runs.store.records import CHARGED_KIND, FINAL_KINDS, Event

Array = npt.NDArray[np.float64]


def mechanisms(events: Iterable[Event]) -> tuple[GaussianEvent, ...]:
    """Everything that the events of an attempt charged, private counts included; equal steps together.

    Where it did not come to its end that is also what was charged ahead: those steps may have been taken, and seen.
    """
    runs: list[GaussianEvent] = []
    ahead: list[GaussianEvent] = []
    for event in events:
        if event.kind == "step":
            runs += _runs(event.data.get("mechanisms") or [])
        elif event.kind == "count":
            runs += _runs([event.data["mechanism"]])
        elif event.kind == CHARGED_KIND:
            ahead = _runs(event.data["mechanisms"])
        elif event.kind in FINAL_KINDS:
            ahead = []
    taken = dict(merge_events(runs))
    more = [(mechanism, count - taken.get(mechanism, 0)) for mechanism, count in merge_events(ahead)]
    return merge_events((*runs, *((mechanism, count) for mechanism, count in more if count > 0)))


def _runs(triples: Sequence[Sequence[float]]) -> list[GaussianEvent]:
    return [(SampledGaussian(sigma, rate), int(count)) for sigma, rate, count in triples]


def charged_through(events: Iterable[Event]) -> int:
    """The last step of an attempt that was charged: its last, or one ahead of it where it did not come to its end."""
    steps = ahead = 0
    for event in events:
        steps = max(steps, event.step)
        if event.kind == CHARGED_KIND:
            ahead = int(event.data["through"])
        elif event.kind in FINAL_KINDS:
            ahead = 0
    return max(steps, ahead)


def has_gap(events: Sequence[Event]) -> bool:
    """Whether events of an attempt are missing before its last one."""
    return [event.seq for event in events] != list(range(len(events)))


def recorded(events: Iterable[Event]) -> dict[str, Array]:
    """ε after each step as the run recorded it, by accountant; each (steps,)."""
    found: dict[str, list[float]] = {}
    for event in events:
        if event.kind == "step":
            for name, values in (event.data.get("epsilon") or {}).items():
                found.setdefault(name, []).extend(values)
    return {name: np.array(values) for name, values in found.items()}


def recomputed(events: Iterable[Event]) -> dict[str, Array]:
    """The same again from mechanisms, private counts and pair distances."""
    from dpviz.training.accounts.live import recompute

    found: dict[str, list[float]] = {}
    for _, values in recompute(_data(events)):
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}


def _data(events: Iterable[Event]) -> list[dict[str, Any]]:
    return [event.data for event in events]


def largest_difference(events: Sequence[Event]) -> dict[str, float]:
    """max |recorded − recomputed| ε over the steps, by accountant; inf where one of them lacks a step."""
    told, found = recorded(events), recomputed(events)
    differences = {}
    for name in sorted({*told, *found}):
        a, b = told.get(name, np.empty(0)), found.get(name, np.empty(0))
        same = a.shape == b.shape
        # Two infinities agree; their difference would be no number.
        equal = a == b if same else np.zeros(1, dtype=np.bool_)
        gaps = np.where(equal, 0.0, np.abs(np.where(equal, 0.0, a) - np.where(equal, 0.0, b))) if same else np.inf
        differences[name] = float(np.max(gaps, initial=0.0)) if same else math.inf
    return differences
