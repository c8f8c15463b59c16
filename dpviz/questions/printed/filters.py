"""Lécuyer 2021: filters and odometers on CIFAR-10; σ, batch size and accuracy of each epoch of every published run.

The file published_runs.json says where they are from: numbers alone, and nothing was trained anew.

>>> [run.epochs for run in RUNS["noise"]]
[283, 211, 217, 286, 291]
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.methods import Renyi
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import Event, SampledGaussian
from dpviz.questions.printed.claim import Recomputed, tight

EXAMPLES, PLANNED_EPOCHS, GOAL = 50_000, 100, 0.8


@dataclass(frozen=True)
class PublishedRun:
    """One run.

    Attributes:
        sigma, batch: noise multiplier and batch size, each as (epochs, value) one after the other.
        accuracy: on test data after each epoch, shares.
    """

    sigma: tuple[tuple[int, float], ...]
    batch: tuple[tuple[int, int], ...]
    accuracy: tuple[float, ...] = ()

    @property
    def epochs(self) -> int:
        return sum(count for count, _ in self.sigma)

    @property
    def epochs_to_goal(self) -> int:
        """Epochs until the test accuracy is 80 %."""
        return next(epoch for epoch, accuracy in enumerate(self.accuracy, 1) if accuracy >= GOAL)

    def by_epoch(self) -> list[tuple[float, int]]:
        """σ and batch size of each epoch, as recorded: the code writes them after adapting, so they are the next's."""
        sigmas = [sigma for count, sigma in self.sigma for _ in range(count)]
        return list(zip(sigmas, [batch for count, batch in self.batch for _ in range(count)], strict=True))

    def events(self) -> list[Event]:
        """An event for each stretch of equal epochs; an epoch has ⌈50 000/batch⌉ steps, as the author counts them."""
        stretches = [(*setting, len(list(epochs))) for setting, epochs in groupby(self.by_epoch())]
        return [(SampledGaussian(s, b / EXAMPLES), n * math.ceil(EXAMPLES / b)) for s, b, n in stretches]


def _runs(by_key: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, tuple[PublishedRun, ...]]:
    return {
        key: tuple(
            PublishedRun(tuple(map(tuple, run["sigma"])), tuple(map(tuple, run["batch"])), tuple(run["accuracy"]))
            for run in several
        )
        for key, several in by_key.items()
    }


_FILE = json.loads(Path(__file__).with_name("published_runs.json").read_text("utf-8"))
# From scratch: "baseline", "noise", "batch"; fine-tuned, at σ = 1 or adaptive: "all" (the whole network), "last" layer.
RUNS, FINE_TUNED, ADAPTED = (_runs(_FILE[name]) for name in ("scratch", "fine_tuning", "adaptive_fine_tuning"))
LAST_LAYER = ADAPTED["last"][0]  # the run that the plotting code draws


def last_accuracies(runs: Sequence[PublishedRun]) -> list[float]:
    """Of each run, a share."""
    return [run.accuracy[-1] for run in runs]


def mean_accuracy(policy: str) -> float:
    """Of the five runs of a policy, a share."""
    return float(np.mean(last_accuracies(RUNS[policy])))


RATE, DELTA, EPOCH = 512 / 50_000, 1e-6, 98


def planned() -> Recomputed:
    """50 epochs by the classic conversion on the authors' orders."""
    orders = [*np.arange(2.25, 10.1, 0.25), 16.0, 32.0]
    interval = tight_epsilon(SampledGaussian(1.0, RATE), 50 * EPOCH, DELTA)
    value = dpviz.epsilon(
        Renyi.name,
        noise_multiplier=1.0,
        sample_rate=RATE,
        steps=50 * EPOCH,
        delta=DELTA,
        conversion="classic",
        orders=orders,
    )
    return tight((interval.lower, interval.upper), float(value), "interval: PLD, for planned steps")


def false_rise(deviations: float = 3.0, checks: int = 29) -> Recomputed:
    """How often the noise of two equal counts alone makes a rise significant."""
    once = 0.5 * math.erfc(deviations / 2.0)  # of a difference with twice the variance
    ever = -math.expm1(checks * math.log1p(-once))
    return Recomputed(once, note=f"probability in one check; {100.0 * ever:.0f} % in {checks} checks")


def odometer(epochs: int) -> Recomputed:
    """The authors' odometer after so many epochs."""
    epsilon = partial(dpviz.odometer_epsilon, noise_multiplier=1.0, sample_rate=RATE, delta=DELTA)
    authors, paper = (float(epsilon(steps=epochs * EPOCH, variant=variant)) for variant in ("authors", "paper"))
    note = f"odometer of the text: {paper:.3g}"
    if epochs == 6:
        steps = epochs * EPOCH + np.arange(EPOCH + 1)  # every value that it takes in the next epoch
        jumps = np.unique(epsilon(steps=steps, variant="authors"))
        note += "; values up to epoch 7: " + ", ".join(f"{value:.4f}" for value in jumps)
    return Recomputed(authors, note=note)


def fine_tuned() -> Recomputed:
    """The odometer when the author's adaptive runs reach 80 %: of the run that takes 8 epochs, and of all."""
    costs, epochs = [], [run.epochs_to_goal for run in ADAPTED["all"]]
    for run, count in zip(ADAPTED["all"], epochs, strict=True):
        account = dpviz.Odometer(delta=DELTA, variant="authors")  # counts of correct predictions are not charged
        for sigma, _ in run.by_epoch()[:count]:
            account.spend(SampledGaussian(sigma, RATE), EPOCH)
        costs.append(float(account.epsilon()))
    listed = ", ".join(f"{count} ({cost:.4g})" for count, cost in zip(epochs, costs, strict=True))
    note = f"for the run that takes 8 epochs; epochs to 80 % (odometer) of all runs: {listed}"
    return Recomputed(costs[epochs.index(8)], note=note)


def fixed_epochs() -> Recomputed:
    """The most epochs that the author's runs at σ = 1 take to 80 %."""
    epochs = [run.epochs_to_goal for run in FINE_TUNED["all"]]
    return Recomputed(max(epochs), note=f"largest of {', '.join(map(str, epochs))}")


def accuracy(policy: str) -> Recomputed:
    """Mean of the last test accuracies of the author's five runs."""
    values = last_accuracies(RUNS[policy])
    return Recomputed(mean_accuracy(policy), note=f"{min(values):.2%} to {max(values):.2%}".replace("%", " %"))


def longest() -> Recomputed:
    """How many times as long as planned the author's runs are."""
    noise, batch = ([run.epochs / PLANNED_EPOCHS for run in RUNS[policy]] for policy in ("noise", "batch"))
    least, most, short, long = min(noise), max(noise), min(batch), max(batch)
    note = f"times as long; adaptive noise {least:.2f} to {most:.2f}, adaptive batch {short:.2f} to {long:.2f}"
    return Recomputed(most, note=note)


def corollary_1() -> Recomputed:
    """Rényi divergence of the mixture over its limit, least of the two orders; each mechanism passes at one of them."""
    epsilon, worst = 14.4, []
    for order in (2.0, 32.0):
        sampled = float(np.asarray(dpviz.renyi_divergence(noise_multiplier=0.316, sample_rate=0.01, orders=[order]))[0])
        both = np.logaddexp(order * epsilon, (1.0 - order) * epsilon) - np.logaddexp(0.0, epsilon)
        answered = float(both) / (order - 1.0)
        mixed = (np.logaddexp(*((order - 1.0) * np.array([sampled, answered]))) - math.log(2.0)) / (order - 1.0)
        limit = 15.0 - math.log(1e6) / (order - 1.0)
        assert min(sampled, answered) <= limit
        worst.append((order, float(mixed), limit))
    orders = "; ".join(f"D_{order:g} = {mixed:.4g}, limit {limit:.4g}" for order, mixed, limit in worst)
    return Recomputed(min(mixed / limit for _, mixed, limit in worst), note=f"times its limit: {orders}")


def gain() -> Recomputed:
    """Adaptive noise above the baseline in the author's runs, in points."""
    difference = mean_accuracy("noise") - mean_accuracy("baseline")
    return Recomputed(100.0 * difference, note="percentage points, difference of the means")
