"""Mechanisms as values, and runs of equal steps.

>>> step = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> merge_runs([(step, 10), (step, 5)])
((SampledGaussian(noise_multiplier=4.0, sample_rate=0.01), 15),)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpviz import _validate


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """One step: Poisson-sample with rate q, sum vectors of norm ≤ C, add N(0, (σC)²) noise.

    Adjacency is add/remove one example (Mironov, Talwar, Zhang 2019, §3).

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ sensitivity C; dimensionless, > 0.
        sample_rate: q, the probability with which each example joins the batch; in [0, 1].
    """

    noise_multiplier: float
    sample_rate: float = 1.0

    def __post_init__(self) -> None:
        sigma = _validate.scalar("noise_multiplier", _validate.noise_multiplier(self.noise_multiplier))
        rate = _validate.scalar("sample_rate", _validate.sample_rate(self.sample_rate))
        object.__setattr__(self, "noise_multiplier", sigma)
        object.__setattr__(self, "sample_rate", rate)


Run = tuple[SampledGaussian, int]


def merge_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Runs with equal mechanisms added up, in order of first appearance; order does not matter to privacy."""
    counts: dict[SampledGaussian, int] = {}
    for mechanism, count in runs:
        whole = int(_validate.scalar("count", _validate.steps(count, "count")))
        counts[mechanism] = counts.get(mechanism, 0) + whole
    return tuple(counts.items())
