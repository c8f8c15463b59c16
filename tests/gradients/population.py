"""The Bayesian cost of a family of distances by quadrature over its density and by simulation, not by its cells."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting.bayesian.costs import step_costs
from dpviz.gradients.families import law


def population_cost(
    family: str,
    *,
    threshold: float,
    noise_std: float,
    sample_rate: float,
    total_steps: int,
    order: int,
    shape: float = 1.0,
    scale: float = 1.0,
) -> float:
    """c(λ, T) = ln E exp(Tψ(λ, min(d, threshold)))/T of the family itself (Triastcyn & Faltings 2020, Eq. 10).

    By Gauss–Legendre quadrature on panels that shrink towards 0 and towards the threshold, where the integrand lives
    for large T; relative error below 1e-9.
    """
    known: Any = law(family, shape, scale)
    small = np.geomspace(1e-14, 0.5, 100)
    edges = threshold * np.unique(np.concatenate([small, 1.0 - small]))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges) / 2.0
    points = (edges[:-1, None] + half[:, None] * (1.0 + nodes)).ravel()
    log_mass = known.logpdf(points) + np.log((half[:, None] * weights).ravel())
    # what lies below the first panel counts as at its edge, what lies above the last as at the threshold
    where = np.concatenate([[edges[0]], points, [threshold]])
    log_mass = np.concatenate([[known.logcdf(edges[0])], log_mass, [known.logsf(edges[-1])]])
    grown = total_steps * step_costs((where / noise_std) ** 2, np.array([order]), sample_rate)[:, 0]
    # ln E x = ln(1 + E(x − 1)): E(x − 1) keeps its digits where all costs are small
    small_costs = grown[-1] < 1.0
    if small_costs:
        return float(np.log1p(np.exp(log_mass) @ np.expm1(grown)) / total_steps)
    return float(np.logaddexp.reduce(log_mass + grown) / total_steps)


def simulated_losses(
    shape: float, quantile: float, sigma: float, rate: float, steps: int, count: int
) -> npt.NDArray[np.float64]:
    """Privacy losses (count,) of examples that keep their clipped Weibull norm; outcomes drawn with them present."""
    rng = np.random.default_rng(5)
    threshold = float(law("weibull", shape, 1.0).ppf(quantile))
    ratio = np.minimum(rng.weibull(shape, count), threshold) / threshold
    loss = np.zeros(count)
    for _ in range(steps):
        out = sigma * rng.standard_normal(count) + ratio * (rng.random(count) < rate)
        loss += np.log1p(rate * np.expm1((out - ratio / 2.0) * ratio / sigma**2))
    return loss
