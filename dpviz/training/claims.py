"""The one claim of a run: what is promised before it starts, and what may be said wherever it ends.

>>> from dpviz.training.settings import RunSettings
>>> found = planned_claim(RunSettings(steps=100, noise_multiplier=4.0, batch_size=100), 10_000)
>>> found.accountant, found.covers, found.lower < found.epsilon
('tight', 'plan', True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dpviz.accounting.claims import Claim
from dpviz.accounting.mechanism import Run, SampledGaussian, merge_runs
from dpviz.accounting.renyi import Moments
from dpviz.accounting.tight import tight_delta, tight_epsilon_of_runs
from dpviz.training.accounting import adaptive, renyi_accountant
from dpviz.training.counting import make_policy
from dpviz.training.plan import planned_runs
from dpviz.training.settings import RunSettings, steps_per_epoch

MOST_DIFFERENT = 64  # mechanisms that the tight accountant composes one by one in well under a second

WITHOUT_NOISE = "it was trained without noise"
ASSUMPTIONS = (
    "one example more or less (add/remove), Poisson batches, Gaussian noise on the sum of clipped gradients",
    "the number of training examples is public: the sampling rate and the divisor of the sum come from it",
)


@lru_cache(maxsize=512)
def planned_claim(settings: RunSettings, examples: int) -> Claim:
    """What a run with these settings may claim wherever it ends; known before it starts.

    Noise from a seed that is kept protects nobody: such a run claims nothing, and holds what secret noise would allow.
    Mechanisms that are fixed ahead, steps and private counts alike, are composed to the last step that may come; the
    least of the tight, Rényi and moments bounds is claimed, or the filter's budget where that is less. Where counts
    decide about mechanisms, the filter's budget is all that is known ahead.

    Args:
        settings: Of the run; past_plan="replan" is covered up to `most_steps`.
        examples: N.
    """
    if not settings.private:
        return Claim.nothing(WITHOUT_NOISE, settings.delta)
    if not settings.secure_noise:
        return planned_claim(settings.with_(secure_noise=True), examples).as_demonstration()
    if adaptive(settings):
        return _promised(settings)
    runs = everything_planned(settings, examples)
    counts = planned_counts(settings, examples)
    steps = settings.last_step
    found: list[Claim] = []

    def offer(accountant: str, epsilon: float, lower: float | None = None, success: float | None = None) -> None:
        if math.isfinite(epsilon):
            found.append(
                Claim(
                    epsilon=epsilon, delta=settings.delta, accountant=accountant, covers="plan", lower=lower,
                    steps=steps, counts=counts, success=success, conditions=conditions(settings),
                )
            )  # fmt: skip

    if len(runs) <= MOST_DIFFERENT:
        interval = tight_epsilon_of_runs(runs, settings.delta)
        offer("tight", float(interval.upper), float(interval.lower), _success(runs))
    offer("renyi", float(renyi_accountant(settings).of_runs(runs, settings.delta).epsilon))
    offer("moments", float(Moments().of_runs(runs, settings.delta).epsilon))
    if settings.filter_epsilon is not None:
        # Its refusal, too, is decided ahead.
        offer("filter", settings.filter_epsilon)
    if not found:
        return Claim.nothing("no accountant bounds what is planned", settings.delta, conditions(settings))
    return min(found, key=lambda claim: claim.epsilon)


def _promised(settings: RunSettings) -> Claim:
    if settings.filter_epsilon is None:
        return Claim.nothing(
            "what was seen decides about its steps and there is no budget", settings.delta, conditions(settings)
        )
    return Claim(
        epsilon=settings.filter_epsilon,
        delta=settings.delta,
        accountant="filter",
        covers="adaptive",
        steps=settings.last_step,
        conditions=conditions(settings),
    )


def _success(runs: Sequence[Run]) -> float | None:
    """½ + ½ δ(0): accuracy of the best attack at even odds; None where several mechanisms are mixed."""
    if len(runs) != 1:
        return None
    (mechanism, count) = runs[0]
    return 0.5 + 0.5 * float(tight_delta(mechanism, count, 0.0).upper)


def conditions(settings: RunSettings) -> tuple[str, ...]:
    """What must be true of this run for its claim, besides ASSUMPTIONS."""
    found = []
    if settings.start_from is not None:
        found.append("the parameters that it started from saw none of its data, or what they cost is added")
    return tuple(found)


def planned_counts(settings: RunSettings, examples: int) -> int:
    """The most private counts that are taken by the last step, if no policy changes the batch size."""
    every = make_policy(settings, examples).every if settings.private else 0
    epochs = settings.last_step // steps_per_epoch(examples, settings.batch_size)
    return epochs // every if every else 0


def everything_planned(settings: RunSettings, examples: int) -> tuple[Run, ...]:
    """Steps and private counts up to the last step that may come, equal ones together."""
    whole = settings.with_(steps=settings.last_step, past_plan="stop", most_steps=0)
    runs = planned_runs(whole, examples)
    counts = planned_counts(settings, examples)
    if counts:
        runs = merge_runs((*runs, (SampledGaussian(settings.count_noise, 1.0), counts)))
    return runs


def was_planned(charged: Sequence[Run], settings: RunSettings, examples: int) -> bool:
    """Whether nothing was charged that the plan does not hold."""
    planned = dict(everything_planned(settings, examples))
    return all(count <= planned.get(mechanism, 0) for mechanism, count in merge_runs(charged))


def claim_at(
    settings: RunSettings, examples: int, *, charged: Sequence[Run] | None, odometer: float, step: int
) -> Claim:
    """What may be claimed of a run that ends, or is looked at, after `step`.

    Args:
        settings, examples: As in `planned_claim`.
        charged: Everything that was charged, compared with the plan; None where that was done before.
        odometer: The odometer's ε of it.
        step: Steps taken.
    """
    ahead = planned_claim(settings, examples)
    if not settings.private:
        return ahead
    if charged is not None and not adaptive(settings) and not was_planned(charged, settings, examples):
        ahead = Claim.nothing("what was charged is not what was planned", settings.delta, conditions(settings))
        ahead = ahead if settings.secure_noise else ahead.as_demonstration()
    return ahead.if_it_ended(odometer=odometer, step=step)
