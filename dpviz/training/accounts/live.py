"""All accountants of a live run, fed one mechanism at a time, and the same numbers from a run's record.

>>> from dpviz.training.settings import RunSettings
>>> accounts = LiveAccounts(RunSettings(), examples=10_000)
>>> accounts.step(SampledGaussian(2.0, 0.1), None)
>>> sorted(accounts.epsilons())
['mixture', 'moments', 'renyi']
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.one_order import one_order_filter, planned_epsilon
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.claims import rounded_up
from dpviz.accounting.methods import LIVE, Moments, Renyi, Tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.additive import AdditiveAccountant, RunningSum
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms import Event, History, Mechanism, SampledGaussian
from dpviz.training.accounts.bayesian import BayesianAccount, Charge
from dpviz.training.accounts.counting import baseline
from dpviz.training.accounts.origins import as_planned, lost, names, spent_before
from dpviz.training.covered import NOT_COVERED
from dpviz.training.methods import METHODS
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import Poisson, read, steps_of, stored
from dpviz.training.settings import RunSettings
from dpviz.training.words import refusal

# Rényi at δ_μ, above which no Bayesian ε by norms is said: whatever bounds DP bounds Bayesian DP.
CEILING = "renyi at delta_mu"
MARKS = 60
MOST_DIFFERENT = 64  # mechanisms that the tight accountant composes one by one in well under a second
_SAME = 0.005  # relative: two ε so near are said to be equal


def check_run(settings: RunSettings, examples: int) -> None:
    """Refuse settings that cannot work with N = `examples`, a budget without room for one step among them.

    Raises:
        ValueError: naming the setting, its value and the way out.
    """
    settings.check()
    settings.sample_rate(examples)
    if settings.sampler != Poisson.key:
        mechanism_at(settings, 1, examples)
    if not settings.private or (settings.filter_epsilon is None and not settings.adaptive):
        return
    mechanism, budget = mechanism_at(settings, 1, examples), budget_filter(settings, examples)
    if not budget.allows(mechanism):
        raise refusal(
            "first_step_over_budget", target=budget.target_epsilon, mechanism=mechanism.text, delta=settings.delta
        )


@remembered
def promised(settings: RunSettings, examples: int) -> float | None:
    """The ε at `settings.delta` that an adaptive run promises, whatever its policy does; None where the plan is fixed.

    It is `filter_epsilon`, or what the baseline costs: T steps as they start, with their private counts, after what
    was spent on the same data before. The run's filter enforces it, so it may be claimed from the first step on. Only
    a run whose event "started" says "claim" ran under it: earlier ones without `filter_epsilon` had no budget.

    Raises:
        ValueError: for noise so small that no budget is finite.
    """
    if not settings.adaptive:
        return None
    if settings.filter_epsilon is not None:
        return settings.filter_epsilon
    settings = as_planned(settings)  # fixed ahead, whatever was lost since
    epsilon = planned_epsilon((*spent_before(settings), *baseline(settings, examples)), settings.delta)
    if not math.isfinite(epsilon):
        raise refusal("no_finite_promise", noise_multiplier=settings.noise_multiplier)
    return epsilon


def budget_filter(settings: RunSettings, examples: int) -> Filter:
    """The filter of an adaptive run's promise, or of `filter_epsilon`.

    Where the mechanisms depend on what was seen it keeps to one order, set first (`one_order_filter`). Where only their
    number does, it keeps the Rényi accountant's grid of orders. Between those that accountant finds a little less,
    a tenth of a per cent as a rule: by so much the filter may refuse before it reads the budget.

    What earlier runs may have spent on the same data is spent (`origins`).

    Raises:
        ValueError: if there is no budget, or that exceeds it.
    """
    budget, before = _unspent(settings, examples), spent_before(settings)
    try:
        for mechanism, count in before:
            budget.spend(mechanism, count)
    except BudgetExceeded:
        raise refusal("budget_spent_before", target=budget.target_epsilon, runs=names(settings)) from None
    return budget


def _unspent(settings: RunSettings, examples: int) -> Filter:
    promise = promised(settings, examples)
    if promise is not None:
        settings = as_planned(settings)  # so is the order
        plan = (*spent_before(settings), *baseline(settings, examples))
        return one_order_filter(plan, target_epsilon=promise, delta=settings.delta)
    if settings.filter_epsilon is None:
        raise ValueError("Expected filter_epsilon to be a number, found None: without it there is no budget.")
    accountant = renyi_accountant(settings, examples)
    return Filter(target_epsilon=settings.filter_epsilon, delta=settings.delta, accountant=accountant)


def renyi_accountant(settings: RunSettings, examples: int) -> AdditiveAccountant:
    """As on the what-if pages: where every step has another σ with the orders of the Langevin page."""
    return for_steps(Renyi(order_values=VARYING_ORDERS) if settings.changing else Renyi(), settings, examples)


def for_steps(accountant: AdditiveAccountant, settings: RunSettings, examples: int) -> AdditiveAccountant:
    """The accountant for a run of these settings: itself, or bounded between tabulated σ where every step has another.

    The excess over the accountant itself is below 1e-4 of ε.
    """
    nodes = METHODS[settings.method].nodes(settings)
    runs = (mechanism_at(settings, step, examples) for step in nodes)
    sigmas = frozenset(each.noise_multiplier for each in runs if isinstance(each, SampledGaussian))
    return replace(accountant, nodes=sigmas)


def live_accountants(settings: RunSettings, examples: int) -> dict[str, AdditiveAccountant]:
    """Every accountant that is read after each step and knows it, by name."""
    accountants = {
        each.name: renyi_accountant(settings, examples) if each is Renyi else for_steps(each(), settings, examples)
        for each in LIVE
    }
    runs = [mechanism for mechanism, _ in spent_before(settings)]
    if settings.sampler != Poisson.key:
        runs.append(mechanism_at(settings, 1, examples))
    return {name: each for name, each in accountants.items() if not any(map(each.supports, runs))}


class Trajectory:
    """One accountant along a run; the same arithmetic as `Ledger`, to the last digit.

    A live run charges at every step and shows what it spent a few times a second. Adding up is cheap; turning the sum
    into ε is not, and costs hardly more for all the steps since the last look than for one.

    >>> Trajectory(Renyi(), 1e-5).read([SampledGaussian(2.0, 0.1)] * 3).round(3).tolist()
    [0.526, 0.593, 0.649]

    Args:
        accountant: Whose divergences are added up.
        delta: δ of the readings.
    """

    def __init__(self, accountant: AdditiveAccountant, delta: float) -> None:
        self._accountant, self._delta = accountant, delta
        self._sum = RunningSum(accountant)
        self._counts: dict[Mechanism, int] = {}

    def begin(self, mechanism: Mechanism, count: int) -> float:
        """`count` charges at once, as before a run; ε after them."""
        return float(self._epsilons(mechanism, np.array([float(count)]))[0])

    def read(self, charges: Sequence[Mechanism]) -> Array:
        """ε after each further charge, (n,)."""
        groups = [(mechanism, np.arange(1.0, len(list(same)) + 1.0)) for mechanism, same in itertools.groupby(charges)]
        if not groups:
            return np.zeros(0)
        if self._accountant.searches(1):
            return np.concatenate([self._epsilons(*group) for group in groups])
        totals = np.concatenate([self._after(*group) for group in groups])
        return np.asarray(self._accountant.bound(totals, self._delta).epsilon)

    def _epsilons(self, mechanism: Mechanism, counts: Array) -> Array:
        """ε after each of these numbers of charges of `mechanism`; an accountant may look between its orders."""
        before, totals = self._counts.get(mechanism, 0), self._after(mechanism, counts)
        if not self._accountant.searches(len(self._counts)):
            return np.asarray(self._accountant.bound(totals, self._delta).epsilon)
        rows = np.tile(np.array(list(self._counts.values()), dtype=np.float64), (counts.size, 1))
        rows[:, list(self._counts).index(mechanism)] = before + counts
        return np.asarray(self._accountant.of_counts(tuple(self._counts), rows, self._delta).epsilon)

    def _after(self, mechanism: Mechanism, counts: Array) -> Array:
        """Divergences after each of these numbers of charges, ascending, (counts, orders); the last one was taken."""
        totals, taken = self._sum.after(mechanism, counts), int(counts[-1])
        self._sum.add(mechanism, taken)
        self._counts[mechanism] = self._counts.get(mechanism, 0) + taken
        return totals


class TightTrajectory:
    """The tight accountant along a run that no other one knows.

    It takes some ms to read, so that a long run is read at MARKS numbers of charges; between them the next one's ε
    stands, which errs above.
    """

    def __init__(self, delta: float, total: int) -> None:
        self._delta, self._total, self._every = delta, total, max(1, total // MARKS)
        self._events: dict[Mechanism, int] = {}
        self._last: tuple[dict[Mechanism, int], float] = ({}, 0.0)

    def begin(self, mechanism: Mechanism, count: int) -> float:
        """As `Trajectory.begin`."""
        self._events[mechanism] = taken = self._events.get(mechanism, 0) + count
        marked = math.ceil(taken / self._every) * self._every
        asked = self._events | {mechanism: max(taken, min(marked, self._total))}
        if asked != self._last[0]:
            few = len(asked) <= MOST_DIFFERENT
            events = tuple(asked.items())
            self._last = asked, float(tight_epsilon_of_events(events, self._delta).upper) if few else math.inf
        return self._last[1]

    def read(self, charges: Sequence[Mechanism]) -> Array:
        """ε after each further charge, (n,)."""
        return np.array([self.begin(mechanism, 1) for mechanism in charges])


class Spent(NamedTuple):
    """What a run was charged by a step, for a process that goes on with it.

    Attributes:
        events: Everything, in order, equal neighbours merged.
        taken: Training steps.
        covered: Coming training steps that are charged already, with their epoch.
        bayesian: Each charge of the Bayesian account, in order; () without one.
        total_steps: T of the Bayesian account; 0 without one.
    """

    events: tuple[Event, ...]
    taken: int
    covered: int
    bayesian: tuple[Charge, ...] = ()
    total_steps: int = 0


class LiveAccounts:
    """What a run has spent, by every accountant: charging is a note, reading adds up all that was noted.

    Every reading begins with what earlier runs may have spent on the same data (`origins`); `events` are its own.

    Attributes:
        taken: Training steps.
        budget: The filter; None without a budget, which an adaptive run always has (`promised`).
        bayesian: The Bayesian account, None if it was not asked for.
    """

    def __init__(self, settings: RunSettings, *, examples: int) -> None:
        self.settings, self.delta = settings, settings.delta
        live = live_accountants(settings, examples)
        self._trajectories: dict[str, Trajectory | TightTrajectory] = {
            name: Trajectory(accountant, settings.delta) for name, accountant in live.items()
        }
        if not live:
            total = sum(count for _, count in baseline(settings.with_(steps=settings.last_step), examples))
            self._trajectories = {Tight.name: TightTrajectory(settings.delta, total)}
        limited = settings.adaptive or settings.filter_epsilon is not None
        self.budget = budget_filter(settings, examples) if limited else None
        self.bayesian, self._ceiling = None, ""
        if settings.bayesian:
            self.bayesian = BayesianAccount(
                total_steps=settings.steps,
                delta_mu=settings.bayesian_delta,
                failure=settings.estimator_failure,
                max_grad_norm=settings.max_grad_norm,
                farthest=1.0 if settings.bayesian_distances == "norms" else 2.0,
                definition=settings.definition,
            )
            for mechanism, count in lost(settings):
                assert isinstance(mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                self.bayesian.charge_lost(mechanism, count)
            if settings.bayesian_distances == "norms" and settings.definition == 2:
                self._ceiling = Renyi.name if settings.bayesian_delta == settings.delta else CEILING
                if self._ceiling == CEILING:
                    ceiling = renyi_accountant(settings, examples)
                    self._trajectories[CEILING] = Trajectory(ceiling, settings.bayesian_delta)
        self.examples = examples
        self._history: History[Mechanism] = History()
        self._noted: list[Mechanism] = []  # charged, not yet added up
        self._steps: list[int] = []  # for each training step, how many of them were charged by then
        self._covered = 0  # coming training steps that are charged already, with their epoch
        self.taken = 0
        self._now = dict.fromkeys(self._trajectories, 0.0)
        for mechanism, count in spent_before(settings):
            self._begin(mechanism, count)
        self._read: dict[str, list[float]] = {name: [] for name in self._trajectories}

    def _begin(self, mechanism: Mechanism, count: int) -> None:
        """Add charges of before to what every accountant reads."""
        for name, trajectory in self._trajectories.items():
            self._now[name] = trajectory.begin(mechanism, count)

    @property
    def spent(self) -> Spent:
        """All that another process needs to go on."""
        charges, total = ((), 0) if self.bayesian is None else (self.bayesian.charges, self.bayesian.total_steps)
        return Spent(self.events, self.taken, self._covered, charges, total)

    def go_on(self, spent: Spent) -> None:
        """Charge what the same run had spent when it was interrupted; before any other charge.

        Raises:
            BudgetExceeded: where it does not fit, with what was lost.
        """
        for mechanism, count in spent.events:
            if self.budget is not None:
                self.budget.spend(mechanism, count)
            self._history.add(mechanism, count)
            self._begin(mechanism, count)
        self.taken, self._covered = spent.taken, spent.covered
        if self.bayesian is not None:
            self.bayesian.go_on(spent.bayesian, spent.total_steps)

    def reserve(self, mechanism: Mechanism) -> None:
        """Take one mechanism from the budget, before it runs.

        Raises:
            BudgetExceeded: if it does not fit.
        """
        if self.budget is not None:
            self.budget.spend(mechanism)

    def step(self, mechanism: Mechanism, distances: npt.ArrayLike | None) -> bool:
        """A training step that ran, with its pair distances if Bayesian accounting is on.

        Returns:
            Whether it was charged: of an epoch that is charged as one, only the first step is.
        """
        charged = self._covered == 0
        if charged:
            self._charge(mechanism)
            self._covered = steps_of(mechanism)
            if self.bayesian is not None:
                assert isinstance(mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                self.bayesian.charge(mechanism, () if distances is None else distances)
        elif self._history.events[-1][0] != mechanism:
            raise ValueError(f"Expected the epoch of {self._history.events[-1][0].text} to go on, found {mechanism}.")
        self._covered, self.taken = self._covered - 1, self.taken + 1
        self._steps.append(len(self._noted))
        return charged

    def count(self, mechanism: SampledGaussian) -> None:
        """A private count that was taken."""
        self._charge(mechanism)
        if self.bayesian is not None:
            self.bayesian.charge_certain(mechanism)

    def _charge(self, mechanism: Mechanism) -> None:
        self._noted.append(mechanism)
        self._history.add(mechanism)

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything charged, in order, equal neighbours merged."""
        return self._history.events

    def epsilons(self) -> dict[str, float]:
        """ε of everything charged so far, by each accountant."""
        self._add_up()
        epsilons = dict(self._now)
        if self.bayesian is not None:
            epsilons[bayesian.NAME] = min(self.bayesian.epsilon(), epsilons.get(self._ceiling, math.inf))
        epsilons.pop(CEILING, None)
        return epsilons

    def bayesian_ceiling(self) -> float:
        """ε at δ_μ by DP's own account, which bounds Bayesian DP too: Rényi, or moments for Definition 1."""
        self._add_up()
        worst = math.inf if self.bayesian is None else self.bayesian.worst_epsilon()
        return min(worst, self._now.get(self._ceiling, math.inf))

    def bayesian_text(self) -> str:
        """One line on the Bayesian ε of this moment and why it lies where it does; empty where there is none.

        DP's own ε at δ_μ, by the accountant with the same conversion, is what it is compared with: moments for
        Definition 1, Rényi for Definition 2. No ε of DP bounds what replacing one example by another costs (`pairs`).
        """
        if self.bayesian is None or not self.bayesian.taken:
            return ""
        facts, epsilon, ceiling = self.bayesian.facts(), self.epsilons()[bayesian.NAME], self.bayesian_ceiling()
        settings = self.settings
        text = (
            f"Bayesian DP, Definition {settings.definition}: ε_μ ≤ {_rounded(epsilon)} at δ_μ = "
            f"{settings.bayesian_delta:.3g} after step {self.bayesian.taken}, for an example drawn like the "
            f"{facts.distances} sampled ones, not for everyone; measured on training data, {NOT_COVERED}, so not for "
            f"publication. The paper's estimate, no bound: {_rounded(facts.estimate)}."
        )
        if settings.bayesian_distances != "norms":
            why = f"With sampled batches, distances of pairs give no bound for either adjacency. {facts.reason()}"
            return f"{text} {why}"
        label = f"{(Renyi if settings.definition == 2 else Moments)().short_label} at this δ_μ ({_rounded(ceiling)})"
        if epsilon < (1.0 - _SAME) * ceiling:
            shorter = f"{1.0 - facts.longest:.0%} of the sampled gradients are shorter than C"
            return f"{text} It lies below {label}: {shorter}."
        return f"{text} It is not below {label}, whose ε bounds it too. {facts.reason()}"

    def readings(self) -> dict[str, list[float]]:
        """ε after each training step since the last time this was asked, by each accountant."""
        self._add_up()
        readings, self._read = self._read, {name: [] for name in self._trajectories}
        if self.bayesian is not None:
            ceiling = readings.get(self._ceiling, itertools.repeat(math.inf))
            readings[bayesian.NAME] = [min(pair) for pair in zip(self.bayesian.readings(), ceiling, strict=False)]
        readings.pop(CEILING, None)
        return readings

    def _add_up(self) -> None:
        for name, trajectory in self._trajectories.items():
            epsilons = [self._now[name], *trajectory.read(self._noted).tolist()]
            self._now[name] = epsilons[-1]
            self._read[name].extend(epsilons[at] for at in self._steps)
        self._noted, self._steps = [], []


def _rounded(epsilon: float) -> str:
    return f"{rounded_up(epsilon, 3):.3g}"


def encoded(mechanisms: Iterable[Mechanism]) -> list[list[Any]]:
    """[[σ, q, count], …] (`samplers.stored`): equal neighbours merged, in order."""
    return encoded_events([(mechanism, len(list(same))) for mechanism, same in itertools.groupby(mechanisms)])


def encoded_events(events: Sequence[Event]) -> list[list[Any]]:
    return [stored(mechanism, count) for mechanism, count in events]


def decoded(events: Iterable[Sequence[Any]]) -> list[Mechanism]:
    """The mechanisms of `encoded`, one by one."""
    return [mechanism for mechanism, count in map(read, events) for _ in range(count)]
