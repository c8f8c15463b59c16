"""Lécuyer 2021: filters and odometers on CIFAR-10."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.printed.claim import Recomputed, tight
from dpviz.questions.printed.published_runs import ADAPTED, FIXED_EPOCHS, RUNS, adapted_odometer, lengths, mean_accuracy

RATE, DELTA, EPOCH = 512 / 50_000, 1e-6, 98


def planned() -> Recomputed:
    """50 epochs by the classic conversion on the authors' orders."""
    orders = [*np.arange(2.25, 10.1, 0.25), 16.0, 32.0]
    known: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": RATE, "steps": 50 * EPOCH, "delta": DELTA}
    interval = tight_epsilon(SampledGaussian(1.0, RATE), 50 * EPOCH, DELTA)
    value = dpviz.epsilon("renyi", conversion="classic", orders=orders, **known)
    return tight((interval.lower, interval.upper), float(value), "interval: tight, as if planned")


def odometer(epochs: int) -> Recomputed:
    """The authors' odometer after so many epochs."""
    known: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": RATE, "steps": epochs * EPOCH, "delta": DELTA}
    authors, paper = (float(dpviz.odometer_epsilon(variant=variant, **known)) for variant in ("authors", "paper"))
    note = f"as in the text: {paper:.3g}"
    if epochs == 6:
        note += "; to epoch 7: " + ", ".join(f"{value:.4f}" for value in jumps(known))
    return Recomputed(authors, note=note)


def jumps(known: dict[str, Any]) -> list[float]:
    """Every value that the authors' odometer takes in the epoch after `known`, beginning with its present one."""
    steps = known["steps"] + np.arange(EPOCH + 1)
    return [float(value) for value in np.unique(dpviz.odometer_epsilon(variant="authors", **known | {"steps": steps}))]


def fine_tuned() -> Recomputed:
    """The odometer when the author's adaptive runs reach 80 %: of the run that takes 8 epochs, and of all."""
    costs = [adapted_odometer(sigmas, DELTA) for sigmas in ADAPTED]
    epochs = [len(sigmas) for sigmas in ADAPTED]
    listed = ", ".join(f"{count} ({cost:.4g})" for count, cost in zip(epochs, costs, strict=True))
    note = f"of the run that takes 8 epochs; epochs to 80 % (odometer): {listed}"
    return Recomputed(costs[epochs.index(8)], note=note)


def fixed_epochs() -> Recomputed:
    """The most epochs that the author's runs at σ = 1 take to 80 %."""
    return Recomputed(max(FIXED_EPOCHS), note=f"the most of {', '.join(map(str, FIXED_EPOCHS))}")


def accuracy(policy: str) -> Recomputed:
    """Mean of the last test accuracies of the author's five runs."""
    values = [run.accuracy for run in RUNS[policy]]
    return Recomputed(mean_accuracy(policy), note=f"{min(values):.2%} to {max(values):.2%}".replace("%", " %"))


def longest() -> Recomputed:
    """How many times as long as planned the author's runs are."""
    (least, most), (short, long) = lengths("noise"), lengths("batch")
    return Recomputed(most, note=f"times; noise {least:.2f} to {most:.2f}, batch {short:.2f} to {long:.2f}")


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
    orders = "; ".join(f"D_{order:g} = {mixed:.4g} for {limit:.4g}" for order, mixed, limit in worst)
    return Recomputed(min(mixed / limit for _, mixed, limit in worst), note=f"times its limit: {orders}")


def gain() -> Recomputed:
    """Adaptive noise above the baseline in the author's runs, in points."""
    return Recomputed(100.0 * (mean_accuracy("noise") - mean_accuracy("baseline")), note="points, between the means")
