"""What the author of Lécuyer 2021 published of every run: σ and batch size of each epoch, and test accuracies.

Extracted from the files under exp_results of the author's public repository, adaptive_rdp (matlecu in the paper,
m-lecuyer today), commit 641b3f3. The repository has no licence: these are numbers from it, and none of its files.

>>> [run.epochs for run in NOISE]
[283, 211, 217, 286, 291]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import dpviz
from dpviz.mechanisms import Event, SampledGaussian

Array = npt.NDArray[np.float64]
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


def _noise(accuracy: float, last: int, levels: str) -> PublishedRun:
    """σ = 1 for nine epochs, then each level for ten and the last for `last`."""
    values = [float(level) for level in levels.split()]
    counts = [10] * (len(values) - 1) + [last]
    return PublishedRun(accuracy, sigma=((9, 1.0), *zip(counts, values, strict=True)))


def _batch(accuracy: float, *stretches: tuple[int, int]) -> PublishedRun:
    return PublishedRun(accuracy, batch=((9, 512), *stretches))


BASELINE = tuple(
    PublishedRun(accuracy, batch=((PLANNED_EPOCHS, 512),))
    for accuracy in (0.5470703125, 0.5498046875, 0.55244140625, 0.533984375, 0.548046875)
)
NOISE = (
    _noise(0.57451171875, 4, "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.7 1.8 1.7 1.8 1.7 1.8 "
           "1.7 1.6 1.5 1.6 1.5 1.6 1.5 1.4 1.5 1.4 1.3 1.3 1.2 1.1"),
    _noise(0.5701171875, 2, "1.1 1.2 1.3 1.2 1.3 1.4 1.5 1.4 1.3 1.4 1.3 1.4 1.5 1.4 1.3 1.4 1.3 1.3 1.2 1.2 1.1"),
    _noise(0.574609375, 8, "1.1 1.2 1.3 1.4 1.5 1.4 1.5 1.4 1.5 1.4 1.5 1.6 1.5 1.4 1.3 1.4 1.3 1.2 1.2 1.1 1.1"),
    _noise(0.56962890625, 7, "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.6 1.7 1.6 1.7 1.6 1.7 1.8 "
           "1.7 1.8 1.7 1.6 1.7 1.6 1.5 1.6 1.5 1.4 1.3 1.3 1.2 1.2"),
    _noise(0.57119140625, 2, "1.1 1.2 1.3 1.4 1.5 1.4 1.5 1.6 1.7 1.6 1.7 1.8 1.7 1.6 1.7 "
           "1.8 1.7 1.6 1.5 1.6 1.7 1.6 1.5 1.6 1.5 1.4 1.3 1.2 1.1"),
)  # fmt: skip
BATCH = (
    _batch(
        0.55380859375, (10, 384), (10, 256), (10, 384), (50, 256), (10, 384), (10, 256), (30, 384), (14, 512)
    ),
    _batch(0.54931640625, (10, 384), (80, 256), (10, 384), (10, 256), (20, 384), (19, 512)),
    _batch(0.56376953125, (10, 384), (10, 256), (10, 384), (70, 256), (30, 384), (17, 512)),
    _batch(
        0.55185546875, (10, 384), (10, 256), (10, 384), (10, 256), (10, 384), (10, 256), (10, 384), (10, 256),
        (40, 384), (14, 512),
    ),
    _batch(0.5552734375, (10, 384), (60, 256), (10, 384), (10, 256), (10, 384), (36, 512)),
)  # fmt: skip
RUNS = {"baseline": BASELINE, "batch": BATCH, "noise": NOISE}

# Fine-tuning of the whole network: epochs until the test accuracy is 80 %, and σ of these epochs.
FIXED_EPOCHS = (5, 6, 5, 5, 6)
ADAPTED = tuple(
    tuple(float(sigma) for sigma in sigmas.split())
    for sigmas in (
        "2 2 2 2 2 1.9 1.8 1.8",
        "2 2 2 2 2 2 1.9",
        "2 2 2 2 2 2 1.9 1.9 1.8 1.7 1.6",
        "2 2 2 2 2 2",
        "2 2 2 2 2 2 2 2 1.9 1.9 1.8 1.7 1.6 1.5 1.5",
    )
)

# Fine-tuning of the last layer, adaptive: the run that the plotting code draws (fine_tune_last_0).
LAST_LAYER = PublishedRun(
    0.8330696202531646,
    sigma=(
        (6, 2.0), (2, 1.9), (1, 1.8), (1, 1.7), (2, 1.6), (1, 1.5), (1, 1.4), (1, 1.3), (1, 1.2), (2, 1.1), (32, 1.0)
    ),
)  # fmt: skip


def mean_accuracy(policy: str) -> float:
    """Of the five runs of a policy, a share."""
    return float(np.mean([run.accuracy for run in RUNS[policy]]))


def lengths(policy: str) -> tuple[float, float]:
    """Least and most epochs of the five runs ÷ those planned."""
    epochs = [run.epochs / PLANNED_EPOCHS for run in RUNS[policy]]
    return min(epochs), max(epochs)


def adapted_odometer(sigmas: tuple[float, ...], delta: float) -> float:
    """The author's odometer after epochs of these σ, counts of correct predictions not charged, as in the plots."""
    account = dpviz.Odometer(delta=delta, variant="authors")
    for sigma in sigmas:
        account.spend(SampledGaussian(sigma, 512 / EXAMPLES), math.ceil(EXAMPLES / 512))
    return float(account.epsilon())
