"""The true Bayesian cost of a synthetic distribution: what estimates and bounds from a sample of it are measured by.

The distribution is known, so E exp(Tψ(λ, d)) needs no sample. For scalar families it lies between two sums
(`law_bound`). Vectors have no such law for the distance of two; there a simulation of fresh pairs gives an interval
that holds with probability 0.99, from above by the envelope of `dpviz.accounting.bayesian.envelope` and from below by
its mirror image.

    >>> known = dict(noise_std=4.0, sample_rate=0.01, steps=[10_000], delta_mu=1e-5)
    >>> true_norms_epsilon("weibull", shape=2.0, threshold=1.0, **known).lower.round(3)
    array([1.209])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import ORDERS, TOO_LARGE
from dpviz.accounting.bayesian.envelope import envelope
from dpviz.accounting.bayesian.table import Estimator
from dpviz.gradients.families import law
from dpviz.gradients.law_bound import LawPlan, clipped_bound
from dpviz.gradients.law_cells import ClippedLaw, law_cells
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.weibull import weibull_shape, weibull_vectors

DOUBT = 0.01  # of a simulated interval
_COORDINATES = 20_000_000  # drawn for a simulation: about a second
_SEED = 1_795_221_334  # its own: the sample under test is another draw


@dataclass(frozen=True, eq=False)
class Truth:
    """min over λ of (T·c(λ, T) − ln δ_μ)/λ lies in [lower, upper]; arrays of the steps' shape.

    `how` says in words how it was found.
    """

    lower: Array
    upper: Array
    how: str


def true_norms_epsilon(
    family: str,
    *,
    threshold: Any,
    noise_std: Any,
    steps: Any,
    shape: Any = 1.0,
    scale: Any = 1.0,
    orders: Any = ORDERS,
    **asked: Any,
) -> Truth:
    """Of norms of a family (`draw_norms`), clipped to `threshold` and used as distances: `law_bound`, Definition 1.

    Args:
        family, shape, scale: as for `draw_norms`.
        threshold: clipping norm, > 0 and finite: without clipping see `tail_is_infinite`.
        noise_std, steps, orders, and asked (sample_rate, delta_mu, reading): as in `dpviz.bayesian_epsilon`.
    """
    known = law(family, shape, scale)
    limit, std = _validate.numbers(threshold=threshold, noise_std=noise_std)
    cells = law_cells(ClippedLaw(family, float(shape), limit / float(scale), max(float(known.sf(limit)), 0.0)))
    whole, sigma = _validate.whole_orders(orders), max(std / limit, _validate.LEAST)
    plan = LawPlan(sigma, steps=np.atleast_1d(steps), definition=1, orders=whole + 1.0, **asked)
    found = clipped_bound(cells, plan)
    return Truth(found.lower, found.upper, "from the distribution itself, between sums from below and from above")


def true_vectors_epsilon(*, dimensions: Any, shape: Any, threshold: Any, **asked: Any) -> Truth:
    """Of distances of two `weibull_vectors`, each clipped to `threshold`: an interval that holds with probability 0.99.

    Args:
        dimensions, shape: of the vectors.
        threshold, asked (noise_std, sample_rate, steps, delta_mu, orders, reading): as in `true_norms_epsilon`.
    """
    width = _validate.whole(1, dimensions=dimensions)
    limit = _validate.number(threshold=threshold)
    drawn = _fresh(width, float(weibull_shape(shape)))
    distances, largest = drawn.distances(limit), drawn.sensitivity(limit)
    values, masses = envelope(distances, largest, DOUBT / 2.0)
    mirrored = envelope(largest - distances, largest, DOUBT / 2.0)
    lower = largest - mirrored[0][::-1], mirrored[1][::-1]
    return Truth(
        _epsilon(*lower, "lower", **asked),
        _epsilon(values, masses, "upper", **asked),
        f"from {distances.size:,} fresh pairs, an interval that holds with probability {1.0 - DOUBT:g}",
    )


@remembered
def _fresh(width: int, shape: float) -> GradientSample:
    """Pairs that no page has seen: half a second of drawing, for whatever is then asked of them."""
    return weibull_vectors(vectors=max(_COORDINATES // width, 4), dimensions=width, shape=shape, seed=_SEED)


def _epsilon(
    values: Array,
    masses: Array,
    side: str,
    *,
    noise_std: Any,
    sample_rate: Any,
    steps: Any,
    delta_mu: Any,
    orders: Any = ORDERS,
    reading: str = "planned",
) -> Array:
    """ε_μ under a discrete distribution, ascending values and their masses, bounded from the given side."""
    std, rate = _validate.numbers(noise_std=noise_std, sample_rate=sample_rate)
    taken = np.atleast_1d(_validate.steps(steps, minimum=1))
    slack = -math.log(_validate.number(delta_mu=delta_mu))
    _validate.choice("reading", reading, ("planned", "running"))
    whole = np.unique(_validate.whole_orders(orders)).astype(np.int64)
    planned = taken.max(keepdims=True) if reading == "running" else taken
    with np.errstate(over="ignore"):
        scaled = (values / std) ** 2 if rate > 0.0 else np.zeros_like(values)
    if scaled[-1] > TOO_LARGE:
        return np.full(taken.size, np.inf)
    estimator = Estimator(scaled, whole, rate, 0.0, "left", masses)
    means = estimator.log_means(planned, np.arange(whole.size), min(1, estimator.last))
    moments = np.stack([getattr(found, side) for found in means], axis=1)
    candidates = ((taken / planned)[:, None] * moments + slack) / whole
    return np.asarray(np.maximum(candidates.min(axis=1), 0.0))
