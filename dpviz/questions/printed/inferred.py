"""Recorded variational inference on Abalone and Adult, and the ε of what was run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz import library as dpviz
from dpviz.experiments.record import ExperimentRecord, Spread, recorded

Array = npt.NDArray[np.float64]

ACCURACY = "posterior_accuracy"
PLAIN = "none"  # the arm without privacy


@dataclass(frozen=True)
class Inferred:
    """The runs on one data set, level of noise by level, least first.

    Attributes:
        record: what was recorded.
        arms: its names of the levels.
        sigma: σ, (levels,).
        accuracy: over seeds, of predictions averaged over draws of the posterior.
        without: the same without privacy.
        moments, strict: ε by the moments accountant at δ, and at δ_μ; (levels,).
        bayesian: ε_μ, the highest of all seeds, (levels,).
        clipped: share of all gradients that were clipped, (levels,).
    """

    record: ExperimentRecord
    arms: tuple[str, ...]
    sigma: Array
    accuracy: tuple[Spread, ...]
    without: Spread
    moments: Array
    strict: Array
    bayesian: Array
    clipped: Array

    @property
    def settings(self) -> dict[str, Any]:
        """Of the private runs; their noise is that of the first level."""
        return dict(self.record.settings[self.arms[0]])

    @property
    def sample_rate(self) -> float:
        """q."""
        return float(self.settings["batch_size"] / self.record.values(self.arms[0], "examples")[0])

    def within(self, epsilon: float) -> int:
        """The level of least noise with which the moments accountant promises `epsilon`."""
        return int(np.flatnonzero(self.moments <= epsilon)[0])


def inferred(data: str) -> Inferred:
    """The runs on "abalone" or "adult": every ε but the measured ε_μ is computed from what was run."""
    record = recorded(f"inference_{data}")
    arms = tuple(arm for arm in record.settings if arm != PLAIN)
    settings, examples = record.settings[arms[0]], int(record.values(arms[0], "examples")[0])
    sigma = np.array([record.settings[arm]["noise_multiplier"] for arm in arms])
    known = {"sample_rate": settings["batch_size"] / examples, "steps": settings["steps"], "noise_multiplier": sigma}
    moments, strict = (
        np.asarray(dpviz.epsilon("moments", **known, delta=settings[name])) for name in ("delta", "delta_mu")
    )
    measured = np.array([record.spread(arm, "epsilon_mu").highest for arm in arms])
    clipped = np.array([record.spread(arm, "clipped").mean for arm in arms])
    accuracy = tuple(record.spread(arm, ACCURACY) for arm in arms)
    return Inferred(
        record, arms, sigma, accuracy, record.spread(PLAIN, ACCURACY), moments, strict, measured, clipped
    )  # fmt: skip
