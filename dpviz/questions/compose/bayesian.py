"""Bayesian DP along the steps: certified where distances have a largest, and the estimate as it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting.bayesian.accountant import BayesianBound, bayesian_bound
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.gradients import Gradients, clipped

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Promise:
    """What Bayesian DP promises, and what of the sample it rests on.

    Attributes:
        main: what the page speaks of: the certified bound where there is one, else the estimate as printed.
        printed: the estimate beside a certified bound.
        threshold: C, in the gradients' units.
        sensitivity: the most that clipped gradients can differ: 2C for pairs of gradients, C for plain norms.
        noise_std: σ · sensitivity, the same for DP and Bayesian DP.
        largest: d_max, where no distance can exceed it and they are independent: what a bound needs; else None.
        worst: ε_μ at T if every distance were d_max; None without one.
        size: how many distances there are.
        independent: whether no two of them share a gradient.
        described: where they come from.
        over: share of the gradients whose norm exceeds C.
    """

    main: BayesianBound
    printed: BayesianBound | None
    threshold: float
    sensitivity: float
    noise_std: float
    largest: float | None
    worst: float | None
    size: int
    independent: bool
    described: str
    over: float

    @property
    def estimate(self) -> BayesianBound | None:
        """The asymptotic estimate as printed, wherever it stands."""
        return self.printed if self.main.certified else self.main


def weak(
    gradients: Gradients, steps: Array, *, mechanism: SampledGaussian, quantile: float, clip: str, **asked: Any
) -> Promise:
    """Both curves, other keywords as in `bayesian_bound`; the noise is σ·sensitivity: DP spends exactly its ε(σ, q).

    Raises:
        ValueError: there is no sample, the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    sample = gradients.sample()
    seen = clipped(gradients, quantile, clip)
    noise_std = mechanism.noise_multiplier * seen.sensitivity

    def bound(largest: float | None) -> BayesianBound:
        return bayesian_bound(
            seen.distances,
            noise_std=noise_std,
            sample_rate=mechanism.sample_rate,
            steps=steps,
            largest_distance=largest,
            **asked,
        )

    main, printed, worst = bound(None), None, None
    if seen.largest is not None:
        main, printed = bound(seen.largest), main
        worst = float(main.ceiling[-1])
    return Promise(
        main,
        printed,
        seen.threshold,
        seen.sensitivity,
        noise_std,
        seen.largest,
        worst,
        sample.size,
        sample.independent,
        sample.description,
        float(np.mean(sample.norms > seen.threshold)),
    )


def orders_of(order: int | None) -> range:
    """The moment orders λ that are tried."""
    return range(1, 33) if order is None else range(order, order + 1)


def failure_of(given: Mapping[str, Any]) -> float:
    """δ_μ, which is δ unless it is set."""
    found: float = given["delta"] if given["delta_mu"] is None else given["delta_mu"]
    return found
