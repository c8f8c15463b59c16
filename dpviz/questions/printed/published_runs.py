"""What the author of Lécuyer 2021 published of every run: σ and batch size of each epoch, and test accuracies.

Extracted from the files under exp_results of the author's public repository, adaptive_rdp (matlecu in the paper,
m-lecuyer today), commit 641b3f3. The repository has no licence: these are numbers from it, and none of its files.

>>> [run.epochs for run in RUNS["noise"]]
[283, 211, 217, 286, 291]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.fields.tables import made, tables
from dpviz.mechanisms import Event, SampledGaussian

EXAMPLES, PLANNED_EPOCHS = 50_000, 100


@dataclass(frozen=True)
class PublishedRun:
    """One run.

    Attributes:
        accuracy: last test accuracy, a share.
        sigma, batch: noise multiplier and batch size, each as (epochs, value) one after the other.
    """

    accuracy: float
    sigma: tuple[tuple[int, float], ...] = ()
    batch: tuple[tuple[int, int], ...] = ()

    @property
    def epochs(self) -> int:
        return sum(count for count, _ in self.sigma or self.batch)

    def by_epoch(self) -> list[tuple[float, int]]:
        """σ and batch size of each epoch, as recorded: the code writes them after adapting, so they are the next's."""
        noise = [(sigma, 512) for count, sigma in self.sigma for _ in range(count)]
        return noise or [(1.0, batch) for count, batch in self.batch for _ in range(count)]

    def events(self) -> list[Event]:
        """An event for each stretch of equal epochs; an epoch has ⌈50 000/batch⌉ steps, as the author counts them."""
        parts = [(count, sigma, 512) for count, sigma in self.sigma] or [(c, 1.0, batch) for c, batch in self.batch]
        return [(SampledGaussian(s, b / EXAMPLES), n * math.ceil(EXAMPLES / b)) for n, s, b in parts]


def _run(table: dict[str, Any]) -> PublishedRun:
    pairs = {key: tuple(map(tuple, value)) for key, value in table.items() if isinstance(value, list)}
    return made(PublishedRun, table | pairs, "published_runs.toml", {})


_FILE = tables(Path(__file__).with_suffix(".toml"), {"fixed_epochs", "adapted", "last_layer", "runs"})
RUNS = {policy: tuple(map(_run, runs)) for policy, runs in _FILE["runs"].items()}
FIXED_EPOCHS, ADAPTED, LAST_LAYER = _FILE["fixed_epochs"], _FILE["adapted"], _run(_FILE["last_layer"])


def mean_accuracy(policy: str) -> float:
    """Of the five runs of a policy, a share."""
    return float(np.mean([run.accuracy for run in RUNS[policy]]))


def lengths(policy: str) -> tuple[float, float]:
    """Least and most epochs of the five runs ÷ those planned."""
    epochs = [run.epochs / PLANNED_EPOCHS for run in RUNS[policy]]
    return min(epochs), max(epochs)


def adapted_odometer(sigmas: list[float], delta: float) -> float:
    """The author's odometer after epochs of these σ, counts of correct predictions not charged, as in the plots."""
    account = dpviz.Odometer(delta=delta, variant="authors")
    for sigma in sigmas:
        account.spend(SampledGaussian(sigma, 512 / EXAMPLES), math.ceil(EXAMPLES / 512))
    return float(account.epsilon())
