"""Policies that adapt a run, and the released numbers that alone they may see.

Numbers that were released: nothing else may decide about a run.

A policy or a goal that looked at the data itself would leak what no ε accounts for. So what they take is a `Released`,
and only `release` makes one: it reserves the mechanism from the budget (refused: nothing was looked at), draws the
noise, charges every account, and only then looks.

>>> from dpviz.accounting.adaptive.filter import Filter
>>> budget = Filter(target_epsilon=1.0, delta=1e-5)
>>> count = release(lambda: 9_000, mechanism=SampledGaussian(100.0), account=Spending(budget),
...                 random=np.random.default_rng(0))
>>> round(count.value, 2), budget.events
(9012.57, ((SampledGaussian(noise_multiplier=100.0, sample_rate=1.0), 1),))
>>> Released(9_000.0, SampledGaussian(100.0), None)
Traceback (most recent call last):
TypeError: Expected release() to create a Released, found one created elsewhere, for which nothing was charged.

Policies that change noise or batch while training, from private counts alone (Lécuyer 2021, §5).

A policy is a frozen value: its `setting` is what the coming steps use, and `observe(count)` is the policy after a
private count of correct training predictions. It sees nothing else, and a count is a `Released`, which nobody can make
without charging for it: whatever a policy decides costs no more than the counts do.

>>> import numpy as np
>>> from dpviz.accounting.adaptive.filter import Filter
>>> from dpviz.accounting.adaptive.policies import Spending, release
>>> policy = AdaptiveNoise(Setting(noise_multiplier=1.0, batch_size=512))
>>> paid = dict(mechanism=policy.count_mechanism, account=Spending(Filter(target_epsilon=1.0, delta=1e-5)))
>>> random = np.random.default_rng(0)
>>> policy = policy.observe(release(lambda: 21_000, **paid, random=random))   # risen by far more than 3 · 100
>>> policy.setting
Setting(noise_multiplier=1.1, batch_size=512)
>>> policy.observe(release(lambda: 21_100, **paid, random=random)).setting    # not risen significantly: back
Setting(noise_multiplier=1.0, batch_size=512)

What a policy would do and cost over epochs, on an assumed accuracy: nothing is trained here.

The accuracy is a plain assumption, meant to be plausible and to be changed: each epoch closes a share `pace` of the
distance to a ceiling, and the ceiling falls as the noise per example, σ/batch, grows:

    accuracy += pace · (top − toll · ln[(σ/batch) ÷ (1/512)] − accuracy) + wobble · N(0, 1).

Budgets are not assumed: they are those of the steps and counts that the policy asked for.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, NamedTuple, Protocol, Self, final

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter, one_order_filter
from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.renyi.additive import RunningSum
from dpviz.mechanisms import Event, SampledGaussian


@final
class _Maker:
    """Who may make a `Released`: there is one, in this module."""


_MAKER = _Maker()


@final
class Released:
    """A number with its noise, charged for.

    Attributes:
        value: What was seen, noise included.
        mechanism: What it cost: Gaussian noise on all the data.
    """

    __slots__ = ("_mechanism", "_value")

    def __init__(self, value: float, mechanism: SampledGaussian, maker: _Maker) -> None:
        if maker is not _MAKER:
            raise TypeError(
                "Expected release() to create a Released, found one created elsewhere, for which nothing was charged."
            )
        self._value, self._mechanism = float(value), mechanism

    def __init_subclass__(cls) -> None:
        raise TypeError("Expected no subclass of Released: only release() creates it.")

    @property
    def value(self) -> float:
        return self._value

    @property
    def mechanism(self) -> SampledGaussian:
        return self._mechanism

    def __repr__(self) -> str:
        return f"Released({self._value:.6g}, {self._mechanism})"


class Account(Protocol):
    """Where a release is paid."""

    def reserve(self, mechanism: SampledGaussian) -> None:
        """Take it from the budget, if there is one; raises `BudgetExceeded`, without a trace, where it does not fit."""

    def count(self, mechanism: SampledGaussian) -> None:
        """Charge every accountant."""


class Spending:
    """A filter as the only account: what it let pass is what was charged."""

    def __init__(self, budget: Filter) -> None:
        self._budget = budget

    def reserve(self, mechanism: SampledGaussian) -> None:
        self._budget.spend(mechanism)

    def count(self, mechanism: SampledGaussian) -> None:
        """Nothing more: the filter's own sum is all that is read."""


def release(
    look: Callable[[], float], *, mechanism: SampledGaussian, account: Account, random: np.random.Generator
) -> Released:
    """What `look` says, with Gaussian noise.

    Args:
        look: The true number; one example more or less in the data changes it by at most 1. Asked last, so that an
            error in it leaves a charge too many, never one too few.
        mechanism: σ of the noise, on all the data.
        account: Who is asked and charged.
        random: Of the noise.

    Raises:
        BudgetExceeded: if the budget has no room; nothing was looked at, drawn or charged.
        ValueError: for a mechanism that samples: the number is of all the data.
    """
    if mechanism.sample_rate != 1.0:
        raise ValueError(f"Expected sample_rate={mechanism.sample_rate:.12g} to be 1: the count uses all data.")
    account.reserve(mechanism)
    noise = mechanism.noise_multiplier * float(random.standard_normal())
    account.count(mechanism)
    return Released(look() + noise, mechanism, _MAKER)


_SIGNIFICANT = 3.0  # standard deviations of the count's noise


class Setting(NamedTuple):
    """What the coming steps use: σ, and the expected batch size in examples."""

    noise_multiplier: float
    batch_size: int


_UNSET = Setting(0.0, 0)


@dataclass(frozen=True)
class Policy(ABC):
    """A state machine over settings; `start` is the baseline, `setting` what the coming steps use.

    Class attributes:
        key, label: its name in a run's settings and links; on pages.
        usual_every: epochs between counts, as the paper has them.
        adaptive: whether counts decide about mechanisms, not only about when to stop.
        saves: whether it lowers the budget of the coming steps, which it may only while enough is left.
        ends: whether it ends the run by its own count.

    Attributes:
        every: epochs between counts; 0 for none.
        count_noise: standard deviation of the count's Gaussian noise; the count's sensitivity is 1.
        reference: the last count, None before the first one: it is measured from 0.
        stopped: whether the policy wants to stop.
    """

    key: ClassVar[str]
    label: ClassVar[str]
    usual_every: ClassVar[int] = 10
    adaptive: ClassVar[bool] = True
    saves: ClassVar[bool] = False
    ends: ClassVar[bool] = False
    start: Setting
    setting: Setting = _UNSET
    _: KW_ONLY
    every: int = 10
    count_noise: float = 100.0
    reference: Released | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        if self.setting != _UNSET:
            return  # a successor, whose start was checked
        _validate.noise_multiplier(self.start.noise_multiplier)
        _validate.steps(self.start.batch_size, "batch_size", minimum=1)
        _validate.steps(self.every, "every")
        _validate.positive("count_noise", self.count_noise)
        object.__setattr__(self, "setting", self.start)

    @classmethod
    def begin(cls, start: Setting, *, every: int, count_noise: float, goal: float) -> Self:
        """Before the first count; `every` 0 takes the paper's, and `goal` is a count to stop at, 0 for none."""
        return cls(start, every=every or cls.usual_every, count_noise=count_noise)

    @property
    def count_mechanism(self) -> SampledGaussian:
        """What one count costs: one example more or less changes it by at most 1."""
        return SampledGaussian(noise_multiplier=self.count_noise, sample_rate=1.0)

    def rose(self, count: Released) -> bool:
        """Whether the count rose by at least three standard deviations of its noise since the last one."""
        before = 0.0 if self.reference is None else self.reference.value
        return count.value - before >= _SIGNIFICANT * self.count_noise

    def observe(self, count: Released, *, may_lower: bool = True) -> Self:
        """The policy after a private count.

        Args:
            count: correct training predictions, released by `count_mechanism`.
            may_lower: whether the budget of the coming steps may be lowered; the paper asks that the filter would
                let pass more than 50 epochs at the present setting.

        Raises:
            TypeError: for a plain number, which nothing was charged for.
            ValueError: for a count with other noise than this policy's.
        """
        if not isinstance(count, Released):
            raise TypeError(f"Expected a Released count, found {type(count).__name__}: create it with release().")
        if count.mechanism != self.count_mechanism:
            raise ValueError(
                f"Expected a count released by {self.count_mechanism}, found {count.mechanism}: the policy "
                "judges a rise by the noise of its own counts."
            )
        setting = self._next(self.rose(count), may_lower)
        return replace(self, setting=setting, reference=count, stopped=self.stopped or self._wants_to_stop(count))

    def blocked(self, count: Released, *, may_lower: bool) -> bool:
        """Whether the policy would have lowered the budget of the coming steps after this count, had it been let."""
        rose = self.rose(count)
        return not may_lower and self._next(rose, False) != self._next(rose, True)

    @abstractmethod
    def _next(self, rose: bool, may_lower: bool) -> Setting: ...

    def _wants_to_stop(self, count: Released) -> bool:
        return False


@dataclass(frozen=True)
class Fixed(Policy):
    """The baseline: nothing changes, nothing is counted but where a goal asks for it."""

    key, label, adaptive = "fixed", "Fixed plan", False
    every: int = field(default=0, kw_only=True)

    @classmethod
    def begin(cls, start: Setting, *, every: int, count_noise: float, goal: float) -> Self:
        return cls(start, every=(every or cls.usual_every) if goal else 0, count_noise=count_noise)

    def _next(self, rose: bool, may_lower: bool) -> Setting:
        return self.setting


@dataclass(frozen=True)
class AdaptiveNoise(Policy):
    """σ + `step` after a significant rise, σ − `step` otherwise, never below the baseline's."""

    key, label, saves = "adaptive_noise", "Adaptive noise", True
    step: float = field(default=0.1, kw_only=True)

    def _next(self, rose: bool, may_lower: bool) -> Setting:
        sigma = self.setting.noise_multiplier
        if rose:
            return self.setting._replace(noise_multiplier=round(sigma + self.step, 9)) if may_lower else self.setting
        return self.setting._replace(noise_multiplier=max(round(sigma - self.step, 9), self.start.noise_multiplier))


@dataclass(frozen=True)
class AdaptiveBatch(Policy):
    """Batch − `step` after a significant rise, down to `floor`; batch + `step` otherwise, up to the baseline's."""

    key, label, saves = "adaptive_batch", "Adaptive batch", True
    step: int = field(default=128, kw_only=True)
    floor: int = field(default=256, kw_only=True)

    @classmethod
    def begin(cls, start: Setting, *, every: int, count_noise: float, goal: float) -> Self:
        """In quarters of the baseline's batch, down to half of it: the paper's 128 and 256 of 512."""
        quarter, half = max(1, round(start.batch_size / 4)), max(1, start.batch_size // 2)
        return cls(start, every=every or cls.usual_every, count_noise=count_noise, step=quarter, floor=half)

    def _next(self, rose: bool, may_lower: bool) -> Setting:
        batch, most = self.setting.batch_size, self.start.batch_size
        if rose:
            # A baseline below the floor stays where it is.
            smaller = max(batch - self.step, min(self.floor, most))
            return self.setting._replace(batch_size=smaller) if may_lower else self.setting
        return self.setting._replace(batch_size=min(batch + self.step, most))


@dataclass(frozen=True)
class FineTuning(Policy):
    """Start noisy, σ − `step` after every count without a significant rise; stop once a count reaches `goal`.

    The paper names no lower end for σ; `least_noise` is the σ of its non-adaptive runs. A `goal` of 0 never stops.
    """

    key, label, usual_every, ends = "fine_tuning", "Fine-tuning, early stop", 1, True
    every: int = field(default=1, kw_only=True)
    step: float = field(default=0.1, kw_only=True)
    least_noise: float = field(default=1.0, kw_only=True)
    goal: float = field(default=0.0, kw_only=True)

    def _next(self, rose: bool, may_lower: bool) -> Setting:
        if rose:
            return self.setting
        # A start below the least noise stays where it is.
        least = min(self.least_noise, self.start.noise_multiplier)
        return self.setting._replace(noise_multiplier=max(round(self.setting.noise_multiplier - self.step, 9), least))

    @classmethod
    def begin(cls, start: Setting, *, every: int, count_noise: float, goal: float) -> Self:
        return cls(start, every=every or cls.usual_every, count_noise=count_noise, goal=goal)

    def _wants_to_stop(self, count: Released) -> bool:
        return self.goal > 0.0 and count.value >= self.goal


# In the order in which pages offer them. One more is a class and its name here.
POLICIES: dict[str, type[Policy]] = {kind.key: kind for kind in (Fixed, AdaptiveNoise, AdaptiveBatch, FineTuning)}


_REFERENCE_BATCH = 512.0  # of the paper's non-adaptive runs, with σ = 1
MARGIN_EPOCHS = 50  # the paper's: a step's budget is lowered only while the filter would let pass more epochs


@dataclass(frozen=True)
class Scenario:
    """An assumed training: see the module's formula.

    Attributes:
        size: N, examples in the training set.
        first, top: accuracy before training and what σ = 1 with batches of 512 tends to, in [0, 1].
        pace: share of the distance closed in an epoch, in (0, 1].
        toll: accuracy lost for each factor e of noise per example.
        wobble: standard deviation of an epoch's accuracy.
        seed: of the wobble and of the counts' noise.
    """

    size: int = 50_000
    first: float = 0.1
    top: float = 0.6
    pace: float = 0.04
    toll: float = 0.04
    wobble: float = 0.001
    seed: int = 0

    def __post_init__(self) -> None:
        _validate.steps(self.size, "size", minimum=1)
        for name in ("first", "top"):
            _validate.probability(name, getattr(self, name))
        _validate.open_probability("pace", min(self.pace, 0.999_999_999))
        for name in ("toll", "wobble"):
            _validate.non_negative(name, getattr(self, name))
        _validate.steps(self.seed, "seed")


@dataclass(frozen=True, eq=False)
class PolicyTrajectory:
    """What happened; arrays over epochs 0, 1, …, E, index 0 being before training.

    Attributes:
        noise_multiplier, batch_size: what the epoch's steps used (index 0: the first setting).
        accuracy: assumed.
        count: the private count after the epoch, NaN where none was taken.
        blocked: 1 where a count rose and the margin kept the setting all the same.
        planned: ε at δ of all steps and counts so far, read as if planned: how full the filter is.
        odometer: ε at δ that holds whenever one stops.
        ended: "budget" (the filter refused), "goal" (the policy stopped), or "epochs" (as many as were asked for).
        events: what was spent, neighbouring equal steps merged.
    """

    noise_multiplier: Array
    batch_size: Array
    accuracy: Array
    count: Array
    blocked: Array
    planned: Array
    odometer: Array
    ended: str
    events: tuple[Event, ...]

    @property
    def epochs(self) -> Array:
        return np.arange(float(self.accuracy.size))


def _epoch(setting: Setting, size: int) -> Event:
    """An epoch's steps: as many as batches fit into the data, rounded up."""
    batch = min(setting.batch_size, size)
    return SampledGaussian(setting.noise_multiplier, batch / size), math.ceil(size / batch)


@remembered
def policy_trajectory(
    policy: Policy,
    scenario: Scenario,
    *,
    delta: float,
    target_epsilon: float | None = None,
    most_epochs: int = 100,
    variant: str = "paper",
    one_order: bool = True,
    margin_epochs: int = MARGIN_EPOCHS,
) -> PolicyTrajectory:
    """Follow `policy` epoch by epoch until the budget, the goal or `most_epochs` ends it.

    Args:
        policy: its first state.
        scenario: the assumed training.
        delta: δ of filter and odometer.
        target_epsilon: the filter's budget; None lets everything pass.
        most_epochs: ≥ 1.
        variant: the odometer's, whose orders the filter uses too where it has several.
        one_order: whether the filter keeps to one order, at which the budget holds the most epochs of the first
            setting with their counts (`one_order`: proved for whatever the policy does); else it tracks all of the
            odometer's by the classic conversion, as in the paper.
        margin_epochs: the budget of a step is lowered only while the filter would let pass more epochs than this.
    """
    most = _validate.whole(1, most_epochs=most_epochs)
    margin = _validate.whole(0, margin_epochs=margin_epochs)
    odometer = OdometerAccountant(variant)
    budget = _budget(policy, scenario, delta, target_epsilon, one_order=one_order, orders=odometer.orders)
    spending, running = Spending(budget), RunningSum(odometer)
    random = np.random.default_rng(scenario.seed)
    accuracy, ended = scenario.first, "epochs"
    rows = [(*policy.setting, accuracy, math.nan, 0.0)]
    totals = [(budget.spent, running.total)]
    for epoch in range(1, most + 1):
        setting = policy.setting
        steps = _epoch(setting, scenario.size)
        try:
            budget.spend(*steps)
        except BudgetExceeded:
            ended = "budget"
            break
        running.add(*steps)
        accuracy = _trained(accuracy, setting, scenario, random)
        count, blocked = math.nan, False
        if policy.every and epoch % policy.every == 0 and budget.allows(policy.count_mechanism):
            right = scenario.size * accuracy
            seen = release(lambda: right, mechanism=policy.count_mechanism, account=spending, random=random)  # noqa: B023
            running.add(seen.mechanism, 1)
            # Without a budget there is always room.
            room = target_epsilon is None or budget.remaining_steps(steps[0]) > margin * steps[1]
            count, blocked = seen.value, policy.blocked(seen, may_lower=room)
            policy = policy.observe(seen, may_lower=room)
        rows.append((*setting, accuracy, count, float(blocked)))
        totals.append((budget.spent, running.total))
        if policy.stopped:
            ended = "goal"
            break
    several = zip((budget.accountant, odometer), zip(*totals, strict=True), strict=True)
    planned, stopped = (one.bound(np.array(total), delta).epsilon for one, total in several)
    sigma, batch, reached, counts, held = np.array(rows).T
    return PolicyTrajectory(sigma, batch, reached, counts, held, planned, stopped, ended, budget.events)


def _budget(
    policy: Policy, scenario: Scenario, delta: float, target_epsilon: float | None, *, one_order: bool, orders: Array
) -> Filter:
    if target_epsilon is None or not one_order:  # without a budget nothing is promised, only read
        return Filter(target_epsilon=1e300 if target_epsilon is None else target_epsilon, delta=delta, orders=orders)
    steps, count = _epoch(policy.setting, scenario.size)
    baseline = [(steps, count * max(policy.every, 1)), (policy.count_mechanism, min(policy.every, 1))]
    return one_order_filter(baseline, target_epsilon=target_epsilon, delta=delta)


def _trained(accuracy: float, setting: Setting, scenario: Scenario, random: np.random.Generator) -> float:
    """The assumed accuracy after one more epoch."""
    louder = math.log(_REFERENCE_BATCH * setting.noise_multiplier / setting.batch_size)
    ceiling = min(max(scenario.top - scenario.toll * louder, 0.0), 1.0)
    moved = accuracy + scenario.pace * (ceiling - accuracy) + scenario.wobble * random.standard_normal()
    return min(max(moved, 0.0), 1.0)
