"""The one claim of a run: what is promised before it starts, and what may be said wherever it ends.

>>> from dpviz.training.settings import RunSettings
>>> found = planned_claim(RunSettings(steps=100, noise_multiplier=4.0, batch_size=100), 10_000)
>>> found.accountant, found.covers, found.lower < found.epsilon
('tight', 'plan', True)
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.adaptive import filter
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import MixtureOdometer, Moments, Renyi, Tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import Event, SampledGaussian, merge_events
from dpviz.training.accounts.counting import baseline, planned_counts
from dpviz.training.accounts.live import budget_filter, for_steps, renyi_accountant
from dpviz.training.accounts.origins import conditions_of_start, spent_before
from dpviz.training.accounts.stepwise import MOST_DIFFERENT as MOST_DIFFERENT
from dpviz.training.covered import PUBLIC_PERSONS, PUBLIC_SIZE
from dpviz.training.data.own.place import is_own
from dpviz.training.models import RECORDED
from dpviz.training.samplers import SAMPLERS, Poisson
from dpviz.training.settings import RunSettings
from dpviz.training.values import OWN_DATA

RELEASED_NOTHING = "it has not released anything"

LOSSES_DECIDED = "not finite"
NOT_PLANNED = "the charges differ from the plan"
OVERSPENT = "the charges exceed the budget"
NO_ACCOUNTANT = "no accountant gives a finite ε for this plan"
WITHOUT_NOISE = "it was trained without noise"


def neighbours(settings: RunSettings) -> str:
    """What is done to one data set to make a neighbour: what ε covers."""
    done = SAMPLERS[settings.sampler].kind.adjacency.name
    return done.replace("one example", "one person with all their rows") if settings.by_person else done


def assumptions(settings: RunSettings) -> tuple[str, ...]:
    """What every claim of a run with these settings rests on."""
    batches = SAMPLERS[settings.sampler].assumption
    decay, band = settings.noise_decay, settings.noise_band
    how = f", correlated with λ = {decay:.6g}," if decay else f", correlated within {band} steps," if band > 1 else ""
    text = f"Neighbours: {neighbours(settings)}; {batches}; Gaussian noise{how} on the sum of clipped gradients."
    return text, PUBLIC_PERSONS if settings.by_person else PUBLIC_SIZE


@remembered
def planned_claim(settings: RunSettings, examples: int) -> Claim:
    """What a run with these settings may claim wherever it ends; known before it starts.

    Noise from a seed that is kept protects nobody: such a run claims nothing, and holds what secret noise would allow.
    Mechanisms that are fixed ahead, steps and private counts alike, are composed to the last step that may come; the
    least of the tight, Rényi and moments bounds is claimed, or the filter's budget where that is less. Where counts
    decide about mechanisms, the filter's budget is all that is known ahead. What earlier runs may have spent on the
    same data is part of it all (`origins`).

    Args:
        settings: Of the run; past_plan="replan" is covered up to `most_steps`.
        examples: N.
    """
    if not settings.private:
        return Claim.nothing(WITHOUT_NOISE, settings.delta)
    if not settings.secure_noise:
        return planned_claim(settings.with_(secure_noise=True), examples).as_demonstration()
    if settings.adaptive:
        return _promised(settings, examples)
    planned = everything_planned(settings, examples)
    counts = planned_counts(settings.with_(steps=settings.last_step), examples)
    steps = settings.last_step if settings.sampler != Poisson.key else sum(count for _, count in planned) - counts
    everything, budget = merge_events((*spent_before(settings), *planned)), settings.filter_epsilon
    claim = claim_of_plan(everything, settings, examples, steps, counts)
    if budget is None or budget >= claim.epsilon:
        return replace(claim, success=best_accuracy_of(everything)) if claim.accountant == Tight.name else claim
    # Its refusal, too, is decided ahead.
    return _claimed(settings, examples, filter.NAME, budget, covers="plan", steps=steps, counts=counts)


def claim_of_plan(
    events: tuple[Event, ...], settings: RunSettings, examples: int, steps: int, counts: int = 0
) -> Claim:
    """The least bound of the tight, Rényi and moments accountants on all that may be spent, fixed ahead.

    Args:
        events: What may be spent, equal mechanisms together.
        settings, examples: As in `planned_claim`.
        steps, counts: How many training steps and private counts of this run that covers.
    """
    claimed = partial(_claimed, settings, examples, covers="plan", steps=steps, counts=counts)
    accountants = (renyi_accountant(settings, examples), for_steps(Moments(), settings, examples))
    claims = [
        claimed(accountant.name, float(accountant.of_events(events, settings.delta).epsilon))
        for accountant in accountants
        if not any(accountant.supports(mechanism) for mechanism, _ in events)
    ]
    if len(events) <= MOST_DIFFERENT:
        interval = tight_epsilon_of_events(events, settings.delta)
        claims.insert(0, claimed(Tight.name, float(interval.upper), lower=float(interval.lower)))
    least = min(claims, key=lambda claim: claim.epsilon, default=None)
    if least is None or not least.holds:
        return Claim.nothing(NO_ACCOUNTANT, settings.delta, conditions(settings, examples))
    return least


def best_accuracy_of(events: tuple[Event, ...]) -> float | None:
    """The accuracy of the best attack at even odds; not known where several mechanisms are mixed."""
    step, number = events[0] if len(events) == 1 else (None, 0)
    if not isinstance(step, SampledGaussian):
        return None
    sigma, rate = step.noise_multiplier, step.sample_rate
    return float(best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=number).upper)


def _claimed(settings: RunSettings, examples: int, accountant: str, epsilon: float, **covered: Any) -> Claim:
    covered |= {"conditions": conditions(settings, examples), "unit": settings.unit}
    return Claim(epsilon=epsilon, delta=settings.delta, accountant=accountant, **covered)


def _promised(settings: RunSettings, examples: int) -> Claim:
    try:
        budget = budget_filter(settings, examples)
    except ValueError as problem:
        return Claim.nothing(str(problem), settings.delta)
    (order,) = budget.accountant.orders.tolist()
    epsilon, steps = budget.target_epsilon, settings.last_step
    return _claimed(settings, examples, filter.NAME, epsilon, covers="adaptive", steps=steps, order=order)


def conditions(settings: RunSettings, examples: int) -> tuple[str, ...]:
    """What must be true of this run for its claim, besides `assumptions`, and what its δ leaves open."""
    large = (large_delta(settings.delta, examples),) if settings.delta * examples >= 1.0 else ()
    return (*(f"on condition that {clause}" for clause in assumed(settings)), *large)


def assumed(settings: RunSettings) -> tuple[str, ...]:
    """What nobody can check and every claim of this run rests on, as clauses that follow "on condition that"."""
    clauses = [*conditions_of_start(settings)]
    if settings.data == OWN_DATA:
        clauses.append(
            "whatever was computed from these data before this training (scaling, sizes, classes, chosen columns) is "
            "public: nobody declared it, and no ε covers what it reveals"
        )
    elif is_own(settings.data):
        clauses.append(
            "scaling, sizes and classes of these data are public, as their owner declared: no ε covers what they "
            "reveal, nor the test examples, which are used without noise"
        )
    clauses += public_data(settings)
    if settings.device == "cuda":
        clauses.append("clipping bounds every example on a GPU as it does on a CPU: clipping was not tested on a GPU")
    return tuple(clauses)


def public_data(settings: RunSettings) -> tuple[str, ...]:
    """What must be true of public data that fixed features were learnt from, as a clause; empty where none were."""
    public = RECORDED[settings.model].learnt_from
    what = f"no training example is among the public data that the fixed features were learnt from, {public}"
    return (f"{what}, which no ε protects",) if public else ()


def large_delta(delta: float, examples: int) -> str:
    """What a δ that is not below 1/N is worth, in words."""
    return (
        f"δ = {delta:.3g} is not below 1/N = {1 / examples:.3g}: publishing one random example would satisfy this δ "
        "too, so δ should be smaller"
    )


@remembered
def odometer_reading(events: tuple[Event, ...], delta: float) -> float:
    """The odometer's ε of everything that was charged: 0 for nothing, ∞ where it does not know a mechanism."""
    accountant = MixtureOdometer()
    if any(accountant.supports(mechanism) for mechanism, _ in events):
        return math.inf
    return float(accountant.of_events(events, delta).epsilon) if events else 0.0


@remembered
def epsilon_before(settings: RunSettings) -> float:
    """What earlier runs may have spent on the same data, at this run's δ; 0 where there is none."""
    earlier = spent_before(settings)
    if len(earlier) > MOST_DIFFERENT:
        return float(Renyi().of_events(earlier, settings.delta).epsilon)
    return float(tight_epsilon_of_events(earlier, settings.delta).upper) if earlier else 0.0


def everything_planned(settings: RunSettings, examples: int) -> tuple[Event, ...]:
    """This run's steps and private counts up to the last step that may come, equal ones together.

    Where all steps are equal a budget ends them at a step that is known ahead, too.
    """
    whole = settings.with_(steps=settings.last_step, past_plan="stop", most_steps=0)
    runs = baseline(whole, examples)
    if settings.filter_epsilon is not None and len(runs) == 1 and not planned_counts(whole, examples):
        ((mechanism, steps),) = runs
        return ((mechanism, int(min(steps, budget_filter(settings, examples).remaining_steps(mechanism)))),)
    return runs


def was_planned(charged: Sequence[Event], settings: RunSettings, examples: int) -> bool:
    """Whether nothing was charged that the plan does not hold, or that does not fit the budget, if there is one."""
    return not _not_kept(charged, settings, examples)


def _not_kept(charged: Sequence[Event], settings: RunSettings, examples: int) -> str:
    """Why what was charged is not covered by what is claimed ahead; empty where it is."""
    runs = merge_events(charged)
    if settings.adaptive or settings.filter_epsilon is not None:
        budget = budget_filter(settings, examples)
        spent = budget.spent
        with np.errstate(over="ignore"):
            for mechanism, count in runs:
                step = budget.accountant.divergence(mechanism)
                spent = spent + count * step
        # All at once, what was charged one by one: the last digits may differ.
        if not (spent <= budget.limits * (1.0 + 1e-9) + 1e-12).any():
            return OVERSPENT
    if settings.adaptive:
        return ""
    planned = dict(everything_planned(settings, examples))
    return "" if all(count <= planned.get(mechanism, 0) for mechanism, count in runs) else NOT_PLANNED


def claim_at(
    settings: RunSettings,
    examples: int,
    *,
    charged: Sequence[Event] | None,
    odometer: float,
    step: int,
    reason: str = "",
) -> Claim:
    """What may be claimed of a run that ends, or is looked at, after `step`.

    Args:
        settings, examples: As in `planned_claim`.
        charged: Everything that was charged, compared with the plan; None where that was done before.
        odometer: The odometer's ε of it.
        step: Steps taken.
        reason: Why it ended, as in the summary.
    """
    ahead = planned_claim(settings, examples)
    if not settings.private:
        return ahead
    problem = ""
    if reason == LOSSES_DECIDED:
        return Claim.nothing("losses that were not released decided its end", settings.delta)
    if charged is not None and ahead.shown.holds:
        problem = _not_kept(charged, settings, examples)
    if problem:
        ahead = Claim.nothing(problem, settings.delta, conditions(settings, examples))
        ahead = ahead if settings.secure_noise else ahead.as_demonstration()
    return ahead.if_it_ended(odometer=odometer, step=step)
