"""The sampled Gaussian mechanism, a person with several rows added or removed.

>>> step = PersonRows(noise_multiplier=4.0, sample_rate=0.01, rows=2)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01, a person with 2 rows'
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, repeat
from operator import mul
from typing import ClassVar

from dpviz import _validate
from dpviz._remember import remembered
from dpviz.mechanisms.mechanism import WORDS, Adjacency, RenyiCurve
from dpviz.mechanisms.mixture_pair import MixturePair, Weights
from dpviz.mechanisms.row_moments import RowsCurve, row_variation
from dpviz.mechanisms.sampled_gaussian import GaussianSum, SampledGaussian

MOST_CENTRES = 1000


@dataclass(frozen=True, slots=True)
class PersonRows(GaussianSum):
    """A sampled Gaussian step that protects a person: each of their k rows is drawn independently with probability q.

    With the drawn rows' sum g_S, |g_S| ≤ |S| clipping norms, P = Σ Pr[S] N(g_S, σ²I) and Q = N(0, σ²I). The easiest to
    tell apart is N(j, σ²) on a line with j binomial: P/Q is a sum of log-normals under Q, so that the expectation
    of a convex function of it rises with the covariances ⟨g_S, g_S′⟩/σ² of their logarithms (as in
    `ReplacedPair`), and these are largest at |S||S′|/σ².

    Attributes:
        rows: k, the most rows of one person; whole, 1 to 1000.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.PERSON
    kind: ClassVar[str] = SampledGaussian.kind
    title: ClassVar[str] = SampledGaussian.title
    assumes: ClassVar[str] = WORDS["persons"]["drawn"]
    most: ClassVar[Mapping[str, int]] = {"rows": MOST_CENTRES}
    rows: int = 1

    @property
    def moves(self) -> float:
        return float(self.rows)

    @property
    def what(self) -> str:
        return f", a person with {self.rows} row{'s' * (self.rows > 1)}"

    def pair(self) -> MixturePair:
        return MixturePair(self.noise_multiplier, binomial(self.rows, Fraction(self.sample_rate)), ((0.0, 1.0),))

    def renyi(self) -> RenyiCurve:
        if 1.0 in (self.rows, self.sample_rate):  # one row, or all of them always
            return SampledGaussian(self.noise_multiplier / self.rows, self.sample_rate).renyi()
        return RowsCurve(self.noise_multiplier, binomial(self.rows, Fraction(self.sample_rate)))

    @property
    def total_variation(self) -> float:
        return row_variation(binomial(self.rows, Fraction(self.sample_rate)), self.noise_multiplier)


def row_count(rows: float) -> int:
    """`rows`, checked: whole, 1 to 1000."""
    checked = int(_validate.whole(1, rows=rows))
    if checked > MOST_CENTRES:
        raise ValueError(f"Expected rows={checked} <= {MOST_CENTRES}.")
    return checked


@remembered
def binomial(trials: int, rate: Fraction) -> Weights:
    """Binomial probabilities, rounded from 60 decimal digits."""
    drawn, whole = rate.as_integer_ratio()
    with localcontext(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX):
        ups = list(accumulate(repeat(Decimal(drawn) / whole, trials), mul, initial=Decimal(1)))
        downs = list(accumulate(repeat(Decimal(whole - drawn) / whole, trials), mul, initial=Decimal(1)))
        ways = accumulate(range(trials), lambda many, j: many * (trials - j) // (j + 1), initial=1)
        weights = [float(many * up * down) for many, up, down in zip(ways, ups, reversed(downs), strict=True)]
    return tuple((float(j), weight) for j, weight in enumerate(weights) if weight > 0.0)
