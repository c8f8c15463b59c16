"""What a recorded run has charged."""

from __future__ import annotations

from typing import Any

from dpviz.accounting.methods import accountant
from dpviz.mechanisms import SampledGaussian
from dpviz.runs.claims import charged_through, mechanisms
from dpviz.runs.store.store import Store
from dpviz.training.settings import RunSettings
from tests.runs.test_store import batch, started

PLAN = [(2.0, 0.1, 3), (2.5, 0.1, 4), (2.0, 0.05, 2)]


def planned(plan: list[tuple[float, float, int]]) -> list[dict[str, Any]]:
    """A run's events with the ε that the library says, from other code than the ledgers of a live run."""
    settings = RunSettings(steps=9, noise_multiplier=2.0)
    events: list[dict[str, Any]] = [{"kind": "started", "settings": settings.to_json(), "examples": 10_000}]
    done: list[tuple[SampledGaussian, int]] = []
    first = 1
    for sigma, rate, count in plan:
        epsilon: dict[str, list[float]] = {"moments": [], "renyi": [], "odometer": []}
        for taken in range(1, count + 1):
            now = [*done, (SampledGaussian(sigma, rate), taken)]
            for name, values in epsilon.items():
                values.append(float(accountant(name).of_events(now, settings.delta).epsilon))
        done.append((SampledGaussian(sigma, rate), count))
        events.append(
            {"kind": "step", "step": first + count - 1, "first": first, "count": count, "distances": None,
             "mechanisms": [[sigma, rate, count]], "epsilon": epsilon}
        )  # fmt: skip
        first += count
    return events


def stored(store: Store, events: list[dict[str, Any]]) -> str:
    run = started(store)
    store.record([batch(run, *events)])
    return run


def test_what_was_charged_ahead_counts_until_the_end(store: Store) -> None:
    two, half = SampledGaussian(2.0, 0.1), SampledGaussian(2.5, 0.1)
    run = stored(store, planned(PLAN[:2]))
    ahead = {"kind": "charged", "step": 7, "through": 12, "mechanisms": [[2.0, 0.1, 3], [2.5, 0.1, 9]]}
    store.record([batch(run, ahead, first=3)])
    assert mechanisms(store.events(run)) == ((two, 3), (half, 9))
    assert charged_through(store.events(run)) == 12
    store.record([batch(run, {"kind": "stopped", "step": 7, "text": ""}, first=4)])
    assert mechanisms(store.events(run)) == ((two, 3), (half, 4))
    assert charged_through(store.events(run)) == 7


def test_mechanisms(store: Store) -> None:
    events = [*planned([(2.0, 0.1, 3), (3.0, 0.1, 1), (2.0, 0.1, 2)]), {"kind": "count", "mechanism": [100.0, 1.0, 1]}]
    runs = mechanisms(store.events(stored(store, events)))
    assert runs == ((SampledGaussian(2.0, 0.1), 5), (SampledGaussian(3.0, 0.1), 1), (SampledGaussian(100.0, 1.0), 1))
