"""The sampled Gaussian mechanism, a person with several rows added or removed.

>>> step = PersonRows(noise_multiplier=4.0, sample_rate=0.01, rows=2)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01, a person with 2 rows'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpviz import _validate
from dpviz._remember import remembered
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.mixture_pair import MixturePair, Weights
from dpviz.mechanisms.sampled_gaussian import SampledGaussian


@dataclass(frozen=True, slots=True)
class PersonRows(Mechanism):
    """One step of `SampledGaussian`, each of a person's k rows drawn independently with probability q.

    With the drawn rows' sum g_S, |g_S| ≤ |S| clipping norms, P = Σ Pr[S] N(g_S, σ²I) and Q = N(0, σ²I). The easiest to
    tell apart is N(j, σ²) on a line with j binomial: P/Q is a sum of log-normals under Q, so that the expectation
    of a convex function of it rises with the covariances ⟨g_S, g_S′⟩/σ² of their logarithms (as in
    `replaced`), and these are largest at |S||S′|/σ².

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ clipping norm C of a row; dimensionless, > 0.
        sample_rate: q, the probability with which each row joins the batch; in [0, 1].
        rows: k, the most rows of one person; whole, 1 to 1000.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.PERSON
    noise_multiplier: float
    sample_rate: float = 1.0
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_multiplier", self._row.noise_multiplier)
        object.__setattr__(self, "sample_rate", self._row.sample_rate)
        rows = _validate.scalar("rows", _validate.steps(self.rows, "rows", minimum=1))
        if rows > 1000.0:
            raise ValueError(f"Expected rows={rows:.0f} <= 1000.")
        object.__setattr__(self, "rows", int(rows))

    @property
    def _row(self) -> SampledGaussian:
        return SampledGaussian(self.noise_multiplier, self.sample_rate)

    @property
    def text(self) -> str:
        return f"{self._row.text}, a person with {self.rows} row{'s' * (self.rows > 1)}"

    @property
    def latex(self) -> str:
        return self._row.latex

    @property
    def releases(self) -> bool:
        return self.sample_rate > 0.0

    def pair(self) -> MixturePair:
        return MixturePair(self.noise_multiplier, _binomial(self.rows, self.sample_rate), ((0.0, 1.0),))

    def renyi(self) -> RenyiCurve | None:
        """Known for one row, and where all rows are always drawn."""
        plain = 1.0 in (self.rows, self.sample_rate)
        return SampledGaussian(self.noise_multiplier / self.rows, self.sample_rate).renyi() if plain else None

    @property
    def as_gaussian(self) -> float | None:
        return self.noise_multiplier / self.rows if self.sample_rate == 1.0 else None

    @property
    def total_variation(self) -> float:
        return math.exp(self.pair().log_delta(0.0)) if self.releases else 0.0


@remembered
def _binomial(trials: int, rate: float) -> Weights:
    """Binomial probabilities, correctly rounded: of whole numbers, as a float is one over a power of two."""
    drawn, whole = rate.as_integer_ratio()
    exact = (math.comb(trials, j) * drawn**j * (whole - drawn) ** (trials - j) for j in range(trials + 1))
    weights = ((float(j), numerator / whole**trials) for j, numerator in enumerate(exact))
    return tuple((centre, weight) for centre, weight in weights if weight > 0.0)
