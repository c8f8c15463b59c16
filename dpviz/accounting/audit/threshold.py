"""An attack by one threshold of a score: chosen on a quarter of the runs, counted on the others.

>>> random = np.random.default_rng(0)
>>> without, with_it = random.normal(size=1000), 1.0 + random.normal(size=1000)
>>> attack, counts = attacked(without, with_it, delta=0.01)
>>> counts.without, counts.with_it
(750, 750)
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import ndtr

from dpviz._arrays import Array, Bools
from dpviz.accounting.audit.counts import CONFIDENCE, Counts, each_of_two

CHOOSING = 4  # of so many runs one chooses: half of them would leave too few to count
CANDIDATES = 120  # thresholds that are tried


class ThresholdAttack(NamedTuple):
    """Says "in" where a score is above the threshold.

    Attributes:
        threshold: Of the scores.
        mirrored: Whether the roles are exchanged: the event is a score at or below it, and runs with the example take
            the place of those without. ε bounds both ratios.
    """

    threshold: float
    mirrored: bool = False

    def says(self, scores: Array) -> Bools:
        """Whether each score (runs,) belongs to the event."""
        return np.asarray(scores <= self.threshold if self.mirrored else scores > self.threshold)

    def counts(self, without: Array, with_it: Array) -> Counts:
        """Of the event, in scores of runs without the example and with it, (runs,) each."""
        rare, often = (with_it, without) if self.mirrored else (without, with_it)
        return Counts(
            alarms=int(self.says(rare).sum()), without=len(rare), hits=int(self.says(often).sum()), with_it=len(often)
        )


def chosen_threshold(
    without: Array, with_it: Array, delta: float, *, runs: int | None = None, confidence: float = CONFIDENCE
) -> ThresholdAttack:
    """The threshold, in either direction, that is likely to show the largest ε by Clopper–Pearson intervals.

    Rates are those of the scores, smoothed by those of normal laws with their means and spreads unless most scores
    repeat others: this only chooses, and whatever is chosen, a bound on other runs holds.

    Args:
        without, with_it: Scores of runs without the example and with it, (runs,) each; no bound may use them again.
        delta, confidence: As in `counts.interval_bound`.
        runs: On how many a side it will be used; None for as many as there are here.
    """
    runs = min(len(without), len(with_it)) if runs is None else runs
    together = np.concatenate([without, with_it])
    values = np.unique(together)
    smooth = 2 * len(values) > len(together)  # a normal law says nothing of what lies between few values
    ends = np.quantile(together, 0.002), np.quantile(together, 0.998)
    candidates = values if len(values) <= CANDIDATES else np.unique(np.linspace(*ends, CANDIDATES))
    alarms, hits = (runs * _above(scores, candidates, smooth) for scores in (without, with_it))
    shown = [_shown(alarms, hits, runs, delta, confidence), _shown(runs - hits, runs - alarms, runs, delta, confidence)]
    mirrored = bool(shown[1].max() > shown[0].max())
    return ThresholdAttack(float(candidates[int(shown[mirrored].argmax())]), mirrored)


def _above(scores: Array, thresholds: Array, smooth: bool) -> Array:
    """About what share of scores lies above each threshold."""
    counted = (scores[:, None] > thresholds).mean(axis=0)
    if not smooth:
        return np.asarray(counted)
    spread = max(float(scores.std()), 1e-9 * max(1.0, float(np.abs(scores).max())))
    return np.asarray(0.5 * counted + 0.5 * ndtr((scores.mean() - thresholds) / spread))


def _shown(alarms: Array, hits: Array, runs: int, delta: float, confidence: float) -> Array:
    """ln((hits − δ)/false alarms) at both ends, of each threshold; may be negative, to tell bad from worse."""
    each = each_of_two(confidence)
    most = np.where(alarms < runs, stats.beta.ppf(each, alarms + 1.0, np.maximum(runs - alarms, 1e-9)), 1.0)
    least = np.where(hits > 0.0, stats.beta.isf(each, np.maximum(hits, 1e-9), runs - hits + 1.0), 0.0)
    return np.asarray(np.log(np.maximum(least - delta, 1e-9) / most))


def parts(scores: Array) -> tuple[Array, Array]:
    """The scores (runs,) that choose the threshold, one of `CHOOSING`, and those that are counted."""
    chooses = np.arange(len(scores)) % CHOOSING == 0
    return scores[chooses], scores[~chooses]


def attacked(
    without: Array, with_it: Array, delta: float, confidence: float = CONFIDENCE
) -> tuple[ThresholdAttack, Counts]:
    """The threshold that one part of the runs chose, and its counts on the others.

    Args:
        without, with_it: Scores of independent runs, (runs,) each, at least `CHOOSING`.
        delta, confidence: As in `counts.interval_bound`.

    Raises:
        ValueError: for fewer runs.
    """
    if min(len(without), len(with_it)) < CHOOSING:
        raise ValueError(f"Expected at least {CHOOSING} runs a side, found {len(without)} and {len(with_it)}.")
    (first, rest), (first_with, rest_with) = parts(without), parts(with_it)
    attack = chosen_threshold(first, first_with, delta, runs=min(len(rest), len(rest_with)), confidence=confidence)
    return attack, attack.counts(rest, rest_with)
