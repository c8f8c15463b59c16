"""Pairs of Gaussian mixtures, at random: against 60 digits, against sums over outputs, against another library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from scipy.stats import norm

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.accounting.pld.privacy_loss import discretise
from dpviz.mechanisms import Adjacency, Mechanism, PersonRows, SampledGaussian
from dpviz.mechanisms.mixture_pair import MixturePair, Weights
from tests.accounting.references import hockey_stick

Array = npt.NDArray[np.float64]
RATE = 256 / 60_000


@dataclass(frozen=True)
class Mixed(Mechanism):
    """A step with this pair."""

    adjacency: ClassVar[Adjacency] = Adjacency.PERSON
    text: ClassVar[str] = "mixed"
    latex: ClassVar[str] = "x"
    releases: ClassVar[bool] = True
    known: MixturePair

    def pair(self) -> MixturePair:
        return self.known


def normal(weights: dict[float, float]) -> Weights:
    total = math.fsum(weights.values())
    return tuple((c, w / total) for c, w in sorted(weights.items()))


def drawn(seed: int) -> MixturePair:
    """Q first, then P = Q times rising factors, with centres of its own beyond; or far less alike."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    centres = np.cumsum(rng.exponential(1.0, size))
    q = dict(zip(centres.tolist(), rng.dirichlet(np.ones(size)).tolist(), strict=True))
    rising = np.cumsum(rng.exponential(float(rng.choice([1e-3, 1.0])), size)) + 1.0
    p = {c: w * f for (c, w), f in zip(q.items(), rising.tolist(), strict=True)}
    rare = float(rng.choice([1e-6, 0.01, 0.5]))
    p |= {float(centres[-1] + j + 0.5): rare**j * float(rising[-1]) for j in range(1, int(rng.integers(2, 5)))}
    return MixturePair(float(rng.choice([0.3, 1.0, 4.0, 3000.0])), normal(p), normal(q))


PAIRS = [*map(drawn, range(24)), PersonRows(1.1, RATE, 10).pair(), PersonRows(1e5, 1e-4, 3).pair()]
each = pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))


def tail(weights: Weights, sigma: float, z: float, sign: int = 1) -> mpmath.mpf:
    """Probability beyond z, to the right or to the left, of weights that add up to 1 exactly."""
    total = mpmath.fsum(w for _, w in weights)
    return mpmath.fsum(w * mpmath.ncdf(sign * (mpmath.mpf(c) - z) / sigma) for c, w in weights) / total


@each
def test_one_step_to_nine_digits(pair: MixturePair) -> None:
    low, high = pair.loss(np.array(pair.reach(6.0))).tolist()
    with mpmath.workdps(60):
        for epsilon in np.linspace(0.0, max(high, -low), 7)[:-1].tolist():
            sides = (pair.p, pair.q, float(pair.output(epsilon)), 1), (pair.q, pair.p, float(pair.output(-epsilon)), -1)
            truth = max(
                tail(p, pair.sigma, z, sign) - mpmath.exp(epsilon) * tail(q, pair.sigma, z, sign)
                for p, q, z, sign in sides
                if math.isfinite(z)
            )
            assert pair.log_delta(epsilon) == pytest.approx(float(mpmath.log(truth)), abs=1e-9)


@each
def test_cells_err_by_no_more_than_they_say(pair: MixturePair) -> None:
    reach = pair.reach(20.0)
    z = np.sort(np.concatenate([np.linspace(*reach, 23), np.linspace(*pair.reach(1.0), 5) + 1e-3]))
    cells = pair.cells(z)
    with mpmath.workdps(150):
        p, q = (
            np.diff(np.array([-tail(side, pair.sigma, x) for x in z.tolist()], dtype=object))
            for side in (pair.p, pair.q)
        )
        assert all(abs(mass - true) <= error for mass, true, error in zip(cells.mass, q, cells.mass_error, strict=True))
        gained = zip(cells.gain, p - q, cells.gain_error, strict=True)
        assert all(abs(gain - true) <= error for gain, true, error in gained)


@each
def test_outputs_have_the_losses_asked_for(pair: MixturePair) -> None:
    low, high = pair.loss(np.array(pair.reach(30.0))).tolist()
    losses = np.linspace(low, high, 401)
    found = pair.output(losses)
    losses, found = losses[np.isfinite(found)], found[np.isfinite(found)]
    assert (np.diff(found) >= 0.0).all()
    np.testing.assert_allclose(pair.loss(found), losses, rtol=1e-12, atol=1e-13 * (high - low))
    most, least = pair.largest_losses
    assert pair.output([most, -least]).tolist() == [math.inf, -math.inf]


@each
@pytest.mark.parametrize("cells", [3, 200])
def test_grids_lie_above_and_below_the_privacy_curve(pair: MixturePair, cells: int) -> None:
    low, high = pair.loss(np.array(pair.reach(8.0))).tolist()
    plds = discretise(Mixed(pair), (high - low) / cells, 12.0)
    for epsilon in (0.0, 0.05 * high, 0.4 * high):
        removed, added = (math.exp(each._log_delta(epsilon)) for each in (pair, pair.mirrored))
        assert hockey_stick(plds.remove_below, epsilon) <= removed * (1 + 1e-9) + 1e-15
        assert hockey_stick(plds.remove_above, epsilon) >= removed * (1 - 1e-9) - 1e-15
        assert hockey_stick(plds.add_above, epsilon) >= added * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize("pair", PAIRS[:12:3], ids=range(4))
def test_two_steps_by_direct_integration(pair: MixturePair) -> None:
    edges = np.linspace(pair.reach(8.0)[0], pair.reach(8.0)[1], 1201)
    z, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    p, q = (sum(w * norm.pdf(z, c, pair.sigma) * width for c, w in side) for side in (pair.p, pair.q))
    found = tight_epsilon(Mixed(pair), 2, 1e-3)
    for epsilon, sign in ((float(found.lower), -1.0), (float(found.upper), 1.0)):
        sides = ((p, q), (q, p))
        delta = max(np.maximum(np.outer(a, a) - math.exp(epsilon) * np.outer(b, b), 0.0).sum() for a, b in sides)
        assert epsilon == 0.0 or sign * (1e-3 - delta) >= -5e-6


def test_what_is_not_monotone_is_refused() -> None:
    with pytest.raises(ValueError, match="rises"):
        MixturePair(1.0, ((0.0, 0.5), (1.0, 0.5)), ((-1.0, 0.5), (1.0, 0.5)))
    with pytest.raises(ValueError, match="rows"):
        PersonRows(1.0, 0.1, 1001)


# A person with several rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "epsilon"), [(2, 5.27), (5, 16.11), (10, 40.93)])
def test_rows_cost_what_they_cost_elsewhere(rows: int, epsilon: float) -> None:
    ask = partial(dpviz.epsilon, "tight", mechanism=PersonRows(1.1, RATE, rows), steps=14_062, delta=1e-5)
    lower, upper = (float(ask(bound=bound)) for bound in ("lower", "upper"))
    assert lower <= upper <= 1.01 * lower
    assert epsilon == pytest.approx(0.5 * (lower + upper), rel=2e-3)


def test_rows_as_dp_accounting() -> None:
    step = PersonRows(5.0, 0.01, 4)
    centres, weights = zip(*step.pair().p, strict=True)
    theirs = peer.from_mixture_gaussian_mechanism(5.0, centres, weights, value_discretization_interval=1e-3)
    found = tight_epsilon(step, 100, 1e-5)
    assert float(found.lower) <= theirs.self_compose(100).get_epsilon_for_delta(1e-5) <= float(found.upper) * 1.01


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.1, RATE, 14_062), (4.0, 0.01, 10_000), (0.6, 1e-4, 100)])
def test_one_row_is_the_sampled_gaussian(sigma: float, rate: float, steps: int) -> None:
    one, other = (
        tight_epsilon(step, steps, 1e-5) for step in (PersonRows(sigma, rate, 1), SampledGaussian(sigma, rate))
    )
    assert max(float(one.lower), float(other.lower)) <= min(float(one.upper), float(other.upper))
    for epsilon in (0.0, 0.1, 1.0):
        ours, theirs = (step(sigma, rate).pair().log_delta(epsilon) for step in (PersonRows, SampledGaussian))
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_all_rows_always_are_one_gaussian() -> None:
    assert PersonRows(2.0, 1.0, 4).total_variation == pytest.approx(SampledGaussian(0.5).total_variation, rel=1e-9)
    known = dpviz.epsilon("tight", mechanism=SampledGaussian(0.5), steps=3, delta=1e-5)
    assert dpviz.epsilon("tight", mechanism=PersonRows(2.0, 1.0, 4), steps=3, delta=1e-5) == known
