"""Recorded runs of audits, one arm for each planted fault, what they show of ε, and the request for further runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from runpy import run_path
from typing import Any, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz._extras import extra
from dpviz._remember import remembered
from dpviz.accounting.audit.counts import Counts, interval_bound, joint_bound
from dpviz.accounting.audit.gaussian_fit import fitted_epsilon
from dpviz.accounting.audit.one_run import OneRunGuesses, guessed, one_run_bound
from dpviz.accounting.audit.threshold import ThresholdAttack, chosen_threshold, parts
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.experiments.record import ExperimentRecord, recorded
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.source import Measurable

ONE_RUN = "audit_one_run"
HONEST = "honest"  # no fault
HUNDRED = 100  # runs a side of one seed


class Fault(NamedTuple):
    """A planted fault: what is wrong, and why the attack sees it."""

    words: str
    why: str


FAULTS = {
    "honest": Fault("Nothing is wrong", "There is nothing to see: every bound should stay below the claim."),
    "noise": Fault("The noise is half of what is accounted for", "The canary stands out from so little noise."),
    "clip": Fault(
        "Gradients are not clipped", "The canary's gradient is nearly six times C, and the sum has all of it."
    ),
    "divisor": Fault(
        "The sum is divided by the number of examples drawn",
        "The length of the noise tells how many were drawn, and the sum then tells who was not among them. An attack "
        "that reads the sum alone does not see it, nor does one run with many canaries: its batches hardly vary.",
    ),
    "order": Fault(
        "The batches are fixed in advance, but accounted for as Poisson batches",
        "The canary is in the first batch for certain, where the accountant counts on a chance of 1 in 8.",
    ),
    "twice": Fault(
        "The example is in the data twice",
        "Two copies add up to 2C. PrivateTraining refuses a row that is given twice; a copy of it is another row.",
    ),
}


class Scores(NamedTuple):
    """What the attack made of runs without the canary and with it, (runs,) each."""

    without: Array
    with_it: Array

    def first(self, runs: int) -> "Scores":
        """Of so many runs a side."""
        return Scores(self.without[:runs], self.with_it[:runs])


class Shown(NamedTuple):
    """What runs show of ε at a δ: the attack, its counts, two bounds and an estimate."""

    attack: ThresholdAttack
    counts: Counts
    interval: float
    joint: float
    fit: float


def record_of(fault: str) -> ExperimentRecord:
    """The record whose arm this is."""
    return recorded("audit" if fault == HONEST else "audit_faults")


def results_of(record: ExperimentRecord, arm: str) -> list[Mapping[str, Any]]:
    """What was measured with each seed of an arm."""
    each = (record.result(record.settings[arm], trial.seed) for trial in record.of(arm))
    return [result for result in each if result is not None]


@dataclass(frozen=True)
class MoreRuns(Measurable[dict[str, Any]]):
    """Further runs with a fault, so many hundred a side: those whose seeds follow those of the record."""

    target = "dpviz.training.audit:more_runs"
    fault: str
    hundreds: int

    @property
    def arguments(self) -> dict[str, Any]:
        record = record_of(self.fault)
        first = 1 + max(trial.seed for trial in record.trials)
        return {"settings": dict(record.settings[self.fault]), "seeds": [first + k for k in range(self.hundreds)]}

    @property
    def recorded(self) -> dict[str, Any] | None:
        return None if self.hundreds else {"without": [], "with": []}


def plan(fault: str) -> tuple[SampledGaussian, int]:
    """The step that is claimed, and how many of them."""
    settings = record_of(fault).settings[fault]
    rate = settings["batch_size"] / settings["examples"]
    return SampledGaussian(settings["noise_multiplier"], rate), int(settings["steps"])


@remembered
def claim(fault: str, delta: float) -> float:
    """The tight ε of that plan at δ, from above."""
    mechanism, steps = plan(fault)
    return float(tight_epsilon(mechanism, [steps], delta).upper[0])


@remembered
def recorded_scores(fault: str) -> Scores:
    """Of all recorded runs with this fault, by seed."""
    results = results_of(record_of(fault), fault)
    return Scores(*(np.concatenate([result[side] for result in results]) for side in ("without", "with")))


def together(fault: str, more: dict[str, Any]) -> Scores:
    """The recorded runs, then those that were made here."""
    here = recorded_scores(fault)
    return Scores(np.append(here.without, more["without"]), np.append(here.with_it, more["with"]))


def shown(scores: Scores, runs: int, delta: float) -> Shown:
    """What the first `runs` a side show; one of four of all runs has chosen the threshold, and none of these counts."""
    first = [parts(side)[0] for side in scores]
    attack = chosen_threshold(first[0], first[1], delta)
    used = scores.first(runs)
    counts = attack.counts(*(parts(side)[1] for side in used))
    return Shown(
        attack, counts, interval_bound(counts, delta), joint_bound(counts, delta), fitted_epsilon(*used, delta)
    )


@remembered
def one_run_guesses(fault: str) -> OneRunGuesses:
    """What the attack guessed of the canaries of the recorded run with this fault."""
    (result,) = results_of(recorded(ONE_RUN), fault)
    return guessed(np.array(result["scores"]), np.array(result["members"]) == 1)


def one_run_shown(fault: str, delta: float) -> float:
    """ε of that one run, at least."""
    return one_run_bound(one_run_guesses(fault), delta)


def fault_rows(runs: int, delta: float) -> list[dict[str, str]]:
    """What the recorded runs show of each fault, and whether one of the bounds exceeds the claim."""
    rows = []
    for fault, (words, why) in FAULTS.items():
        several, one = shown(recorded_scores(fault), runs, delta), one_run_shown(fault, delta)
        rows.append(_row(words, several, claim(fault, delta), why, one))
    return rows


def own_row(target: str, runs: int, delta: float | None) -> dict[str, str]:
    """What new runs show of a training of one's own.

    Args:
        target: "module:function" or "file.py:function", as `dpviz.training.audit_own` takes it.
        runs: A side.
        delta: δ; None for that of the plan.

    Raises:
        ValueError: where there is no such function, or its trainings cannot be audited.
    """
    with extra("train"):
        own_audit = resolve_name("dpviz.training.audit_own:own_audit")
    place, _, name = target.partition(":")
    try:
        make = run_path(place)[name] if place.endswith(".py") else resolve_name(target)
    except (OSError, ImportError, AttributeError, ValueError, KeyError) as problem:
        raise ValueError(
            f"{target!r} names no function: {problem}. Give MODULE:FUNCTION or FILE.py:FUNCTION."
        ) from None
    audit = own_audit(make, runs=runs, delta=delta)
    scores = Scores(audit.without, audit.with_it)
    why = (
        "The attack reads the parameters after the last step along the row's gradient. Below the claim it proves "
        "nothing; above it, the claim is false but for one audit in twenty."
    )
    return _row(target, shown(scores, runs, audit.delta), audit.claim, why)


def _row(words: str, several: Shown, claimed: float, why: str, one: float | None = None) -> dict[str, str]:
    row = {
        "training": words,
        "claimed ε": numbers.up(claimed),
        "both counts": f"≥ {numbers.down(several.joint)}",
        "Clopper–Pearson": f"≥ {numbers.down(several.interval)}",
        "Gaussian fit": f"≈ {numbers.plain(several.fit)}",
    }
    row |= {} if one is None else {"one run": f"≥ {numbers.down(one)}"}
    seen = "yes" if max(several.joint, several.interval, one or 0.0) > claimed else "no"
    return row | {"fault seen": seen, "why": why}
