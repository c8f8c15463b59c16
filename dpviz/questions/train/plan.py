"""A plan's ε step by step by every accountant, before anything is trained: the faint curves ahead.

The same accountants and the same arithmetic as the Compose page and the live run: they agree to the last digit.
"""

from dataclasses import dataclass, replace

import numpy as np

from dpviz._arrays import Array, Index
from dpviz._remember import remembered
from dpviz.accounting.claims import Claim
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import LIVE, AdditiveAccountant, Tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import Event, Mechanism, SampledGaussian
from dpviz.questions import tight_band
from dpviz.questions.methods import step_grid
from dpviz.questions.tight_band import TightBand
from dpviz.runs.told import claims as told_claims
from dpviz.runs.told.settings import ToldSettings
from dpviz.training.accounts.claims import MOST_DIFFERENT, planned_claim
from dpviz.training.accounts.live import live_accountants
from dpviz.training.accounts.origins import spent_before
from dpviz.training.plan import planned_events
from dpviz.training.samplers import steps_of
from dpviz.training.settings import RunSettings

POINTS = 120


@dataclass(frozen=True, eq=False)
class PlannedCost:
    """ε at `steps` (shape (n,), whole, increasing) by accountant; nothing for plain training.

    The last step is T; of a run that re-plans past it, the last that it may take: so many are decided ahead.

    Attributes:
        claim: what may be claimed of all of it, private counts included; the curves leave these out. Both begin with
            what earlier runs may have spent on the same data.
    """

    steps: Array
    epsilon: dict[str, Array]
    claim: Claim
    tight: TightBand | None = None


@remembered
def plan(settings: RunSettings, examples: int) -> PlannedCost:
    """The plan's curves; some 20 ms for equal steps, a few tenths of a second for others or after another run."""
    claim = planned_claim(settings, examples)
    settings = settings.with_(steps=settings.last_step, past_plan="stop", most_steps=0)
    runs = planned_events(settings, examples)
    if not runs:
        return PlannedCost(step_grid(settings.steps, False, POINTS), {}, claim)
    accountants = live_accountants(settings, examples)
    before = spent_before(settings)
    if len(runs) > 1 or before:
        return _of_different(settings, (before, runs), accountants, claim)
    (mechanism, total) = runs[0]
    if not isinstance(mechanism, SampledGaussian):
        return PlannedCost(np.array([1.0, settings.steps]), {}, claim, _by_epochs(mechanism, total, settings, claim))
    at = step_grid(total, False, POINTS)
    epsilon = {
        name: accountant.evaluate(
            noise_multiplier=mechanism.noise_multiplier,
            sample_rate=mechanism.sample_rate,
            steps=at,
            delta=settings.delta,
        ).epsilon
        for name, accountant in accountants.items()
    }
    tight = tight_band.along_steps(mechanism, total, settings.delta, log=False)
    return PlannedCost(at, epsilon, claim, _ending_as_claimed(tight, claim))


@remembered
def plan_of_told(terms: ToldSettings, first: Mechanism) -> PlannedCost | None:
    """The same of a run that tells its steps: all it planned, each like its first one.

    None where it fixed no number of steps, or goes on from an earlier run, whose steps come before those of its page.
    """
    claim = told_claims.planned_claim(terms, first)
    if claim is None or terms.steps is None or terms.before or not isinstance(first, SampledGaussian):
        return None
    at = step_grid(terms.steps, False, POINTS)
    sigma, rate = first.noise_multiplier, first.sample_rate
    epsilon = {
        each.name: each().evaluate(noise_multiplier=sigma, sample_rate=rate, steps=at, delta=terms.delta).epsilon
        for each in LIVE
    }
    tight = tight_band.along_steps(first, terms.steps, terms.delta, log=False)
    return PlannedCost(at, epsilon, claim, _ending_as_claimed(tight, claim))


def _by_epochs(mechanism: Mechanism, total: int, settings: RunSettings, claim: Claim) -> TightBand:
    """The interval at the first and last step of marked epochs: an epoch is charged whole at its first step."""
    band = _ending_as_claimed(tight_band.along_steps(mechanism, total, settings.delta, log=False), claim)
    x, at = _stairs(band.x, total, mechanism, settings)
    return replace(band, x=x, lower=band.lower[at], upper=band.upper[at])


def _stairs(charges: Array, total: int, mechanism: Mechanism, settings: RunSettings) -> tuple[Array, Index]:
    """Training steps, and which of these numbers of charges (n,) of `total` stands there: an epoch's at its first."""
    together, marks = steps_of(mechanism), np.arange(charges.size)
    if together == 1:
        return charges, marks
    firsts = (charges - 1.0) * together + 1.0
    if marks.size < total:
        return np.append(firsts, settings.steps), np.append(marks, marks[-1])
    lasts = np.minimum(charges * together, settings.steps)  # few enough to show their stairs
    return np.stack([firsts, lasts], axis=1).ravel(), marks.repeat(2)


def _ending_as_claimed(tight: TightBand, claim: Claim) -> TightBand:
    """The band's last mark is what is claimed: composed alone, that is known a little more closely."""
    claim = claim.shown
    if claim.accountant != Tight.name or claim.counts or claim.lower is None:
        return tight
    lower, upper = tight.lower.copy(), tight.upper.copy()
    lower[-1], upper[-1] = claim.lower, claim.epsilon
    return replace(tight, lower=lower, upper=upper)


def _of_different(
    settings: RunSettings,
    spent: tuple[tuple[Event, ...], tuple[Event, ...]],
    accountants: dict[str, AdditiveAccountant],
    claim: Claim,
) -> PlannedCost:
    """Steps whose noise changes, or after what was spent before."""
    before, runs = spent
    total = sum(count for _, count in runs)
    at = step_grid(total, False, 40)
    x, place = _stairs(at, total, runs[0][0], settings)
    epsilon = {
        name: _read_from_ledger(Ledger(accountant), spent, at, settings.delta)[place]
        for name, accountant in accountants.items()
    }
    tight = None
    if len(runs) + len(before) <= MOST_DIFFERENT:  # without private counts, as the curves
        single = len(runs) == 1 and isinstance(runs[0][0], SampledGaussian)
        marks = step_grid(total, False, 6) if single else at[-1:]
        if all(mechanism.as_gaussian for mechanism, _ in (*before, *runs)):  # known without a grid
            marks = at
        tight = _tight(before, runs, marks, settings.delta)
    if tight is not None:
        if tight.x.size == at.size:
            tight = replace(tight, x=x, lower=tight.lower[place], upper=tight.upper[place])
        else:
            tight = replace(tight, x=np.minimum(tight.x * steps_of(runs[0][0]), settings.steps))
    return PlannedCost(x, epsilon, claim, tight)


def _read_from_ledger(
    ledger: Ledger, spent: tuple[tuple[Event, ...], tuple[Event, ...]], at: Array, delta: float
) -> Array:
    """ε after so many charges of the runs, in their order, with what was spent before."""
    before, runs = spent
    for mechanism, count in before:
        ledger.spend(mechanism, count)
    wanted, epsilon, done = set(at.tolist()), [], 0
    for mechanism, count in runs:
        end = done + count
        for mark in (*sorted(step for step in wanted if done < step < end), end):
            ledger.spend(mechanism, int(mark - done))
            if mark in wanted:
                epsilon.append(float(ledger.bound(delta).epsilon))
            done = int(mark)
    return np.array(epsilon)


def _tight(before: tuple[Event, ...], runs: tuple[Event, ...], at: Array, delta: float) -> TightBand:
    """The interval after so many charges of the runs, in their order."""
    begun = np.cumsum([count for _, count in runs]) - [count for _, count in runs]
    intervals = [
        tight_epsilon_of_events(
            (
                *before,
                *(
                    (step, min(count, int(mark) - first))
                    for (step, count), first in zip(runs, begun.tolist(), strict=True)
                    if mark > first
                ),
            ),
            delta,
        )
        for mark in at
    ]
    ends = np.array([(float(one.lower), float(one.upper)) for one in intervals])
    return TightBand(at, ends[:, 0], ends[:, 1], intervals[-1].reason)
