"""The claim of a run whose steps a program tells: always “as told by the program”.

What was fixed before the first step decides which ε holds. Steps that are all fixed, in noise, rate and number, have
the ε of their composition (numerical, PLD). A budget holds whatever decided about the steps: its filter refuses what
would exceed it, at one Rényi order that is fixed by the first step. Otherwise the Whitehouse odometer holds, whoever
chose noise, rates and end, and at every step (docs/proofs.md, “One odometer”).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.adaptive import filter
from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.adaptive.one_order import one_order_filter
from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import Event, Mechanism, merge_events
from dpviz.runs.told.settings import ToldSettings
from dpviz.training.accounts.claims import best_accuracy_of, large_delta, odometer_reading
from dpviz.training.samplers import charges

NOTHING_TOLD = "no step was told"
MISSING = "events of this run are missing, and what was not recorded cannot be priced"
OPEN = "neither the steps nor a budget were fixed in advance"
NOT_AS_PLANNED = "its steps differ from the told plan"
OVERSPENT = "its steps exceed the told budget"

FIXED = (
    "noise, rate and number of steps were fixed before the first step: no result could have changed them, also where "
    "none did"
)
FIRST = "noise and rate of the first step, which fix the filter's order, depended on no result"
_MOST = 2**40  # steps, where the first one costs nothing


def budget_filter(terms: ToldSettings, first: Mechanism) -> Filter | None:
    """The filter of the told budget at the order that allows most steps like the first one; None without a budget.

    Noise and rate of the first step are told before anything is released, so the order depends on no result.
    """
    if terms.filter_epsilon is None:
        return None
    wide = Filter(target_epsilon=terms.filter_epsilon, delta=terms.delta, accountant=Renyi())
    most = int(max(1, min(wide.remaining_steps(first), _MOST)))
    return one_order_filter([(first, most)], target_epsilon=terms.filter_epsilon, delta=terms.delta)


def conditions(terms: ToldSettings) -> tuple[str, ...]:
    """What its δ leaves open; on what else every claim rests `settings.assumptions` says."""
    return (large_delta(terms.delta, terms.examples),) if terms.delta * terms.examples >= 1.0 else ()


@remembered
def planned_claim(terms: ToldSettings, first: Mechanism) -> Claim | None:
    """The ε of all planned steps, each like the first; None without a plan."""
    if terms.steps is None:
        return None
    events = ((first, charges(first, terms.steps)),)
    interval = tight_epsilon_of_events(events, terms.delta)
    return Claim(
        epsilon=float(interval.upper),
        delta=terms.delta,
        accountant=Tight.name,
        covers="plan",
        lower=None if terms.by_epoch else float(interval.lower),  # epochs may be of a batch more than is counted
        steps=terms.steps,
        success=best_accuracy_of(events),
        conditions=(f"on condition that {FIXED}", *conditions(terms)),
        as_told=True,
    )


@remembered
def budget_claim(terms: ToldSettings, first: Mechanism) -> Claim | None:
    """The budget, which its filter keeps whatever decides about the steps; None without one."""
    budget = budget_filter(terms, first)
    if budget is None:
        return None
    return Claim(
        epsilon=budget.target_epsilon,
        delta=terms.delta,
        accountant=filter.NAME,
        covers="adaptive",
        order=float(budget.accountant.orders[0]),
        conditions=(f"on condition that {FIRST}", *conditions(terms)),
        as_told=True,
    )


def no_claim(terms: ToldSettings, reason: str) -> Claim:
    """Nothing is claimed; an odometer may still say something (`Claim.if_it_ended`)."""
    return replace(Claim.nothing(reason, terms.delta, conditions(terms)), as_told=True)


def claim_ahead(terms: ToldSettings, charged: Sequence[Event]) -> Claim:
    """What holds wherever the run ends, if its steps so far are these after what it goes on from; at least one."""
    runs = merge_events((*terms.charged_before, *charged))
    first = runs[0][0]
    held: list[Claim] = []
    broken = ""
    if (plan := planned_claim(terms, first)) is not None:
        kept = runs == ((first, runs[0][1]),) and runs[0][1] <= charges(first, terms.steps or 0)
        held, broken = ([plan], "") if kept else (held, NOT_AS_PLANNED)
    if (budget := budget_claim(terms, first)) is not None:
        fits = _fits(terms, first, runs)
        held, broken = (held + [budget], broken) if fits else (held, broken or OVERSPENT)
    if not held:
        return no_claim(terms, broken or OPEN)
    return min(held, key=lambda claim: claim.epsilon)


def _fits(terms: ToldSettings, first: Mechanism, runs: Sequence[Event]) -> bool:
    """Whether all steps fit the budget."""
    budget = budget_filter(terms, first)
    assert budget is not None
    spent = budget.spent
    with np.errstate(over="ignore"):
        for mechanism, count in runs:
            spent = spent + count * budget.accountant.divergence(mechanism)
    # All at once, what was charged one by one: the last digits may differ.
    return bool((spent <= budget.limits * (1.0 + 1e-9) + 1e-12).any())


def claim_at(terms: ToldSettings, charged: Sequence[Event], step: int) -> Claim:
    """What may be claimed of a run that ends, or is looked at, after `step` of its own, when all this was charged."""
    everything = (*terms.charged_before, *charged)
    if not everything:
        return no_claim(terms, NOTHING_TOLD)
    odometer = odometer_reading(merge_events(everything), terms.delta)
    return claim_ahead(terms, charged).if_it_ended(odometer=odometer, step=terms.steps_before + step)
