"""Results of recorded runs on Adult, and their ε by three ways of accounting."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.langevin.posterior_sample import PosteriorSample, logistic_spread, printed_epsilon
from dpviz.experiments.record import ExperimentRecord, recorded
from dpviz.fields import numbers
from dpviz.questions.printed.claim import Recomputed

EXAMPLES, DELTA = 32_561, 1e-4


@dataclass(frozen=True)
class ArmResult:
    """One arm of the experiment.

    Attributes:
        arm, settings: its name and settings.
        epsilon: what it costs; ∞ without privacy.
        mean, deviation: of the test accuracy over seeds.
        runs: how many.
    """

    arm: str
    settings: Mapping[str, Any]
    epsilon: float
    mean: float
    deviation: float
    runs: int

    @property
    def points(self) -> str:
        """The deviation, in percentage points."""
        return f"{100.0 * self.deviation:.2f}"


def adult_record() -> ExperimentRecord:
    return recorded("adult_posterior")


def reached_on_adult(method: str, accounted: str) -> tuple[ArmResult, ...]:
    """All arms of a method, by ascending ε; one example is `accounted` as "replaced" or "added", or as "printed"."""
    record = adult_record()
    results = []
    for arm, settings in record.settings.items():
        if arm.split("_")[0] == method:
            values = record.values(arm, "test_accuracy")
            trial = record.of(arm)[0].found
            epsilon = spent(settings, trial, accounted)
            deviation = float(values.std(ddof=1)) if values.size > 1 else 0.0
            results.append(ArmResult(arm, settings, epsilon, float(values.mean()), deviation, int(values.size)))
    return tuple(sorted(results, key=lambda one: one.epsilon))


def spent(settings: Mapping[str, Any], measured: Mapping[str, Any], accounted: str) -> float:
    """ε at δ = 1e-4 of an arm: of its sample, its steps, or both (basic composition)."""
    if settings["method"] == "chain":
        if settings["clip"] is None:
            return float("inf")
        return steps_cost(settings["first_step"], 1.0 / 3.0, settings, accounted)
    sample = sample_cost(measured["power"], settings["radius"], accounted)
    if settings["method"] == "sample":
        return sample
    if settings["rule"] == "wang" and accounted == "printed":
        return sample + float(settings["epsilon"]) / 2.0  # by their theorem
    exponent = 0.0 if settings["rule"] == "wang" else 1.0 / 3.0
    return sample + steps_cost(measured["first_step"], exponent, settings, accounted)


def sample_cost(power: float, radius: float, accounted: str) -> float:
    """Of one exact posterior sample; δ = 0."""
    spread = logistic_spread(feature_norm=1.0, parameter_norm=radius)
    if accounted == "printed":
        return printed_epsilon(power, spread)
    return PosteriorSample(spread, "replace_one" if accounted == "replaced" else "add_remove").epsilon(power)


def steps_cost(first_step: float, exponent: float, settings: Mapping[str, Any], accounted: str) -> float:
    """Of Langevin steps, composed by Rényi divergences."""
    steps, batch_size, clip = (settings[name] for name in ("steps", "batch_size", "clip"))
    return composed(dpviz.PowerSchedule(first_step, exponent, steps), batch_size, clip, accounted)


@remembered
def composed(schedule: dpviz.PowerSchedule, batch_size: int, clip: float, accounted: str) -> float:
    """ε of the steps: of one example replaced or added, or as the paper's accountant counts them."""
    return float(
        dpviz.langevin_epsilon(
            schedule, n=EXAMPLES, batch_size=batch_size, clip=clip, delta=DELTA,
            adjacency="replace_one" if accounted == "replaced" else "add_remove",
            conversion="classic" if accounted == "printed" else "improved",
        )
    )  # fmt: skip


def standard_sampler() -> Recomputed:
    """What the standard sampler's steps cost."""
    chain = adult_record().settings["sgld_4"]
    printed, replaced = (steps_cost(chain["first_step"], 1.0 / 3.0, chain, way) for way in ("printed", "replaced"))
    return Recomputed(printed, note=f"if one example is replaced: {numbers.epsilon(replaced, up=True)}")


def beside_the_baseline() -> Recomputed:
    """Percentage points by which DP-SGLD with the standard sampler's steps stays below that sampler."""
    baseline, private = reached_on_adult("baseline", "replaced")[0].mean, reached_on_adult("sgld", "replaced")[-1].mean
    note = f"percentage points below the baseline's {100.0 * baseline:.1f} %"
    return Recomputed(100.0 * (baseline - private), note=note)


def beside_one_sample() -> Recomputed:
    """Percentage points by which DP-SGLD is ahead of one posterior sample, each counted as printed."""
    sample, chain = (
        {one.epsilon: 100.0 * one.mean for one in reached_on_adult(method, "printed")} for method in ("sample", "sgld")
    )
    costs, accuracy = np.array(list(chain)), np.array(list(chain.values()))
    ahead = {at: float(np.interp(at, costs, accuracy)) - sample[at] for at in sample if costs[0] <= at <= costs[-1]}
    rest = accuracy[-1] - float(np.interp(costs[-1], list(sample), list(sample.values())))
    note = ", ".join(f"{points:+.1f} at ε = {at:.2g}" for at, points in ahead.items())
    note = f"lead of DP-SGLD in percentage points at ε = {costs[-1]:.2g}; {note}; linear between recorded ε"
    return Recomputed(float(rest), note=note)
