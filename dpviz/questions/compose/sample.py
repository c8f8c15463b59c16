"""Bayesian DP of a sample of gradients: certified where distances have a largest; beside it the estimate as printed."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.bayesian.accountant import BayesianBound, bayesian_bound
from dpviz.gradients.law_truth import Truth
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.compose.options import BayesianOptions


@dataclass(frozen=True, eq=False)
class Promise:
    """What Bayesian DP promises, and what of the sample it rests on.

    Attributes:
        main: what the page speaks of: the certified bound where there is one, else the estimate as printed.
        printed: the estimate beside a certified bound.
        noise_std: σ · sensitivity, the same for DP and Bayesian DP.
        worst: ε_μ at T if every distance were d_max; None without one.
        size: how many distances there are.
        independent: whether no two of them share a gradient.
    """

    main: BayesianBound
    printed: BayesianBound | None
    noise_std: float
    worst: float | None
    size: int
    independent: bool

    @property
    def last(self) -> float:
        """What it promises after all steps."""
        return float(self.main.epsilon[-1])

    @property
    def estimate(self) -> BayesianBound | None:
        """The asymptotic estimate as printed, wherever it stands."""
        return self.printed if self.main.certified else self.main

    @property
    def curves(self) -> list[tuple[BayesianBound, bool]]:
        """Those on the chart, and whether they stay when pinned."""
        return [(self.main, True)] + ([(self.printed, False)] if self.printed is not None else [])

    @property
    def dominated(self) -> int | None:
        """The place of the first step where one distance carries more than half of the estimate; None for none."""
        estimate = self.estimate
        if estimate is None or not bool(estimate.tail_dominated.any()):
            return None
        return int(np.argmax(estimate.tail_dominated))

    @property
    def floor_binds(self) -> bool:
        """Whether the orders' end, not the data, makes up most of ε_μ at T."""
        main = self.main
        return bool(main.at_grid_end[-1]) and float(main.floor[-1]) > 0.5 * float(main.epsilon[-1])


def promised(options: BayesianOptions, steps: Array, mechanism: SampledGaussian) -> Promise:
    """Both curves; the noise is σ·sensitivity: DP spends exactly its ε(σ, q).

    Raises:
        ValueError: there is no sample, the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    sample, seen = options.source.sample(), options.distances
    noise_std = mechanism.noise_multiplier * seen.sensitivity
    bound = partial(
        bayesian_bound,
        seen.distances,
        noise_std=noise_std,
        sample_rate=mechanism.sample_rate,
        steps=steps,
        delta_mu=options.delta_mu,
        estimator_failure=options.failure,
        orders=options.orders,
        reading=options.reading,
        divergence=options.divergence,
    )
    main, printed = bound(largest_distance=None), None
    if seen.largest is not None:
        main, printed = bound(largest_distance=seen.largest), main
    worst = None if seen.largest is None else float(main.ceiling[-1])
    return Promise(main, printed, noise_std, worst, sample.size, sample.independent)


@dataclass(frozen=True, eq=False)
class Beside:
    """What is worked out beside the curves.

    Attributes:
        steps: where the truth is known, shape (n,).
        truth: the true cost of the sample's distribution there; None for gradients that nobody drew themselves.
        infinite: the true cost is infinite at T, whatever the order.
        samples: distances at which the bound would be half of the worst case; inf where no number would do, NaN where
            none are asked for.
    """

    steps: Array
    truth: Truth | None
    infinite: bool
    samples: float
