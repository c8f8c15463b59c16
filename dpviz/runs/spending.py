"""What a recorded run has spent, from the mechanisms in its events and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpviz.mechanisms import GaussianEvent, SampledGaussian, merge_events
from dpviz.runs.store.records import CHARGED_KIND, FINAL_KINDS, Event


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
