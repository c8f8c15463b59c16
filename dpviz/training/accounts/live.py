"""All accountants of a live run, fed one mechanism at a time, and the same numbers from a run's record.

>>> from dpviz.training.settings import RunSettings
>>> accounts = LiveAccounts(RunSettings(), examples=10_000)
>>> accounts.step(SampledGaussian(2.0, 0.1), None)
>>> sorted(accounts.epsilons())
['mixture', 'moments', 'renyi']
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

from dpviz._remember import remembered
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.one_order import one_order_filter, planned_epsilon
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.claims import rounded_up
from dpviz.accounting.methods import LIVE, Moments, Renyi, Tight
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms import Event, Mechanism, SampledGaussian
from dpviz.training.accounts.bayesian import BayesianAccount, Charge
from dpviz.training.accounts.counting import baseline
from dpviz.training.accounts.followed import FollowedAccount
from dpviz.training.accounts.origins import as_planned, lost, names, spent_before
from dpviz.training.accounts.stepwise import CEILING, StepAccounts, TightTrajectory, Trajectory
from dpviz.training.covered import NOT_COVERED
from dpviz.training.methods import METHODS
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import Poisson
from dpviz.training.settings import RunSettings
from dpviz.training.words import refusal

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


class LiveAccounts(StepAccounts):
    """What a run has spent, by every accountant.

    Every reading begins with what earlier runs may have spent on the same data (`origins`); `events` are its own.

    Attributes:
        taken: Training steps.
        budget: The filter; None without a budget, which an adaptive run always has (`promised`).
        bayesian: The Bayesian account, None if it was not asked for.
        followed: ε of single examples, None if it was not asked for, or where no plan has a finite ε.
    """

    def __init__(self, settings: RunSettings, *, examples: int) -> None:
        self.settings, self.delta, self.examples = settings, settings.delta, examples
        live = live_accountants(settings, examples)
        trajectories: dict[str, Trajectory | TightTrajectory] = {
            name: Trajectory(accountant, settings.delta) for name, accountant in live.items()
        }
        if not live:
            total = sum(count for _, count in baseline(settings.with_(steps=settings.last_step), examples))
            trajectories = {Tight.name: TightTrajectory(settings.delta, total)}
        limited = settings.adaptive or settings.filter_epsilon is not None
        self.budget = budget_filter(settings, examples) if limited else None
        account, ceiling = None, ""
        if settings.bayesian:
            account = BayesianAccount(
                total_steps=settings.steps,
                delta_mu=settings.bayesian_delta,
                failure=settings.estimator_failure,
                max_grad_norm=settings.max_grad_norm,
                farthest=1.0 if settings.bayesian_distances == "norms" else 2.0,
                definition=settings.definition,
            )
            for mechanism, count in lost(settings):
                assert isinstance(mechanism, SampledGaussian)  # as `RunSettings.check` sees to
                account.charge_lost(mechanism, count)
            if settings.bayesian_distances == "norms" and settings.definition == 2:
                ceiling = Renyi.name if settings.bayesian_delta == settings.delta else CEILING
                if ceiling == CEILING:
                    trajectories[CEILING] = Trajectory(renyi_accountant(settings, examples), settings.bayesian_delta)
        super().__init__(trajectories, bayesian=account, ceiling=ceiling, before=spent_before(settings))
        self.followed = self._followed()

    def _followed(self) -> FollowedAccount | None:
        if not self.settings.followed:
            return None
        planned = as_planned(self.settings)  # fixed ahead, and so are the orders
        plan = (*spent_before(planned), *baseline(planned.with_(steps=planned.last_step), self.examples))
        if not math.isfinite(planned_epsilon(plan, self.delta)):
            return None
        few, before = min(self.settings.followed, self.examples), spent_before(self.settings)
        return FollowedAccount(plan, delta=self.delta, examples=few, before=before)

    def count(self, mechanism: SampledGaussian) -> None:
        super().count(mechanism)
        if self.followed is not None:
            self.followed.charge_certain(mechanism)

    def step_readings(self) -> dict[str, Any]:
        """What an event "step" holds of the steps since the last time this was asked: readings of every accountant."""
        epsilon = self.readings()
        if self.followed is None:
            return {"epsilon": epsilon}
        # Where results choose the noise, no ε of a plan that is fixed covers every example.
        limits = None if self.settings.adaptive else epsilon.get(Renyi.name)
        return {"epsilon": epsilon, **self.followed.readings(limits)}

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
            if self.followed is not None:  # whose gradients of then are not kept
                self.followed.charge_certain(mechanism, count)
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


def _rounded(epsilon: float) -> str:
    return f"{rounded_up(epsilon, 3):.3g}"
