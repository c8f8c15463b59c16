"""Basic and strong composition of (ε, δ) steps, the methods before moments (Dwork, Rothblum, Vadhan 2010).

One Gaussian step is (ε₀, δ₀)-DP with ε₀ = √(2 ln(1.25/δ₀))/σ (Dwork & Roth 2014, Theorem A.1). That theorem is proved
for ε₀ ≤ 1; beyond, it is kept where the exact profile of the Gaussian (Balle & Wang 2018, Theorem 8) confirms it and
replaced elsewhere by ε₀ = 1/(2σ²) + √(2 ln(1/δ₀))/σ, the tail of the privacy loss N(1/(2σ²), 1/σ²), which always holds.

Poisson sampling with rate q turns (ε₀, δ₀) into (ln(1 + q(e^{ε₀} − 1)), qδ₀) exactly. Abadi et al. 2016 plot the
small-ε₀ reading (qε₀, qδ₀), "linear" here: not a valid bound at the ε₀ of private training, kept to redraw Figure 2.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import log_ndtr

from dpviz._arrays import Array, Bools
from dpviz.accounting.accountant import Accountant, Composition
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.mechanisms import Mechanism

AMPLIFICATIONS = ("exact", "linear")

# Shares of δ tried for the slack δ′ of strong composition, on the logit scale: first coarse, then around the best.
_COARSE_LOGITS = np.linspace(-12.0, 12.0, 49)
_FINE_LOGITS = np.linspace(-0.5, 0.5, 21)


def gaussian_step_epsilon(sigma: Array, delta0: Array) -> Array:
    """ε₀ of one unsampled Gaussian step at δ₀ (arrays broadcast); 0 where δ₀ ≥ 1, which promises nothing."""
    sigma, delta0 = np.broadcast_arrays(sigma, delta0)
    with np.errstate(divide="ignore"):
        log_delta0 = np.log(np.minimum(delta0, 1.0))
    textbook = np.sqrt(2.0 * (math.log(1.25) - log_delta0)) / sigma
    with np.errstate(over="ignore", invalid="ignore"):
        always = 0.5 / sigma / sigma + np.sqrt(-2.0 * log_delta0) / sigma
    return np.where(delta0 >= 1.0, 0.0, np.where(_profile_confirms(sigma, textbook, log_delta0), textbook, always))


def _profile_confirms(sigma: Array, epsilon: Array, log_delta0: Array) -> Bools:
    """Whether Φ(1/(2σ) − εσ) − e^ε Φ(−1/(2σ) − εσ) ≤ δ₀, in logs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = log_ndtr(0.5 / sigma - epsilon * sigma), epsilon + log_ndtr(-0.5 / sigma - epsilon * sigma)
        return near + np.log1p(-np.exp(np.minimum(far - near, 0.0))) <= log_delta0


def amplify(epsilon0: Array, rate: Array, amplification: str) -> Array:
    """ε of a sampled step: ln(1 + q(e^{ε₀} − 1)), or qε₀ for "linear"."""
    if amplification == "linear":
        return rate * epsilon0
    with np.errstate(over="ignore", divide="ignore"):
        # e^ε₀ overflows beyond 700, where ln(1 + q(e^ε₀ − 1)) is ε₀ + ln q to all digits.
        large = np.maximum(epsilon0 + np.log(rate), 0.0)
        return np.where(epsilon0 > 600.0, large, np.log1p(rate * np.expm1(np.minimum(epsilon0, 600.0))))


@dataclass(frozen=True)
class _PerStepComposition(Accountant):
    """Composition of (ε, δ) of single steps, all of which get the same δ₀.

    Attributes:
        amplification: "exact", or "linear" as plotted by Abadi et al. 2016 (not a valid bound).
    """

    options: ClassVar[Mapping[str, str]] = {"amplification": "amplification"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"amplification": AMPLIFICATIONS}
    amplification: str = "exact"

    def latex(self, mechanism: Mechanism, steps: int, delta: float) -> str:
        return rf"{super().latex(mechanism, steps, delta)}, \quad {self._text('step_formula')}"

    @property
    def kind(self) -> Kind:
        return Kind.UPPER if self.amplification == "exact" else Kind.APPROXIMATION

    @abstractmethod
    def _compose(self, sigma: Array, rate: Array, count: Array, delta: Array) -> Array:
        """ε of events laid out along the last axis (…, events) at total δ (…)."""

    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        step = rows.gaussian
        sigma, rate = step.noise_multiplier[rows.member], step.sample_rate[rows.member]
        return bound_without_orders(self._compose(sigma, rate, rows.count, delta), self.kind_reason)

    def _step_epsilon(self, sigma: Array, rate: Array, delta0: Array) -> Array:
        return amplify(gaussian_step_epsilon(sigma, delta0), rate, self.amplification)


def _delta_per_draw(budget: Array, rate: Array, count: Array) -> Array:
    """δ₀ such that Σ count·q·δ₀ uses up `budget` (…); 1 where nothing is ever drawn."""
    drawn = (count * rate).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(drawn > 0.0, np.minimum(budget / drawn, 1.0), 1.0)


def _weighted_sum(count: Array, values: Array) -> Array:
    """Σ count·value over events; one of no steps adds nothing even if one step costs infinitely much."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(count > 0.0, count * values, 0.0).sum(axis=-1))


@dataclass(frozen=True)
class Basic(_PerStepComposition):
    """ε and δ of the steps simply added up (Dwork et al. 2006, Theorem 1)."""

    name: ClassVar[str] = "basic"

    def _compose(self, sigma: Array, rate: Array, count: Array, delta: Array) -> Array:
        delta0 = _delta_per_draw(delta, rate, count)
        return _weighted_sum(count, self._step_epsilon(sigma, rate, delta0[..., None]))


@dataclass(frozen=True)
class Strong(_PerStepComposition):
    """ε = √(2 ln(1/δ′) Σε_i²) + Σε_i(e^{ε_i} − 1) at δ = δ′ + Σqδ₀, the split of δ chosen best.

    Dwork, Rothblum, Vadhan 2010, Theorem III.3, in the form for unequal steps of Lécuyer 2021, §2.1.
    """

    name: ClassVar[Literal["strong"]] = "strong"

    def _compose(self, sigma: Array, rate: Array, count: Array, delta: Array) -> Array:
        logits = np.broadcast_to(_COARSE_LOGITS, (*delta.shape, _COARSE_LOGITS.size))
        coarse = self._at_splits(sigma, rate, count, delta, logits)
        best = np.take_along_axis(logits, coarse.argmin(axis=-1)[..., None], axis=-1)
        fine = self._at_splits(sigma, rate, count, delta, best + _FINE_LOGITS)
        return np.asarray(np.minimum(coarse.min(axis=-1), fine.min(axis=-1)))

    def _at_splits(self, sigma: Array, rate: Array, count: Array, delta: Array, logits: Array) -> Array:
        """ε at each split: δ′ = δ/(1 + e^−logit); shapes (…, events), (…), (…, splits) → (…, splits)."""
        log_slack = np.log(delta)[..., None] - np.log1p(np.exp(-logits))
        rest = delta[..., None] / (1.0 + np.exp(logits))
        sigma, rate, count = sigma[..., None, :], rate[..., None, :], count[..., None, :]
        step = self._step_epsilon(sigma, rate, _delta_per_draw(rest, rate, count)[..., None])
        with np.errstate(over="ignore", invalid="ignore"):
            squares = _weighted_sum(count, step**2)
            drift = _weighted_sum(count, np.where(step > 0.0, step * np.expm1(step), 0.0))
            return np.asarray(np.sqrt(-2.0 * log_slack * squares) + drift)
