"""Random pairs of neighbours against the pair that is claimed to be the worst where one example is replaced.

An attacker who sees outputs in cells only tells worlds apart no better than one who sees them whole, and a cell's
probability is exact: what such an attacker reaches is a lower bound, which no dominating pair may lie below.
"""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

from dpviz.mechanisms import ReplaceOneGaussian

Array = npt.NDArray[np.float64]
Worlds = tuple[Array, Array]  # probabilities of the cells with one example, and with the other

ROUNDING = 1e-9


def cells(sigma: float, reach: float, count: int) -> Array:
    away = reach + 9.0 * sigma
    return np.r_[-np.inf, np.linspace(-away, away, count - 1), np.inf]


def gaussian(edges: Array, centre: float, sigma: float) -> Array:
    z = (edges - centre) / sigma
    return np.where(z[1:] <= 0.0, np.diff(ndtr(z)), -np.diff(ndtr(-z)))


def world(edges: Array, step: ReplaceOneGaussian, example: float, others: Array, weights: Array) -> Array:
    """The example's contribution, and what the other examples of the batch add up to: any mixture."""
    q, found = step.sample_rate, np.zeros(edges.size - 1)
    for other, weight in zip(others, weights, strict=True):
        found += weight * (1.0 - q) * gaussian(edges, other, step.noise_multiplier)
        found += weight * q * gaussian(edges, other + example, step.noise_multiplier)
    return found


def told_apart(worlds: Worlds, k: Array) -> Array:
    """The hockey-stick divergences P − kQ of cells, for any shape of k."""
    p, q = worlds
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(q > 0.0, p / q, np.inf)
    falling = np.argsort(-ratio)
    counted = np.searchsorted(-ratio[falling], -k, side="left")
    return np.asarray(np.r_[0.0, np.cumsum(p[falling])][counted] - k * np.r_[0.0, np.cumsum(q[falling])][counted])


class Attacker:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def step(self) -> ReplaceOneGaussian:
        sigma = math.exp(self.rng.uniform(math.log(0.25), math.log(8.0)))
        return ReplaceOneGaussian(sigma, float(self.rng.choice([self.rng.random(), math.exp(self.rng.uniform(-7, 0))])))

    def example(self) -> float:
        """Ends are worst, and 0 is an example that adds nothing."""
        return float(self.rng.choice([-1.0, 1.0, 0.0, *self.rng.uniform(-1, 1, 4)]))

    def line(self, step: ReplaceOneGaussian, count: int) -> Worlds:
        """Numbers, with others in the batch every other time."""
        several = int(self.rng.integers(1, 4)) if self.rng.random() < 0.5 else 0
        others = self.rng.normal(0, self.rng.choice([0.2, 1.0, 4.0]), several) if several else np.zeros(1)
        weights = self.rng.dirichlet(np.ones(others.size))
        edges = cells(step.noise_multiplier, 1.0 + float(np.abs(others).max()), count)
        one, other = (world(edges, step, self.example(), others, weights) for _ in range(2))
        return one, other

    def plane(self, step: ReplaceOneGaussian) -> Worlds:
        """Vectors: only the plane that both examples lie in tells them apart."""
        sigma, q = step.noise_multiplier, step.sample_rate
        edges = cells(sigma, 1.0, 150)
        ends = self.rng.normal(size=2)
        ends = np.array([ends, -ends + self.rng.normal(0, self.rng.choice([0.1, 1.0, 9.0]), 2)])
        ends /= np.maximum(np.linalg.norm(ends, axis=1, keepdims=True), self.rng.choice([1e-9, 1.0]))
        centre = gaussian(edges, 0.0, sigma)
        one, other = (
            (
                (1 - q) * np.outer(centre, centre) + q * np.outer(gaussian(edges, x, sigma), gaussian(edges, y, sigma))
            ).ravel()
            for x, y in ends
        )
        return one, other


@pytest.mark.parametrize("seed", range(3))
def test_one_step(seed: int) -> None:
    attacker = Attacker(seed)
    epsilon = np.array([0.0, 0.003, 0.05, 0.4, 2.0])
    closest = 0.0
    for attempt in range(40):
        step = attacker.step()
        worlds = attacker.plane(step) if attempt % 4 == 0 else attacker.line(step, 3000)
        reached = told_apart(worlds, np.exp(epsilon))
        claimed = np.array([math.exp(step.pair().log_delta(e)) for e in epsilon])
        assert (reached <= claimed * (1 + ROUNDING) + 1e-13).all(), step
        closest = max(closest, reached[0] / claimed[0])
    assert closest > 0.99, "these attackers come as near as one can"
