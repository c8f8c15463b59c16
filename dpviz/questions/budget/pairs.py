"""Accounts of steps that are known by their ε and δ alone: Rogers et al. 2016, Whitehouse et al. 2023."""

from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.mechanisms import SampledGaussian


@dataclass(frozen=True, eq=False)
class PairAccounts:
    """What accounts say that see of a step its ε and δ alone.

    Attributes:
        rogers: ε by the odometer of Rogers et al. 2016 at every step of the chart.
        rogers_steps: how many the filter of Rogers et al. lets pass, and
        adaptive_steps: that of Whitehouse et al. 2023 for (ε, δ) or zCDP steps.
        size: N in the odometer, at least 2.
    """

    rogers: Array
    rogers_steps: int
    adaptive_steps: int
    size: int


def pair_accounts(
    mechanism: SampledGaussian, x: Array, steps: int, *, delta: float, size: int, target_epsilon: float
) -> PairAccounts:
    """ε along `x`, up to `steps`, and how many are within a budget."""
    sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
    rogers = dpviz.papers.rogers_odometer_epsilon(
        noise_multiplier=sigma, sample_rate=rate, steps=x, delta=delta, size=size, horizon=steps
    )
    rogers_steps, adaptive_steps = (
        most(noise_multiplier=sigma, sample_rate=rate, target_epsilon=target_epsilon, delta=delta)
        for most in (dpviz.papers.rogers_filter_steps, dpviz.papers.fully_adaptive_steps)
    )
    return PairAccounts(np.asarray(rogers), rogers_steps, adaptive_steps, size)
