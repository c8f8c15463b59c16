"""A filter on composed privacy curves, and a rule that passes it and breaks its claim.

Such a filter, called natural, lets a mechanism pass if its privacy curve, composed with those before, keeps (ε, δ).
With one number per mechanism (ε, ρ, a Rényi divergence at one order) that is a valid filter. With whole curves it is
not: of mechanisms that all pass, results may choose the one that costs most at the loss so far.

Here k rounds of randomised response come first. Then one of k + 2 mechanisms, each of which passes, is run once.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from dpviz._arrays import Array


class LastRound(NamedTuple):
    """A mechanism for the last round: with probability `weight` randomised response at `epsilon`, else nothing."""

    epsilon: float
    weight: float


class AdaptiveChoice(NamedTuple):
    """What the filter lets pass, and what comes of it.

    Attributes:
        losses, probabilities: of the first rounds, with you in the data; shape (k + 1,).
        mechanisms: those that pass.
        chosen: of each loss, the place of the mechanism that costs most there; shape (k + 1,).
        delta: the true δ at ε of this rule, exact.
    """

    losses: Array
    probabilities: Array
    mechanisms: tuple[LastRound, ...]
    chosen: Array
    delta: float


def response_delta(first: float, t: Array | float) -> Array:
    """δ at `t`, of any sign, of randomised response with the loss ±`first`; inf tells the bit as it is."""
    t = np.asarray(t, dtype=np.float64)
    if math.isinf(first):
        return np.ones_like(t)
    with np.errstate(over="ignore"):
        between = (1.0 - np.exp(t - first)) / (1.0 + math.exp(-first))
    return np.where(t >= first, 0.0, np.where(t <= -first, -np.expm1(np.minimum(t, 0.0)), between))


def adaptive_choice(*, first: float, rounds: int, epsilon: float, delta: float) -> AdaptiveChoice | None:
    """The rule for `rounds` rounds with the loss ±`first` and the claim (`epsilon`, `delta`).

    None where the first rounds alone break the claim.
    """
    counts = np.arange(rounds + 1.0)
    losses = (2.0 * counts - rounds) * first
    probabilities = binom.pmf(counts, rounds, 1.0 / (1.0 + math.exp(-first)))
    rest = epsilon - losses
    nothing = np.maximum(-np.expm1(np.minimum(rest, 0.0)), 0.0)
    before = float(probabilities @ nothing)
    if before > delta:
        return None
    mechanisms, costs = [], []
    # One that costs something from each loss on, and one that tells all with a small probability.
    for reach in (*(rest[1:] + 2.0 * first), *rest[:1] + 2.0 * first, math.inf):
        if reach <= 0.0:
            continue
        alone = response_delta(float(reach), rest)
        weight = min(1.0, (delta - before) / max(float(probabilities @ alone) - before, 1e-300))
        mechanisms.append(LastRound(float(reach), weight))
        costs.append(weight * alone + (1.0 - weight) * nothing)
    table = np.array(costs)
    return AdaptiveChoice(
        losses, probabilities, tuple(mechanisms), table.argmax(axis=0), float(probabilities @ table.max(axis=0))
    )
