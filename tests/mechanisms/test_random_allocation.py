"""Random allocation: reference numbers, an integral, a simulation, and what both bounds must keep."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import dpviz
from dpviz.accounting.pld.accountant import Tight
from dpviz.mechanisms import RandomAllocation, SampledGaussian
from dpviz.mechanisms.loss_pairs import DiscretePair

# σ, batches, epochs, δ → lower and upper ε computed elsewhere, and a Poisson sample's ε.
REFERENCE = [
    (1.1, 234, 1, 1e-5, 0.2714, 0.2718, 0.3074),
    (1.1, 234, 15, 1e-5, 1.0929, 1.0954, 1.137),
    (1.1, 234, 60, 1e-5, 2.332, 2.342, 2.387),
    (0.8, 234, 15, 1e-5, 2.157, 2.159, 2.274),
    (1.0, 100, 10, 1e-6, 1.9632, 1.9646, 2.130),
    (2.0, 234, 60, 1e-5, 0.998, 1.010, 1.018),
]


def epsilon(step: RandomAllocation, steps: int, delta: float) -> tuple[float, float]:
    low, high = (dpviz.epsilon("tight", mechanism=step, steps=steps, delta=delta, bound=b) for b in ("lower", "upper"))
    return float(low), float(high)


def log_deltas(step: RandomAllocation, at: float) -> tuple[float, float]:
    pairs = step.least.pair(), step.pair()
    assert pairs[0] is not None
    assert pairs[1] is not None
    return pairs[0].log_delta(at), pairs[1].log_delta(at)


@pytest.mark.parametrize(("sigma", "batches", "epochs", "delta", "low", "high", "poisson"), REFERENCE)
def test_reference(
    sigma: float, batches: int, epochs: int, delta: float, low: float, high: float, poisson: float
) -> None:
    lower, upper = epsilon(RandomAllocation(sigma, batches), epochs, delta)
    assert lower <= high
    assert upper >= low
    assert upper - lower <= max(0.01 * lower, 0.0002)
    assert upper < poisson


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("at", [0.0, 0.2, 1.0])
def test_two_batches_by_integration(sigma: float, at: float) -> None:
    x, width = np.linspace(-12.0, 12.0, 200_001, retstep=True)
    weight = np.exp(-0.5 * x * x) * width / math.sqrt(2.0 * math.pi)
    first = np.exp(x / sigma - 0.5 / sigma**2)

    def call(strike: np.ndarray) -> np.ndarray:  # E[(Y − k)₊], Y log-normal of mean 1
        safe = np.maximum(strike, 1e-300)
        d = -np.log(safe) * sigma + 0.5 / sigma
        return np.where(strike > 0.0, ndtr(d) - safe * ndtr(d - 1.0 / sigma), 1.0 - strike)

    removed = float(weight @ call(2.0 * math.exp(at) - first)) / 2.0
    strike = 2.0 * math.exp(-at) - first
    added = math.exp(at) * float(weight @ (call(strike) - 1.0 + strike)) / 2.0
    low, high = log_deltas(RandomAllocation(sigma, 2), at)
    exact = math.log(max(removed, added))
    assert low - 1e-7 <= exact <= high + 1e-7
    assert high - low <= 2e-3


def test_simulation() -> None:
    sigma, batches = 1.0, 100
    x = np.random.default_rng(11).normal(size=(100_000, batches))
    ratio = np.exp((2.0 * x - 1.0) / (2.0 * sigma**2)).mean(axis=1)
    for at in (0.1, 0.3):
        excess = np.maximum(ratio - math.exp(at), 0.0)
        error = 5.0 * float(excess.std()) / math.sqrt(excess.size)
        low, high = map(math.exp, log_deltas(RandomAllocation(sigma, batches), at))
        assert low - error <= excess.mean() <= high + error


@pytest.mark.parametrize(("sigma", "batches"), [(0.3, 50), (1.1, 3), (1.1, 100), (5.0, 1000), (40.0, 7)])
def test_bounds_keep_their_sides(sigma: float, batches: int) -> None:
    step = RandomAllocation(sigma, batches)
    lows, highs = np.array([log_deltas(step, at) for at in np.linspace(0.0, 2.0, 9)]).T
    assert (lows <= highs).all()
    assert (np.diff(highs) <= 0.0).all()
    assert highs[0] - lows[0] <= 2e-3
    pair = step.pair()
    assert pair is not None
    mass, gain = pair.below(math.inf)[0], pair.below(math.inf)[1] + pair.above(math.inf)[1]
    assert (mass, gain) == (pytest.approx(1.0, abs=1e-9), pytest.approx(1.0, abs=1e-9))


def test_one_epoch_counts_what_rounding_may_have_done() -> None:
    pair = RandomAllocation(1.1, 1000).pair()
    assert isinstance(pair, DiscretePair)
    excess = np.maximum(np.exp(pair.losses) - math.exp(0.1), 0.0)
    computed, doubt = float(pair.mass @ excess) + pair.always, float(pair.error @ excess)
    assert math.exp(pair.log_delta(0.1)) >= computed + 0.9 * doubt
    assert doubt > 1e-12 * computed


@pytest.mark.parametrize(("sigma", "batches"), [(1.1, 5), (0.5, 50), (4.0, 1000)])
def test_what_is_cut_off_as_negligible_still_bounds_the_rarest_outputs(sigma: float, batches: int) -> None:
    """Who sees one batch alone sees less, and losses beyond all limits."""
    pair, one = RandomAllocation(sigma, batches).pair(), SampledGaussian(sigma, 1.0 / batches).pair()
    for at in (15.0, 60.0, 300.0):
        q, p = pair.above(at)
        assert p - math.exp(at) * q >= math.exp(one.log_delta_removed(at))


def test_more_batches_cost_less_and_one_is_the_gaussian_mechanism() -> None:
    uppers = [epsilon(RandomAllocation(1.1, batches), 4, 1e-5)[1] for batches in (1, 2, 8, 50)]
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[0] == pytest.approx(dpviz.epsilon("tight", mechanism=SampledGaussian(1.1), steps=4, delta=1e-5))


@pytest.mark.parametrize("batches", [0, 1.5, 100_001, math.nan])
def test_refusals(batches: float) -> None:
    with pytest.raises(ValueError, match="batches"):
        RandomAllocation(1.1, batches)  # type: ignore[arg-type]


def test_whether_there_is_a_bound_is_seen_without_computing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomAllocation, "pair", lambda _: pytest.fail("the pair was computed"))
    assert not any(Tight(bound).supports(RandomAllocation(0.3, 100_000)) for bound in ("upper", "lower"))


def test_no_other_accountant_takes_it_in_silence() -> None:
    with pytest.raises(ValueError, match="Rényi"):
        dpviz.epsilon("renyi", mechanism=RandomAllocation(1.1, 10), steps=3, delta=1e-5)


@pytest.mark.parametrize(
    ("sigma", "batches"),
    [(0.01, 234), (0.05, 234), (0.3, 3000), (2e3, 750), (65_553.0, 750), (1e6, 100_000), (1e6, 2), (1e9, 750)],
)
def test_little_noise_and_very_much_of_it_have_bounds(sigma: float, batches: int) -> None:
    """Grids do not grow with the noise; who knows the batch sees more."""
    for delta in (1e-8, 1e-20):
        low, high = epsilon(RandomAllocation(sigma, batches), 10, delta)
        known, _ = epsilon(RandomAllocation(sigma, 1), 10, delta)
        assert 0.0 <= low <= min(high, known * (1 + 1e-3)) < math.inf
        assert high <= known * 1.05 + 1e-6
