"""ε of DP and of Bayesian DP on synthetic gradients, at a fixed order and at the best one: Figs. 1, 3 and 4."""

from typing import Any, NamedTuple

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import BAYESIAN, Moments, Renyi
from dpviz.charts import Line, look
from dpviz.questions.printed import synthetic

GRADIENTS = """
- **Gradients** (Triastcyn & Faltings 2020, §5.1 and their public notebook): 50 vectors of 1000 Weibull(0.5)
  coordinates, all 1225 pairs.
- **Noise:** C is a quantile of the norms; DP has the sensitivity 2C of two clipped gradients; both have the noise
  2σC. q = 1/1000, δ = δ_μ = 1e-5, γ = 1e-15 for each estimate.
- **One draw:** another seed gives other Bayesian curves."""


class OrderPair(NamedTuple):
    """ε at the order of the paper's figure and at the best order, shape (n,) each."""

    fixed: Array
    best: Array


def dp_pair(order: int, **setting: Any) -> OrderPair:
    """ε of DP at the δ of the figures; `setting` has steps and noise multiplier."""
    common: dict[str, Any] = {"sample_rate": synthetic.RATE, "delta": synthetic.DELTA, **setting}
    fixed = dpviz.epsilon(Renyi.name, conversion="classic", orders=[order + 1.0], **common)
    return OrderPair(np.asarray(fixed), np.asarray(dpviz.epsilon(Moments.name, **common)))


def bayesian_pair(order: int, each: Array) -> OrderPair:
    """Estimates of Bayesian DP, from ε_μ at every order, shape (n, orders)."""
    return OrderPair(each[:, synthetic.ORDERS.index(order)], each.min(axis=1))


def dp_lines(x: Array, order: int, pair: OrderPair) -> tuple[Line, ...]:
    """The two curves of DP."""
    return (
        Line("dp_fixed", f"DP, λ = {order}", x, pair.fixed, Renyi("classic").family),
        Line("dp_best", "DP, best λ", x, pair.best, Moments.name),
    )


def bayesian_lines(x: Array, order: int, pair: OrderPair) -> tuple[Line, ...]:
    """The two curves of Bayesian DP, dashed: they are no bounds."""
    name, best = f"Bayesian (weaker), λ = {order}", "Bayesian (weaker), best λ"
    return (
        Line("bayesian_fixed", name, x, pair.fixed, BAYESIAN, approximate=True),
        Line("bayesian_best", best, x, pair.best, BAYESIAN, approximate=True, color=look.QUANTILES["q01"]),
    )
