"""Runs whose weights another may start from, and what their training cost: read from the store, never from the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dpviz.mechanisms import GaussianEvent, SampledGaussian, merge_events
from dpviz.runs.claims import charged_before, claim_of_record, examples_in, settings_of
from dpviz.runs.store.records import RunRecord, State
from dpviz.runs.store.store import Store
from dpviz.runs.work import TRAINING
from dpviz.training.accounts.claims import MOST_DIFFERENT, WITHOUT_NOISE, everything_planned, was_planned
from dpviz.training.accounts.origins import Origin
from dpviz.training.settings import RunSettings

FINISHED: tuple[State, ...] = ("done", "stopped")


class StartFrom(NamedTuple):
    """Where a run starts: a file of weights, and the runs that led to it, the latest first; random weights for none."""

    weights: str | None = None
    origins: tuple[Origin, ...] = ()


def unfit(record: RunRecord, weights: Callable[[str], Path]) -> str:
    """Why no run can start from this one, in words; empty where one can. `weights` says where a run's lie."""
    settings = settings_of(record)
    if record.state not in FINISHED:
        return f"that is {record.state}"
    if record.imported or record.deleted or record.target != TRAINING or not weights(record.id).is_file():
        return "whose weights are not kept here"
    if settings is None or not record.steps:
        return "that trained nothing that this version knows"
    if settings.start_from is not None and not settings.origins:
        return "that started from a file, of which nobody knows what it learned from"
    return ""


def start_of(run: str, store: Store, weights: Callable[[str], Path]) -> StartFrom:
    """The start from the weights of `run`.

    Raises:
        ValueError: naming start_from, where there are no such weights.
    """
    try:
        record = store.run(run)
    except KeyError:
        raise ValueError(
            f"Expected start_from={run!r} to be a run that is kept here, found none: choose another start."
        ) from None
    settings, why = settings_of(record), unfit(record, weights)
    if settings is None or why:
        raise ValueError(
            f"Expected start_from={record.title!r} to be a finished run with its weights, found one {why}: choose "
            "another start."
        )
    return StartFrom(str(weights(run)), (_origin(record, settings, store), *settings.origins))


def _origin(record: RunRecord, settings: RunSettings, store: Store) -> Origin:
    claim = claim_of_record(record, store)
    mechanisms: tuple[tuple[float, float, int], ...] = ()
    unbounded = _unbounded(settings) or ("" if claim.shown.holds else claim.shown.reason)
    if not unbounded:
        examples = examples_in(record, settings, store)
        runs = merge_events((*charged_before(record, store), *everything_planned(settings, examples)))
        if not was_planned(_charged(record), settings, examples):
            unbounded = "what it spent is not what was planned"
        elif len(runs) > MOST_DIFFERENT:
            unbounded = f"its {len(runs):,} steps with a noise of their own are not added up here"
        else:
            mechanisms = tuple((m.noise_multiplier, m.sample_rate, count) for m, count in runs)
    return Origin(
        run=record.id,
        name=record.title,
        data=settings.data,
        mechanisms=mechanisms,
        epsilon=claim.shown.epsilon if claim.shown.holds else None,
        delta=settings.delta,
        unbounded=unbounded,
        replayable=claim.demonstration,
    )


def _charged(record: RunRecord) -> tuple[GaussianEvent, ...]:
    """What its last attempt charged, as its summary says."""
    triples = record.summary.get("mechanisms") or []
    return tuple((SampledGaussian(sigma, rate), int(count)) for sigma, rate, count in triples)


def _unbounded(settings: RunSettings) -> str:
    if not settings.private:
        return WITHOUT_NOISE
    if settings.adaptive:
        return "its policy chose its steps by what it saw, so that they are not known ahead"
    return ""
