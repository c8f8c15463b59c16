"""Policies that change noise or batch while training, from private counts alone (Lécuyer 2021, §5).

A policy is a frozen value: its `setting` is what the coming steps use, and `observe(count)` is the policy after a
private count of correct training predictions. It sees nothing else, and a count is a `Released`, which nobody can make
without charging for it: whatever a policy decides costs no more than the counts do.

>>> import numpy as np
>>> from dpviz.accounting.adaptive.filter import Filter
>>> from dpviz.accounting.adaptive.released import Spending, release
>>> policy = AdaptiveNoise(Setting(noise_multiplier=1.0, batch_size=512))
>>> paid = dict(mechanism=policy.count_mechanism, account=Spending(Filter(target_epsilon=1.0, delta=1e-5)))
>>> random = np.random.default_rng(0)
>>> policy = policy.observe(release(lambda: 21_000, **paid, random=random))   # risen by far more than 3 · 100
>>> policy.setting
Setting(noise_multiplier=1.1, batch_size=512)
>>> policy.observe(release(lambda: 21_100, **paid, random=random)).setting    # not risen significantly: back
Setting(noise_multiplier=1.0, batch_size=512)
"""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, NamedTuple, Self

from dpviz import _validate
from dpviz.accounting.adaptive.released import Released
from dpviz.mechanisms import SampledGaussian

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
