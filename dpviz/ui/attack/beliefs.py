"""What an attacker may come to believe, and with what exception: δ lets some outputs prove membership."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz.accounting.attack import attack_success, posterior_belief
from dpviz.ui.attack.settings import Settings

Array = npt.NDArray[np.float64]


def exception(s: Settings) -> float:
    """The probability of outputs that are left out of what is said about beliefs: some must be, as δ > 0.

    At 100 δ they cost a belief next to nothing (ε grows by 0.01); the root keeps it below 1 where δ is large. Three
    digits, so that it can be written as it is.
    """
    rounded = float(f"{min(100.0 * s.delta, math.sqrt(s.delta)):.3g}")
    return rounded if rounded > s.delta else 1.0


def belief(s: Settings, epsilon: npt.ArrayLike) -> float | Array:
    return posterior_belief(epsilon, prior=s.prior, delta=s.delta, failure=exception(s))


def odds_grow(s: Settings) -> float:
    """The factor e^ε′ by which the odds of "in" grow at most, but for the same outputs."""
    return math.exp(min(s.epsilon - math.log1p(-s.delta / exception(s)), 700.0))


def facts_of(s: Settings) -> dict[str, float]:
    """At the ε in question: right guesses and belief, at most; right guesses unseen; the growth of the odds."""
    return {
        "right": float(attack_success(s.epsilon, delta=s.delta, prior=s.prior)),
        "unseen": max(s.prior, 1.0 - s.prior),
        "belief": float(belief(s, s.epsilon)),
        "odds": odds_grow(s),
    }
