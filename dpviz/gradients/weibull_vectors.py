"""Synthetic gradients as Triastcyn & Faltings 2020, §5.1, draw them: vectors of independent Weibull coordinates.

Their Figure 1: 50 vectors of 1000 coordinates of shape 0.5, all 1225 pairs.

    >>> sample = weibull_vectors(vectors=50, dimensions=1000, shape=0.5, seed=1, pairing="all")
    >>> sample.size, sample.independent
    (1225, False)
    >>> limit = sample.threshold(0.95)
    >>> bool((sample.distances(limit) <= sample.sensitivity(limit)).all())
    True
"""

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.gradients.sample import GradientSample, Pairs

PAIRINGS = ("disjoint", "all")
SHAPES = (0.05, 50.0)  # outside, squares of coordinates leave the range of floats or all coordinates are equal
_BLOCK = 1 << 21  # coordinates in memory at once for disjoint pairs: 16 MB
_MOST_DRAWN = 500_000_000  # about ten seconds of drawing
_MOST_KEPT = 20_000_000  # coordinates that all pairs need at the same time: 160 MB
_MOST_PAIRED = 2_000  # vectors: two million pairs
_UNTHREADED = 1 << 18  # products that OpenBLAS leaves to one thread: several spin longer than such a one takes
_NEAR = 1e-6  # squared distance of directions below which 2 − 2cos has lost too many digits


def weibull_vectors(
    *, vectors: int, dimensions: int, shape: float, seed: int | np.random.Generator, pairing: str = "disjoint"
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
    origin = f"{count:,} vectors of {width:,} independent Weibull({form:g}) coordinates, seed {seed_name(seed)}"
    kind = (
        f"{pairs.turn.size:,} disjoint pairs: independent distances"
        if pairing == "disjoint"
        else f"all {pairs.turn.size:,} pairs: distances share vectors and are not independent"
    )
    return GradientSample(norms, f"{origin}; {kind}.", independent=pairing == "disjoint", pairs=pairs)


def weibull_shape(value: object) -> float:
    """Checks a Weibull shape."""
    form = _validate.number(shape=value)
    if not SHAPES[0] <= form <= SHAPES[1]:
        raise ValueError(f"Expected shape={form:.12g} in [{SHAPES[0]:g}, {SHAPES[1]:g}].")
    return form


def seed_name(seed: int | np.random.Generator) -> str:
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


def _directions(vectors: Array) -> tuple[Array, Array]:
    """Norms (n,) and unit vectors (n, width) of the rows; a zero row stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return norms, vectors / np.where(norms > 0, norms, 1.0)[:, None]


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
