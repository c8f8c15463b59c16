"""ε from what the store holds: the same as the run said, and no less than all attempts together cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dpviz
from dpviz.accounting.methods import accountant
from dpviz.mechanisms import SampledGaussian
from dpviz.runs import spending
from dpviz.runs.store.sqlite import SqliteStore
from dpviz.training.settings import RunSettings
from tests.runs.test_sqlite_store import batch, started

PLAN = [(2.0, 0.1, 3), (2.5, 0.1, 4), (2.0, 0.05, 2)]


def told(plan: list[tuple[float, float, int]], halved: bool = False) -> list[dict[str, Any]]:
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
        stored = sigma / 2 if halved and len(done) == 2 else sigma
        events.append(
            {"kind": "step", "step": first + count - 1, "first": first, "count": count, "distances": None,
             "mechanisms": [[stored, rate, count]], "epsilon": epsilon}
        )  # fmt: skip
        first += count
    return events


def stored(store: SqliteStore, events: list[dict[str, Any]]) -> str:
    run = started(store)
    store.record([batch(run, *events)])
    return run


def test_what_was_charged_ahead_counts_until_the_end(store: SqliteStore) -> None:
    two, half = SampledGaussian(2.0, 0.1), SampledGaussian(2.5, 0.1)
    run = stored(store, told(PLAN[:2]))
    ahead = {"kind": "charged", "step": 7, "through": 12, "mechanisms": [[2.0, 0.1, 3], [2.5, 0.1, 9]]}
    store.record([batch(run, ahead, first=3)])
    assert spending.mechanisms(store.events(run)) == ((two, 3), (half, 9))
    assert spending.charged_through(store.events(run)) == 12
    store.record([batch(run, {"kind": "stopped", "step": 7, "text": ""}, first=4)])
    assert spending.mechanisms(store.events(run)) == ((two, 3), (half, 4))
    assert spending.charged_through(store.events(run)) == 7


def test_recorded_and_recomputed_agree(store: SqliteStore) -> None:
    events = store.events(stored(store, told(PLAN)))
    found = spending.largest_difference(events)
    assert sorted(found) == ["moments", "odometer", "renyi"]
    assert max(found.values()) < 1e-9
    assert spending.recomputed(events)["renyi"].shape == (9,)


def test_one_accountant_against_the_facade(store: SqliteStore) -> None:
    events = store.events(stored(store, told([(2.0, 0.1, 5)])))
    expected = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=0.1, steps=np.arange(1, 6), delta=1e-5)
    np.testing.assert_allclose(spending.recomputed(events)["renyi"], expected, rtol=0, atol=1e-9)


def test_a_wrong_mechanism_is_noticed(store: SqliteStore) -> None:
    found = spending.largest_difference(store.events(stored(store, told(PLAN, halved=True))))
    assert min(found.values()) > 0.01


def test_a_missing_stretch_is_noticed(store: SqliteStore) -> None:
    events = store.events(stored(store, told(PLAN)))
    del events[2].data["epsilon"]
    assert all(math.isinf(gap) for gap in spending.largest_difference(events).values())


def test_mechanisms(store: SqliteStore) -> None:
    events = [*told([(2.0, 0.1, 3), (3.0, 0.1, 1), (2.0, 0.1, 2)]), {"kind": "count", "mechanism": [100.0, 1.0, 1]}]
    runs = spending.mechanisms(store.events(stored(store, events)))
    assert runs == ((SampledGaussian(2.0, 0.1), 5), (SampledGaussian(3.0, 0.1), 1), (SampledGaussian(100.0, 1.0), 1))


def test_nothing_spent() -> None:
    assert spending.largest_difference([]) == {}
