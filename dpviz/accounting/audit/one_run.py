"""A lower bound on ε from one run with many canaries, each in it by a fair coin (Steinke, Nasr & Jagielski 2023).

>>> p_value(OneRunGuesses(canaries=100, guesses=100, right=100), epsilon=0.0, delta=0.0) == 0.5**100
True
"""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

from dpviz import _validate
from dpviz._arrays import Array, Bools
from dpviz.accounting.audit.counts import CONFIDENCE, LARGEST

SHARE = 0.2  # of the canaries of which something is said, half "in" and half "out"; fixed ahead, as the theorem asks


class OneRunGuesses(NamedTuple):
    """Guesses of which canaries were in the run.

    Attributes:
        canaries: How many there were, m.
        guesses: Of how many the attack said something, r.
        right: How often it was right, v.
    """

    canaries: int
    guesses: int
    right: int


def guessed(scores: Array, members: Bools, share: float = SHARE) -> OneRunGuesses:
    """The canaries with the highest scores are said to be in, those with the lowest out, and of the rest nothing.

    Args:
        scores: Of each canary, (m,).
        members: Whether it was in, (m,), each by a fair coin of its own.
        share: Of how many something is said, in (0, 1].
    """
    each = max(1, round(0.5 * share * len(scores)))
    order = np.argsort(scores, kind="stable")
    right = int(members[order[-each:]].sum()) + int((~members[order[:each]]).sum())
    return OneRunGuesses(len(scores), 2 * each, right)


def p_value(guesses: OneRunGuesses, *, epsilon: float, delta: float) -> float:
    """At most how likely so many right guesses are under (ε, δ) (Theorem 5.2 of the paper).

    With W ~ Binomial(r, e^ε/(1 + e^ε)): P[W ≥ v] + 2mδ · max over i of P[v > W ≥ v − i]/i.
    """
    m, r, v = guesses
    accuracy = float(special.expit(epsilon))
    beyond = float(stats.binom.sf(v - 1, r, accuracy))
    just_below = np.cumsum(stats.binom.pmf(np.arange(v - 1, -1, -1), r, accuracy))  # of i = 1 … v
    most = float((just_below / np.arange(1, v + 1)).max()) if v else 0.0
    return min(1.0, beyond + 2.0 * m * delta * most)


def one_run_bound(guesses: OneRunGuesses, delta: float, confidence: float = CONFIDENCE) -> float:
    """The ε up to which so many right guesses are too unlikely; 0 for none.

    p rises with ε, so the first ε that is not refused is the bound.

    Args:
        guesses: Of one run.
        delta: δ in [0, 1).
        confidence: Probability with which the bound holds, at least.
    """
    delta, doubt = float(_validate.scalar("delta", _validate.probability("delta", delta))), 1.0 - confidence
    bottom, top = 0.0, LARGEST
    if p_value(guesses, epsilon=0.0, delta=delta) > doubt:
        return 0.0
    for _ in range(40):
        middle = 0.5 * (bottom + top)
        refused = p_value(guesses, epsilon=middle, delta=delta) <= doubt
        bottom, top = (middle, top) if refused else (bottom, middle)
    return bottom
