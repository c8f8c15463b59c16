"""Lower and upper ε and δ of one step, and of the Gaussian mechanism without sampling, in closed form.

>>> from dpviz.mechanisms import SampledGaussian
>>> round(single_step_epsilon(SampledGaussian(noise_multiplier=1.0, sample_rate=1.0), 1e-5)[1], 4)
4.3772
"""

import math
from collections.abc import Callable

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.pld.privacy_loss import pair_of
from dpviz.mechanisms import Mechanism
from dpviz.mechanisms.pair import gaussian_log_delta

LEAST_DELTA = float(np.finfo(np.float64).tiny)
SLACK = 1e-9  # relative; covers rounding of the closed forms many times over


def _bisect(
    log_delta_of: Callable[[float], float], delta: float, least: float = 0.0, width: float = 0.0
) -> tuple[float, float]:
    """Neighbouring ε from `least` on with δ(upper) ≤ delta < δ(lower), for decreasing δ(ε).

    They are parted by their rounding, or by so much of themselves (`width`).
    """
    most = math.log(delta)
    if log_delta_of(least) <= most:
        return least, least
    low, high = least, max(1.0, 2.0 * least)
    while log_delta_of(high) > most:
        low, high = high, high * (2.0 if high < 1e4 else 1e3)
        if not math.isfinite(high):
            return low * (1 - SLACK), math.inf
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high) or high - low <= width * low:
            break
        low, high = (middle, high) if log_delta_of(middle) > most else (low, middle)
    return low * (1 - SLACK), high * (1 + SLACK)


def gaussian_epsilon(noise_multiplier: float, delta: float) -> tuple[float, float]:
    """Lower and upper ε of the Gaussian mechanism; they differ by rounding only."""
    return _bisect(lambda e: float(gaussian_log_delta(noise_multiplier, e)), delta)


def gaussian_epsilons(noise_multiplier: Array, delta: float) -> tuple[Array, Array]:
    """The same of many at once, by the same bisections side by side; (n,) each."""
    most, low, high = math.log(delta), np.zeros(noise_multiplier.size), np.ones(noise_multiplier.size)
    none = gaussian_log_delta(noise_multiplier, low) <= most
    high[none] = 0.0
    rows = np.flatnonzero(~none)
    while (rows := rows[gaussian_log_delta(noise_multiplier[rows], high[rows]) > most]).size:
        with np.errstate(over="ignore"):
            low[rows], high[rows] = high[rows], high[rows] * np.where(high[rows] < 1e4, 2.0, 1e3)
        rows = rows[np.isfinite(high[rows])]
    rows = np.flatnonzero(~none & np.isfinite(high))
    for _ in range(200):
        middle = 0.5 * (low[rows] + high[rows])
        between = (middle != low[rows]) & (middle != high[rows])
        rows, middle = rows[between], middle[between]
        if not rows.size:
            break
        above = gaussian_log_delta(noise_multiplier[rows], middle) > most
        low[rows], high[rows] = np.where(above, middle, low[rows]), np.where(above, high[rows], middle)
    return low * (1 - SLACK), high * (1 + SLACK)


def single_step_epsilon(mechanism: Mechanism, delta: float) -> tuple[float, float]:
    """Lower and upper ε of one step; they differ by rounding only."""
    return _bisect(pair_of(mechanism).log_delta, delta)


def single_step_least(mechanism: Mechanism, delta: float, least: float) -> float:
    """A lower bound on ε of one step where it is above `least`, to 1e-5 of itself; else `least`."""
    return max(least, _bisect(pair_of(mechanism).log_delta, delta, least, width=1e-5)[0])


def around(log_delta: float) -> tuple[float, float]:
    """Lower and upper δ from ln δ with its rounding; 0 and the least double where it underflows."""
    exact = math.exp(log_delta)
    upper = exact * (1.0 + SLACK) if exact > 0.0 or log_delta == -math.inf else 0.0
    if log_delta > -math.inf:  # what was spent leaves some δ
        upper = max(upper, LEAST_DELTA)
    return exact * (1.0 - SLACK), min(upper, 1.0)
