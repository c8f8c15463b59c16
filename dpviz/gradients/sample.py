"""A sample of gradients: norms for the clipping threshold, and distances after clipping for Bayesian accounting.

Synthetic gradients as Triastcyn & Faltings 2020, §5.1, draw them: vectors of independent Weibull coordinates.

Their Figure 1: 50 vectors of 1000 coordinates of shape 0.5, all 1225 pairs.

    >>> sample = weibull_vectors(vectors=50, dimensions=1000, shape=0.5, seed=1, pairing="all")
    >>> sample.size, sample.independent
    (1225, False)
    >>> limit = sample.threshold(0.95)
    >>> bool((sample.distances(limit) <= sample.sensitivity(limit)).all())
    True
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array


@dataclass(frozen=True, slots=True)
class Pairs:
    """What the distance of two gradients needs at every clipping threshold. Arrays of one shape (pairs,).

    Clipping scales a gradient of norm n to a = min(n, C) and keeps its direction e, so that

        ‖a_i e_i − a_j e_j‖² = (a_i − a_j)² + a_i a_j ‖e_i − e_j‖²,

    a sum of terms ≥ 0: nothing cancels, where c_i²K_ii + c_j²K_jj − 2c_ic_jK_ij loses all digits of near gradients.

    Attributes:
        left, right: the norms ‖g_i‖ and ‖g_j‖.
        turn: ‖e_i − e_j‖² of the directions, in [0, 4]; 0 where a gradient is zero.
    """

    left: Array
    right: Array
    turn: Array

    def distances(self, threshold: float) -> Array:
        """Distances after both gradients are clipped to `threshold` (inf: not clipped)."""
        left, right = np.minimum(self.left, threshold), np.minimum(self.right, threshold)
        apart = np.hypot(left - right, np.sqrt(left) * np.sqrt(right) * np.sqrt(self.turn))
        return np.asarray(np.minimum(apart, 2.0 * threshold))  # rounding may not exceed the sensitivity


def pairs_from_distances(left: Any, right: Any, distances: Any) -> Pairs:
    """From norms and unclipped distances ‖g_i − g_j‖, which keep the digits of near gradients."""
    first, second = _validate.non_negative("left", left), _validate.non_negative("right", right)
    apart = _validate.non_negative("distances", distances)
    if not first.shape == second.shape == apart.shape or first.ndim != 1:
        raise ValueError(
            f"Expected left, right and distances of one shape, found {first.shape}, {second.shape}, {apart.shape}."
        )
    difference = np.abs(first - second)
    scale = np.sqrt(first) * np.sqrt(second)
    along = np.sqrt(np.maximum(apart - difference, 0.0)) * np.sqrt(apart + difference)
    turn = np.divide(along, scale, out=np.zeros_like(scale), where=scale > 0) ** 2
    return Pairs(first, second, np.clip(turn, 0.0, 4.0))


@dataclass(frozen=True, slots=True)
class GradientSample:
    """Gradients as the accountants need them, from any source.

    Attributes:
        norms: every gradient's norm, shape (n,): quantiles and histogram. Of a plain source, the numbers themselves.
        description: where it comes from, in words for a page.
        independent: False where distances share gradients (all pairs): the estimator's γ then no longer holds.
        pairs: pairs of gradients; None for a plain source, whose norms are the distances.
    """

    norms: Array
    description: str
    independent: bool = True
    pairs: Pairs | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "norms", _validate.distances(self.norms, "norms"))
        if self.pairs is not None and self.pairs.turn.size < 2:
            raise ValueError(
                f"Expected at least 2 pairs of gradients, found {self.pairs.turn.size}: take more vectors."
            )

    @property
    def size(self) -> int:
        """Number of distances."""
        return self.norms.size if self.pairs is None else self.pairs.turn.size

    def threshold(self, quantile: Any) -> float:
        """C, the quantile of the norms in [0, 1]; refused where it is 0, which would clip everything away."""
        share = _validate.number(quantile=quantile)
        limit = float(np.quantile(self.norms, share))
        if limit <= 0.0:
            zero = float(np.mean(self.norms == 0.0))
            raise ValueError(
                f"Expected quantile={share:.6g} to give a clipping threshold > 0, found 0: {zero:.1%} of the norms "
                "are 0, choose a higher quantile."
            )
        return limit

    def distances(self, threshold: Any = None) -> Array:
        """‖g − g′‖ after clipping to `threshold` (None: not clipped), shape (size,)."""
        limit = np.inf if threshold is None else _validate.number(threshold=threshold)
        if self.pairs is None:
            return np.minimum(self.norms, limit)
        return self.pairs.distances(limit)

    def sensitivity(self, threshold: Any) -> float:
        """The most that distances(threshold) can be: 2C for two clipped gradients, C for plain norms or distances."""
        limit = _validate.number(threshold=threshold)
        return limit if self.pairs is None else 2.0 * limit


PAIRINGS = ("disjoint", "all")
SHAPES = (0.05, 50.0)  # outside, squares of coordinates leave the range of floats or all coordinates are equal
_BLOCK = 1 << 21  # coordinates in memory at once for disjoint pairs: 16 MB
_MOST_DRAWN = 500_000_000  # about ten seconds of drawing
_MOST_KEPT = 20_000_000  # coordinates that all pairs need at the same time: 160 MB
_MOST_PAIRED = 2_000  # vectors: two million pairs
_UNTHREADED = 1 << 18  # products that OpenBLAS leaves to one thread: several spin longer than such a one takes
_NEAR = 1e-6  # squared distance of directions below which 2 − 2cos has lost too many digits


def weibull_vectors(
    *, vectors: Any, dimensions: Any, shape: Any, seed: Any, pairing: str = "disjoint"
) -> GradientSample:
    """Draws vectors with independent Weibull(shape) coordinates of scale 1 and pairs them.

    Args:
        vectors: number of gradients; at least 4 for disjoint pairs, 3 for all pairs.
        dimensions: coordinates of each.
        shape: Weibull shape in [0.05, 50]; below 1 heavy-tailed.
        seed: a whole number or a numpy Generator.
        pairing: "disjoint" pairs gradients 2k and 2k + 1, which keeps distances independent; "all" takes all
            vectors·(vectors − 1)/2 pairs, as the paper does, which does not.

    Returns:
        The sample. Memory does not grow with vectors × dimensions for disjoint pairs.

    Raises:
        ValueError: for arguments out of range and for sizes that would not fit.
    """
    _validate.choice("pairing", pairing, PAIRINGS)
    count = _validate.whole(4 if pairing == "disjoint" else 3, vectors=vectors)
    width = _validate.whole(1, dimensions=dimensions)
    form = weibull_shape(shape)
    _check_size(count, width, pairing)
    rng = np.random.default_rng(seed)
    norms, pairs = (_disjoint if pairing == "disjoint" else _all)(count, width, form, rng)
    drawn = f"{count:,} vectors of {width:,} independent Weibull({form:g}) coordinates, seed {seed_name(seed)}"
    kind = (
        f"{pairs.turn.size:,} disjoint pairs: independent distances"
        if pairing == "disjoint"
        else f"all {pairs.turn.size:,} pairs: distances share vectors and are not independent"
    )
    return GradientSample(norms, f"{drawn}; {kind}.", independent=pairing == "disjoint", pairs=pairs)


def weibull_shape(value: Any) -> float:
    """Checks a Weibull shape."""
    form = _validate.number(shape=value)
    if not SHAPES[0] <= form <= SHAPES[1]:
        raise ValueError(f"Expected shape={form:.12g} in [{SHAPES[0]:g}, {SHAPES[1]:g}].")
    return form


def seed_name(seed: Any) -> str:
    """How a description names the seed."""
    return "of a running generator" if isinstance(seed, np.random.Generator) else str(seed)


def _check_size(count: int, width: int, pairing: str) -> None:
    total = count * width
    if width > _BLOCK // 2:
        raise ValueError(f"Expected dimensions={width:,} <= {_BLOCK // 2:,}.")
    if total > _MOST_DRAWN:
        raise ValueError(f"Expected vectors × dimensions = {total:,} <= {_MOST_DRAWN:,}: take fewer of either.")
    if pairing == "all" and (count > _MOST_PAIRED or total > _MOST_KEPT):
        raise ValueError(
            f"Expected vectors={count:,} <= {_MOST_PAIRED:,} and vectors × dimensions = {total:,} <= {_MOST_KEPT:,} "
            "for all pairs: take fewer, or disjoint pairs."
        )


def _directions(drawn: Array) -> tuple[Array, Array]:
    """Norms (n,) and unit vectors (n, width) of the rows; a zero row stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
    return norms, drawn / np.where(norms > 0, norms, 1.0)[:, None]


def _disjoint(count: int, width: int, shape: float, rng: np.random.Generator) -> tuple[Array, Pairs]:
    """Draws pair by pair in blocks; the stream of numbers is that of one (count, width) draw."""
    rows = max(2, _BLOCK // width // 2 * 2)
    norms, turn = np.empty(count), np.empty(count // 2)
    for start in range(0, count, rows):
        stop = min(start + rows, count)
        lengths, unit = _directions(rng.weibull(shape, (stop - start, width)))
        norms[start:stop] = lengths
        pairs = (stop - start) // 2
        apart = unit[0 : 2 * pairs : 2] - unit[1 : 2 * pairs : 2]
        turn[start // 2 : start // 2 + pairs] = np.einsum("ij,ij->i", apart, apart)
    paired = count // 2 * 2
    left, right = norms[0:paired:2].copy(), norms[1:paired:2].copy()
    turn[(left == 0) | (right == 0)] = 0.0
    return norms, Pairs(left, right, np.minimum(turn, 4.0))


def _all(count: int, width: int, shape: float, rng: np.random.Generator) -> tuple[Array, Pairs]:
    """Gram product of the directions, and differences for the pairs so near that the product has lost digits."""
    norms, unit = _directions(rng.weibull(shape, (count, width)))
    first, second = np.triu_indices(count, 1)
    rows = _UNTHREADED // unit.size or count
    gram = np.concatenate([unit[start : start + rows] @ unit.T for start in range(0, count, rows)])
    turn = np.clip(2.0 - 2.0 * gram[first, second], 0.0, 4.0)
    near = np.flatnonzero(turn < _NEAR)
    step = max(1, _BLOCK // width)
    for start in range(0, near.size, step):
        part = near[start : start + step]
        apart = unit[first[part]] - unit[second[part]]
        turn[part] = np.einsum("ij,ij->i", apart, apart)
    left, right = norms[first], norms[second]
    turn[(left == 0) | (right == 0)] = 0.0
    return norms, Pairs(left, right, turn)
