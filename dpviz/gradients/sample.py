"""A sample of gradients: norms for the clipping threshold, and distances after clipping for Bayesian accounting."""

from dataclasses import dataclass

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike


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


def pairs_from_distances(left: ArrayLike, right: ArrayLike, distances: ArrayLike) -> Pairs:
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

    def threshold(self, quantile: float) -> float:
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

    def distances(self, threshold: float | None = None) -> Array:
        """‖g − g′‖ after clipping to `threshold` (None: not clipped), shape (size,)."""
        limit = np.inf if threshold is None else _validate.number(threshold=threshold)
        if self.pairs is None:
            return np.minimum(self.norms, limit)
        return self.pairs.distances(limit)

    def sensitivity(self, threshold: float) -> float:
        """The most that distances(threshold) can be: 2C for two clipped gradients, C for plain norms or distances."""
        limit = _validate.number(threshold=threshold)
        return limit if self.pairs is None else 2.0 * limit
