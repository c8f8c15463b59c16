"""Facts that questions share: the step sizes that keep the claim."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.published_bounds import LangevinConstants, langevin_constants
from dpviz.questions.langevin.chain import Chain, SamplerPlan
from dpviz.questions.methods import marked_steps

STEP_POINTS, EPSILON_POINTS = 60, 40


@dataclass(frozen=True, eq=False)
class SamplerFacts:
    """What is known of a sampler whose first step size is not set.

    Attributes:
        chain: the sampler.
        allowed: the largest η₁ for some ε, the last one the claim's, with the constants; 0 where none is proven.
    """

    chain: SamplerPlan
    allowed: LangevinConstants

    @property
    def largest(self) -> float:
        """The largest η₁ that gives the claimed ε; 0 where none is proven."""
        return float(self.allowed.step_size[-1])


@dataclass(frozen=True, eq=False)
class ChainFacts(SamplerFacts):
    """The same of steps whose sizes are set."""

    chain: Chain


def allowed_step_sizes(chain: SamplerPlan, epsilon: Sequence[float] | Array = ()) -> LangevinConstants:
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


def step_marks(steps: int) -> Array:
    """Some step counts from 1 to `steps`, even on a log axis, and those of the table."""
    return np.unique(np.append(np.round(np.geomspace(1.0, steps, STEP_POINTS)), marked_steps(steps)))


def epsilon_grid(claim: float) -> Array:
    """The range of Li et al. 2019, Fig. 1, and further where the claim lies outside."""
    return np.geomspace(min(0.02, claim / 2.0), max(1.7, 2.0 * claim), EPSILON_POINTS)
