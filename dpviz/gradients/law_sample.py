"""Bayesian cost of a known law of gradients: the printed estimate and the certified bound by a sample.

Norms are clipped at the law's quantile C as in `law_bound`, and counted in its cells: whoever measures one between two
ends of a cell writes down either, by a coin that keeps the mean of d². What is written down is again an independent
sample of one law, the upper one of `law_cells`, whose cost is the true one's upper bound, at most 0.1 % above it: both
numbers err on that side and by no more. Only the counts are drawn, so that time does not grow with m.

The estimate is Triastcyn & Faltings 2020, Eq. 14, with Student's margin; it is for Definition 1, Markov's inequality.
The certified bound puts the distribution of `dpviz.accounting.bayesian.envelope` in the law's place and is otherwise
`law_bound`, of either definition: with probability 1 − γ over the sample it is not too low, for all orders, steps,
noise levels and both definitions together. Both pay γ out of δ_μ.

    >>> known = dict(noise_multiplier=4.0, sample_rate=0.01, steps=[10_000], delta_mu=1e-5, failure=1e-15)
    >>> law_sample("weibull", shape=0.5, quantile=0.95, samples=10_000, **known).certified.round(2)
    array([0.87])
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.bayesian.accountant import student_margin
from dpviz.accounting.bayesian.envelope import lower_band
from dpviz.gradients.clipped_law import LawCells, clipped_law, law_cells
from dpviz.gradients.law_bound import MARKOV_ORDERS, LawPlan, clipped_bound
from dpviz.mechanisms.log_moments import log_moment


@dataclass(frozen=True, eq=False, slots=True)
class LawSample:
    """ε_μ by a sample of the law; arrays of the steps' shape.

    Attributes:
        estimate: as printed, of Definition 1: asymptotic, may be far too low; at most 0.1 % above the sample's own.
        certified: too low with probability γ at most; inf where γ ≥ δ_μ.
    """

    estimate: Array
    certified: Array


def law_sample(
    family: str,
    *,
    shape: float = 1.0,
    quantile: float,
    delta_mu: ArrayLike,
    samples: int,
    failure: float,
    seed: int = 0,
    **asked: Any,
) -> LawSample:
    """Estimate and bound by one random sample. The same seed has the same luck in all settings: numbers move smoothly.

    Args:
        family, shape, quantile, asked: as in `law_bound`, the steps planned; the estimate takes whole λ = 1 … 32, or
            `orders`.
        delta_mu: δ_μ in (γ, 1).
        samples: m ≥ 2 independent norms.
        failure: γ in (0, ½].
        seed: of the luck.

    Raises:
        ValueError: for an argument out of its range, with the value; for δ_μ ≤ γ, with both.
    """
    size = _validate.whole(2, samples=samples)
    gamma = _validate.estimator_failure(failure)
    left = _validate.delta_beyond_failure(delta_mu, gamma, 1) - gamma
    cells, plan = law_cells(clipped_law(family, shape, quantile)), LawPlan(delta_mu=left, reading="planned", **asked)
    counts = drawn_counts(cells.upper_mass, size, seed)
    bound = clipped_bound(_above(cells, np.cumsum(counts), size, gamma), plan)
    whole = MARKOV_ORDERS if plan.orders is None else plan.orders
    seen = counts > 0.0
    moments = log_moment(plan.noise_multiplier / np.sqrt(cells.upper[seen]), plan.sample_rate, whole[:, None])
    grown = plan.steps.reshape(-1, 1, 1) * moments
    x = np.exp(grown - grown[..., -1:])
    share = counts[seen] / size
    mean = x @ share
    spread = np.sqrt((x - mean[..., None]) ** 2 @ share)
    cost = grown[..., -1] + np.log(mean + student_margin(size, gamma) * spread)
    estimate = ((cost - np.log(plan.delta_mu).reshape(-1, 1)) / (whole - 1.0)).min(axis=1)
    return LawSample(np.maximum(estimate, 0.0).reshape(plan.steps.shape), bound.upper)


def drawn_counts(masses: Array, size: int, seed: int) -> Array:
    """How many of `size` draws have each value: halves by halves, each by the quantile of its binomial distribution."""
    from scipy import stats  # a quarter of a second, which `import dpviz` need not take

    depth = math.ceil(math.log2(masses.size))
    spare = 2**depth - masses.size
    padded = np.concatenate([np.zeros(spare), masses])
    luck = np.random.default_rng(seed).random(padded.size)
    counts = np.array([float(size)])
    for _ in range(depth):
        below, above = padded.reshape(2 * counts.size, -1).sum(axis=1).reshape(-1, 2).T
        whole = below + above
        share = np.divide(above, whole, out=np.zeros_like(whole), where=whole > 0.0)
        higher = np.maximum(stats.binom.ppf(luck[counts.size - 1 : 2 * counts.size - 1], counts, share), 0.0)
        counts = np.stack([counts - higher, higher], axis=1).ravel()
    return np.asarray(counts[spare:])


def _above(cells: LawCells, ranks: Array, size: int, failure: float) -> LawCells:
    """A distribution above the law's, from the numbers of draws up to each value; nothing is claimed from below."""
    band = lower_band(np.minimum(ranks[:-1], size), size, failure)
    return LawCells(cells.upper[-1:], np.ones(1), cells.upper, np.diff(band, prepend=0.0, append=1.0))
