"""Binary logistic regression on signed rows, and its gradients in closed form.

A row v = ±(x, 1) holds the label as its sign, so that the model gives what was observed the probability σ(v·θ). To
scale each row by its own norm needs no other row, so it costs no privacy; then no gradient is longer than 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[np.float64]

SHORTER = 1.0 - 1e-12  # what rounding may add to a norm stays below 1


def with_one(x: npt.ArrayLike) -> Array:
    """(x, 1): (n, features + 1) from (n, features)."""
    return np.pad(np.asarray(x, dtype=np.float64), ((0, 0), (0, 1)), constant_values=1.0)


def unit_rows(x: npt.ArrayLike) -> Array:
    """(x, 1), each scaled to norm 1."""
    rows = with_one(x)
    return np.asarray(SHORTER * rows / np.linalg.norm(rows, axis=1, keepdims=True))


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
    """Clipped gradient sums at θ (p,), which a method writes in place: `PerExample` for this one model, and faster.

    The x of a batch are signed rows; its y are not read.
    """

    def __init__(self, parameters: Tensor) -> None:
        self.parameters = parameters

    def clipped(self, x: Tensor, y: Tensor, *, max_grad_norm: float, pairs: Any = None) -> ClippedSum:
        """Σ g_i min(1, C/‖g_i‖) with g_i = −σ(−v_i·θ) v_i."""
        against = -(x @ self.parameters)
        wrong, lengths = against.sigmoid(), x.norm(dim=1)
        weights = (SHORTER * max_grad_norm / lengths).minimum(wrong)
        return ClippedSum(-(weights @ x), against.logaddexp(against.new_zeros(())), wrong * lengths)
