"""The first privacy filter and odometer (Rogers, Roth, Ullman, Vadhan 2016), kept for comparison.

They compose (ε_i, δ_i) steps, with S = Σε_i² and D = Σε_i(e^{ε_i} − 1)/2, as long as Σδ_i ≤ δ/2:

filter (Thm 5.1):    K = D + √(2 (S + H)(1 + ½ ln(S/H + 1)) ln(2/δ)),  H = ε²/(28.04 ln(1/δ));  refuse when K > ε
odometer (Thm 6.3):  1/n² ≤ S ≤ 1:  D + √(2 S (1 + ln √3) ln(4 log₂(n)/δ))
                     else:          D + √(2 (1/n² + S)(1 + ½ ln(1 + n²S)) ln(4 log₂(n)/δ))

for n examples. A sampled Gaussian step has no single (ε_i, δ_i): each gets δ/(2·horizon), so a horizon must be chosen,
beyond which nothing is promised. ε_i is then that of strong composition here (exact amplification by sampling).
"""

import math
from collections.abc import Callable

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools
from dpviz.accounting.card import card
from dpviz.accounting.composition import amplify, gaussian_step_epsilon

CARD = card("rogers")
_TRIED = 16  # numbers of steps are tried together
_ODOMETER_FACTOR = 1.0 + math.log(math.sqrt(3.0))


def rogers_spent(*, squares: ArrayLike, drift: ArrayLike, target_epsilon: ArrayLike, delta: ArrayLike) -> Array:
    """K of the filter: it refuses once this exceeds the target ε (Rogers et al. 2016, Thm 5.1).

    Args:
        squares: S = Σε_i² ≥ 0.
        drift: D = Σε_i(e^{ε_i} − 1)/2 ≥ 0.
        target_epsilon: ε > 0 of the budget.
        delta: δ in (0, 1) of the budget; all four broadcast.
    """
    s, d = _validate.non_negative("squares", squares), _validate.non_negative("drift", drift)
    target, failure = _validate.positive("target_epsilon", target_epsilon), _validate.delta(delta)
    share = target**2 / (28.04 * -np.log(failure))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        used = np.where(s > 0.0, s / share, 0.0)  # inf where the budget is too small for its square to be a number
    return np.asarray(d + np.sqrt(2.0 * (s + share) * (1.0 + 0.5 * np.log1p(used)) * (math.log(2.0) - np.log(failure))))


def rogers_odometer(*, squares: ArrayLike, drift: ArrayLike, delta: ArrayLike, size: float) -> Array:
    """ε of the odometer (Rogers et al. 2016, Thm 6.3); arguments as in `rogers_spent`, `size` n ≥ 2 examples."""
    s, d = _validate.non_negative("squares", squares), _validate.non_negative("drift", drift)
    failure, n = _validate.delta(delta), float(_validate.whole(2, size=size))
    log_odds = math.log(4.0 * math.log2(n)) - np.log(failure)
    least = 1.0 / n**2
    narrow = 2.0 * s * _ODOMETER_FACTOR * log_odds
    wide = 2.0 * (least + s) * (1.0 + 0.5 * np.log1p(s / least)) * log_odds
    return np.asarray(d + np.sqrt(np.where((s >= least) & (s <= 1.0), narrow, wide)))


def step_epsilon(sigma: Array, rate: Array, delta: Array, horizon: Array) -> Array:
    """ε_i of a sampled Gaussian step with δ_i = δ/(2·horizon); all broadcast."""
    sigma, rate, delta, horizon = np.broadcast_arrays(sigma, rate, delta, horizon)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # One step is (ε₀, δ₀) before sampling and (ε_i, q·δ₀) after it.
        delta0 = np.where(rate > 0.0, np.minimum(delta / (2.0 * horizon * rate), 1.0), 1.0)
        return amplify(gaussian_step_epsilon(sigma, delta0), rate, "exact")


def _sums(sigma: Array, rate: Array, steps: Array, delta: Array, horizon: Array) -> tuple[Array, Array]:
    """S and D of equal sampled Gaussian steps, each with δ_i = δ/(2·horizon)."""
    step = step_epsilon(sigma, rate, delta, horizon)
    with np.errstate(over="ignore", invalid="ignore"):
        squares, drift = steps * step**2, np.where(step > 0.0, 0.5 * steps * step * np.expm1(step), 0.0)
    return np.asarray(squares), np.asarray(drift)


def rogers_odometer_epsilon(
    *,
    noise_multiplier: ArrayLike,
    sample_rate: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    size: float,
    horizon: float,
) -> float | Array:
    """ε of the odometer after `steps` equal steps out of at most `horizon`; inf beyond (all broadcast).

    Args:
        noise_multiplier, sample_rate, steps, delta: as everywhere.
        size: n, examples in the data set.
        horizon: the most steps that could ever be taken, ≥ 1: each gets δ/(2·horizon).
    """
    count = _validate.steps(steps)
    most = _validate.steps(horizon, "horizon", minimum=1)
    squares, drift = _sums(
        _validate.noise_multiplier(noise_multiplier),
        _validate.sample_rate(sample_rate),
        count,
        _validate.delta(delta),
        most,
    )
    finite = np.isfinite(squares) & np.isfinite(drift)
    epsilon = rogers_odometer(
        squares=np.where(finite, squares, 0.0), drift=np.where(finite, drift, 0.0), delta=delta, size=size
    )
    epsilon = np.where(finite & (count <= most), epsilon, np.inf)
    epsilon = np.where((squares == 0.0) & (count <= most), 0.0, epsilon)  # nothing was released
    return float(epsilon) if epsilon.ndim == 0 else epsilon


def rogers_filter_steps(*, noise_multiplier: float, sample_rate: float, target_epsilon: float, delta: float) -> int:
    """The largest number of equal steps that the filter allows, its horizon chosen best in advance; at most 2^53.

    A horizon of T itself is best, because a longer one leaves each step a smaller δ.
    """
    sigma = _validate.noise_multiplier(noise_multiplier)
    rate, target = _validate.sample_rate(sample_rate), _validate.positive("target_epsilon", target_epsilon)
    failure = _validate.delta(delta)

    def passes(counts: Array) -> Bools:
        squares, drift = _sums(sigma, rate, counts, failure, counts)
        finite = np.isfinite(squares) & np.isfinite(drift)
        squares, drift = (np.where(finite, values, 0.0) for values in (squares, drift))
        spent = rogers_spent(squares=squares, drift=drift, target_epsilon=target, delta=failure)
        return np.asarray(finite & (spent <= target))

    return most_steps(passes)


def most_steps(passes: Callable[[Array], Bools]) -> int:
    """The most steps that pass where fewer always do; at most 2^53. `passes`: of each of some numbers of steps."""
    high: int = 2 ** int(np.append(~passes(np.exp2(np.arange(53.0))), True).argmax())
    low = high // 2
    while high - low > 1:
        tried = np.unique(np.linspace(low, high, _TRIED + 1).round())[1:-1]
        first = int(np.append(~passes(tried), True).argmax())
        low, high = int(np.append(low, tried)[first]), int(np.append(tried, high)[first])
    return low
