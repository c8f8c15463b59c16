"""The Rényi bound on the tight accountant's steps: the same orders, the same ε as the Rényi accountant's."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpviz._arrays import Array
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms.mechanism import Mechanism

MOST_MECHANISMS = 8  # with all orders; divergences of many different steps take their time


def renyi_epsilon(mechanisms: Sequence[Mechanism], counts: Array, delta: float) -> float:
    """ε of all steps together by `Renyi`, fewer orders where many mechanisms differ; inf where a curve is unknown."""
    if any(mechanism.renyi() is None for mechanism in mechanisms):
        return math.inf
    accountant = Renyi() if len(mechanisms) <= MOST_MECHANISMS else Renyi(order_values=VARYING_ORDERS)
    events = [(mechanism, int(count)) for mechanism, count in zip(mechanisms, counts.tolist(), strict=True)]
    return float(accountant.of_events(events, delta).epsilon)
