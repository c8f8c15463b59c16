"""The Rényi orders that are tried by default.

ε(α) is a sum of a rising and a falling curve in α − 1. Where R(α) is nearly linear a geometric grid of ratio r costs a
factor of at most 1 + (ln r)²/8 over the best order: 0.02 % for 1.04. Where R(α) turns steep within one spacing (it does
at α of about 2σ²·ln(1/q): large noise, tiny q, few steps) the order below the best one decides and costs a factor of
up to r, and more where the improved conversion takes most of that ε away again. So there are two grids:

DEFAULT_ORDERS, 659 of them, for whoever adds up whole vectors of divergences (filters, runs of ever new mechanisms). In
3000 random settings with σ in [0.2, 200], q ≥ 1e-6, T ≤ 10^7 and δ in [1e-12, 0.1] the worst ε above 0.001 is 3.9 %
over the best order's, and 9.2 % has been seen; always on the safe side.

FINE_ORDERS, every spacing of these split in SUBDIVISIONS, which the Rényi accountant searches (`order_search`): only
orders that may decide are computed. The worst ε above 0.001 in the same settings is 0.12 % over the best order's.

Orders run from 1.0001, which large ε needs, to 10^6, which many nearly free steps need (with orders that stop at 63,
σ = 10, q = 1e-4, T = 10^6 reads ε = 0.106 for 0.031).
"""

import math

import numpy as np

from dpviz._arrays import Array

# α − 1 from one value to the next, with the ratio of neighbours.
_STRETCHES = ((1e-4, 0.1, 1.1), (0.1, 10.0, 1.04), (10.0, 1e4, 1.02), (1e4, 1e6, 1.04))
SUBDIVISIONS = 32


def _default_orders() -> Array:
    parts = [
        np.geomspace(low, high, math.ceil(math.log(high / low) / math.log(ratio)), endpoint=False)
        for low, high, ratio in _STRETCHES
    ]
    return 1.0 + np.concatenate([*parts, [_STRETCHES[-1][1]]])


def _fine_orders() -> Array:
    log = np.log(_default_orders() - 1.0)
    between = log[:-1, None] + np.diff(log)[:, None] * np.arange(SUBDIVISIONS) / SUBDIVISIONS
    fine: Array = 1.0 + np.exp(np.append(between.ravel(), log[-1]))
    fine[::SUBDIVISIONS] = _default_orders()
    fine.setflags(write=False)
    return fine


DEFAULT_ORDERS: tuple[float, ...] = tuple(_default_orders().tolist())
FINE_ORDERS = _fine_orders()
