"""Every accountant's ε along the steps, for one setting: what the chart, the table and the exports share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz.accounting.bayesian import BayesianBound, bayesian_bound
from dpviz.accounting.bound import Bound, Kind
from dpviz.ui import sources, tight_band
from dpviz.ui.compose.settings import Bayesian, Settings, read
from dpviz.ui.methods import method, step_grid
from dpviz.ui.sources import Sample
from dpviz.ui.state import Reader

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scene:
    """What Bayesian DP sees: clipped distances and the noise they hide in.

    Attributes:
        distances: ‖g − g′‖, clipped or not, shape (m,).
        threshold: C, in the gradients' units.
        sensitivity: the most that clipped gradients can differ: 2C for pairs of gradients, C for plain norms.
        noise_std: σ · sensitivity, the same for DP and Bayesian DP.
    """

    distances: Array
    threshold: float
    sensitivity: float
    noise_std: float


@dataclass(frozen=True, eq=False)
class Curves:
    """ε at `steps` (shape (n,), whole, increasing) under each chosen method."""

    settings: Settings
    steps: Array
    bounds: dict[str, Bound]
    bayesian: BayesianBound | None = None
    scene: Scene | None = None
    sample: Sample | None = None
    bayesian_problem: str = ""
    tight: tight_band.TightBand | None = None

    def tightest(self) -> str | None:
        """The valid DP method with the smallest ε at the last step; None when none has one."""
        ends = {key: float(bound.epsilon[-1]) for key, bound in self.bounds.items() if self.valid(key)}
        finite = {key: value for key, value in ends.items() if np.isfinite(value)}
        return min(finite, key=lambda key: finite[key]) if finite else None

    def valid(self, key: str) -> bool:
        """Whether the method is a bound here, not an approximation: its accountant knows."""
        return method(key, self.settings.amplification).kind is Kind.UPPER


def read_and_compute(get: Reader) -> Curves:
    """All chosen curves for the settings that `get` tells; a sample that can not be had is told, not raised."""
    settings = read(get)
    if settings.bayesian is None:
        return compute(settings, None)
    try:
        sample = sources.read(get)
    except ValueError as problem:
        return compute(settings, None, str(problem))
    return compute(settings, sample)


def tight_key(curves: Curves) -> Hashable | None:
    """What decides the tight interval; None when it is switched off."""
    s = curves.settings
    return (s.sigma, s.rate, s.steps, s.delta, s.log_steps) if s.tight else None


def tight_part(curves: Curves) -> tight_band.TightBand:
    """The tight interval at marked steps."""
    s = curves.settings
    return tight_band.along_steps(s.sigma, s.rate, s.steps, s.delta, log=s.log_steps)


def with_tight(curves: Curves, found: tight_band.TightBand) -> Curves:
    """The same curves with the tight interval."""
    return replace(curves, tight=found)


@lru_cache(maxsize=256)
def compute(settings: Settings, sample: Sample | None, problem: str = "") -> Curves:
    """All chosen curves; a problem of the Bayesian one (`problem`: its sample's) is told, so that the others stand."""
    steps = step_grid(settings.steps, settings.log_steps)
    bounds = {key: _bound(key, settings, steps) for key in settings.methods}
    if settings.bayesian is None or sample is None:
        return Curves(settings, steps, bounds, bayesian_problem=problem)
    try:
        scene = make_scene(settings.sigma, settings.bayesian, sample)
        found = _bayesian(settings.rate, settings.bayesian, scene, steps)
    except ValueError as unusable:
        return Curves(settings, steps, bounds, bayesian_problem=str(unusable))
    return Curves(settings, steps, bounds, found, scene, sample)


def _bound(key: str, settings: Settings, steps: Array) -> Bound:
    return method(key, settings.amplification).evaluate(
        noise_multiplier=settings.sigma, sample_rate=settings.rate, steps=steps, delta=settings.delta
    )


def make_scene(sigma: float, bayesian: Bayesian, sample: Sample) -> Scene:
    """Clip the sample and set the noise: σ times the sensitivity, so that DP spends exactly its ε(σ, q).

    Raises:
        ValueError: when the quantile clips everything to 0.
    """
    gradients = sample.gradients
    threshold = gradients.threshold(bayesian.quantile)
    sensitivity = gradients.sensitivity(threshold)
    distances = gradients.distances(threshold if bayesian.clip == "both" else None)
    return Scene(distances, threshold, sensitivity, sigma * sensitivity)


def _bayesian(rate: float, bayesian: Bayesian, scene: Scene, steps: Array) -> BayesianBound:
    return bayesian_bound(
        scene.distances,
        noise_std=scene.noise_std,
        sample_rate=rate,
        steps=steps,
        delta_mu=bayesian.delta_mu,
        estimator_failure=bayesian.failure,
        orders=bayesian.orders,
        reading=bayesian.reading,
    )
