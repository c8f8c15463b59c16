"""A lower bound on ε from how often an attack said "in": hits with the example, false alarms without it.

For every (ε, δ) and every event, hits ≤ e^ε · false alarms + δ (Kairouz, Oh, Viswanath 2015, Theorem 2.1). Two ways to
allow for chance: each count has an interval of its own, or both are tested together, which shows more.

>>> counts = Counts(alarms=10, without=500, hits=80, with_it=500)
>>> round(interval_bound(counts, 0.01), 3), round(joint_bound(counts, 0.01), 3)
(1.182, 1.423)
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from dpviz import _validate
from dpviz._remember import remembered

CONFIDENCE = 0.95  # of every bound here: it exceeds the true ε in at most one of twenty audits
CELLS = 48  # into which the rates of false alarms are cut that the joint test tries
RARE = 1e-12  # probability of false alarms beyond those that are added up one by one; counted as evidence
LARGEST = 50.0  # ε beyond which no bound is looked for
WIDTH = 1e-7  # of ε, to which the joint bound is found


class Counts(NamedTuple):
    """How often an attack said "in".

    Attributes:
        alarms, without: Of so many runs without the example.
        hits, with_it: Of so many runs with it.
    """

    alarms: int
    without: int
    hits: int
    with_it: int

    @property
    def false_alarm_rate(self) -> float:
        return self.alarms / self.without

    @property
    def hit_rate(self) -> float:
        return self.hits / self.with_it


def each_of_two(confidence: float = CONFIDENCE) -> float:
    """The confidence of each of two bounds that hold together with `confidence`: half of the doubt goes to either.

    >>> round(each_of_two(0.95), 6)
    0.975
    """
    return 0.5 * (1.0 + confidence)


def highest_rate(count: int, trials: int, confidence: float) -> float:
    """What a rate is at most, of `count` in `trials`, with this confidence (Clopper & Pearson 1934)."""
    return 1.0 if count >= trials else float(stats.beta.ppf(confidence, count + 1, trials - count))


def lowest_rate(count: int, trials: int, confidence: float) -> float:
    """What a rate is at least, of `count` in `trials`, with this confidence (Clopper & Pearson 1934)."""
    return 0.0 if count <= 0 else float(stats.beta.isf(confidence, count, trials - count + 1))


def interval_bound(counts: Counts, delta: float, confidence: float = CONFIDENCE) -> float:
    """ε ≥ ln((hits − δ) / false alarms), each rate at its own worse end; 0 where that shows nothing.

    Half of the doubt goes to either rate.

    Args:
        counts: Of an attack that was chosen without these runs.
        delta: δ in (0, 1).
        confidence: Probability with which the bound holds, at least.
    """
    delta, each = _validate.number(delta=delta), each_of_two(confidence)
    hits = lowest_rate(counts.hits, counts.with_it, each)
    alarms = highest_rate(counts.alarms, counts.without, each)
    return max(0.0, math.log((hits - delta) / alarms)) if hits > delta else 0.0


@remembered
def joint_bound(counts: Counts, delta: float, confidence: float = CONFIDENCE) -> float:
    """The ε up to which an exact test of both counts refuses every pair of rates that (ε, δ) allows; 0 for none.

    Outcomes are ordered by an estimate of what they show (`_order`). p is the highest probability of an outcome that
    shows as much as this one, over all rates with hits ≤ e^ε · false alarms + δ whose false alarms lie in a
    Clopper–Pearson interval, plus the probability that they do not (Berger & Boos 1994). Pairs of rates are tried cell
    by cell, each at its worse corner, so that p errs upwards and the bound downwards. The order does not depend on ε:
    p rises with ε, and the first ε that is not refused is the bound.

    Args:
        counts, delta, confidence: As in `interval_bound`.
    """
    delta, doubt = _validate.number(delta=delta), 1.0 - confidence
    outside = doubt / 50.0
    low = lowest_rate(counts.alarms, counts.without, 1.0 - 0.5 * outside)
    high = highest_rate(counts.alarms, counts.without, 1.0 - 0.5 * outside)
    edges = np.geomspace(max(low, 1e-3 * high), high, CELLS + 1)
    edges[0] = low
    most = min(counts.without, int(stats.binom.isf(RARE, counts.without, high)) + 1)
    alarms = np.arange(most + 1)
    least = _least_hits(counts, delta, alarms)
    weights = stats.binom.pmf(alarms, counts.without, edges[:-1, None])

    def excess(epsilon: float) -> float:
        """ln of p over the doubt, which rises with ε: at most 0 where all pairs of rates are refused."""
        rates = np.minimum(1.0, math.exp(epsilon) * edges[1:] + delta)
        beyond = np.where(least > 0, special.bdtrc(np.maximum(least - 1, 0), counts.with_it, rates[:, None]), 1.0)
        p = float((weights * beyond).sum(axis=1).max()) + RARE + outside
        return math.log(p / doubt)

    if excess(0.0) > 0.0:
        return 0.0
    bottom, top = 0.0, 1.0
    while excess(top) <= 0.0:
        if top > LARGEST:
            return top
        bottom, top = top, 2.0 * top
    bound = float(optimize.brentq(excess, bottom, top, xtol=WIDTH))
    while excess(bound) > 0.0:
        bound -= WIDTH
    return max(bound, bottom)


def _least_hits(counts: Counts, delta: float, alarms: np.ndarray) -> np.ndarray:
    """With each number of false alarms, the fewest hits that show as much as `counts`, or more: a number beyond the
    runs where none do. It never falls with false alarms: outcomes that are added to make it so only raise p."""
    hits = np.arange(counts.with_it + 1)
    shown = _order(hits[:, None], alarms, counts, delta)
    enough = shown >= _order(np.array(counts.hits), np.array(counts.alarms), counts, delta)
    least = np.where(enough.any(axis=0), enough.argmax(axis=0), counts.with_it + 1)
    return np.minimum.accumulate(least[::-1])[::-1]


def _order(hits: np.ndarray, alarms: np.ndarray, counts: Counts, delta: float) -> np.ndarray:
    """About how large an ε these counts show: the estimate, less its error as the delta method has it."""
    hit = (hits + 0.5) / (counts.with_it + 1.0)
    alarm = (alarms + 0.5) / (counts.without + 1.0)
    excess = np.maximum(hit - delta, 1e-12)
    variance = hit * (1.0 - hit) / (counts.with_it * excess**2) + (1.0 - alarm) / (counts.without * alarm)
    return np.asarray(np.log(excess / alarm) - 1.645 * np.sqrt(variance))
