"""Steps chosen as one goes: ledger, filters and odometers are exact at their boundaries and keep their promise."""

import copy
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import dpviz
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.fully_adaptive import FullyAdaptiveFilter, MixtureOdometer, fully_adaptive_spent
from dpviz.accounting.adaptive.individual import IndividualFilter, individual_steps
from dpviz.accounting.adaptive.odometer import PAPER_ORDERS, VARIANTS, OdometerAccountant
from dpviz.accounting.adaptive.one_order import one_order_filter, planned_epsilon
from dpviz.accounting.adaptive.rogers import (
    most_steps,
    rogers_filter_steps,
    rogers_odometer,
    rogers_odometer_epsilon,
    rogers_spent,
)
from dpviz.accounting.composition import amplify, gaussian_step_epsilon
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.closed_form import ClosedForm
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence
from tests.accounting.references import geometric

ONE, OTHER = SampledGaussian(4.0, 0.01), SampledGaussian(6.0, 0.05)


def test_divergences_simply_add_up() -> None:
    """The order that decides for two runs together need not be that of either."""
    accountant, orders = Renyi(conversion="classic", order_values=(2.0, 4.0, 8.0)), np.array([2.0, 4.0, 8.0])
    ledger = Ledger(accountant)
    for mechanism, count in ((ONE, 5000), (OTHER, 0), (OTHER, 150), (OTHER, 50)):
        ledger.spend(mechanism, count)
    assert ledger.events == ((ONE, 5000), (OTHER, 200))
    total = 5000 * accountant.step_divergence(4.0, 0.01) + 200 * accountant.step_divergence(6.0, 0.05)
    expected = (total + math.log(1e5) / (orders - 1)).min()
    assert float(ledger.bound(1e-5).epsilon) == pytest.approx(expected, rel=1e-14)


def test_a_mechanism_without_a_bound_says_so_for_the_whole_run() -> None:
    ledger = Ledger(ClosedForm())
    ledger.spend(ONE, 10)
    assert not math.isnan(float(ledger.bound(1e-5).epsilon))
    ledger.spend(SampledGaussian(1.0, 0.01))
    ledger.spend(ONE, 10)
    bound = ledger.bound(1e-5)
    assert math.isnan(float(bound.epsilon))
    assert "σ >= 4 (σ is 1)" in bound.reason


@pytest.mark.parametrize("bad", [-1, 1.5, math.nan, "3", None, True])
def test_a_refused_step_leaves_no_trace(bad: object) -> None:
    ledger = Ledger(Renyi())
    ledger.spend(ONE, 3)
    before = ledger.events, float(ledger.bound(1e-5).epsilon)
    with pytest.raises(ValueError, match="Expected count"):
        ledger.spend(OTHER, bad)  # type: ignore[arg-type]
    assert (ledger.events, float(ledger.bound(1e-5).epsilon)) == before


STEP = dpviz.SampledGaussian(noise_multiplier=1.0, sample_rate=0.01024)
TWO_TO_32 = np.array([2.0, 8.0, 32.0])
TENTHS = [*(i / 10 for i in range(11, 110)), *range(12, 64)]

Runs = list[tuple[dpviz.SampledGaussian, int]]
steps_of = st.builds(dpviz.SampledGaussian, noise_multiplier=geometric(0.5, 50), sample_rate=geometric(1e-4, 1.0))
targets = st.floats(0.05, 30.0)


class TestNumbers:
    @pytest.mark.parametrize(("target", "allowed"), [(10.0, 14_148), (3.0, 1_082)])
    def test_steps_of_a_budget(self, target: float, allowed: int) -> None:
        budget = Filter(target_epsilon=target, delta=1e-6, orders=TENTHS, conversion="classic")
        assert budget.remaining_steps(STEP) == allowed
        assert budget.allows(STEP, allowed)
        assert not budget.allows(STEP, allowed + 1)

    def test_union_takes_a_share_of_delta(self) -> None:
        budget = Filter(target_epsilon=3.0, delta=1e-6, orders=[2, 8, 32], union=True)
        np.testing.assert_allclose(budget.limits, 3.0 - math.log(3e6) / np.array([1.0, 7.0, 31.0]), rtol=1e-14)


class TestBoundary:
    @given(steps_of, targets, st.sampled_from(["classic", "improved"]))
    @settings(max_examples=50, deadline=None)
    def test_exact_for_equal_steps(self, step: dpviz.SampledGaussian, target: float, conversion: str) -> None:
        budget = Filter(target_epsilon=target, delta=1e-6, orders=PAPER_ORDERS, conversion=conversion)
        most = int(budget.remaining_steps(step))
        setting = {"noise_multiplier": step.noise_multiplier, "sample_rate": step.sample_rate, "delta": 1e-6}
        options = {"orders": PAPER_ORDERS, "conversion": conversion}
        now, next_ = np.asarray(dpviz.epsilon("renyi", steps=[most, most + 1], **setting, **options))
        assert now <= target < next_
        budget.spend(step, most)
        assert budget.epsilon() == now
        assert budget.remaining_steps(step) == 0
        with pytest.raises(BudgetExceeded):
            budget.spend(step)

    @given(st.lists(st.tuples(steps_of, st.integers(1, 20_000)), min_size=1, max_size=8), targets, st.booleans())
    @settings(max_examples=50, deadline=None)
    def test_no_trace_of_what_was_refused(self, asked: Runs, target: float, union: bool) -> None:
        promise = {"target_epsilon": target, "delta": 1e-5, "orders": PAPER_ORDERS, "union": union}
        budget, clean = (Filter(**promise) for _ in range(2))
        for step, count in asked:
            before = (budget.events, budget.steps, budget.spent.tolist(), budget.epsilon())
            if budget.allows(step, count):
                budget.spend(step, count)
                clean.spend(step, count)
                continue
            with pytest.raises(BudgetExceeded) as caught:
                budget.spend(step, count)
            assert (budget.events, budget.steps, budget.spent.tolist(), budget.epsilon()) == before
            fits = caught.value.fits
            assert (caught.value.mechanism, caught.value.count) == (step, count)
            assert fits == budget.remaining_steps(step) < count
            assert f"{fits} of them" in str(caught.value)
            assert budget.allows(step, fits)
        assert budget.events == clean.events
        np.testing.assert_array_equal(budget.spent, clean.spent)
        assert budget.epsilon() <= target


class TestSound:
    @given(st.lists(st.tuples(steps_of, st.integers(1, 50)), min_size=2, max_size=12))
    @settings(max_examples=25, deadline=None)
    def test_nothing_that_was_spent_is_forgotten(self, asked: Runs) -> None:
        """The sum of every mechanism's own divergences, whatever came between equal ones."""
        budget = Filter(target_epsilon=1e9, delta=1e-6, orders=[2.0, 8.0, 32.0])
        for step, count in (*asked, *asked[::-1]):
            ahead = budget.after(step, count)
            budget.spend(step, count)
            np.testing.assert_array_equal(budget.spent, ahead)
        total = sum(
            2 * count * renyi_divergence(np.array(step.noise_multiplier), np.array(step.sample_rate), TWO_TO_32)
            for step, count in asked
        )
        np.testing.assert_allclose(budget.spent, total, rtol=1e-12)

    @pytest.mark.parametrize("conversion", ["classic", "improved"])
    def test_a_full_budget_holds_by_the_tight_accountant(self, conversion: str) -> None:
        budget = Filter(target_epsilon=1.0, delta=1e-6, conversion=conversion)
        quiet, loud = dpviz.SampledGaussian(4.0, 0.01), dpviz.SampledGaussian(1.5, 0.01)
        budget.spend(loud, int(budget.remaining_steps(loud)) // 2)
        budget.spend(quiet, int(budget.remaining_steps(quiet)))
        assert len(budget.events) == 2
        assert float(tight_epsilon_of_events(budget.events, 1e-6).lower) <= 1.0


def test_free_steps_never_end_and_those_without_noise_never_begin() -> None:
    free, bare = dpviz.SampledGaussian(1.0, 0.0), dpviz.SampledGaussian(1e-200)
    budget = Filter(target_epsilon=1e-9, delta=1e-6)
    assert budget.remaining_steps(free) == math.inf
    budget.spend(free, 10**12)
    assert budget.epsilon() == 0.0
    assert not budget.allows(STEP)
    assert planned_epsilon([(bare, 1)], 1e-5) == math.inf
    assert not one_order_filter([(bare, 1)], target_epsilon=1.0, delta=1e-5).allows(bare)


PLAN = ((dpviz.SampledGaussian(2.0, 0.1), 150), (dpviz.SampledGaussian(100.0), 15))

plans = st.lists(st.tuples(steps_of, st.integers(1, 2000)), min_size=1, max_size=3)


def at_order(events: Runs, order: float, delta: float) -> float:
    """ε at one order, from nothing but the divergences."""
    spent = sum(
        count * renyi_divergence(np.array(step.noise_multiplier), np.array(step.sample_rate), np.array([order]))
        for step, count in events
    )
    return float(epsilon_per_order(np.asarray(spent), np.array([order]), np.asarray(delta), "improved")[0])


@given(plans, st.sampled_from([1e-10, 1e-5, 1e-2]))
@settings(max_examples=40, deadline=None)
def test_the_plan_just_fits_its_own_epsilon_in_any_order(plan: Runs, delta: float) -> None:
    promise = planned_epsilon(plan, delta)
    # The accountant looks between the orders that the filter may choose from, and knows too that nothing is proven
    # against δ where it exceeds the total variation: 0, which no order says.
    least = float(dpviz.accountant("renyi").of_events(plan, delta).epsilon)
    assert least <= promise
    assert promise <= 1.03 * least + 1e-6 or least == 0
    for one_by_one in (plan, plan[::-1]):
        budget = one_order_filter(plan, target_epsilon=promise, delta=delta)
        for step, count in one_by_one:
            for part in (count // 2, count - count // 2):
                budget.spend(step, part)
        assert budget.accountant.orders.size == 1
        assert budget.epsilon() <= promise
        if promise > 1e-3:
            assert not all(budget.allows(step, max(count, 1)) for step, count in plan)


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.one_of(3)
def test_a_policy_that_chooses_anything_never_exceeds_the_promise(seed: int, greedy: bool) -> None:
    """σ, batch and count anew at every step; the greedy one asks for the dearest thing that still fits."""
    random = np.random.default_rng(seed)
    promise, delta = 3.0, 1e-5
    budget = one_order_filter(PLAN, target_epsilon=promise, delta=delta)
    (order,) = budget.accountant.orders.tolist()
    charged: Runs = []
    for _ in range(400):
        some = [
            dpviz.SampledGaussian(float(np.exp(random.uniform(-1, 4))), float(random.choice([0.01, 0.1, 0.5, 1.0])))
            for _ in range(4 if greedy else 1)
        ]
        fitting = [step for step in some if budget.allows(step)]
        if not fitting:
            continue
        step = min(fitting, key=lambda one: one.noise_multiplier / one.sample_rate)
        budget.spend(step)
        charged.append((step, 1))
    assert len(charged) > 10
    spent = at_order(charged, order, delta)
    assert spent <= promise
    assert spent > 0.5 * promise, "else the test shows nothing"


KNOWN: dict[str, Any] = {"noise_std": 20.0, "largest_norm": 1.0, "target_epsilon": 2.0, "delta": 1e-5}


def test_unsampled_steps_cost_alpha_times_the_squared_norm() -> None:
    budget = IndividualFilter(people=3, **KNOWN)
    norms = np.array([1.0, 0.3, 0.0])
    assert budget.divergence(norms) == pytest.approx(budget.order * norms**2 / (2 * 20.0**2), rel=1e-12)
    steps = individual_steps(norms, **KNOWN)
    room = budget.budget * 2 * 20.0**2 / budget.order
    assert steps[:2].tolist() == [np.floor(room), np.floor(room / 0.09)]
    assert np.isinf(steps[2])


@pytest.mark.parametrize("rate", [1.0, 0.02])
def test_someone_at_c_may_take_part_as_long_as_everybody_with_one_filter(rate: float) -> None:
    known = {**KNOWN, "noise_std": 2.0 if rate < 1 else 20.0}
    (steps,) = individual_steps([1.0], sample_rate=rate, **known).tolist()
    plain = {"noise_multiplier": known["noise_std"], "sample_rate": rate, "delta": 1e-5}
    # at the best of the library's orders, as a plan at that order would have it: no step more at any other
    assert float(dpviz.epsilon("renyi", steps=steps, **plain)) <= 2.0  # type: ignore[arg-type]
    assert float(dpviz.epsilon("renyi", steps=np.ceil(1.02 * steps + 2), **plain)) > 2.0  # type: ignore[arg-type]


def test_changing_norms_are_added_up_and_whoever_would_exceed_is_left_out() -> None:
    draw = np.random.default_rng(0)
    budget = IndividualFilter(people=40, **KNOWN)
    mine = np.zeros(40)
    for _ in range(400):
        norms = np.minimum(draw.weibull(1.0, 40), 1.0)
        cost = budget.order * norms**2 / (2 * 20.0**2)
        expected = mine + cost <= budget.budget
        assert (budget.allows(norms) == expected).all()
        assert (budget.spend(norms) == expected).all()
        mine += np.where(expected, cost, 0.0)
    assert budget.spent == pytest.approx(mine)
    assert (budget.spent <= budget.budget).all()
    assert not expected.all(), "some have left by now"
    assert budget.spend(np.zeros(40)).all(), "who adds nothing loses nothing"


def test_a_shorter_gradient_never_leaves_earlier() -> None:
    norms = np.geomspace(1e-12, 1.0, 60)
    steps = individual_steps(norms, sample_rate=0.01, **{**KNOWN, "noise_std": 2.0})
    assert (np.diff(steps) <= 0).all()
    assert np.isfinite(steps).all()


sigmas = geometric(0.3, 100)
rates = geometric(1e-6, 1.0)
counts = st.floats(0.0, math.log(1e8)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-60.0, -0.01).map(math.exp)
variants = st.sampled_from(tuple(VARIANTS))
plain_runs = st.fixed_dictionaries({"noise_multiplier": sigmas, "sample_rate": rates, "steps": counts})


def slowly(delta: float, variant: str, *, noise_multiplier: float, sample_rate: float, steps: int) -> float:
    """§4.5 read aloud: try filter after filter at every order, in 40 digits."""
    orders, share = VARIANTS[variant]
    best = mpmath.inf
    with mpmath.workdps(40):
        for alpha in orders:
            spent = steps * mpmath.mpf(float(renyi_divergence(noise_multiplier, sample_rate, alpha)))
            odds = mpmath.log(2 * len(orders) / mpmath.mpf(delta))
            f = 1
            while spent > mpmath.mpf(2) ** (f - 1) * share * odds / (alpha - 1):
                f += 1
            filled = mpmath.mpf(2) ** (f - 1) * share * odds / (alpha - 1)
            tail = mpmath.log(2 * len(orders) * mpmath.mpf(f) ** 2 / mpmath.mpf(delta)) / (alpha - 1)
            best = min(best, filled + tail)
    return float(best)


class TestOdometer:
    @given(plain_runs, deltas, variants)
    @settings(max_examples=60, deadline=None)
    def test_against_the_definition(self, run: dict[str, Any], delta: float, variant: str) -> None:
        """And never below the plan on its orders."""
        found = dpviz.odometer_epsilon(**run, delta=delta, variant=variant)
        assert found == pytest.approx(slowly(delta, variant, **run), rel=1e-11)
        assert found >= Renyi("classic", VARIANTS[variant][0]).evaluate(**run, delta=delta).epsilon

    def test_filters_hold_what_was_spent_exactly_at_their_size(self) -> None:
        accountant = OdometerAccountant()
        unit = (np.log(76.0) - np.log(1e-6)) / (np.array(PAPER_ORDERS) - 1.0)
        for f in (1, 2, 3, 10, 40):
            size = 2.0 ** (f - 1) * unit
            assert (accountant.filters(size, 1e-6) == f).all()
            assert (accountant.filters(np.nextafter(size, np.inf), 1e-6) == f + 1).all()
        assert (accountant.filters(np.zeros(38), 1e-6) == 1).all()

    @given(plain_runs, st.floats(0.0, 30.0), variants)
    @settings(max_examples=60, deadline=None)
    def test_delta_is_enough_and_hardly_more(self, run: dict[str, Any], target: float, variant: str) -> None:
        delta = float(dpviz.delta("odometer", **run, epsilon=target, variant=variant))
        assert 0.0 <= delta <= 1.0
        if 1e-300 < delta < 1.0:
            read = [float(dpviz.odometer_epsilon(**run, delta=delta * f, variant=variant)) for f in (1.0, 0.999)]
            assert read[0] <= target * (1 + 1e-9) < read[1] * (1 + 1e-9)

    @given(st.lists(st.tuples(steps_of, st.integers(1, 10**5)), min_size=1, max_size=5), deltas, variants)
    @settings(max_examples=20, deadline=None)
    def test_reads_live_what_its_accountant_reads(self, events: Runs, delta: float, variant: str) -> None:
        odometer, read = dpviz.Odometer(delta=delta, variant=variant), [0.0]
        assert odometer.epsilon() == 0.0
        for step, count in events:
            odometer.spend(step, count)
            read.append(odometer.epsilon())
        assert read == sorted(read)
        again = dpviz.accountant("odometer", variant=variant).of_events(odometer.events, delta)
        assert read[-1] == pytest.approx(float(again.epsilon), rel=1e-9)
        assert odometer.steps == sum(count for _, count in events)


step_epsilons = geometric(1e-6, 3.0)
small_deltas = st.floats(-60.0, -1.0).map(math.exp)


def strong(epsilon: float, count: int, delta: float) -> float:
    """Strong composition with the sharp drift (Kairouz, Oh, Viswanath 2015, Theorem 3.4): ε tanh(ε/2) a step."""
    return epsilon * math.sqrt(2 * count * math.log(1 / delta)) + count * epsilon * math.tanh(epsilon / 2)


def sums(epsilon: float, count: int) -> dict[str, float]:
    return {"squares": count * epsilon**2, "drift": count * epsilon * math.expm1(epsilon) / 2}


def step_epsilon(sigma: float, rate: float, delta: float) -> float:
    """ε of one sampled step whose tails take δ."""
    return float(amplify(gaussian_step_epsilon(np.asarray(sigma), np.asarray(delta)), np.asarray(rate), "exact"))


@given(step_epsilons, counts, small_deltas, st.integers(2, 10**9), st.floats(0.01, 100.0))
@settings(max_examples=200, deadline=None)
def test_above_strong_composition(epsilon: float, count: int, delta: float, size: int, target: float) -> None:
    least, known = strong(epsilon, count, delta / 2), sums(epsilon, count)
    assert float(rogers_odometer(**known, delta=delta, size=size)) >= least
    assert float(rogers_spent(**known, target_epsilon=target, delta=delta)) >= least


@pytest.mark.parametrize("sigma", [5.0, 20.0, 80.0])
def test_sampled_gaussian_above_strong_composition(sigma: float) -> None:
    """The whole path: steps with δ/2 for the tails; beyond the horizon nothing is promised."""
    steps, delta, rate = np.array([0, 1, 100, 10_000, 10_001]), 1e-6, 0.01
    known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
    found = np.asarray(rogers_odometer_epsilon(**known, size=50_000, horizon=10_000))
    step = step_epsilon(sigma, rate, delta / (2 * 10_000 * rate))
    assert found[0] == 0.0
    assert np.isinf(found).tolist() == [False, False, False, False, True]
    assert (found >= [strong(step, int(t), delta / 2) for t in steps]).all()
    assert (found >= dpviz.epsilon("renyi", **known)).all()


def test_rogers_odometer_by_hand() -> None:
    """S = 0.25 lies between 1/n² and 1, S = 4 above, S = 1e-8 below (n = 1000)."""
    delta, size = 1e-5, 1000
    odds = math.log(4 * math.log2(size) / delta)
    inside = math.sqrt(2 * 0.25 * (1 + math.log(3) / 2) * odds)
    above = math.sqrt(2 * (1e-6 + 4) * (1 + 0.5 * math.log(1 + 4e6)) * odds)
    below = math.sqrt(2 * (1e-6 + 1e-8) * (1 + 0.5 * math.log(1.01)) * odds)
    found = rogers_odometer(squares=[0.25, 4.0, 1e-8], drift=[0.1, 0.2, 0.0], delta=delta, size=size)
    np.testing.assert_allclose(found, [inside + 0.1, above + 0.2, below], rtol=1e-13)


def test_rogers_filter_steps_is_the_last_that_passes() -> None:
    found = rogers_filter_steps(noise_multiplier=20.0, sample_rate=0.01, target_epsilon=1.0, delta=1e-6)

    def spent(count: int) -> float:
        step = step_epsilon(20.0, 0.01, 1e-6 / (2 * count * 0.01))
        return float(rogers_spent(**sums(step, count), target_epsilon=1.0, delta=1e-6))

    assert 1 < found < 10**6
    assert spent(found) <= 1.0 < spent(found + 1)
    # The RDP filter pays nothing for being one.
    assert dpviz.Filter(target_epsilon=1.0, delta=1e-6).remaining_steps(dpviz.SampledGaussian(20.0, 0.01)) > 10 * found


EXACT = {
    "gaussian": dpviz.SampledGaussian(2.0),
    "sampled": dpviz.SampledGaussian(1.0, 0.1),
    "laplace": dpviz.Laplace(4.0),
}


@pytest.mark.parametrize("step", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize(("steps", "delta"), [(1, 0.1), (40, 1e-6), (10_000, 1e-12)])
def test_mixture_odometer_is_where_its_supermartingales_cross(step: dpviz.Mechanism, steps: int, delta: float) -> None:
    odometer = MixtureOdometer()
    bound = odometer.epsilon_of(step, steps=steps, delta=delta)
    curve, weights = step.renyi(), [1 / (4 + math.log2((a - 1) / 8) ** 2) for a in odometer.order_values]
    assert curve is not None
    powers = [(a - 1) * (float(bound.epsilon) - steps * float(curve(np.asarray(a)))) for a in odometer.order_values]
    top = max(powers)
    crossing = top + math.log(sum(w * math.exp(p - top) for w, p in zip(weights, powers, strict=True)) / sum(weights))
    assert -math.log(delta) <= crossing <= -math.log(delta) + 1e-6
    assert float(bound.epsilon) >= dpviz.epsilon("tight", mechanism=step, steps=steps, delta=delta)
    planned = dpviz.epsilon("renyi", mechanism=step, steps=steps, delta=delta, conversion="classic")
    assert planned <= float(bound.epsilon) <= 1.25 * planned + (delta == 0.1) * 2.0


def test_mixture_odometer_holds_at_all_times_also_when_noise_follows_the_losses() -> None:
    """Whoever raises the stakes while losing, and stops at the worst time, exceeds it in at most δ of the runs."""
    delta, runs, rng = 0.1, 1000, np.random.default_rng(7)
    for rates in ((1.0, 1.0), (0.3, 0.3), (0.3, 0.1)):
        choices = [dpviz.SampledGaussian(*pair) for pair in zip((1.0, 4.0), rates, strict=True)]
        odometer = MixtureOdometer()
        costs = np.array([odometer.divergence(choice) for choice in choices])
        least = float(odometer.bound(costs[1], delta).epsilon)
        loss, total, crossed = np.zeros(runs), np.zeros((runs, costs.shape[1])), np.zeros(runs, dtype=bool)
        for _ in range(40):
            which = (loss < 1.0).astype(int) if rates[0] < 1.0 else rng.integers(2, size=runs)
            sigma, rate = np.array([1.0, 4.0])[which], np.array(rates)[which]
            x = sigma * rng.standard_normal(runs) + (rng.random(runs) < rate)
            loss += np.log1p(rate * np.expm1((2 * x - 1) / (2 * sigma**2)))
            total += costs[which]
            near = loss > least
            crossed[near] |= loss[near] > odometer.bound(total[near], delta).epsilon
        assert 0.002 < crossed.mean() <= delta


def test_mixture_odometer_beside_the_papers_own() -> None:
    """√(2(V + γ) ln(√((V + γ)/γ)/δ)) + V/2 for the best γ, which only one V can have (Whitehouse et al. 2023)."""
    for variance, delta in ((0.01, 1e-5), (1.0, 1e-6), (30.0, 1e-9)):
        gamma = variance * np.geomspace(1e-3, 1e2, 200)
        spread = variance + gamma
        own = np.sqrt(2 * spread * (0.5 * np.log(spread / gamma) - math.log(delta))) + variance / 2
        step = dpviz.SampledGaussian(1 / math.sqrt(variance))
        assert float(MixtureOdometer().epsilon_of(step, steps=1, delta=delta).epsilon) <= 1.1 * own.min()


@given(step_epsilons, counts, small_deltas)
@settings(max_examples=100, deadline=None)
def test_the_fully_adaptive_filter_is_above_strong_composition_and_below_rogers(
    epsilon: float, count: int, delta: float
) -> None:
    spent = float(fully_adaptive_spent(squares=count * epsilon**2, delta=delta))
    assert spent >= strong(epsilon, count, delta) * (1 - 1e-12)
    assert spent <= float(rogers_spent(**sums(epsilon, count), target_epsilon=spent, delta=2 * delta)) * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "count", "delta"), [(0.1, 60, 1e-3), (0.5, 20, 1e-4), (2.0, 5, 1e-6)])
def test_the_fully_adaptive_filter_covers_randomised_response(epsilon: float, count: int, delta: float) -> None:
    """The worst ε-DP mechanism, composed exactly."""
    k = np.arange(count + 1)
    law = np.exp(binom.logpmf(k, count, 1 / (1 + math.exp(-epsilon))))
    over = (2 * k - count) * epsilon - float(fully_adaptive_spent(squares=count * epsilon**2, delta=delta))
    assert float(law[over > 0] @ -np.expm1(-over[over > 0])) <= delta


@pytest.mark.parametrize(("sigma", "rate", "most"), [(20.0, 0.01, 2725), (20.0, 1.0, 13), (0.1, 1.0, 0)])
def test_fully_adaptive_steps(sigma: float, rate: float, most: int) -> None:
    """By hand: 13/400 at ln 1e6 gives 0.964, 14/400 gives 1.0009; a sampled step has ε_i at δ/(2T)."""
    step = {"noise_multiplier": sigma, "sample_rate": rate}
    steps = dpviz.papers.fully_adaptive_steps(**step, target_epsilon=1.0, delta=1e-6)
    assert steps == most >= dpviz.papers.rogers_filter_steps(**step, target_epsilon=1.0, delta=1e-6)
    assert steps <= dpviz.Filter(target_epsilon=1.0, delta=1e-6).remaining_steps(dpviz.SampledGaussian(sigma, rate))
    if rate < 1.0:
        spent = [
            float(fully_adaptive_spent(squares=t * step_epsilon(sigma, rate, 1e-6 / (2 * t * rate)) ** 2, delta=5e-7))
            for t in (most, most + 1)
        ]
        assert spent[0] <= 1.0 < spent[1]


def test_the_fully_adaptive_filter_refuses_and_keeps_its_promise_whatever_is_chosen() -> None:
    """Randomised response whose ε follows the losses, exactly: all paths of eight steps, both ways to be refused."""
    epsilon, delta = 3.0, 1e-2
    laws = [(FullyAdaptiveFilter(target_epsilon=epsilon, delta=delta, share=0.1), 0.0, 1.0)]
    for _ in range(8):
        after = []
        for budget, loss, chance in laws:
            step = 0.6 if loss > 0.0 else 0.2
            if not budget.allows(epsilon=step):
                with pytest.raises(BudgetExceeded, match="Nothing was spent"):
                    budget.spend(epsilon=step)
                after.append((budget, loss, chance))
                continue
            for sign in (1.0, -1.0):
                branch = copy.copy(budget)
                branch.spend(epsilon=step)
                after.append((branch, loss + sign * step, chance / (1 + math.exp(-sign * step))))
        laws = after
    assert sum(chance for *_, chance in laws) == pytest.approx(1.0)
    assert max(loss for _, loss, _ in laws) > 0.0
    assert sum(chance * max(-math.expm1(epsilon - loss), 0.0) for _, loss, chance in laws) <= delta
    most = max(budget.squares for budget, *_ in laws)  # the next step of 0.6 would be too much
    assert fully_adaptive_spent(squares=most, delta=0.009) <= epsilon
    assert fully_adaptive_spent(squares=most + 0.36, delta=0.009) > epsilon
    budget = FullyAdaptiveFilter(target_epsilon=epsilon, delta=delta)
    budget.spend(epsilon=0.1, delta=0.004)
    assert not budget.allows(epsilon=0.1, delta=0.0011)
    assert budget.allows(epsilon=0.1, delta=0.0009)
    for share in (0.1, 0.9):  # what the steps' own δ may take is not there for their losses
        budget = FullyAdaptiveFilter(target_epsilon=epsilon, delta=delta, share=share)
        full = math.sqrt(2 * epsilon - 2 * math.log(delta * (1 - share))) - math.sqrt(
            -2 * math.log(delta * (1 - share))
        )
        assert budget.allows(epsilon=full * (1 - 1e-9))
        assert not budget.allows(epsilon=full * (1 + 1e-9))


@settings(max_examples=50, deadline=None)
@given(most=st.one_of(st.integers(0, 2**53 - 1), st.sampled_from([0, 1, 2, 2**52 - 1, 2**52, 2**53 - 1])))
def test_the_most_steps_that_pass_are_found_to_the_last_one(most: int) -> None:
    assert most_steps(lambda counts: counts <= most) == most


@settings(max_examples=40, deadline=None)
@given(sigma=geometric(0.4, 50.0), rate=geometric(1e-4, 1.0), target=geometric(0.05, 30.0), delta=geometric(1e-9, 1e-3))
def test_the_one_order_is_the_best_of_all(sigma: float, rate: float, target: float, delta: float) -> None:
    """Also where the budget does not hold a single step."""
    [order] = one_order_filter(
        [(SampledGaussian(sigma, rate), 1)], target_epsilon=target, delta=delta
    ).accountant.orders
    orders = Renyi().orders
    tails = epsilon_per_order(np.zeros(orders.size), orders, np.asarray(delta), "improved")
    times = (target - tails) / renyi_divergence(sigma, rate, orders)
    best = np.nanmax(np.where(np.isfinite(times), times, np.nan))
    assert times[orders == order] >= best - 1e-9 * abs(best)
