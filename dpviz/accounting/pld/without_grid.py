"""What can be said of composed steps without a grid.

Closed forms: the privacy curve of one step, and of the Gaussian mechanism without sampling.

>>> from dpviz.mechanisms import SampledGaussian
>>> round(single_step_epsilon(SampledGaussian(noise_multiplier=1.0, sample_rate=1.0), 1e-5)[1], 4)
4.3772

The Rényi bound on the tight accountant's steps: the same orders, the same ε as the Rényi accountant's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.pld.privacy_loss import pair_of
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms.mechanism import Mechanism
from dpviz.mechanisms.noise import gaussian_log_delta

LEAST_DELTA = float(np.finfo(np.float64).tiny)
SLACK = 1e-9  # relative; covers rounding of the closed forms many times over


def _bisect(log_delta_of: Callable[[float], float], delta: float) -> tuple[float, float]:
    """Neighbouring ε with δ(upper) ≤ delta < δ(lower), for decreasing δ(ε), parted by their rounding."""
    most = math.log(delta)
    if log_delta_of(0.0) <= most:
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while log_delta_of(high) > most:
        low, high = high, 2 * high
        if not math.isfinite(high):
            return low * (1 - SLACK), math.inf
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if log_delta_of(middle) > most else (low, middle)
    return low * (1 - SLACK), high * (1 + SLACK)


def gaussian_epsilon(noise_multiplier: float, delta: float) -> tuple[float, float]:
    """Lower and upper ε of the Gaussian mechanism; they differ by rounding only."""
    return _bisect(lambda e: float(gaussian_log_delta(noise_multiplier, e)), delta)


def single_step_epsilon(mechanism: Mechanism, delta: float) -> tuple[float, float]:
    """Lower and upper ε of one step; they differ by rounding only."""
    return _bisect(pair_of(mechanism).log_delta, delta)


def around(log_delta: float) -> tuple[float, float]:
    """Lower and upper δ from ln δ with its rounding; 0 and the least double where it underflows."""
    exact = math.exp(log_delta)
    upper = exact * (1.0 + SLACK) if exact > 0.0 or log_delta == -math.inf else 0.0
    if log_delta > -math.inf:  # what was spent leaves some δ
        upper = max(upper, LEAST_DELTA)
    return exact * (1.0 - SLACK), min(upper, 1.0)


MOST_MECHANISMS = 8  # with all orders; divergences of many different steps take their time


def renyi_epsilon(mechanisms: Sequence[Mechanism], counts: Array, delta: float) -> float:
    """ε of all steps together by `Renyi`, fewer orders where many mechanisms differ; inf where a curve is unknown."""
    if any(mechanism.renyi() is None for mechanism in mechanisms):
        return math.inf
    accountant = Renyi() if len(mechanisms) <= MOST_MECHANISMS else Renyi(order_values=VARYING_ORDERS)
    events = [(mechanism, int(count)) for mechanism, count in zip(mechanisms, counts.tolist(), strict=True)]
    return float(accountant.of_events(events, delta).epsilon)
