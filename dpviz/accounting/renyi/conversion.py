"""Conversion of composed Rényi divergences to (ε, δ), minimised over orders.

classic:   ε(α) = R + ln(1/δ)/(α − 1)                            (Mironov 2017, Prop. 3; Abadi et al. 2016, Thm 2)
improved:  ε(α) = R + ln((α − 1)/α) − (ln δ + ln α)/(α − 1)      (Balle et al. 2020, Theorem 21; Canonne, Kamath,
                                                                 Steinke 2020, Prop. 12)

where R is the divergence of all steps together. Both are upper bounds at every order, so any set of orders is sound.
"""

import numpy as np

from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.bound import Bound

CONVERSIONS = ("improved", "classic")


def epsilon_per_order(total: Array, orders: Array, delta: Array, conversion: str) -> Array:
    """ε(α) of each order, not clipped at 0: `total` (…, orders) and `delta` (…) give (…, orders)."""
    log_delta = np.log(delta)[..., None]
    s = orders - 1.0
    if conversion == "classic":
        return total - log_delta / s
    # ln((α−1)/α) as log1p keeps its digits at large orders, where it is nearly −1/α.
    return total + np.log1p(-1.0 / orders) - (log_delta + np.log(orders)) / s


def log_delta_per_order(total: Array, orders: Array, epsilon: Array, conversion: str) -> Array:
    """ln δ(α) of each order, not clipped at 0: `total` (…, orders) and `epsilon` (…) give (…, orders)."""
    s = orders - 1.0
    exponent: Array = s * (total - epsilon[..., None])
    if conversion == "classic":
        return exponent
    return np.asarray(exponent + orders * np.log1p(-1.0 / orders) - np.log(s))


def to_bound(total: Array, orders: Array, delta: ArrayLike, conversion: str, reason: str = "") -> Bound:
    """The smallest ε over orders and what decided it.

    Args:
        total: divergence of all steps together, (…, orders), increasing in the order; NaN where an order has no value.
        orders: α > 1, shape (orders,), increasing.
        delta: δ in (0, 1), broadcasts against the leading shape of `total`.
        conversion: "improved" or "classic".
        reason: passed on; a row of `total` without any value gives ε = NaN.
    """
    delta_array = np.asarray(delta, dtype=np.float64)
    shape = np.broadcast_shapes(total.shape[:-1], delta_array.shape)
    # The tail is worked out once for each δ, not for each row.
    tail = epsilon_per_order(np.zeros(orders.size), orders, delta_array, conversion)
    values = np.broadcast_to(total + tail, (*shape, orders.size))
    total = np.broadcast_to(total, (*shape, orders.size))
    has_value = ~np.isnan(values)
    values = np.where(has_value, values, np.inf)
    best = values.argmin(axis=-1)
    epsilon = np.maximum(np.take_along_axis(values, best[..., None], axis=-1)[..., 0], 0.0)
    order = orders[best]

    # Nothing was released (q = 0 or no steps): ε = 0 exactly, which no finite order would say.
    spent = np.where(np.isnan(total), 0.0, total).max(axis=-1, initial=0.0) > 0.0
    some_value = has_value.any(axis=-1)
    epsilon = np.where(some_value, np.where(spent, epsilon, 0.0), np.nan)
    decided = some_value & spent & np.isfinite(epsilon)
    last = np.where(has_value, np.arange(orders.size), -1).max(axis=-1)
    first = np.where(has_value, np.arange(orders.size), orders.size).min(axis=-1)
    at_end = decided & (epsilon > 0.0) & ((best == first) | (best == last))
    tail = np.broadcast_to(tail, (*shape, orders.size))
    floor = np.maximum(np.take_along_axis(tail, np.maximum(last, 0)[..., None], axis=-1)[..., 0], 0.0)
    return Bound(
        epsilon=epsilon,
        order=np.where(decided, order, np.nan),
        at_grid_end=at_end,
        floor=np.where(some_value, floor, np.nan),
        reason=reason,
    )


def to_delta(total: Array, orders: Array, epsilon: ArrayLike, conversion: str) -> Array:
    """The smallest δ over orders for a given ε; at most 1, NaN where no order has a value."""
    epsilon_array = np.asarray(epsilon, dtype=np.float64)
    shape = np.broadcast_shapes(total.shape[:-1], epsilon_array.shape)
    total = np.broadcast_to(total, (*shape, orders.size))
    exponent = log_delta_per_order(total, orders, np.broadcast_to(epsilon_array, shape), conversion)
    missing = np.isnan(exponent)
    log_delta = np.where(missing, np.inf, exponent).min(axis=-1)
    spent = np.where(np.isnan(total), 0.0, total).max(axis=-1, initial=0.0) > 0.0
    # Whatever was spent leaves some δ: 0 from underflow would promise pure differential privacy.
    delta = np.where(spent, np.maximum(np.exp(np.minimum(log_delta, 0.0)), np.finfo(np.float64).tiny), 0.0)
    return np.where(missing.all(axis=-1), np.nan, delta)
