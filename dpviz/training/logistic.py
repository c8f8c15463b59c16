"""Binary logistic regression on rows of norm at most 1, and its gradients in closed form.

A row v = ±(x, 1)/‖(x, 1)‖ holds the label as its sign, so that the model gives what was observed the probability
σ(v·θ). Scaling each row by its own norm needs no other row, so it costs no privacy; and as ‖v‖ ≤ 1, no gradient is
longer than 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[np.float64]

SHORTER = 1.0 - 1e-12  # what rounding may add to a norm stays below 1


def unit_rows(x: npt.ArrayLike) -> Array:
    """(x, 1), scaled to norm 1: (n, features + 1) from (n, features)."""
    with_one = np.pad(np.asarray(x, dtype=np.float64), ((0, 0), (0, 1)), constant_values=1.0)
    return np.asarray(SHORTER * with_one / np.linalg.norm(with_one, axis=1, keepdims=True))


def signed(rows: Array, labels: npt.ArrayLike) -> Array:
    """Rows (n, p) times their label, 1 or −1 where it is 0."""
    return np.asarray(rows * np.where(np.asarray(labels) > 0, 1.0, -1.0)[:, None])


class ClippedSum(NamedTuple):
    """What methods with noise read of a batch: Σ clipped g_i (p,); of each example loss and norm (b,)."""

    total: Tensor
    losses: Tensor
    norms: Tensor
    distances: None = None


class LogisticEngine:
    """Clipped gradient sums at θ (p,), which a method writes in place: `PerExample` for this one model, 7 times faster.

    The x of a batch are signed rows of norm at most 1; its y are not read.
    """

    def __init__(self, parameters: Tensor) -> None:
        self.parameters = parameters

    def clipped(self, x: Tensor, y: Tensor, *, max_grad_norm: float, pairs: Any = None) -> ClippedSum:
        """Σ g_i min(1, C/‖g_i‖) with g_i = −σ(−v_i·θ) v_i, whose norm is at most σ(−v_i·θ)."""
        against = -(x @ self.parameters)
        norms = against.sigmoid()
        return ClippedSum(-(norms.clamp(max=max_grad_norm) @ x), against.exp().log1p(), norms)
