"""Dominating pairs and Rényi curves against 60 digits, sums over outputs and another library; random mixtures, too."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from scipy.stats import laplace, norm

import dpviz
from dpviz.accounting.pld import privacy_loss
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.accounting.pld.privacy_loss import discretise
from dpviz.accounting.pld.single_step import single_step_epsilon
from dpviz.mechanisms import (
    Adjacency,
    FixedSize,
    Laplace,
    Mechanism,
    PersonRows,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    TruncatedPoisson,
    WithReplacement,
    merge_events,
)
from dpviz.mechanisms.divergences import laplace_divergence, replaced_divergence
from dpviz.mechanisms.mixture_pair import MixturePair, Weights
from dpviz.mechanisms.pair import DominatingPair, SampledPair
from tests.accounting.references import hockey_stick
from tests.contract.cases import promised

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
PAIRS += [WithReplacement(2.2, 2000, 40).pair(), PersonRows(8.0, 0.3, 40).pair().mirrored]  # most centres do not count
each = pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))


# (mechanism, α, R(α)), the larger of both directions, by ∫ P^α Q^(1−α) with mpmath at 40 digits.
TRUTHS: list[tuple[Mechanism, float, float]] = [
    (ReplaceOneGaussian(4.0, 0.01), 2.0, 2.4999850297104542e-05),
    (ReplaceOneGaussian(4.0, 0.01), 20.5, 0.0002563049389395753),
    (ReplaceOneGaussian(1.0, 0.1), 5.0, 0.19904135945485654),
    (ReplaceOneGaussian(0.5, 0.3), 3.3, 5.229579789448731),
    (ReplaceOneGaussian(10.0, 0.5), 40.0, 0.19951074016023093),
    (ReplaceOneGaussian(2.0, 0.9), 12.0, 3.4157329201577356),
    (ReplaceOneGaussian(30.0, 0.99), 300.0, 0.6524507716908546),
    (ReplaceOneGaussian(50.0, 1e-4), 900.0, 7.19999991634511e-09),
    (Laplace(1.0, 0.1), 2.0, 0.008536457019489742),
    (Laplace(1.0, 1.0), 2.5, 0.6939505397222644),
    (Laplace(0.2, 0.01), 10.0, 0.3878542575709034),
    (Laplace(5.0, 0.5), 30.0, 0.07900586595453962),
    (Laplace(0.05, 0.3), 4.0, 18.208164338320046),
    (Laplace(100.0, 0.01), 1.01, 5.033290845609431e-09),
    (Laplace(1.0, 1e-6), 50.0, 2.143284374505392e-11),
    (PersonRows(4.0, 0.01, 2), 2.0, 2.5814182613590123e-05),
    (PersonRows(4.0, 0.01, 3), 12.5, 0.00037093310158626424),
    (PersonRows(1.1, 0.1, 5), 4.0, 25.971994780881893),
    (PersonRows(2.0, 0.5, 10), 3.0, 27.20550670967793),
    (PersonRows(1.0, 0.3, 4), 20.0, 154.9306408238908),
    (PersonRows(30.0, 0.2, 3), 50.0, 0.01027396289731793),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("sigma", "rate", "rows"), [(10.0, 0.999, 1000), (1000.0, 1 / 3, 1000), (50.0, 0.5, 200)])
def test_many_rows_that_are_nearly_always_drawn_have_a_divergence(sigma: float, rate: float, rows: int) -> None:
    """Between that of as many rows as are drawn on average, always, and that of all (convexity); nothing overflows."""
    orders = np.array([1.0001, 1.5, 8.0, 200.0])
    curve = PersonRows(sigma, rate, rows).renyi()(orders)
    each = 0.5 * orders * (rows / sigma) ** 2
    assert (curve >= rate**2 * each).all()
    assert (curve <= each * (1 + 1e-12)).all()


@pytest.mark.parametrize(("mechanism", "order", "truth"), TRUTHS)
def test_divergences_are_at_most_rounding_above_the_truth(mechanism: Mechanism, order: float, truth: float) -> None:
    curve = mechanism.renyi()
    assert curve is not None
    assert truth * (1 - 1e-14) <= float(curve(np.array(order))) <= truth * (1 + 1e-9)


def test_mechanisms_are_values_and_equal_steps_add_up_in_order_of_appearance() -> None:
    a, b = SampledGaussian(1.0, 0.1), SampledGaussian(2.0, 0.1)
    assert SampledGaussian(4, 0.5) == SampledGaussian(np.float64(4.0), 0.5)
    assert len({a, SampledGaussian(1.0, 0.1), b}) == 2
    assert type(SampledGaussian(np.float32(2), 1).noise_multiplier) is float
    assert merge_events([(a, 3), (b, 2), (SampledGaussian(1.0, 0.1), 4)]) == ((a, 7), (b, 2))


def test_unsampled_laplace_is_the_closed_form() -> None:
    """Mironov 2017, Proposition 6."""
    for scale in (0.3, 1.0, 7.0):
        for a in (1.5, 2.0, 9.0, 100.0):
            first = math.log(a / (2 * a - 1)) + (a - 1) / scale
            second = math.log((a - 1) / (2 * a - 1)) - a / scale
            assert float(laplace_divergence(scale, 1.0, a)) == pytest.approx(
                np.logaddexp(first, second) / (a - 1), rel=1e-9
            )


@pytest.mark.parametrize(
    "mechanism",
    [ReplaceOneGaussian(3.0, 0.01), ReplaceOneGaussian(0.5, 0.4), Laplace(0.4, 0.02), PersonRows(2.0, 0.1, 4)],
)
def test_curves_rise_to_the_largest_orders(mechanism: Mechanism) -> None:
    """R(α) never falls in α, also where a closed bound takes over from quadrature; whole orders are not special."""
    curve = mechanism.renyi()
    assert curve is not None
    found = curve(1.0 + np.geomspace(1e-4, 1e6, 60))
    assert (found > 0.0).all()
    assert (np.diff(found) >= -1e-9 * found[1:]).all()
    assert float(curve(np.array(2.0**39))) >= found[-1]


def test_without_sampling_replacing_is_a_gaussian_of_half_the_noise() -> None:
    replaced, halved = ReplaceOneGaussian(4.0), SampledGaussian(2.0)
    assert single_step_epsilon(replaced, 1e-6) == pytest.approx(single_step_epsilon(halved, 1e-6), rel=1e-9)
    assert replaced_divergence(4.0, 1.0, [2.0, 30.0]) == pytest.approx(halved.renyi()(np.array([2.0, 30.0])))
    nearly = tight_epsilon(ReplaceOneGaussian(4.0, 1 - 1e-9), [5], 1e-6)
    exact = tight_epsilon(halved, [5], 1e-6)
    assert nearly.lower[0] <= exact.upper[0] * (1 + 1e-6)
    assert nearly.upper[0] >= exact.lower[0] * (1 - 1e-6)


Density = Callable[[Array], Array]


def densities(mechanism: Mechanism) -> tuple[Density, Density]:
    if isinstance(mechanism, ReplaceOneGaussian):
        s, q = mechanism.noise_multiplier, mechanism.sample_rate
        return (
            lambda z: (1 - q) * norm.pdf(z, 0, s) + q * norm.pdf(z, 1, s),
            lambda z: (1 - q) * norm.pdf(z, 0, s) + q * norm.pdf(z, -1, s),
        )
    if isinstance(mechanism, Mixed):
        p, q = (
            lambda z, side=side: sum(w * norm.pdf(z, c, mechanism.known.sigma) for c, w in side)
            for side in (mechanism.known.p, mechanism.known.q)
        )
        return p, q
    assert isinstance(mechanism, Laplace)
    b, q = mechanism.scale, mechanism.sample_rate
    return lambda z: (1 - q) * laplace.pdf(z, 0, b) + q * laplace.pdf(z, 1, b), lambda z: laplace.pdf(z, 0, b)


def both_worlds(mechanism: Mechanism, points: int, far: float = 40.0) -> tuple[list[tuple[Array, Array]], float]:
    """Densities at the middles of cells, removal's and addition's, and the width of a cell."""
    ends = mechanism.known.reach(8.0) if isinstance(mechanism, Mixed) else (-far, far)
    edges = np.linspace(*ends, points)
    first, second = (density(0.5 * (edges[1:] + edges[:-1])) for density in densities(mechanism))
    return [(first, second), (second, first)], float(edges[1] - edges[0])


def slow_delta(mechanism: Mechanism, epsilon: float) -> float:
    """The worse direction's δ after two steps, by the midpoint rule."""
    worlds, width = both_worlds(mechanism, 1_801, 16.0)
    both = [(np.multiply.outer(p, p), np.multiply.outer(q, q)) for p, q in worlds]
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * width**2) for p, q in both)


SMALL = [ReplaceOneGaussian(1.5, 0.3), ReplaceOneGaussian(0.8, 0.05), Laplace(1.0, 0.4), Laplace(2.0)]


def both_deltas(pair: DominatingPair, epsilon: float) -> tuple[float, float]:
    """Removal's and addition's δ(ε) of one step in closed form."""
    if isinstance(pair, MixturePair):
        return math.exp(pair._log_delta(epsilon)), math.exp(pair.mirrored._log_delta(epsilon))
    ways = (pair.log_delta_removed, pair.log_delta_added) if isinstance(pair, SampledPair) else (pair.log_delta,) * 2
    removed, added = (math.exp(way(epsilon)) for way in ways)
    return removed, added


@pytest.mark.parametrize("mechanism", SMALL, ids=lambda m: m.text)
def test_one_step_by_direct_integration(mechanism: Mechanism) -> None:
    worlds, width = both_worlds(mechanism, 400_001)
    for epsilon in (0.0, 0.05, 0.3):
        truths = [np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * width for p, q in worlds]
        assert both_deltas(mechanism.pair(), epsilon) == pytest.approx(truths, rel=2e-4)
        assert math.exp(mechanism.pair().log_delta(epsilon)) == pytest.approx(max(truths), rel=2e-4)


@pytest.mark.parametrize("mechanism", [*SMALL, SampledGaussian(0.7, 0.2)], ids=lambda m: m.text)
def test_total_variation_is_delta_at_zero(mechanism: Mechanism) -> None:
    assert mechanism.total_variation == pytest.approx(math.exp(mechanism.pair().log_delta(0.0)), rel=1e-9)


@pytest.mark.parametrize("mechanism", [*SMALL, *map(Mixed, PAIRS)], ids=lambda m: m.text)
@pytest.mark.parametrize("cells", [3, 200])
def test_grids_lie_above_and_below_the_privacy_curve(mechanism: Mechanism, cells: int) -> None:
    """Removal's from both sides and addition's from above, also where a cell is wider than nearly all losses."""
    pair = mechanism.pair()
    low, high = pair.loss(np.array(pair.reach(8.0))).tolist()
    plds = discretise(mechanism, (high - low) / cells, 12.0)
    for epsilon in (0.0, 0.05 * high, 0.4 * high):
        removed, added = both_deltas(pair, epsilon)
        assert hockey_stick(plds.remove_below, epsilon) <= removed * (1 + 1e-9) + 1e-15
        assert hockey_stick(plds.remove_above, epsilon) >= removed * (1 - 1e-9) - 1e-15
        assert hockey_stick(plds.add_above, epsilon) >= added * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize("mechanism", [*SMALL, *map(Mixed, PAIRS[:12:3])], ids=lambda m: m.text)
@pytest.mark.one_of(3)
def test_two_steps_by_direct_integration(mechanism: Mechanism) -> None:
    high = 1.0 if mechanism in SMALL else float(tight_epsilon(mechanism, 2, 1e-3).upper)
    for epsilon in (0.1 * high, 0.4 * high):
        truth = slow_delta(mechanism, epsilon)
        found = tight_delta(mechanism, 2, epsilon)
        assert float(found.lower) * (1 - 5e-4) <= truth <= float(found.upper) * (1 + 5e-4)
        assert float(found.upper) <= 1.05 * truth + 1e-4


def test_losses_far_below_zero_have_their_place() -> None:
    """There 1 + (exp(loss) − 1) has no digits left."""
    mechanism = ReplaceOneGaussian(0.25, 0.3)
    for epsilon in (20.0, 30.0):
        truth, bounds = slow_delta(mechanism, epsilon), tight_delta(mechanism, 2, epsilon)
        assert float(bounds.lower) * (1 - 3e-3) <= truth <= float(bounds.upper) * (1 + 3e-3)
        assert float(bounds.upper) <= 1.05 * truth


def test_the_hull_corner_by_corner_is_the_hull_in_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    for _ in range(200):
        width, mass = random.exponential(size=30), random.exponential(size=31)
        mass[random.integers(1, 31, 3)] *= -random.exponential(4.0, 3)
        hulls = []
        for passes in (100, 0):
            monkeypatch.setattr(privacy_loss, "PASSES", passes)
            hulls.append(privacy_loss.convex_hull(width, mass))
        place = np.concatenate([[0.0], np.cumsum(width)])
        curves = [np.maximum(place - place[:, None], 0.0).T @ hull for hull in hulls]
        np.testing.assert_allclose(curves[0], curves[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"), [(4.0, 0.01, 1000, 1e-5), (1.0, 0.2, 10, 1e-6), (2.0, 1.0, 4, 1e-5)]
)
def test_replace_one_as_dp_accounting(sigma: float, rate: float, steps: int, delta: float) -> None:
    peer = PLDAccountant(NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-4)
    peer.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps)
    theirs = peer.get_epsilon(delta)  # from above
    found = tight_epsilon(ReplaceOneGaussian(sigma, rate), steps, delta)
    assert float(found.lower) <= theirs
    assert theirs == pytest.approx(float(found.upper), abs=promised(theirs))


@pytest.mark.parametrize(
    ("scale", "rate", "steps", "delta"), [(20.0, 0.1, 1000, 1e-5), (1.0, 0.02, 50, 1e-6), (2.0, 1.0, 8, 1e-3)]
)
def test_laplace_as_dp_accounting(scale: float, rate: float, steps: int, delta: float) -> None:
    peer = privacy_loss_distribution.from_laplace_mechanism(
        scale, sampling_prob=rate, value_discretization_interval=1e-4
    ).self_compose(steps)
    theirs = peer.get_epsilon_for_delta(delta)
    found = tight_epsilon(Laplace(scale, rate), steps, delta)
    assert float(found.lower) <= theirs
    assert theirs == pytest.approx(float(found.upper), abs=promised(theirs))


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
@pytest.mark.one_of(3)
def test_cells_err_by_no_more_than_they_say(pair: MixturePair) -> None:
    low, high = pair.reach(20.0)
    whole = np.sort(np.concatenate([np.linspace(low, high, 23), np.linspace(*pair.reach(1.0), 5) + 1e-3]))
    for z in (whole, np.linspace(low, 0.8 * low + 0.2 * high, 5)):  # an end, where few centres count
        cells = pair.cells(z)
        with mpmath.workdps(150):
            p, q = (
                np.diff(np.array([-tail(side, pair.sigma, x) for x in z.tolist()], dtype=object))
                for side in (pair.p, pair.q)
            )
            for given, true, error in (cells.mass, q, cells.mass_error), (cells.gain, p - q, cells.gain_error):
                assert (abs(given - true) <= error).all()


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


def test_what_is_not_monotone_is_refused() -> None:
    with pytest.raises(ValueError, match="rises"):
        MixturePair(1.0, ((0.0, 0.5), (1.0, 0.5)), ((-1.0, 0.5), (1.0, 0.5)))
    with pytest.raises(ValueError, match="rows"):
        PersonRows(1.0, 0.1, 1001)


@pytest.mark.parametrize(("rows", "epsilon"), [(2, 5.27), (5, 16.11), (10, 40.93)])
def test_rows_cost_what_they_cost_elsewhere(rows: int, epsilon: float) -> None:
    ask = partial(dpviz.epsilon, "tight", mechanism=PersonRows(1.1, RATE, rows), steps=14_062, delta=1e-5)
    lower, upper = (float(ask(bound=bound)) for bound in ("lower", "upper"))
    assert lower <= upper <= 1.01 * lower
    assert epsilon == pytest.approx(0.5 * (lower + upper), rel=2e-3)


def test_rows_as_dp_accounting() -> None:
    step = PersonRows(5.0, 0.01, 4)
    centres, weights = zip(*step.pair().p, strict=True)
    theirs = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        5.0, centres, weights, value_discretization_interval=1e-3
    )
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


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomAllocation(1.1, 10), TruncatedPoisson(1.1, 0.1, 100, 12), FixedSize(1.1, 100, 10), Laplace(1.0, 0.1),
        ReplaceOneGaussian(2.0, 0.1), PersonRows(2.0, 0.1, 3),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)  # fmt: skip
@pytest.mark.parametrize("loss", [-0.03, 0.01, 0.1])
def test_a_split_tells_the_loss_of_either_side(mechanism: Mechanism, loss: float) -> None:
    pair = privacy_loss.pair_of(mechanism)
    split, z = pair.split(loss), float(pair.output(loss))
    (q_below, p_below), (q_above, p_above) = pair.below(z), pair.above(z)
    assert split.left < loss < split.right
    assert split.left == pytest.approx(math.log(p_below / q_below), abs=1e-9)
    assert split.right == pytest.approx(math.log(p_above / q_above), abs=1e-9)
    assert split.below == pytest.approx(q_below, rel=1e-9)
