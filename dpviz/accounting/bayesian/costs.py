"""ψ(λ, d): the moment that one step costs an example at gradient distance d (Triastcyn & Faltings 2020, Theorem 3).

With u = (d/σ)², σ the absolute noise standard deviation, and λ = 1, 2, …:

    ψ_L(λ, d) = ln E_{k ~ Bin(λ+1, q)} exp((k² − k) u/2)
    ψ_R(λ, d) = ln E_{k ~ Bin(λ, q)}   exp((k² + k) u/2)

The theorem takes the larger. ψ_L alone is enough: it is ln A_α at α = λ + 1, and A_α ≥ B_α (Mironov, Talwar, Zhang
2019, Theorem 5) covers the other direction. ψ_R as printed is first order in q and undoes the gain of sampling.

Both are log-sum-exps of lines in u with slopes ≥ 0: increasing and convex in u, and so is their maximum.
"""

import math

import numpy as np

from dpviz._arrays import Array, Whole
from dpviz._remember import remembered

_BLOCK = 1 << 20  # numbers in one temporary: 8 MB stays near the cache


@remembered
def _log_binomials(trials: int) -> Array:
    """ln C(trials, k), k = 0..trials, from exact integers: log-gamma differences lose digits at large orders."""
    return np.array([math.log(math.comb(trials, k)) for k in range(trials + 1)])


def _log_weights(trials: int, first: int, rate: float) -> Array:
    """ln P(k) of Bin(trials, rate) for k = first..trials."""
    k = np.arange(first, trials + 1)
    missed = np.where(k < trials, -np.inf, 0.0) if rate == 1.0 else (trials - k) * math.log1p(-rate)
    return np.asarray(_log_binomials(trials)[first:] + k * math.log(rate) + missed)


def _log_sum_exp(terms: Array) -> Array:
    """Along the last axis; rows that are all −inf give −inf."""
    top = terms.max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - shift).sum(axis=-1)) + shift[..., 0])


def step_costs(scaled: Array, orders: Whole, rate: float, divergence: str = "left") -> Array:
    """ψ at every u and order.

    The probabilities add to one, so ψ = ln(1 + Σ P(k) expm1((k² ∓ k) u/2)): positive terms only, and full relative
    precision where ψ is 1e-12 as well as where exp overflows. With j = k (left) or j = k + 1 (right) both sums run
    over expm1(j(j−1) u/2), j = 2..λ+1, which is computed once for all orders.

    Args:
        scaled: u = (d/σ)², shape (n,), ≥ 0.
        orders: λ, whole numbers ≥ 1, shape (r,).
        rate: q in [0, 1].
        divergence: "left" for ψ_L, "printed" for max(ψ_L, ψ_R).

    Returns:
        ψ, shape (n, r), ≥ 0.
    """
    costs = np.zeros((scaled.size, orders.size))
    if rate == 0.0 or scaled.size == 0:
        return costs
    widest = int(orders.max()) + 1
    slopes = np.arange(2, widest + 1) * np.arange(1, widest) / 2.0
    left = [_log_weights(int(order) + 1, 2, rate) for order in orders]
    right = [_log_weights(int(order), 1, rate) for order in orders] if divergence == "printed" else None
    rows = max(1, _BLOCK // widest)
    for start in range(0, scaled.size, rows):
        block = slice(start, start + rows)
        exponents = scaled[block, None] * slopes
        with np.errstate(divide="ignore"):
            excess = exponents + np.log(-np.expm1(-exponents))  # ln expm1, also where expm1 overflows
        for column, order in enumerate(orders):
            terms = excess[:, : int(order)]
            cost = np.logaddexp(0.0, _log_sum_exp(terms + left[column]))
            if right is not None:
                cost = np.maximum(cost, np.logaddexp(0.0, _log_sum_exp(terms + right[column])))
            costs[block, column] = cost
    return costs


FIRST_ORDERS = np.arange(1, 33)
_SLOPES = np.arange(2, 34) * np.arange(1, 33) / 2.0
_LARGEST_EXPONENT = 600.0
_UNTHREADED = 256  # rows of a product that OpenBLAS leaves to one thread: several spin longer than it takes


@remembered
def _probabilities(rate: float) -> Array | None:
    """P(k) of Bin(λ + 1, q) for k = 2 … 33 (rows λ); None where one is too small for a float to keep."""
    if not 0.0 < rate < 1.0:
        return None
    table = np.zeros((FIRST_ORDERS.size, _SLOPES.size))
    for row, order in enumerate(FIRST_ORDERS.tolist()):
        logs = _log_weights(order + 1, 2, rate)
        if logs.min() < -_LARGEST_EXPONENT:
            return None
        table[row, : logs.size] = np.exp(logs)
    return table


def psi(scaled: Array, rate: float) -> Array:
    """ψ_L at u = (d/σ)², shape (n,), and λ = 1 … 32: (n, 32). As `step_costs`, one product instead of 32 sums."""
    probabilities = _probabilities(rate)
    if probabilities is None or scaled.size == 0 or float(scaled.max()) * _SLOPES[-1] > _LARGEST_EXPONENT:
        return step_costs(scaled, FIRST_ORDERS, rate)
    costs = np.empty((scaled.size, FIRST_ORDERS.size))
    for start in range(0, scaled.size, _UNTHREADED):
        part = slice(start, start + _UNTHREADED)
        costs[part] = np.log1p(np.expm1(scaled[part, None] * _SLOPES) @ probabilities.T)
    return costs


def costs_of(scaled: Array, orders: Whole, rate: float, divergence: str = "left") -> Array:
    """ψ at every u and order, as `step_costs`: by `psi` where that holds them all, one product instead of many sums."""
    if divergence == "left" and orders.size > 1 and orders.min() >= 1 and orders.max() <= FIRST_ORDERS[-1]:
        return psi(scaled, rate)[:, orders - 1]
    return step_costs(scaled, orders, rate, divergence)
