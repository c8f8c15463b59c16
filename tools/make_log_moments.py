"""Writes the tests' log_moments.json: ln A_α of the sampled Gaussian in high precision, by two independent ways.

Run from the repository root: ``python tools/make_log_moments.py`` (some minutes).

The table's values come from a trapezoidal sum of the definition E[(1 + u)^α], in arithmetic that has digits to spare
after the 1 is taken off, and are kept only if a grid of half the spacing agrees to 25 digits; whole orders are held
against the binomial sum as well. Beyond σ = 0.05 that the sum converges is a theorem (geometric, strip πσ).
"""

import json
import math
from pathlib import Path

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np

TABLE = Path(__file__).parents[1] / "tests/mechanisms/reference/log_moments.json"
DIGITS = 40


def by_binomial_sum(sigma: float, rate: float, order: int) -> mp.mpf:
    """Mironov, Talwar, Zhang 2019, §3.3, for whole orders; 1 and the linear term dropped, so nothing cancels."""
    with mp.workdps(DIGITS + 10):
        s, q = mp.mpf(sigma), mp.mpf(rate)
        terms = (
            mp.binomial(order, k) * q**k * (1 - q) ** (order - k) * mp.expm1(mp.mpf(k * k - k) / (2 * s * s))
            for k in range(2, order + 1)
        )
        return mp.log1p(mp.fsum(terms))


def by_trapezoid(sigma: float, rate: float, order: float, refine: int = 1) -> mp.mpf:
    """E[(1 + u)^α] − 1 summed over x = z/σ, skipping what is below e^−170 of the largest term."""
    with mp.workdps(2 * DIGITS):
        s, q, a = mp.mpf(sigma), mp.mpf(rate), mp.mpf(order)
        h = min(mp.mpf("0.3"), s * mp.mpf("0.12")) / refine
        step = float(h)
        index = np.arange(math.floor(-20.0 / step), math.ceil((order / sigma + 20.0) / step) + 1)
        x = index * step
        y = x / sigma - 0.5 / sigma**2
        log_u = math.log1p(-rate) if rate < 1 else -math.inf
        size = -0.5 * x * x + np.maximum(order * np.logaddexp(log_u, math.log(rate) + y), 0.0)
        index = index[size > size.max() - 170.0]
        total = mp.mpf(0)
        shift = 1 / (2 * s * s)
        for i in index.tolist():
            node = i * h
            u = q * mp.expm1(node / s - shift)
            total += mp.exp(-node * node / 2) * ((1 + u) ** a - 1 - a * u)
        return mp.log1p(total * h / mp.sqrt(2 * mp.pi))


def relative_difference(a: mp.mpf, b: mp.mpf) -> mp.mpf:
    return abs(a - b) / abs(b) if b else abs(a)


def settings() -> list[tuple[float, float, float]]:
    """(σ, q, α): corners of the promised range, settings known to be hard, random ones, and some from beyond."""
    chosen = [
        (s, q, a)
        for s in (0.2, 1.0, 4.0, 200.0)
        for q in (1e-6, 0.01, 0.5, 0.999)
        for a in (1.01, 1.1, 2.5, 20.0, 63.7, 255.0, 257.0, 1024.0)
    ]
    chosen += [(5.0, 0.2, 1.1), (10.0, 1e-4, 1.5), (100.0, 1e-6, 2.0), (1.0, 0.9, 1.01), (0.3, 1e-3, 1.05)]
    chosen += [(0.2, 1e-6, 1023.5), (200.0, 1 - 1e-9, 1023.5), (0.5, 1 - 1e-9, 3.3), (2.0, 1 - 1e-9, 17.0)]
    # Beyond the promise: far less and far more noise, orders at the ends of the default grid.
    chosen += [(0.05, 0.01, 1.5), (0.05, 0.3, 40.2), (0.1, 1e-5, 7.7), (1e3, 0.1, 300.5), (1e3, 1e-9, 2.5)]
    chosen += [(4.0, 0.01, 1.0001), (0.5, 0.2, 1.0001), (50.0, 1e-3, 1e5), (300.0, 1e-6, 1e6), (4.0, 0.01, 4000.5)]
    # Hardly any noise, where the two humps of the integrand lie far apart.
    chosen += [(s, q, a) for s in (0.045, 0.035, 0.02) for q in (1e-5, 0.5) for a in (1.0001, 1.02, 3.7)]
    rng = np.random.default_rng(20190828)
    for _ in range(170):
        sigma = float(np.exp(rng.uniform(math.log(0.2), math.log(200.0))))
        rate = float(np.exp(rng.uniform(math.log(1e-6), 0.0)))
        order = 1.0 + float(np.exp(rng.uniform(math.log(0.01), math.log(1023.0))))
        chosen.append((sigma, rate, order if rng.random() < 0.8 else float(math.ceil(order))))
    return chosen


def main() -> None:
    rows = []
    for sigma, rate, order in settings():
        value = by_trapezoid(sigma, rate, order)
        finer = by_trapezoid(sigma, rate, order, refine=2) if sigma >= 0.05 and (sigma > 0.1 or order < 10) else value
        difference = relative_difference(value, finer)
        whole = order == int(order) and order <= 300
        if whole:
            difference = max(difference, relative_difference(value, by_binomial_sum(sigma, rate, int(order))))
        if difference > mp.mpf(10) ** -25:
            raise ArithmeticError(f"σ={sigma}, q={rate}, α={order}: two ways differ by {mp.nstr(difference, 3)}")
        rows.append([sigma, rate, order, mp.nstr(value, DIGITS)])
    lines = ",\n".join(json.dumps(row) for row in rows)
    TABLE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
