"""Log moments of the sampled Gaussian at many noise levels and many orders together, from one set of nodes.


A_α = E[(1 + u)^α], u = q·expm1(x/σ − 1/(2σ²)), x ~ N(0, 1) (`log_moments`): ln(1 + u) at a node does not depend on α,
so each further order costs one exponential a node. Summed as it stands, the error is 1e-14 absolute, not relative,
where ln A_α is small; `log_moments` keeps all digits.
"""

import math

import numpy as np

from dpviz._arrays import Array
from dpviz.mechanisms.log_moments import _BLOCK, _MOST_NODES, _REACH, log_moment


def log_moment_table(inverse_variance: Array, rate: float, orders: Array) -> Array:
    """ln A_α at 1/σ² (n,), > 0, and α (m,), > 1 and best ascending, for one q: (m, n)."""
    if rate == 0.0:
        return np.zeros((orders.size, inverse_variance.size))
    slope = np.sqrt(inverse_variance)
    steepest = float(slope.max())
    # Both errors of the trapezoidal rule, of the Gaussian and of the strip around the knee, are below e^-34.
    spacing = min(0.7, 0.5 / steepest)
    high = _REACH + float(orders.max()) * steepest
    too_far = not (_REACH + high) / spacing < _MOST_NODES
    wide = high > 1.3 * (_REACH + float(orders.min()) * steepest)
    wide = wide and orders.size * inverse_variance.size * (_REACH + high) / spacing > _BLOCK  # a part costs its calls
    if orders.size > 1 and (too_far or wide):
        middle = orders.size // 2  # small orders need not reach as far
        parts = [log_moment_table(inverse_variance, rate, part) for part in (orders[:middle], orders[middle:])]
        return np.concatenate(parts)
    if too_far:
        return log_moment(1.0 / slope, rate, orders[:, None])
    x = np.arange(-_REACH, high + spacing, spacing)
    y = slope[:, None] * x - 0.5 * inverse_variance[:, None]
    log_ratio = np.log1p(rate * np.expm1(np.minimum(y, 30.0))) if rate < 1.0 else y
    if y.max() > 30.0:
        beyond = y + math.log(rate) + np.log1p((1.0 - rate) / rate * np.exp(-np.maximum(y, 30.0)))
        log_ratio = np.where(y > 30.0, beyond, log_ratio)
    weight = math.log(spacing) - 0.5 * math.log(2.0 * math.pi) - 0.5 * x * x
    table = np.empty((orders.size, inverse_variance.size))
    rows = max(1, _BLOCK // y.size)
    for start in range(0, orders.size, rows):
        terms = orders[start : start + rows, None, None] * log_ratio
        terms += weight
        top = terms[..., ::4].max(axis=-1)  # the largest is at most e times that: φ'' ≥ −1
        terms -= top[..., None]
        table[start : start + rows] = top + np.log(np.exp(terms, out=terms).sum(axis=-1))
    gaussian = 0.5 * (orders * (orders - 1.0))[:, None] * inverse_variance
    return np.clip(table, 0.0, gaussian)
