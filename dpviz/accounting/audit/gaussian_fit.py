"""An estimate of ε, no bound: it assumes that scores are normal with and without the example, with one spread."""

import math

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian


def fitted_mu(without: Array, with_it: Array) -> float:
    """μ = (mean with − mean without) ÷ pooled standard deviation, of scores (runs,) each; 0 where it is negative."""
    variance = 0.5 * (without.var(ddof=1) + with_it.var(ddof=1))
    apart = float(with_it.mean() - without.mean())
    return max(0.0, apart / math.sqrt(variance)) if variance > 0.0 else math.inf if apart > 0.0 else 0.0


def fitted_epsilon(without: Array, with_it: Array, delta: float) -> float:
    """ε at δ of the Gaussian mechanism whose best attack has such scores (Dong, Roth, Su 2022, Corollary 2.13).

    Where scores are not normal, it may lie above the true ε or below it.

    Args:
        without, with_it: Scores of runs, (runs,) each, at least 2.
        delta: δ in (0, 1).
    """
    mu = fitted_mu(np.asarray(without), np.asarray(with_it))
    if mu == 0.0 or math.isinf(mu):
        return mu
    return float(tight_epsilon(SampledGaussian(1.0 / mu), [1], delta).upper[0])
