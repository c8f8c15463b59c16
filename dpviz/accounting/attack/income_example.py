"""The town of Triastcyn & Faltings 2020, §3: one income far above all others, a noisy mean, and an attacker.

A town publishes its mean income: the sum over residents, clipped at a limit that covers the outlier, plus noise, over
a public number of residents. A coin decides whether one person, the target, is among them. The attacker knows
everybody else's income, the target's, and the noise; sees the noisy mean; and guesses which way the coin fell, by the
larger likelihood. Releases, coins and noise are drawn once and serve every ε (common random numbers), so the measured
accuracy moves smoothly with ε.

>>> town = draw_town(residents=1000, median=30.0, spread=0.6, outlier_factor=1000.0, seed=1)
>>> release = dict(mechanism="laplace", epsilon=2.0, delta=1e-5)
>>> played = play(town.outlier, limit=town.limit, releases=10_000, seed=2, **release)
>>> bool(played.accuracy_low[0] < guess_success(1.0, **release) < 0.8808)
True
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Whole
from dpviz._remember import remembered
from dpviz.mechanisms.pair import gaussian_log_delta

MECHANISMS = ("laplace", "gaussian")
LARGEST_TOWN = 1_000_000
MOST_RELEASES = 1_000_000
_SLACK = 1e-6  # covers the rounding of the privacy curve at any shift and ε the page can ask for


@dataclass(frozen=True, eq=False)
class Town:
    """Residents' incomes, one income far above them, and the limit at which the sum clips.

    Attributes:
        incomes: of the residents without the outlier, shape (n,), increasing, clipped to `limit`.
        outlier: the outlier's income.
        limit: B, the largest income that counts; here the outlier's own, so that nobody is clipped more.
    """

    incomes: Array
    outlier: float
    limit: float

    def resident(self, share: float) -> float:
        """The income of the resident at quantile `share`: 0.5 is the middle of the town."""
        return float(np.quantile(self.incomes, share))


@dataclass(frozen=True, eq=False)
class Played:
    """What the attacker achieved at each ε; arrays of shape (n,), intervals by Clopper & Pearson 1934.

    Attributes:
        epsilon: ε of the mechanism.
        accuracy, accuracy_low, accuracy_high: share of right guesses over all releases.
        sure, sure_low, sure_high: share of releases with the target among those at or beyond everybody's sum plus the
            target's income; NaN and [0, 1] where no release lies there.
        releases: how many releases there were.
        beyond: how many releases lie beyond that threshold, shape (n,).
    """

    epsilon: Array
    accuracy: Array
    accuracy_low: Array
    accuracy_high: Array
    sure: Array
    sure_low: Array
    sure_high: Array
    releases: int
    beyond: Whole


def draw_town(*, residents: int, median: float, spread: float, outlier_factor: float, seed: int) -> Town:
    """Log-normal incomes and an outlier at `outlier_factor` times the median.

    Args:
        residents: n, whole, in [2, 10^6].
        median: of the incomes, > 0, in any currency.
        spread: standard deviation of the log income, ≥ 0 (0.6 is near that of many countries).
        outlier_factor: the outlier's income ÷ median, > 0.
        seed: whole, ≥ 0.
    """
    n = _validate.whole(2, residents=residents)
    if n > LARGEST_TOWN:
        raise ValueError(f"Expected residents={n} <= {LARGEST_TOWN}.")
    middle = _validate.number(median=median)
    sigma = _validate.scalar("spread", _validate.non_negative("spread", spread))
    factor = _validate.number(outlier_factor=outlier_factor)
    draws = np.random.default_rng(_validate.whole(0, seed=seed)).standard_normal(n)
    limit = factor * middle
    with np.errstate(over="ignore"):
        incomes = np.minimum(middle * np.exp(sigma * np.sort(draws)), limit)
    return Town(incomes, limit, limit)


def noise_scale(*, mechanism: str, epsilon: ArrayLike, delta: float) -> Array:
    """The noise that makes the sum (ε, δ)-DP, ÷ the limit B: Laplace's b = 1/ε, or the Gaussian's exact least σ.

    The Gaussian's is found from its privacy curve (Balle, Wang 2018, Theorem 8) and rounded up; the Laplace mechanism
    is ε-DP with δ = 0, and `delta` is not used.

    Args:
        mechanism: "laplace" or "gaussian".
        epsilon: ε > 0, number or array.
        delta: δ in (0, 1).
    """
    e = _validate.positive("epsilon", epsilon)
    failure = _validate.number(delta=delta)
    if _validate.choice("mechanism", mechanism, MECHANISMS) == "laplace":
        return np.asarray(1.0 / e)
    low, high = np.full(e.shape, 1e-6), np.full(e.shape, 1e12)  # 80 halvings of their logs leave nothing between
    for _ in range(80):
        middle = np.sqrt(low * high)
        enough = _log_delta(1.0 / middle, e) <= math.log(failure)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high * (1.0 + _SLACK))


def _log_delta(shift: Array, epsilon: Array) -> Array:
    """ln δ(ε) of the Gaussian mechanism whose centres lie `shift` > 0 noise deviations apart; both of one shape."""
    return gaussian_log_delta(1.0 / shift, epsilon) + _SLACK


@remembered
def _draws(mechanism: str, releases: int, seed: int) -> tuple[Array, Array, Array]:
    """Sorted noise of unit scale: where the target is in town, where not, and signed towards the wrong guess.

    The last is −z with the target and z without: a guess is wrong as soon as it exceeds half of the target's shift.
    """
    rng = np.random.default_rng([seed, 1])  # not the stream that a town of this seed is drawn from
    present = rng.integers(0, 2, releases).astype(bool)
    noise = rng.laplace(size=releases) if mechanism == "laplace" else rng.standard_normal(releases)
    return np.sort(noise[present]), np.sort(noise[~present]), np.sort(np.where(present, -noise, noise))


def play(
    income: float,
    *,
    limit: float,
    mechanism: str,
    epsilon: ArrayLike,
    delta: float,
    releases: int,
    seed: int,
    confidence: float = 0.99,
) -> Played:
    """Release the noisy mean many times, with the target in town by a fair coin, and let the attacker guess.

    The likelihoods of both noises fall with the distance from their centre, so the better guess is "present" above the
    middle between the two centres; everybody else's incomes and the division by the number of residents cancel.

    Args:
        income: the target's, > 0 (counted up to `limit`).
        limit: B, the largest income that counts, > 0.
        mechanism: "laplace" (pure ε-DP, as in the paper) or "gaussian".
        epsilon: ε > 0, number or array: one answer for each, from the same draws.
        delta: δ in (0, 1), for the Gaussian.
        releases: whole, in [1, 10^6].
        seed: whole, ≥ 0.
        confidence: of the intervals, in (0, 1).
    """
    e = np.atleast_1d(_validate.positive("epsilon", epsilon))
    target, most = _validate.numbers(income=income, limit=limit)
    shift = min(target / most, 1.0)
    count = _validate.whole(1, releases=releases)
    if count > MOST_RELEASES:
        raise ValueError(f"Expected releases={count} <= {MOST_RELEASES}.")
    number = _validate.whole(0, seed=seed)
    distance = shift / noise_scale(mechanism=mechanism, epsilon=e, delta=delta)  # in units of the noise
    with_target, without_target, wrong_way = _draws(mechanism, count, number)
    right = np.searchsorted(wrong_way, distance / 2, side="left")
    hits = np.full(e.shape, with_target.size - np.searchsorted(with_target, 0.0, side="left"))
    false = without_target.size - np.searchsorted(without_target, distance, side="left")
    beyond = hits + false
    accuracy_low, accuracy_high = binomial_interval(right, np.full(e.shape, count), confidence=confidence)
    sure_low, sure_high = binomial_interval(hits, beyond, confidence=confidence)
    with np.errstate(invalid="ignore"):
        sure = hits / np.where(beyond > 0, beyond, np.nan)
    return Played(e, right / count, accuracy_low, accuracy_high, sure, sure_low, sure_high, count, beyond)


def guess_success(income_share: ArrayLike, *, mechanism: str, epsilon: ArrayLike, delta: float) -> float | Array:
    """The exact accuracy of the attacker that `play` measures: 1 − ½e^{−εd/2} (Laplace), Φ(d/(2σ)) (Gaussian).

    Args:
        income_share: d, the target's income ÷ limit, in [0, 1].
        mechanism, epsilon, delta: as for `play`.
    """
    share = _validate.probability("income_share", income_share)
    distance = share / noise_scale(mechanism=mechanism, epsilon=epsilon, delta=delta)
    success = 1.0 - 0.5 * np.exp(-distance / 2) if mechanism == "laplace" else ndtr(distance / 2)
    return float(success) if success.ndim == 0 else np.asarray(success)


def own_epsilon(incomes: ArrayLike, *, limit: float, mechanism: str, epsilon: ArrayLike, delta: float) -> Array:
    """The ε that the release costs somebody with this income, at the same δ; never more than the mechanism's ε.

    Laplace: ε·x/B. Gaussian: the exact ε(δ) at noise multiplier σB/x, rounded up. It is no promise to publish (it
    depends on the income), but what one resident could compute for themselves.

    Args:
        incomes: x ≥ 0, counted up to `limit`, shape (n,).
        limit, mechanism, epsilon, delta: as for `play`.
    """
    x = np.atleast_1d(_validate.non_negative("incomes", incomes))
    top = _validate.number(limit=limit)
    e = _validate.scalar("epsilon", _validate.positive("epsilon", epsilon))
    share = np.minimum(x / top, 1.0)
    if _validate.choice("mechanism", mechanism, MECHANISMS) == "laplace":
        return np.asarray(np.minimum(e * share * (1.0 + _SLACK), e))
    shift = np.maximum(share / float(noise_scale(mechanism=mechanism, epsilon=e, delta=delta)), 1e-12)
    log_delta = math.log(_validate.number(delta=delta))
    low, high = np.zeros(share.shape), np.full(share.shape, e)
    for _ in range(50):
        middle = 0.5 * (low + high)
        enough = _log_delta(shift, middle) <= log_delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.where(_log_delta(shift, np.zeros(share.shape)) <= log_delta, 0.0, high))


def binomial_interval(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.99) -> tuple[Array, Array]:
    """Clopper & Pearson's interval for a probability after `successes` in `trials`: covers at least `confidence`.

    It also covers the mean probability of independent trials that are not equally likely to succeed, as guesses about
    members and about non-members are (Hoeffding 1956: their sum spreads less than the binomial). [0, 1] where there
    were no trials. Arguments broadcast.
    """
    k, n = np.broadcast_arrays(_validate.steps(successes, "successes"), _validate.steps(trials, "trials"))
    if (k > n).any():
        raise ValueError(f"Expected successes={k[k > n][0]:.12g} <= trials={n[k > n][0]:.12g}.")
    tail = (1.0 - _validate.number(confidence=confidence)) / 2
    low = np.where(k > 0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - tail), 1.0)
    return np.asarray(low), np.asarray(high)
