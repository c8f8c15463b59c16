"""Whose network is looked at, and what bounds an attack on it: a run of the store, or a small network without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.accounting.attack import attack_success
from dpviz.runs.engine import engine
from dpviz.runs.records import RunRecord
from dpviz.runs.store import StoreError
from dpviz.ui.leakage.settings import MOST_CNN_STEPS, NEWEST, SMALL, Settings

# Accountant of a run's record → (what it is called here, its family in the look).
ACCOUNTANTS = {
    "tight": ("tight, upper", "tight"),
    "renyi": ("Rényi DP", "renyi_improved"),
    "moments": ("moments", "moments"),
    "odometer": ("odometer", "odometer"),
    "filter": ("filter's budget", "filter"),
    "bayesian": ("Bayesian DP", "bayesian"),
}
# What holds for mechanisms or an end that depended on what was seen.
ADAPTIVE = ("odometer", "filter")
MODELS = {"logistic": "logistic regression", "mlp": "MLP 784-128-10", "cnn": "CNN, tanh"}


@dataclass(frozen=True)
class Bound:
    """One accountant's ε of a run.

    Attributes:
        key: of `ACCOUNTANTS`.
        epsilon, delta: the promise; ε may be inf.
        holds: False where it reads the run as if it had been planned.
    """

    key: str
    epsilon: float
    delta: float
    holds: bool

    @property
    def name(self) -> str:
        return ACCOUNTANTS[self.key][0]

    @property
    def family(self) -> str:
        return ACCOUNTANTS[self.key][1]

    @property
    def success(self) -> float:
        """The highest accuracy of any guess whether one example was added."""
        return float(attack_success(self.epsilon, delta=self.delta))

    @property
    def swapped(self) -> float:
        """The same if one example was exchanged for another: one removed and one added, a group of two."""
        slack = self.delta * (1.0 + math.exp(min(self.epsilon, 700.0)))
        return float(attack_success(2.0 * self.epsilon, delta=min(slack, 1.0)))


@dataclass(frozen=True)
class Subject:
    """A trained network.

    Attributes:
        key: what stands for it in caches: id and attempt of a run, or model and steps.
        title: what the page calls it.
        bounds: every accountant's, () without noise.
        claim: which of them may be claimed, in the run's own words.
        missing_tight: mechanisms [[σ, q, count], …] whose tight ε the record does not hold; () if it does.
        settings, weights: of a run; None for a small network.
        stand_in: whether it is here only because there is no run.
    """

    key: tuple[object, ...]
    title: str
    bounds: tuple[Bound, ...] = ()
    claim: str = ""
    missing_tight: tuple[tuple[float, float, int], ...] = ()
    settings: Mapping[str, Any] | None = field(default=None, hash=False, compare=False)
    weights: Path | None = None
    stand_in: bool = False

    @property
    def tightest(self) -> Bound | None:
        """The smallest ε that holds for every example; Bayesian DP promises less."""
        proper = [b for b in self.bounds if b.holds and b.key != "bayesian"]
        return min(proper, key=lambda b: (b.success, b.epsilon), default=None)


def finished_runs() -> list[RunRecord]:
    """Runs that ended and whose weights are here, newest first; none where the store can not be read."""
    try:
        ended = engine().runs(states=("done", "stopped"))
        # Started again with other noise, a run has released more than its record's ε says.
        return [r for r in ended if weights_of(r) is not None and not (r.restarts and r.settings.get("secure_noise"))]
    except StoreError:
        return []


def weights_of(record: RunRecord) -> Path | None:
    """The file with a run's parameters; None where it kept none. A path that came with an imported run is not used."""
    found = engine().weights(record.id)
    told = record.summary.get("weights")
    if told and not record.imported and not found.is_file():
        found = Path(told)
    return found if found.is_file() else None


def subject(settings: Settings) -> Subject:
    """The network that the settings name.

    Raises:
        ValueError: if that run is not here or kept no weights, or the small network would take too long to train.
    """
    if settings.run == SMALL:
        return _small(settings)
    runs = finished_runs()
    if settings.run == NEWEST:
        return of_run(runs[0]) if runs else _small(settings, stand_in=True)
    for record in runs:
        if record.id == settings.run:
            return of_run(record)
    raise ValueError(
        f"The run “{settings.run}” is not among those that ended here and kept their weights: choose another one under "
        "Network, or the newest."
    )


def _small(settings: Settings, *, stand_in: bool = False) -> Subject:
    if settings.model == "cnn" and settings.steps > MOST_CNN_STEPS:
        raise ValueError(
            f"Training steps before: {settings.steps} of the CNN would take minutes here; take at most "
            f"{MOST_CNN_STEPS}, or the MLP."
        )
    return Subject(
        key=(SMALL, settings.model, settings.steps),
        title=f"{MODELS[settings.model]}, {settings.steps} plain steps",
        stand_in=stand_in,
    )


def of_run(record: RunRecord) -> Subject:
    """A run with all its accountants' ε as its record holds them."""
    told = dict(record.settings)
    summary = record.summary
    # A record names only what differs from the defaults in none of its keys: these are always there.
    delta, delta_mu = float(told.get("delta", 1e-5)), float(told.get("delta_mu", 1e-10))
    planned = summary.get("reason") == "plan" and told.get("policy", "fixed") == "fixed"
    planned = planned and told.get("past_plan", "stop") == "stop"
    epsilons = {name: _number(value) for name, value in (summary.get("epsilon") or {}).items()}
    if told.get("filter_epsilon") is not None:
        epsilons["filter"] = float(told["filter_epsilon"])
    bounds = tuple(
        Bound(key, epsilons[key], delta_mu if key == "bayesian" else delta, planned or key in ADAPTIVE)
        for key in ACCOUNTANTS
        if key in epsilons
    )
    steps = tuple((float(s), float(q), int(n)) for s, q, n in summary.get("mechanisms") or ())
    return Subject(
        key=(record.id, record.attempt),
        title=record.title,
        bounds=bounds,
        claim=str(summary.get("holds", "")),
        missing_tight=steps if "tight" not in epsilons else (),
        settings=told,
        weights=weights_of(record),
    )


def _number(value: object) -> float:
    """ε as JSON may hold it; what is not there proves nothing."""
    found = float(value) if isinstance(value, (int, float)) else math.inf
    return math.inf if math.isnan(found) else found
