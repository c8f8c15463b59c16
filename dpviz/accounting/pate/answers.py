"""PATE: what all answers of an ensemble of teachers cost together (Papernot et al. 2017 and 2018).

Queries are public inputs, fixed ahead; each is answered by a noisy maximum of the teachers' votes (`noisy_max`). In
Confident-GNMax a query is answered only where the largest count plus N(0, σ₁²) reaches a threshold (Papernot et al.
2018, Algorithm 1): that count moves by 1 at most, so the check costs α/(2σ₁²) whatever the votes, and at known votes as
much as two coins of known bias differ, which is computed as it is.

Costs add up over queries. `pate_epsilon` holds whatever the votes. `pate_epsilon_at` is a function of private votes: it
is right at these votes and may not be published as it is, for it tells of them; `release` makes it fit to be.

>>> votes = np.tile([95, 3, 2], (100, 1))
>>> whatever = pate_epsilon(100, delta=1e-5, noise_std=20.0, method="renyi")
>>> at_these = pate_epsilon_at(votes, delta=1e-5, noise_std=20.0)[-1]
>>> round(float(whatever), 3), round(float(at_these), 3)
(3.189, 0.939)
"""

import math
from dataclasses import dataclass
from typing import TypedDict, Unpack, overload

import numpy as np
from scipy.special import log_ndtr

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.methods import Method, Renyi, Tight, accountant, method_name
from dpviz.accounting.pate.noisy_max import GaussianNoisyMax, LaplaceNoisyMax, NoisyMax
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.mechanisms import SampledGaussian

METHODS = (Tight.name, Renyi.name)


@dataclass(frozen=True)
class Threshold:
    """A query is answered where the largest count plus N(0, σ₁²) reaches `votes`.

    Attributes:
        votes: T, in votes; any finite number.
        noise_std: σ₁, in votes, > 0.
    """

    votes: float
    noise_std: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.votes):
            raise ValueError(f"Expected threshold={self.votes!r} to be a finite number of votes.")
        _validate.number(threshold_std=self.noise_std)

    def log_answered(self, largest: Array) -> tuple[Array, Array]:
        """ln of the probability that a query with this largest count is answered, and that it is not."""
        beyond = (largest - self.votes) / self.noise_std
        return np.asarray(log_ndtr(beyond)), np.asarray(log_ndtr(-beyond))

    def divergence_at(self, largest: Array, answer: Array, orders: Array, *, one_sided: bool = False) -> Array:
        """The check and, if it is passed, an answer that costs `answer` (queries, orders): (queries, orders).

        exp((α−1) D_α) of "no" or "yes, and the answer" for two data sets, the largest count of one being `largest`
        (queries,) and of the other 1 more, 1 less or the same.
        """
        power, here = orders - 1.0, self.log_answered(largest[:, None])
        largest_cost = np.zeros(np.broadcast_shapes(here[0].shape, answer.shape))
        for move in (-1.0, 0.0, 1.0):
            there = self.log_answered(largest[:, None] + move)
            for (yes, no), (yes_too, no_too) in ((here, there),) if one_sided else ((here, there), (there, here)):
                passed = orders * yes - power * yes_too + power * answer
                largest_cost = np.maximum(largest_cost, np.logaddexp(passed, orders * no - power * no_too) / power)
        return np.minimum(largest_cost, answer + orders / (2.0 * self.noise_std**2))


class Noise(TypedDict, total=False):
    """The noise of an ensemble's answers: see `pate_epsilon`."""

    noise_std: float | None
    noise_scale: float | None
    threshold_std: float | None


class Ensemble(Noise, total=False):
    """The same with the method."""

    method: Method


@overload
def pate_epsilon(queries: float, *, delta: float, **ensemble: Unpack[Ensemble]) -> float: ...
@overload
def pate_epsilon(queries: ArrayLike, *, delta: ArrayLike, **ensemble: Unpack[Ensemble]) -> float | Array: ...
def pate_epsilon(
    queries: ArrayLike,
    *,
    delta: ArrayLike,
    method: str = Tight.name,
    **noise: Unpack[Noise],
) -> float | Array:
    """ε of so many queries, whatever the teachers vote: this may be published.

    One person's record is in one teacher's part, and everyone else's stays with its teacher: then adding, removing and
    replacing a record are all covered.

    Args:
        queries: how many are put to the ensemble, whole, ≥ 0; broadcasts with δ.
        delta: δ in (0, 1).
        method: "tight" or "renyi".
        **noise: noise_std, σ of GNMax, in votes; or noise_scale, b of LNMax, in votes; and threshold_std, σ₁ of
            Confident-GNMax, None where every query is answered.
    """
    method = method_name(method, METHODS)
    mechanism, times = _noisy_max(**noise).event
    if (threshold_std := noise.get("threshold_std")) is not None:
        check = _validate.number(threshold_std=threshold_std)
        assert isinstance(mechanism, SampledGaussian)
        # Two Gaussian releases of one query are one with the sum of their 1/σ².
        mechanism = SampledGaussian(1.0 / math.hypot(1.0 / mechanism.noise_multiplier, 1.0 / check))
    steps = times * _validate.steps(queries, "queries")
    epsilon = accountant(method).epsilon_of(mechanism, steps=steps, delta=delta).epsilon
    return float(epsilon) if epsilon.ndim == 0 else epsilon


def pate_divergence_at(
    votes: ArrayLike,
    orders: ArrayLike,
    *,
    threshold: float | None = None,
    one_sided: bool = False,
    **noise: Unpack[Noise],
) -> Array:
    """R(α) of each query at these votes, (queries, orders); arguments as in `pate_epsilon_at`."""
    counts, tried = checked_votes(votes), _validate.orders(orders)
    threshold_std = noise.get("threshold_std")
    if (threshold is None) != (threshold_std is None):
        raise ValueError(f"Expected both threshold={threshold!r} and threshold_std={threshold_std!r}, or neither.")
    each = _noisy_max(**noise).divergence_at(counts, tried, one_sided=one_sided)
    if threshold is None or threshold_std is None:
        return each
    return Threshold(threshold, threshold_std).divergence_at(counts.max(axis=1), each, tried, one_sided=one_sided)


def pate_epsilon_at(
    votes: ArrayLike,
    *,
    delta: float,
    threshold: float | None = None,
    one_sided: bool = False,
    orders: ArrayLike = DEFAULT_ORDERS,
    **noise: Unpack[Noise],
) -> Array:
    """ε at these votes after each query, (queries,): private itself, and not to be published as it is.

    Args:
        votes: how many teachers voted for each class, (queries, classes), whole, ≥ 0, of one total.
        delta: δ in (0, 1).
        threshold: T of Confident-GNMax, in votes.
        one_sided: as the papers have it, from these votes to a neighbour's and not back; both by default.
        orders: which are tried; any give a bound.
        **noise: noise_std, noise_scale, threshold_std: as in `pate_epsilon`.
    """
    tried = _validate.orders(orders)
    each = pate_divergence_at(votes, tried, threshold=threshold, one_sided=one_sided, **noise)
    bound = to_bound(np.cumsum(each, axis=0), tried, _validate.number(delta=delta), "improved")
    whatever = pate_epsilon(np.arange(1, len(each) + 1), delta=delta, method=Renyi.name, **noise)
    return np.minimum(bound.epsilon, whatever)


def checked_votes(votes: ArrayLike) -> Array:
    """Counts (queries, classes) as numbers, checked."""
    counts = _validate.non_negative("votes", votes)
    if counts.ndim != 2 or counts.shape[0] < 1 or counts.shape[1] < 2:
        raise ValueError(f"Expected votes as (queries, classes >= 2), found shape {counts.shape}.")
    if (counts != np.floor(counts)).any():
        raise ValueError("Expected votes to be whole numbers of teachers.")
    totals = counts.sum(axis=1)
    if totals[0] < 1.0 or (totals != totals[0]).any():
        raise ValueError(
            f"Expected votes of one number of teachers >= 1 in every query, found {totals.min():.0f} to "
            f"{totals.max():.0f}."
        )
    return counts


def _noisy_max(
    noise_std: float | None = None, noise_scale: float | None = None, threshold_std: float | None = None
) -> NoisyMax:
    if (noise_std is None) == (noise_scale is None):
        raise ValueError(f"Expected one of noise_std={noise_std!r} (GNMax) and noise_scale={noise_scale!r} (LNMax).")
    if noise_std is not None:
        return GaussianNoisyMax(noise_std)
    if threshold_std is not None:
        raise ValueError("Expected no threshold with noise_scale: the threshold belongs to GNMax; give noise_std.")
    assert noise_scale is not None
    return LaplaceNoisyMax(noise_scale)
