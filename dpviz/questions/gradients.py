"""Gradient samples as values: drawn, measured or read when they are asked for, and named in keys.

>>> Norms("weibull", count=100, shape=2.0, seed=0).sample().size
100
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import BayesianBound
from dpviz.gradients.families import draw_norms
from dpviz.gradients.sample import GradientSample
from dpviz.gradients.upload import read_distances
from dpviz.gradients.weibull_vectors import weibull_vectors
from dpviz.questions import Note
from dpviz.questions.source import Measurable, NoSample, Source

NO_FILE = "No file yet: upload a CSV or NPY of norms."
MOST_COORDINATES = 40_000_000  # a second; whoever asks is not held up longer

Gradients = Source[GradientSample]


@dataclass(frozen=True)
class Vectors(Gradients):
    """Pairs of gradients with Weibull coordinates (Triastcyn & Faltings 2020, §5.1)."""

    vectors: int
    dimensions: int
    shape: float
    pairing: str
    seed: int

    def make(self) -> GradientSample:
        if self.vectors * self.dimensions > MOST_COORDINATES:
            raise ValueError(
                f"Vectors × dimensions = {self.vectors * self.dimensions:,} is more than {MOST_COORDINATES:,}, which "
                "would take too long on a page: take fewer of either."
            )
        return weibull_vectors(
            vectors=self.vectors, dimensions=self.dimensions, shape=self.shape, seed=self.seed, pairing=self.pairing
        )


@dataclass(frozen=True)
class Norms(Gradients):
    """Norms drawn from a family of distributions: "weibull", "lognormal" or "halfnormal", which has no shape."""

    family: str
    count: int
    shape: float
    seed: int

    def make(self) -> GradientSample:
        return draw_norms(self.family, count=self.count, shape=self.shape, seed=self.seed)


@dataclass(frozen=True)
class Law(Gradients):
    """A known distribution of norms: what needs no sample of it; families as for `Norms`."""

    family: str
    shape: float

    def make(self) -> GradientSample:
        raise NoSample("a known distribution is not a sample. Choose measured or drawn gradients.")

    def clip(self, quantile: float) -> dict[str, Any]:
        """The clipped distribution as the library's keywords."""
        return {"family": self.family, "shape": self.shape, "quantile": quantile}


@dataclass(frozen=True)
class Measured(Measurable[GradientSample]):
    """Gradients of a small network on the shipped digits, after some training."""

    target = "dpviz.training.measured:measure"
    model: str
    training_step: int
    examples: int
    seed: int


@dataclass(frozen=True)
class File(Gradients):
    """A column of a CSV or NPY file of norms or distances; without a name there is no file yet."""

    name: str = ""
    column: str | None = None

    def make(self) -> GradientSample:
        if not self.name:
            raise NoSample(NO_FILE)
        return read_distances(Path(self.name).read_bytes(), self.name, self.column)


def no_bayesian(problem: ValueError) -> tuple[Note, ...]:
    """What is said where Bayesian DP has no number: the other curves stand. A sample that is coming is no problem."""
    late = isinstance(problem, NoSample) and problem.coming
    return (Note(f"Bayesian DP: {problem}", "caution" if late else "problem"),)


def tail(key: str, bound: BayesianBound) -> list[tuple[str, Array]]:
    """What the file says of the tail of a curve's sample."""
    return [(f"largest_share_{key}", bound.largest_share), (f"effective_size_{key}", bound.effective_size)]


class Distances(NamedTuple):
    """What Bayesian DP sees of a sample.

    Attributes:
        distances: ‖g − g′‖, clipped or not, shape (m,).
        threshold: C, in the gradients' units.
        sensitivity: the most that clipped gradients can differ: 2C for pairs of gradients, C for plain norms.
        largest: d_max, where no distance can exceed it and they are independent: what a bound needs; else None.
    """

    distances: Array
    threshold: float
    sensitivity: float
    largest: float | None


@remembered
def clipped(gradients: Gradients, quantile: float, clip: str) -> Distances:
    """The sample with C at a quantile of its norms; `clip` is "both", or "dp" where Bayesian DP sees it unclipped.

    Raises:
        ValueError: when the quantile clips everything to 0, or there is no sample.
    """
    sample, both = gradients.sample(), clip == "both"
    threshold = sample.threshold(quantile)
    sensitivity = sample.sensitivity(threshold)
    distances = sample.distances(threshold if both else None)
    return Distances(distances, threshold, sensitivity, sensitivity if both and sample.independent else None)
