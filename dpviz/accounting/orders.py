"""Which Rényi orders are tried when the caller names none.

ε(α) is a sum of a rising and a falling curve in α − 1. Where R(α) is nearly linear a geometric grid of ratio r costs a
factor of at most 1 + (ln r)²/8 over the best order: 0.02 % for 1.04. Where R(α) turns steep within one spacing (large
noise, tiny q, few steps) the order below the best one decides and costs a factor of at most r: 4 %, and 12 % beyond
α = 1000, always on the safe side. Orders run from 1.0001, which large ε needs, to 10^6, which many nearly
free steps need (with orders that stop at 63, σ = 10, q = 1e-4, T = 10^6 reads ε = 0.106 for 0.031).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def _default_orders() -> npt.NDArray[np.float64]:
    coarse_low = np.geomspace(1e-4, 1e-3, 16, endpoint=False)
    fine = np.geomspace(1e-3, 1e3, 352, endpoint=False)
    coarse_high = np.geomspace(1e3, 1e6, 60)
    return 1.0 + np.concatenate([coarse_low, fine, coarse_high])


DEFAULT_ORDERS: tuple[float, ...] = tuple(_default_orders().tolist())
