"""Two measurements of whether a trained model gives its training data away, from plain arrays.

`compare_distances` holds the gradient distances of training examples against those of test examples (Triastcyn &
Faltings 2020, §5.2 and Fig. 2). `threshold_attack` guesses membership from the loss alone (Yeom, Giacomelli,
Fredrikson, Jha 2018, §3.1) and tells how often it is right.

Neither is a guarantee: a test that cannot tell two samples apart, or an attack that fails, proves nothing about other
attacks. Bounds on every attack are in `dpviz.accounting.attack.membership`.

>>> rng = np.random.default_rng(0)
>>> attack = threshold_attack(rng.exponential(1.0, 1000), rng.exponential(1.0, 1000), random=np.random.default_rng(1))
>>> attack.low < 0.5 < attack.high
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.attack.income_example import binomial_interval

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Leakage:
    """What was measured; arrays are shared and not to be written into.

    Attributes:
        train_distances, test_distances: ‖g − g′‖ of disjoint pairs, not clipped; one for each pair of which both
            gradients are finite, shapes (≤ examples / 2,).
        train_losses, test_losses: Cross-entropy of each example, shapes (examples,); inf where it is not finite.
        examples: How many of each were looked at: what was asked for, or as many as the smaller set has.
        excluded_pairs: Pairs without a distance, because a gradient is not finite.
        train_accuracy, test_accuracy: Share of right predictions on these examples.
        description: The network, its training and its data, in words.
    """

    train_distances: Array
    test_distances: Array
    train_losses: Array
    test_losses: Array
    examples: int
    excluded_pairs: int
    train_accuracy: float
    test_accuracy: float
    description: str


class Comparison(NamedTuple):
    """Distances of training and of test examples, side by side.

    Attributes:
        train_mean, test_mean: Sample means.
        train_std, test_std: Sample standard deviations, divisor m − 1.
        difference: train_mean − test_mean.
        low, high: Welch's confidence interval for the difference of the true means.
        welch_t, welch_df, welch_p: Statistic, degrees of freedom and two-sided p-value of Welch's t-test of equal
            means; NaN where all distances of both samples are alike.
        levene_w, levene_p: Statistic and p-value of Levene's test of equal variances, deviations taken from the median
            (Brown & Forsythe 1974: it holds its level for skewed distances too); NaN as above.
    """

    train_mean: float
    test_mean: float
    train_std: float
    test_std: float
    difference: float
    low: float
    high: float
    welch_t: float
    welch_df: float
    welch_p: float
    levene_w: float
    levene_p: float


def compare_distances(train: ArrayLike, test: ArrayLike, *, confidence: float = CONFIDENCE) -> Comparison:
    """Are distances between training examples distributed as those between test examples?

    The tests assume independent distances: disjoint pairs of examples.

    Args:
        train, test: Distances of pairs, shapes (m,) and (n,), each at least 3, finite, >= 0.
        confidence: Of the interval, in (0, 1).

    Raises:
        ValueError: for arrays that are none of this.
    """
    first, second = _at_least(_validate.distances(train, "train"), 3), _at_least(_validate.distances(test, "test"), 3)
    share = _validate.number(confidence=confidence)
    difference = float(first.mean() - second.mean())
    nothing = np.ptp(first) == 0.0 and np.ptp(second) == 0.0
    interval: tuple[float, ...] = (difference, difference)
    tests: tuple[Any, ...] = (math.nan,) * 5
    if not nothing:
        welch = stats.ttest_ind(first, second, equal_var=False)
        with np.errstate(divide="ignore", invalid="ignore"):  # deviations that are all alike on both sides: 0/0 or x/0
            levene = stats.levene(first, second, center="median")
        interval = tuple(welch.confidence_interval(share))
        tests = (welch.statistic, welch.df, welch.pvalue, levene.statistic, levene.pvalue)
    numbers = (first.mean(), second.mean(), first.std(ddof=1), second.std(ddof=1), difference, *interval, *tests)
    return Comparison(*map(float, numbers))


class Attack(NamedTuple):
    """A loss-threshold attack as it was measured, at even odds of member and non-member.

    Attributes:
        threshold: Whoever has a loss at or below it is called a member; ±inf for "nobody" or "everybody".
        accuracy: Share of right guesses among examples that did not choose the threshold.
        low, high: Clopper–Pearson interval for it.
        hit_rate: Share of members called members, among those examples.
        false_alarm_rate: Share of non-members called members.
        chosen_accuracy: Accuracy on the examples that chose the threshold: optimistic, for comparison only.
        right, guesses: Right guesses and all guesses behind `accuracy`.
    """

    threshold: float
    accuracy: float
    low: float
    high: float
    hit_rate: float
    false_alarm_rate: float
    chosen_accuracy: float
    right: int
    guesses: int


def threshold_attack(
    train_losses: ArrayLike, test_losses: ArrayLike, *, random: np.random.Generator, confidence: float = CONFIDENCE
) -> Attack:
    """Guess membership from the loss: members are those whose loss is low (Yeom et al. 2018, §3.1).

    Half of the members and half of the non-members, drawn at random, choose the threshold that is right most often;
    the other half measures how often that threshold is right, so that choosing does not flatter it.

    Args:
        train_losses: Losses of members, shape (m,), m >= 4; inf allowed.
        test_losses: Losses of as many non-members, drawn like the members, shape (m,).
        random: Decides the halves.
        confidence: Of the interval, in (0, 1).

    Raises:
        ValueError: for other shapes, unequal numbers, or NaN.
    """
    losses = {"train_losses": train_losses, "test_losses": test_losses}
    members, others = (_at_least(_validate.losses(value, name), 4, name) for name, value in losses.items())
    if members.size != others.size:
        raise ValueError(
            f"Expected as many train_losses as test_losses, found {members.size} and {others.size}: "
            "leave out some, drawn at random, for even odds."
        )
    share = _validate.number(confidence=confidence)
    members, others = random.permutation(members), random.permutation(others)
    half = members.size // 2
    threshold, chosen = best_threshold(members[:half], others[:half])
    hits = int((members[half:] <= threshold).sum())
    alarms = int((others[half:] <= threshold).sum())
    tried = members.size - half
    right = hits + tried - alarms
    low, high = (float(end) for end in binomial_interval(right, 2 * tried, confidence=share))
    return Attack(
        threshold=threshold,
        accuracy=right / (2 * tried),
        low=low,
        high=high,
        hit_rate=hits / tried,
        false_alarm_rate=alarms / tried,
        chosen_accuracy=chosen,
        right=right,
        guesses=2 * tried,
    )


def best_threshold(members: Array, others: Array) -> tuple[float, float]:
    """The threshold with most right guesses, and their share; m members and m others.

    Tried: below all losses ("nobody is a member"), and at every loss. Of equally good ones the lowest.
    """
    values, counts = np.unique(np.concatenate([members, others]), return_inverse=True)
    gain = np.bincount(counts, weights=np.repeat([1.0, -1.0], [members.size, others.size]), minlength=values.size)
    right = others.size + np.concatenate([[0.0], np.cumsum(gain)])
    best = int(right.argmax())
    threshold = -math.inf if best == 0 else float(values[best - 1])
    return threshold, float(right[best] / (members.size + others.size))


def _at_least(sample: Array, least: int, name: str = "distances") -> Array:
    if sample.size < least:
        raise ValueError(f"Expected {name} with at least {least} numbers, found {sample.size}.")
    return sample
