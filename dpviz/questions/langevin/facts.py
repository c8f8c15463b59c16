"""Facts of a sampler's steps that every chart shares: their cost, and the step sizes that keep the claim."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.bound import Bound
from dpviz.accounting.langevin.cost import langevin_bound, langevin_bounds, langevin_tight_at
from dpviz.accounting.langevin.published_bounds import LangevinConstants, langevin_constants
from dpviz.questions import Answer, Slow, slow_facts
from dpviz.questions.langevin.chain import Chain
from dpviz.questions.tight_band import TightBand

STEP_POINTS, EPSILON_POINTS = 60, 40
TIGHT_GROUPS_AT_END = 132


class ComposedSteps(NamedTuple):
    """ε after some numbers of steps, the last one all of them, by both conversions of Rényi divergences."""

    classic: Bound
    improved: Bound


@dataclass(frozen=True, eq=False)
class ChainFacts:
    """What is known of the steps.

    Attributes:
        chain: the steps, with all settings that questions share.
        composed: what they cost.
        allowed: the largest η₁ for some ε, the last one the claim's, with the constants; 0 where none is proven.
        other: ε of all steps with the noise that was not chosen (`Chain.with_other_noise`), by the improved conversion;
            NaN for samplers with momentum.
        tight: the numerically tight interval after all steps; None until it is there.
    """

    chain: Chain
    composed: ComposedSteps
    allowed: LangevinConstants
    other: float
    tight: TightBand | None = None

    @property
    def epsilon(self) -> float:
        """Rényi ε of all steps, all models along the way released."""
        return float(self.composed.improved.epsilon[-1])

    @property
    def classic_epsilon(self) -> float:
        """The same by the classic conversion."""
        return float(self.composed.classic.epsilon[-1])

    @property
    def best(self) -> float:
        """The smallest valid ε that is known now."""
        return self.epsilon if self.tight is None else min(self.epsilon, float(self.tight.upper[-1]))

    @property
    def largest(self) -> float:
        """The largest η₁ that gives the claimed ε; 0 where none is proven."""
        return float(self.allowed.step_size[-1])

    @property
    def other_largest(self) -> float:
        """The same with the noise that was not chosen; only asked for where there is another."""
        other = self.chain.with_other_noise
        assert other is not None
        return self.largest * self.chain.setting.cost / other.setting.cost


def composed(chain: Chain, marks: Sequence[float] | Array = ()) -> ComposedSteps:
    """What the steps up to each mark cost; up to the last step where there are no marks.

    Raises:
        ValueError: when the batch exceeds the data.
    """
    ends = np.asarray(marks if len(marks) else [chain.steps], dtype=np.float64)
    return ComposedSteps(**langevin_bounds(chain.setting, chain.schedule, delta=chain.delta, marks=ends))


def allowed_step_sizes(chain: Chain, epsilon: Sequence[float] | Array = ()) -> LangevinConstants:
    """The largest first step sizes for each ε, and for the claim: one search for all."""
    return langevin_constants(
        chain.setting,
        epsilon=np.append(epsilon, chain.claim),
        delta=chain.delta,
        exponent=chain.exponent,
        steps=chain.steps,
        conversion=chain.conversion,
        refine=False,
    )


def epsilon_with_other_noise(chain: Chain) -> float:
    """Rényi ε of all steps with the noise that was not chosen; NaN where there is no other."""
    other = chain.with_other_noise
    if other is None:
        return math.nan
    return float(langevin_bound(other.setting, other.schedule, delta=chain.delta).epsilon[-1])


def step_marks(steps: int) -> Array:
    """Some step counts from 1 to `steps`, even on a log axis."""
    return np.unique(np.round(np.geomspace(1.0, steps, STEP_POINTS)))


def epsilon_grid(claim: float) -> Array:
    """The range of Li et al. 2019, Fig. 1, and further where the claim lies outside."""
    return np.geomspace(min(0.02, claim / 2.0), max(1.7, 2.0 * claim), EPSILON_POINTS)


def steps_alone(answer: Answer[ChainFacts]) -> Hashable:
    """The steps decide the tight interval, whichever question about them is asked."""
    chain = answer.facts.chain
    return chain.setting, chain.schedule, chain.delta


def tight_interval(answer: Answer[ChainFacts]) -> dict[str, TightBand]:
    """The tight interval after all steps; some tenths of a second."""
    return {"tight": interval(answer.facts.chain, [answer.facts.chain.steps], TIGHT_GROUPS_AT_END)}


def interval(chain: Chain, marks: Sequence[float], groups: int) -> TightBand:
    """The tight interval of the steps up to each mark."""
    setting, schedule = chain.setting, chain.schedule
    if not marks:
        return TightBand(*np.zeros((3, 0)))
    low, high = langevin_tight_at(setting, schedule, chain.delta, marks, groups)
    # Groups of steps make the upper end coarse where noise is scarce; the Rényi bound is as valid.
    renyi = composed(chain, marks).improved.epsilon
    return TightBand(np.array(marks, dtype=np.float64), low, np.minimum(high, renyi))


TIGHT: Slow[Any] = slow_facts(steps_alone, tight_interval)
