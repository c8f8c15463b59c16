"""The true Bayesian cost of a known law of gradients, by which its estimate and its certified bound are measured.

As the law is known, E exp(Tψ(λ, d)) needs no sample. For scalar families it lies
between two sums (`law_bound`). Vectors have no such law for the distance of two; there a simulation of fresh pairs
gives an interval that holds with probability 0.99, from above by the envelope of `dpviz.accounting.bayesian.envelope`
and from below by its mirror image.

    >>> known = dict(noise_std=4.0, sample_rate=0.01, steps=[10_000], delta_mu=1e-5)
    >>> true_norms_epsilon("weibull", shape=2.0, threshold=1.0, **known).lower.round(3)
    array([1.209])
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import ORDERS
from dpviz.accounting.bayesian.envelope import envelope
from dpviz.gradients.clipped_law import ClippedLaw, LawCells, law_cells
from dpviz.gradients.families import law
from dpviz.gradients.law_bound import LawPlan, clipped_bound
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.weibull_vectors import weibull_shape, weibull_vectors

DOUBT = 0.01  # of a simulated interval
_COORDINATES = 20_000_000  # drawn for a simulation: about a second
_SHARES = 20_000  # of the largest distance, told apart
_SEED = 1_795_221_334  # its own: the sample under test is another draw


@dataclass(frozen=True, eq=False)
class Truth:
    """min over λ of (T·c(λ, T) − ln δ_μ)/λ lies in [lower, upper]; arrays of the steps' shape.

    `how` says in words how it was found.
    """

    lower: Array
    upper: Array
    how: str


def true_norms_epsilon(family: str, *, threshold: float, shape: float = 1.0, scale: float = 1.0, **asked: Any) -> Truth:
    """Of norms of a family (`draw_norms`), clipped to `threshold` and used as distances: `law_bound`, Definition 1.

    Args:
        family, shape, scale: as for `draw_norms`.
        threshold: clipping norm, > 0 and finite: without clipping see `tail_is_infinite`.
        asked: noise_std, sample_rate, steps, delta_mu, orders, reading, as in `dpviz.bayesian_epsilon`.
    """
    known, limit = law(family, shape, scale), _validate.number(threshold=threshold)
    clipped = ClippedLaw(family, float(shape), limit / float(scale), max(float(known.sf(limit)), 0.0))
    return truth_of_cells(
        law_cells(clipped), limit, "from the distribution itself, between sums from below and from above", **asked
    )


def true_vectors_epsilon(*, dimensions: int, shape: float, threshold: float, **asked: Any) -> Truth:
    """Of distances of two `weibull_vectors`, each clipped to `threshold`: an interval that holds with probability 0.99.

    Args:
        dimensions, shape: of the vectors.
        threshold, asked: as in `true_norms_epsilon`.
    """
    width = _validate.whole(1, dimensions=dimensions)
    limit = _validate.number(threshold=threshold)
    drawn = _fresh(width, float(weibull_shape(shape)))
    distances, largest = drawn.distances(limit), drawn.sensitivity(limit)
    values, masses = envelope(distances, largest, DOUBT / 2.0)
    mirrored = envelope(largest - distances, largest, DOUBT / 2.0)
    # Half a million distances, on a grid of shares of the largest one: each moved down and up to the next point.
    lower = _gathered(np.floor(_SHARES * (1.0 - mirrored[0][::-1] / largest)), mirrored[1][::-1])
    cells = LawCells(*lower, *_gathered(np.ceil(_SHARES * (values / largest)), masses))
    how = f"from {distances.size:,} fresh pairs, an interval that holds with probability {1.0 - DOUBT:g}"
    return truth_of_cells(cells, largest, how, **asked)


def _gathered(places: Array, masses: Array) -> tuple[Array, Array]:
    """(d/C)² at the places of the grid that have mass, ascending, and their masses."""
    mass = np.bincount(places.astype(np.intp), masses).astype(np.float64)
    held = np.flatnonzero(mass)
    return (held / _SHARES) ** 2, mass[held]


def truth_of_cells(
    cells: LawCells,
    largest: float,
    how: str,
    *,
    noise_std: float,
    steps: ArrayLike,
    orders: ArrayLike = ORDERS,
    **asked: Any,
) -> Truth:
    """Definition 1 of distances up to `largest`."""
    sigma = max(_validate.number(noise_std=noise_std) / largest, _validate.LEAST)
    whole = _validate.whole_orders(orders) + 1.0
    bound = clipped_bound(cells, LawPlan(sigma, steps=np.atleast_1d(steps), definition=1, orders=whole, **asked))
    return Truth(bound.lower, bound.upper, how)


@remembered
def _fresh(width: int, shape: float) -> GradientSample:
    """Pairs that no page has seen: half a second of drawing, for whatever is then asked of them."""
    return weibull_vectors(vectors=max(_COORDINATES // width, 4), dimensions=width, shape=shape, seed=_SEED)
