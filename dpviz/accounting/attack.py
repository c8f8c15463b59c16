"""What ε lets an attacker do: membership guesses under (ε, δ)-DP."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from dpviz import _validate

Array = npt.NDArray[np.float64]


def attack_success(epsilon: npt.ArrayLike, *, delta: npt.ArrayLike = 0.0, prior: npt.ArrayLike = 0.5) -> float | Array:
    """The highest probability with which a guess of membership can be right, over all attacks.

    δ + (1 − δ)·πe^ε/(1 − π + πe^ε): an (ε, δ)-DP release is at worst a mixture of full disclosure with probability δ
    and an ε-DP release (Kairouz, Oh, Viswanath 2015). With a flat prior it is (e^ε + δ)/(1 + e^ε), and at δ = 0
    equation 1 of Triastcyn & Faltings 2020, 1/(1 + e^−ε). With another prior π it bounds the posterior of "member".

    Args:
        epsilon: ε ≥ 0 (inf allowed), number or array.
        delta: δ in [0, 1].
        prior: π in (0, 1), what the attacker believed before.

    Returns:
        A float for numbers, an array for arrays (all three broadcast).
    """
    e = _validate.epsilon_or_infinite(epsilon)
    d = _validate.probability("delta", delta)
    p = _validate.open_probability("prior", prior)
    success = d + (1.0 - d) * expit(e + logit(p))
    return float(success) if success.ndim == 0 else success


def roc_bound(false_positive_rate: npt.ArrayLike, *, epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Array:
    """The highest true positive rate of any attack: min(e^ε FPR + δ, 1 − e^−ε(1 − δ − FPR)), within [0, 1].

    Kairouz, Oh, Viswanath 2015, Theorem 2.1. Arguments broadcast.
    """
    fpr = _validate.probability("false_positive_rate", false_positive_rate)
    e, d = _validate.epsilon(epsilon), _validate.probability("delta", delta)
    with np.errstate(divide="ignore"):
        rising = np.exp(np.minimum(e + np.log(fpr), 0.0)) + d  # in logs: e^ε overflows, FPR may be as small
    return np.asarray(np.clip(np.minimum(rising, 1.0 - np.exp(-e) * (1.0 - d - fpr)), 0.0, 1.0))
