"""PATE: noisy maxima against exact outcomes, sums of answers, and what may be published of their cost."""

import itertools
import math
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr

import dpviz
from dpviz.accounting.pate.answers import Threshold, pate_divergence_at, pate_epsilon, pate_epsilon_at
from dpviz.accounting.pate.noisy_max import GaussianNoisyMax, LaplaceNoisyMax, NoisyMax
from dpviz.accounting.pate.release import answers, pate_epsilon_released, released_epsilon
from dpviz.accounting.pate.smooth_release import SmoothRelease, most_smoothness
from dpviz.accounting.pate.vote_sensitivity import VoteSensitivity, smooth
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from tests.accounting import outcomes

ORDERS = np.array([1.001, 1.05, 1.3, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 40.0, 80.0, 200.0, 1000.0])
# Close calls, clear ones, ties, a class without votes, two classes and many.
HISTOGRAMS = (
    (5, 5), (6, 4), (10, 0), (30, 10), (3, 3, 3), (20, 1, 0), (12, 9, 3), (40, 3, 2), (25, 24, 1), (50, 0, 0),
    (60, 20, 20), (9, 1, 0, 0, 0), (70, 4, 4, 4, 3, 3, 3, 3, 3, 3), (99, 1, 0, 0, 0),
)  # fmt: skip
NOISES = tuple(GaussianNoisyMax(std) for std in (0.7, 1.5, 4.0, 12.0, 40.0)) + tuple(
    LaplaceNoisyMax(scale) for scale in (0.5, 2.0, 6.0)
)


@cache
def outcome(noisy: NoisyMax, votes: tuple[float, ...]) -> np.ndarray:
    if isinstance(noisy, GaussianNoisyMax):
        return outcomes.gaussian(np.array(votes, dtype=float), noisy.noise_std)
    return outcomes.laplace(np.array(votes, dtype=float), noisy.noise_scale)


def known(noisy: NoisyMax, votes: np.ndarray) -> np.ndarray:
    """Outcomes do not depend on the order of the classes: computed once for each multiset."""
    order = np.argsort(votes, kind="stable")
    found = np.empty(votes.size)
    found[order] = outcome(noisy, tuple(votes[order]))
    return found


def farthest(here: np.ndarray, others: Iterable[np.ndarray], orders: np.ndarray) -> np.ndarray:
    """The largest divergence to any of the others, and from any of them: (2, orders)."""
    both = [[outcomes.divergence(*pair, orders) for pair in ((here, one), (one, here))] for one in others]
    return np.asarray(np.max([np.zeros((2, orders.size)), *both], axis=0))


def worst(noisy: NoisyMax, votes: np.ndarray) -> np.ndarray:
    """The exact divergence to the worst neighbour, and from it: (2, orders)."""
    moved = {tuple(each) for each in outcomes.neighbours(votes)}
    return farthest(known(noisy, votes), (known(noisy, np.array(each)) for each in moved), ORDERS)


@pytest.mark.parametrize("noisy", NOISES, ids=str)
def test_no_bound_lies_below_the_exact_divergence(noisy: NoisyMax) -> None:
    whatever = noisy.divergence(ORDERS)
    for histogram in HISTOGRAMS:
        votes = np.array(histogram, dtype=float)
        there, back = worst(noisy, votes)
        room = 1.0 + 1e-9
        one_sided = noisy.divergence_at(votes[None], ORDERS, one_sided=True)[0]
        both = noisy.divergence_at(votes[None], ORDERS)[0]
        assert (there <= one_sided * room + 1e-12).all(), histogram
        assert (np.maximum(there, back) <= both * room + 1e-12).all(), histogram
        assert (one_sided <= both * room).all(), histogram
        assert (both <= whatever).all(), histogram


def test_one_direction_says_nothing_of_the_other() -> None:
    """Why both is the default: from a neighbour to these votes it may cost more than the papers' bound."""
    noisy, votes = GaussianNoisyMax(3.0), np.array([40.0, 3.0, 2.0])
    _, back = worst(noisy, votes)
    assert (back > noisy.divergence_at(votes[None], ORDERS, one_sided=True)[0]).any()


@pytest.mark.parametrize("noisy", NOISES, ids=str)
def test_the_chance_of_an_upset_is_bounded_here_and_at_every_neighbour(noisy: NoisyMax) -> None:
    for histogram in HISTOGRAMS:
        votes = np.array(histogram, dtype=float)
        leader = int(votes.argmax())
        bounds = [float(noisy.log_miss(votes[None], one_sided=one)[0]) for one in (True, False)]

        def missed(counts: np.ndarray, leader: int = leader) -> float:
            return float(np.logaddexp.reduce(np.delete(known(noisy, counts), leader)))

        assert missed(votes) <= bounds[0] + 1e-9
        assert max(missed(moved) for moved in outcomes.neighbours(votes)) <= bounds[1] + 1e-9


@pytest.mark.parametrize("noisy", [GaussianNoisyMax(3.0), LaplaceNoisyMax(2.0)], ids=str)
def test_between_two_classes_an_upset_is_known_exactly(noisy: NoisyMax) -> None:
    for lead in (0.0, 1.0, 4.0, 20.0):
        exact = known(noisy, np.array([20.0 + lead, 20.0]))[1]
        assert noisy.log_upset(np.array(lead)) == pytest.approx(exact, rel=1e-9)


def test_a_bound_never_falls_as_the_votes_come_closer() -> None:
    """q is only an upper bound: a larger one may not give a smaller cost."""
    orders = np.geomspace(1.01, 200.0, 60)
    for noisy in NOISES:
        close = np.array([[100.0 - k, k] for k in range(51)])
        cost = noisy.divergence_at(close, orders)
        assert (np.diff(cost, axis=0) >= -1e-12).all(), noisy


@pytest.mark.parametrize("noisy", [GaussianNoisyMax(3.0), GaussianNoisyMax(12.0), LaplaceNoisyMax(2.0)], ids=str)
def test_votes_that_agree_are_worth_looking_at(noisy: NoisyMax) -> None:
    orders = np.array([2.0, 4.0])
    assert (noisy.divergence_at(np.array([[70.0, 3.0, 2.0]]), orders) < 0.5 * noisy.divergence(orders)).all()


def test_where_a_condition_of_the_theorem_fails_it_proves_nothing() -> None:
    """GNMax at q = 0.4 is not steep enough; LNMax needs q ≤ 1/(e^(2/b) + 1), where B = A."""
    order, gnmax, lnmax = np.array([2.0]), GaussianNoisyMax(40.0), LaplaceNoisyMax(2.0)
    known = {q: float(gnmax.likely_divergence(np.log([[q]]), order)[0, 0]) for q in (0.4, 0.1)}
    assert np.isinf(known[0.4])
    assert np.isfinite(known[0.1])
    assert np.isinf(gnmax.likely_divergence(np.log([[0.1]]), np.array([1.0 + 1.001 + 40.0 * np.sqrt(np.log(10.0))])))
    last = 1.0 / (np.e + 1.0)
    assert np.isfinite(lnmax.likely_divergence(np.log([[0.999 * last]]), order))
    assert np.isinf(lnmax.likely_divergence(np.log([[1.001 * last], [0.9]]), order)).all()


CHECK_ORDERS = np.array([1.001, 1.3, 2.0, 5.0, 20.0, 150.0])
CHECKED = ((5, 5), (30, 10), (20, 1, 0), (12, 9, 3), (50, 0, 0), (9, 1, 0, 0, 0))
SOME = np.array([[90, 5, 3, 2], [60, 30, 10, 0], [99, 1, 0, 0], [40, 38, 12, 10]])


def outcomes_of(votes: np.ndarray, noise: float, threshold: Threshold) -> np.ndarray:
    """ln of the probabilities of no answer and of each class, exactly."""
    beyond = (votes.max() - threshold.votes) / threshold.noise_std
    return np.concatenate([[log_ndtr(-beyond)], log_ndtr(beyond) + outcomes.gaussian(votes, noise)])


@pytest.mark.parametrize("noise", [2.0, 8.0])
@pytest.mark.parametrize(("level", "std"), [(10.0, 1.0), (25.0, 4.0), (0.0, 3.0), (60.0, 20.0)])
def test_a_checked_answer_never_costs_more_than_is_said(noise: float, level: float, std: float) -> None:
    threshold = Threshold(level, std)
    for histogram in CHECKED:
        votes = np.array(histogram, dtype=float)
        others = (outcomes_of(moved, noise, threshold) for moved in outcomes.neighbours(votes))
        there, back = farthest(outcomes_of(votes, noise, threshold), others, CHECK_ORDERS)
        room = 1.0 + 1e-9
        for one_sided, exact in ((True, there), (False, np.maximum(there, back))):
            answer = GaussianNoisyMax(noise).divergence_at(votes[None], CHECK_ORDERS, one_sided=one_sided)
            said = threshold.divergence_at(votes.max(keepdims=True), answer, CHECK_ORDERS, one_sided=one_sided)[0]
            assert (exact <= said * room + 1e-12).all(), (histogram, one_sided)
            assert (said <= (CHECK_ORDERS / noise**2 + CHECK_ORDERS / (2.0 * std**2)) * room).all()


def test_a_threshold_that_all_pass_or_none_is_its_answer_or_nothing() -> None:
    kept = {"delta": 1e-5, "noise_std": 8.0}
    without = pate_epsilon_at(SOME, **kept)
    assert pate_epsilon_at(SOME, threshold=-1e4, threshold_std=1.0, **kept) == pytest.approx(without, rel=1e-9)
    assert pate_epsilon_at(SOME, threshold=1e4, threshold_std=1.0, **kept) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    "noise",
    [{"noise_std": 8.0}, {"noise_scale": 4.0}, {"noise_std": 8.0, "threshold": 50.0, "threshold_std": 30.0}],
    ids=str,
)
def test_costs_add_up_and_never_exceed_what_holds_for_all_votes(noise: dict[str, float]) -> None:
    votes = np.tile(SOME, (25, 1))
    found = pate_epsilon_at(votes, delta=1e-5, **noise)
    fixed = {key: value for key, value in noise.items() if key != "threshold"}
    whatever = np.asarray(pate_epsilon(np.arange(1, 101), delta=1e-5, method="renyi", **fixed))
    assert found.shape == (100,)
    assert (np.diff(found) >= 0.0).all()
    assert (found <= whatever).all()
    assert (pate_epsilon_at(votes, delta=1e-5, one_sided=True, **noise) <= found).all()
    # Fewer orders are a bound as well, and a query's place does not matter.
    assert (pate_epsilon_at(votes, delta=1e-5, orders=DEFAULT_ORDERS[::6], **noise) >= found * (1 - 1e-12)).all()
    assert pate_epsilon_at(votes[::-1], delta=1e-5, **noise)[-1] == pytest.approx(found[-1], rel=1e-12)


def test_divergences_of_all_queries_are_added_and_converted() -> None:
    noisy, order, delta = GaussianNoisyMax(8.0), 11.0, 1e-5
    each = noisy.divergence_at(SOME.astype(float), np.array([order]))[:, 0]
    tail = math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)
    found = pate_epsilon_at(SOME, delta=delta, noise_std=8.0, orders=[order])
    assert len(set(each)) == len(SOME)
    assert found[1:] == pytest.approx(np.cumsum(each)[1:] + tail, rel=1e-12)


def test_what_holds_for_all_votes_is_a_gaussian_of_sensitivity_root_2() -> None:
    def by_hand(cost: float) -> float:
        """α cost a query, 1000 of them, converted at the best order."""
        tails = {a: math.log1p(-1 / a) - (math.log(1e-5) + math.log(a)) / (a - 1) for a in DEFAULT_ORDERS}
        return min(1000 * a * cost + tail for a, tail in tails.items())

    known = {"noise_multiplier": 40.0 / math.sqrt(2.0), "sample_rate": 1.0, "steps": np.array([1, 100, 1000])}
    found = np.asarray(pate_epsilon([1, 100, 1000], delta=1e-5, noise_std=40.0, method="renyi"))
    assert found == pytest.approx(dpviz.epsilon("renyi", **known, delta=1e-5), rel=1e-12)
    assert found[-1] == pytest.approx(by_hand(1 / 1600), rel=1e-3)
    # With the check, 1000 (α/σ² + α/(2σ₁²)).
    checked = pate_epsilon(1000, delta=1e-5, noise_std=40.0, threshold_std=150.0, method="renyi")
    assert checked == pytest.approx(by_hand(1 / 1600 + 1 / (2 * 150.0**2)), rel=1e-3)


def test_the_tight_number_lies_below_and_laplace_votes_are_no_more_than_pure_composition() -> None:
    for noise in ({"noise_std": 40.0}, {"noise_scale": 20.0}):
        known, tight = (pate_epsilon(100, delta=1e-5, method=method, **noise) for method in ("renyi", "tight"))
        assert 0.5 * known < tight < known
    for queries in (1, 3):
        assert pate_epsilon(queries, delta=1e-9, noise_scale=20.0, method="tight") <= queries * 0.1 * (1 + 1e-6)


Array = np.ndarray


def histograms(teachers: int, classes: int) -> Array:
    """All of them, (histograms, classes)."""
    every = itertools.product(range(teachers + 1), repeat=classes - 1)
    return np.array([[*each, teachers - sum(each)] for each in every if sum(each) <= teachers], dtype=float)


def apart(votes: Array) -> Array:
    """How many teachers must change between any two of these: (histograms, histograms)."""
    return np.abs(votes[:, None] - votes[None]).sum(axis=-1) / 2.0


CASES = [
    # Noise, order, teachers, classes.
    (1.0, 2.0, 12, 3),
    (1.0, 6.0, 12, 3),
    (0.5, 4.0, 7, 4),
    (2.0, 3.0, 16, 3),
    (3.0, 1.5, 30, 2),
    (0.3, 2.5, 6, 3),
    (4.0, 2.0, 3, 3),
]


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize(("noise", "order", "teachers", "classes"), CASES)
def test_no_change_of_a_teacher_within_any_distance_is_larger(
    noise: float, order: float, teachers: int, classes: int, one_sided: bool
) -> None:
    votes = histograms(teachers, classes)
    cost = GaussianNoisyMax(noise).divergence_at(votes, np.array([order]), one_sided=one_sided)[:, 0]
    said = VoteSensitivity(noise, order, teachers, classes, one_sided).local(votes)
    steps, room = apart(votes), 1e-12 * order / noise**2
    here = np.where(steps <= 1.0, np.abs(cost[:, None] - cost[None]), 0.0).max(axis=1)
    for d in range(teachers + 1):
        exact = np.where(steps <= d, here[None], 0.0).max(axis=1)
        assert (exact <= said[:, min(d, said.shape[1] - 1)] + room).all(), d
    # And it is of use: the largest change of all is not many times what is said.
    if here.max() > 0.0:
        assert said[:, -1].max() <= 2.5 * here.max()
    # From neighbour to neighbour what is said widens: then S is smooth, exactly.
    first, second = np.nonzero(steps == 1.0)
    assert (said[first, :-1] <= said[second, 1:]).all()
    for beta in (0.02, 0.3):
        found = smooth(said, beta, order / noise**2)
        assert (found[first] <= found[second] * math.exp(beta) * (1.0 + 1e-12)).all()
        assert (found >= here * (1.0 - 1e-9)).all()


@pytest.mark.parametrize("classes", [3, 5, 10])
def test_from_neighbour_to_neighbour_it_widens_for_many_teachers_too(classes: int) -> None:
    """To the last digit: S is smooth by these bounds' own order, not by rounding's grace."""
    draw = np.random.default_rng(classes)
    votes = draw.multinomial(60, draw.dirichlet(np.full(classes, 0.4), size=400)).astype(float)
    moved = votes.copy()
    for row in moved:
        row[draw.choice(np.flatnonzero(row))] -= 1.0
        row[draw.integers(classes)] += 1.0
    at = VoteSensitivity(6.0, 4.0, 60, classes)
    here, there = at.local(votes), at.local(moved)
    assert (here[:, :-1] <= there[:, 1:]).all()
    assert (there[:, :-1] <= here[:, 1:]).all()


def test_it_starts_where_the_authors_own_code_does() -> None:
    """TensorFlow Privacy's own tests of its smooth sensitivity (one direction): where it starts, and how high it is."""
    at = VoteSensitivity(0.5, 1.5, 10, 3, one_sided=True).local(np.array([[10.0, 0.0, 0.0]]))[0]
    assert at[0] == pytest.approx(3.13503646e-17, rel=0.1)
    assert at[1:3] == pytest.approx([1.6e-8, 5.9e-3], rel=0.4)
    assert at[-1] == pytest.approx(5.99981308, rel=0.01)
    far = VoteSensitivity(250.0, 10.0, 2000, 5, one_sided=True).local(np.array([[1000.0, 500, 300, 200, 0]]))[0]
    assert int((far > 0.0).argmax()) == 298
    assert far[-1] == pytest.approx(2.73113623988e-6, rel=0.05)


def test_the_cost_does_not_rise_with_the_lead() -> None:
    for noise, order in ((0.4, 2.0), (3.0, 9.0), (25.0, 5.0), (25.0, 60.0), (300.0, 3.0)):
        at = VoteSensitivity(noise, order, 10_000, 10)
        cost = at.cost(np.linspace(-2.0, 30.0 * noise, 20_001))
        assert (np.diff(cost) <= 1e-12 * order / noise**2).all()
        assert cost[0] == pytest.approx(order / noise**2)
        assert cost[-1] < 1e-6 * cost[0]


def release(**changed: float) -> SmoothRelease:
    known = {"order": 6.0, "smoothness": 0.03, "noise": 4.0, "log_noise": 5.0, "chance": 0.01}
    return SmoothRelease(**(known | changed))


def divergence(order: float, apart: float, ratio: float) -> float:
    """D_α(N(0, 1) ‖ N(apart, ratio²)) by quadrature."""

    def log_each(x: float) -> float:
        other = -0.5 * ((x - apart) / ratio) ** 2 - math.log(ratio)
        return -0.5 * order * x * x + (1.0 - order) * other

    # The integrand is a Gaussian of this centre and width.
    width = 1.0 / math.sqrt(order + (1.0 - order) / ratio**2)
    centre = (1.0 - order) * apart / ratio**2 * width**2
    top = log_each(centre)
    whole = quad(lambda x: math.exp(log_each(x) - top), centre - 12 * width, centre + 12 * width, limit=200)[0]
    return (top + math.log(whole / math.sqrt(2.0 * math.pi))) / (order - 1.0)


@pytest.mark.parametrize("order", [1.5, 4.0, 20.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("noise", [1.5, 6.0])
def test_its_cost_is_the_largest_divergence_of_any_neighbours_and_is_reached(
    order: float, share: float, noise: float
) -> None:
    beta = share * most_smoothness(order)
    how = release(order=order, smoothness=beta, noise=noise)
    worst = max(
        divergence(order, move * min(1.0, ratio) / noise, ratio)
        for ratio in np.exp(np.linspace(-beta, beta, 9))
        for move in (0.0, 0.5, 1.0)
    )
    # ln S moves by β at most under a Gaussian of standard deviation β τ.
    assert how.cost == pytest.approx(worst + divergence(order, 1.0 / how.log_noise, 1.0), rel=1e-7)


def test_the_printed_closed_form_is_less_than_what_two_gaussians_differ() -> None:
    """Papernot et al. 2018, Theorem 23, at α = 10, β = 0.049: why it is not used."""
    order, beta, noise = 10.0, 0.049, 5.0
    printed = order * math.exp(2 * beta) / noise**2
    printed += (beta * order - 0.5 * math.log(1 - 2 * order * beta)) / (order - 1)
    assert printed == pytest.approx(0.713, abs=1e-3)
    assert divergence(order, math.exp(-beta) / noise, math.exp(-beta)) == pytest.approx(2.823, abs=1e-3)
    assert release(order=order, smoothness=beta, noise=noise).cost > 2.823


@pytest.mark.parametrize("chance", [0.2, 0.01])
@pytest.mark.parametrize("log_noise", [2.0, 40.0, 300.0])
@pytest.mark.one_of(2)
def test_the_limit_is_below_the_number_no_more_often_than_said(chance: float, log_noise: float) -> None:
    how, value, smooth = release(chance=chance, log_noise=log_noise), np.array(3.0), np.array(0.7)
    draws = np.random.default_rng(5).normal(size=(40_000, 2))
    below = np.mean([how.limit(value, smooth, (a, b)) < value for a, b in draws])
    assert below == pytest.approx(chance, abs=4.0 * math.sqrt(chance / 40_000))
    assert release(chance=0.6).limit(value, smooth, (0.0, 0.0)) == value
    # The noise that just hides how much is added for it.
    assert how.limit(value, smooth, (0.0, -how.factor)) == pytest.approx(float(value), rel=1e-12)


VOTES = np.tile(np.array([[900, 60, 40], [700, 200, 100], [990, 10, 0]]), (100, 1))
HOW = SmoothRelease(order=5.0, smoothness=0.05, noise=3.0, log_noise=4.0, chance=0.01)


class Fixed(np.random.Generator):
    """Two known draws."""

    def __init__(self, *draws: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._draws = iter(draws)

    def normal(self, *_: object) -> float:  # type: ignore[override]
        return next(self._draws)


def converted(total: np.ndarray, delta: float) -> np.ndarray:
    order = HOW.order
    return total + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)


@pytest.mark.parametrize("check", [None, 50.0])
@pytest.mark.parametrize("one_sided", [True, False])
def test_it_is_the_limit_and_the_cost_of_publishing(check: float | None, one_sided: bool) -> None:
    known = {"delta": 1e-5, "noise_std": 40.0, "one_sided": one_sided}
    found = pate_epsilon_released(VOTES, release=HOW, draw=Fixed(0.0, -HOW.factor), threshold_std=check, **known)
    # With this noise the limit is the private divergence itself.
    spent = np.cumsum(pate_divergence_at(VOTES, [5.0], noise_std=40.0, one_sided=one_sided)[:, 0]) + HOW.cost
    if check is not None:
        spent += np.arange(1, 301) * 5.0 / (2.0 * check**2)
    assert found == pytest.approx(converted(spent, 1e-5), rel=1e-9)
    # It is no less than ε at these votes of the answers alone, at any draw above.
    usual = pate_epsilon_released(VOTES, release=HOW, draw=Fixed(0.0, 0.0), threshold_std=check, **known)
    assert (usual > found).all()
    assert (usual > pate_epsilon_at(VOTES, **known)).all()


def test_however_noisy_it_is_no_more_than_any_votes_and_the_cost() -> None:
    found = pate_epsilon_released(VOTES, delta=1e-5, noise_std=40.0, release=HOW, draw=Fixed(0.0, 1e12))
    assert found == pytest.approx(converted(np.arange(1, 301) * 5.0 / 40.0**2 + HOW.cost, 1e-5), rel=1e-12)


def test_the_two_draws_are_two() -> None:
    first, again, other = (
        pate_epsilon_released(VOTES, delta=1e-5, noise_std=40.0, release=HOW, draw=np.random.default_rng(seed))[-1]
        for seed in (3, 3, 4)
    )
    assert first == again != other
    both = np.random.default_rng(3).normal(size=2)
    total, local = answers(VOTES.astype(float), 40.0, 5.0, one_sided=False)
    sums = total.sum(keepdims=True), local.sum(axis=0, keepdims=True), np.array([300.0])
    known = released_epsilon(*sums, delta=1e-5, noise_std=40.0, release=HOW, draws=(both[0], both[1]))
    assert first == pytest.approx(known[0], rel=1e-9)


def test_two_queries_change_together() -> None:
    """One teacher changes a vote of both queries: all pairs of histograms of 7 teachers, and S of the sum."""
    teachers, noise, order = 7, 0.8, 3.0
    every = histograms(teachers, 3)
    cost, local = answers(every, noise, order, one_sided=True)
    near = apart(every) <= 1.0
    down = np.where(near, cost[:, None] - cost[None], 0.0).max(axis=1)
    up = np.where(near, cost[None] - cost[:, None], 0.0).max(axis=1)
    for i, j in itertools.product(range(len(every)), repeat=2):
        found = float(smooth(local[i] + local[j], 0.1, 2.0 * order / noise**2))
        assert max(down[i] + down[j], up[i] + up[j]) <= found * (1.0 + 1e-9)
