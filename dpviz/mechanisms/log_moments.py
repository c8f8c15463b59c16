"""Log moments and Rényi divergences of one sampled Gaussian step, exact for every real order.

With z ~ N(0, σ²), y = (2z − 1)/(2σ²) and u = q·expm1(y), the α-th moment of the likelihood ratio is
A_α = E[(1 + u)^α] and the divergence is R(α) = ln A_α/(α − 1) (Mironov, Talwar, Zhang 2019, §3.3). As E[u] = 0,

    A_α − 1 = E[g(u)],   g(u) = (1 + u)^α − 1 − αu ≥ 0,

which has only positive terms: nothing cancels, even where A_α − 1 is 1e-12. For whole α the expectation is a
binomial sum (their eq. 4 without its first two terms); for every other order it is a trapezoidal sum over
x = z/σ, which converges geometrically because the integrand is analytic in a strip of half-width πσ and its
peaks are never narrower than a unit Gaussian's. All is done in logs, so nothing overflows.

    >>> float(renyi_divergence(4.0, 0.01, [20.0])[0]) * 10_000 - math.log(1e-5) / 19   # moments accountant, λ = 19
    1.2585747...
"""

import math

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Whole
from dpviz._remember import remembered
from dpviz.mechanisms.log_excess import log_excess

# Up to here whole orders are summed exactly; beyond, the quadrature needs fewer terms and is as precise.
_LARGEST_SUMMED_ORDER = 256
# Relative weight e^-45 of what the quadrature leaves out at each end of its range.
_NATS_LEFT_OUT = 45.0
_SCAN_POINTS = 32
# Below, what sampling adds, α ln q, is lost beside α(α − 1)/(2σ²) ≥ 5·10^9·α(α − 1), which bounds it from above.
_LEAST_NOISE = 1e-5
_NODES_AT_ONCE = 1_000_000
_LARGEST_EXPONENT = 650.0  # αu is still finite


def renyi_divergence(noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> Array:
    """R(α) of one step, in nats; arguments broadcast against one another.

    Relative error ≤ 1e-11 against 40-digit arithmetic for σ in [0.2, 200], q in [1e-6, 1], α in [1.01, 1024].
    """
    alpha = _validate.orders_of_any_shape(orders)
    return log_moment(noise_multiplier, sample_rate, alpha) / (alpha - 1.0)


def log_moment(noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> Array:
    """ln A_α of one step, i.e. the moments accountant's α_M(λ) at λ = α − 1; arguments broadcast.

    Args:
        noise_multiplier: σ > 0.
        sample_rate: q in [0, 1].
        orders: α > 1, whole or not.

    Returns:
        Array of the broadcast shape; 0 where q = 0, α(α − 1)/(2σ²) where q = 1 and, as an upper bound, where σ < 1e-5.
    """
    sigma = _validate.noise_multiplier(noise_multiplier)
    rate = _validate.sample_rate(sample_rate)
    alpha = _validate.orders_of_any_shape(orders)
    sigma, rate, alpha = np.broadcast_arrays(sigma, rate, alpha)
    shape = alpha.shape
    sigma, rate, alpha = sigma.ravel(), rate.ravel(), alpha.ravel()

    with np.errstate(over="ignore"):
        result = alpha * (alpha - 1.0) / (2.0 * sigma) / sigma  # q = 1: the plain Gaussian mechanism
    result[rate == 0.0] = 0.0
    open_rate = (rate > 0.0) & (rate < 1.0) & np.isfinite(result) & (sigma >= _LEAST_NOISE)
    summed = open_rate & (alpha == np.floor(alpha)) & (alpha <= _LARGEST_SUMMED_ORDER)
    for chosen, excess_of in ((summed, _log_excess_by_sum), (open_rate & ~summed, _log_excess_by_quadrature)):
        if chosen.any():
            gaussian = result[chosen]
            value = np.logaddexp(0.0, excess_of(sigma[chosen], rate[chosen], alpha[chosen]))
            # Sampling never costs privacy, so q = 1 caps the value; this only removes rounding.
            result[chosen] = np.minimum(value, gaussian)
    result = np.where(rate > 0.0, np.maximum(result, _validate.LEAST), result)  # what underflows to 0 is not nothing
    return result.reshape(shape)


def _log_excess_by_sum(sigma: Array, rate: Array, alpha: Array) -> Array:
    """ln(A_α − 1) = ln Σ_{k=2..α} C(α,k) q^k (1−q)^{α−k} expm1((k² − k)/(2σ²)), whole α; all of one shape (n,).

    Many settings at the same orders, as charts ask for, share binomials; many orders of one setting the other factors.
    """
    whole, of_order = np.unique(alpha.astype(np.int64), return_inverse=True)
    settings, of_setting = np.unique(np.stack([sigma, rate]), axis=1, return_inverse=True)
    if settings.shape[1] * whole.size > 2 * alpha.size:  # hardly any two share anything
        return _sums_one_by_one(sigma, rate, alpha)
    k, log_binomial, starts = _binomial_terms(whole.tobytes())
    per_order = np.diff(np.append(starts, k.size))
    place, left = k.astype(np.int64) - 2, np.repeat(whole, per_order) - k
    up_to = np.arange(2.0, whole[-1] + 1.0)
    table = np.empty((settings.shape[1], whole.size))
    for row, (s, q) in zip(table, settings.T, strict=True):
        with np.errstate(over="ignore"):
            shared = _log_expm1(up_to * (up_to - 1.0) / (2.0 * s) / s) + up_to * math.log(q)
        row[:] = log_sum_segments(log_binomial + shared[place] + left * math.log1p(-q), starts, per_order)
    return np.asarray(table[of_setting.ravel(), of_order])


def _sums_one_by_one(sigma: Array, rate: Array, alpha: Array) -> Array:
    k, log_binomial, starts = _binomial_terms(alpha.astype(np.int64).tobytes())
    per_order = np.diff(np.append(starts, k.size))
    s, q, a = (np.repeat(v, per_order) for v in (sigma, rate, alpha))
    exponent = k * (k - 1.0) / (2.0 * s) / s
    log_terms = log_binomial + k * np.log(q) + (a - k) * np.log1p(-q) + _log_expm1(exponent)
    return log_sum_segments(log_terms, starts, per_order)


@remembered
def _binomial_terms(alphas: bytes) -> tuple[Array, Array, Whole]:
    """k = 2..α and ln C(α, k) for each α, laid end to end, with the start of each stretch.

    Log factorials are added up in extended precision: as doubles they would cost the last two digits.
    """
    whole = np.frombuffer(alphas, dtype=np.int64)
    log_factorial = np.concatenate(
        [[0.0], np.cumsum(np.log(np.arange(1, int(whole.max()) + 1, dtype=np.longdouble)))]
    ).astype(np.longdouble)
    ks = [np.arange(2, a + 1) for a in whole]
    logs = [log_factorial[a] - log_factorial[k] - log_factorial[a - k] for a, k in zip(whole, ks, strict=True)]
    starts = np.concatenate([[0], np.cumsum(whole - 1)[:-1]]).astype(np.int64)
    return np.concatenate(ks).astype(np.float64), np.concatenate(logs).astype(np.float64), starts


def _log_excess_by_quadrature(sigma: Array, rate: Array, alpha: Array) -> Array:
    """ln(A_α − 1) = ln ∫ N(x; 0, 1) g(u(σx)) dx by the trapezoidal rule; all of one shape (n,)."""
    low, high = _support(sigma, rate, alpha)
    spacing = _spacing(sigma, rate, alpha, low, high)
    nodes = np.ceil((high - low) / spacing).astype(np.int64) + 1
    result = np.empty(alpha.shape)
    for part in chunks(nodes):
        count = nodes[part]
        starts = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64)
        index = np.arange(int(count.sum())) - np.repeat(starts, count)
        x = np.repeat(low[part], count) + index * np.repeat(spacing[part], count)
        s, q, a = (np.repeat(v[part], count) for v in (sigma, rate, alpha))
        result[part] = log_sum_segments(_log_integrand(x, s, q, a), starts, count) + np.log(spacing[part])
    return result


def _spacing(sigma: Array, rate: Array, alpha: Array, low: Array, high: Array) -> Array:
    """The trapezoidal rule's step: e^(−2π·πσ/h) from the strip and e^(−2π²/h²) from the Gaussian are below 1e-14.

    The strip is narrow only at the knee, where (1 − q) + q·e^y has its complex zeros. With hardly any noise the
    integrand is negligible around it and the Gaussian alone decides: otherwise σ = 1e-3 would take seconds.
    """
    spacing = np.minimum(0.4, 0.55 * sigma)
    rows = np.flatnonzero(sigma < 0.06)
    if rows.size:
        s, q, a = sigma[rows, None], rate[rows, None], alpha[rows, None]
        knee = 0.5 / s + s * (np.log1p(-q) - np.log(q))
        between = low[rows, None] + (high - low)[rows, None] * np.linspace(0.0, 1.0, _SCAN_POINTS)
        x = np.concatenate([knee + np.array([-1.0, 0.0, 1.0]), between], axis=1)
        phi = _log_ceiling(x, s, q, a)
        negligible = phi[:, :3].max(axis=1) < phi[:, 3:].max(axis=1) - _NATS_LEFT_OUT
        spacing[rows[negligible]] = 0.4
    return spacing


def chunks(nodes: Whole) -> list[slice]:
    """Consecutive slices whose nodes fit in memory together (one alone may be larger)."""
    edges = [0]
    total = 0
    for i, count in enumerate(nodes):
        if total and total + count > _NODES_AT_ONCE:
            edges.append(i)
            total = 0
        total += int(count)
    edges.append(len(nodes))
    return [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)]


def _support(sigma: Array, rate: Array, alpha: Array) -> tuple[Array, Array]:
    """The range of x = z/σ outside which the integrand is negligible, by repeated coarse scans.

    The log integrand φ has φ'' ≥ −1 (a Gaussian plus a convex function), so within a distance d of its peak it
    falls by at most d²/2: a scan with spacing s misses no peak that is higher than its largest value plus s²/8.
    """
    low = np.full(alpha.shape, -10.0)
    high = alpha / sigma + 10.0
    active = np.arange(alpha.size)
    ends = np.linspace(0.0, 1.0, _SCAN_POINTS)
    while active.size:
        width = high[active] - low[active]
        x = low[active, None] + width[:, None] * ends
        s, q, a = sigma[active, None], rate[active, None], alpha[active, None]
        phi = _log_ceiling(x, s, q, a)
        step = width / (_SCAN_POINTS - 1)
        kept = phi >= (phi.max(axis=1) - _NATS_LEFT_OUT - step**2 / 8.0)[:, None]
        first = np.maximum(kept.argmax(axis=1) - 1, 0)
        last = np.minimum(_SCAN_POINTS - kept[:, ::-1].argmax(axis=1), _SCAN_POINTS - 1)
        rows = np.arange(active.size)
        low[active], high[active] = x[rows, first], x[rows, last]
        shrunk = high[active] - low[active] < 0.9 * width
        active = active[(step > 4.0) & shrunk]
    return low, high


def _log_integrand(x: Array, sigma: Array, rate: Array, alpha: Array) -> Array:
    """ln [N(x; 0, 1) g(u)], all arguments of one shape."""
    y = x / sigma - 0.5 / sigma / sigma
    u = rate * np.expm1(np.minimum(y, _LARGEST_EXPONENT))
    with np.errstate(divide="ignore", over="ignore"):
        beyond = y + np.log(rate) + np.log1p((1.0 - rate) / rate * np.exp(-np.maximum(y, _LARGEST_EXPONENT)))
    log_ratio = np.where(y > _LARGEST_EXPONENT, beyond, np.log1p(u))
    return log_excess(u, log_ratio, alpha) - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def _log_ceiling(x: Array, sigma: Array, rate: Array, alpha: Array) -> Array:
    """At least `_log_integrand`, less a constant, and at most a few nats more: enough to see where it is negligible.

    From g(u) = α(α − 1)∫(1 + t)^(α−2) (u − t) dt, g ≤ α(α − 1)/2 u² max(1, 1 + u)^(α−2) (for u < 0 likewise), from its
    definition g ≤ (1 + u)^α for u > 0 and g ≤ α|u| for u < 0. They broadcast.
    """
    y = x / sigma - 0.5 / sigma / sigma
    log_rate = np.log(rate)
    log_ratio = np.logaddexp(np.log1p(-rate), log_rate + y)
    with np.errstate(divide="ignore"):
        log_u = log_rate + np.where(y < 30.0, np.log(np.abs(np.expm1(np.minimum(y, 30.0)))), y)
    curved = np.log(0.5 * alpha * (alpha - 1.0)) + 2.0 * log_u + np.maximum((alpha - 2.0) * log_ratio, 0.0)
    plain = np.where(y > 0.0, alpha * log_ratio, np.log(alpha) + log_u)
    return np.asarray(np.minimum(curved, plain) - 0.5 * x * x)


def _log_expm1(m: Array) -> Array:
    """ln(e^m − 1) for m > 0."""
    with np.errstate(divide="ignore"):
        small = np.log(np.expm1(np.minimum(m, 1.0)))
        return np.where(m < 1.0, small, m + np.log(-np.expm1(-np.maximum(m, 1.0))))


def log_sum_segments(values: Array, starts: Whole, counts: Whole) -> Array:
    """ln of the sums of e^values over stretches laid end to end."""
    peaks = np.maximum.reduceat(values, starts)
    # A segment of nothing but −inf (all terms underflow) sums to 0.
    safe = np.where(np.isfinite(peaks), peaks, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduceat(np.exp(values - np.repeat(safe, counts)), starts)) + safe


_REACH = 8.5  # standard deviations beyond the integrand's outer peaks: e^-36 is left out
_MOST_NODES = 2_000  # beyond, `log_moment` looks where the integrand is first
_BLOCK = 1 << 16  # numbers in one temporary
MOST_STEPS = 1e8  # of a composition up to which absolute digits are enough
