"""Composed cost of Langevin dynamics against step-by-step composition and the numbers of Li et al. 2019."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.langevin.cost import Langevin, langevin_bound, langevin_events, langevin_tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS, composed_divergence
from dpviz.accounting.schedules import PowerSchedule, grouped, split
from dpviz.mechanisms.divergences import replaced_divergence
from dpviz.mechanisms.log_moments import renyi_divergence

MNIST = {"n": 60_000, "batch_size": 245, "clip": 4, "delta": 1e-5}
SVHN = {"n": 604_388, "batch_size": 777, "clip": 1, "delta": 1e-6}


def decreasing(first: float, steps: int) -> PowerSchedule:
    return PowerSchedule(first, 1 / 3, steps)


def epochs(setting: dict, count: int) -> PowerSchedule:
    return decreasing(0.1, round(count * setting["n"] / setting["batch_size"]))


@pytest.mark.parametrize(("count", "classic", "improved"), [(1, 1.820, 1.33), (20, 1.863, 1.37), (100, 1.956, 1.46)])
def test_mnist_costs_more_than_table_1_says(count: int, classic: float, improved: float) -> None:
    steps = epochs(MNIST, count)
    whole = dpviz.langevin_epsilon(steps, **MNIST, conversion="classic", orders=range(2, 513))
    assert whole == pytest.approx(classic, abs=1e-3)
    assert dpviz.langevin_epsilon(steps, **MNIST) == pytest.approx(improved, abs=0.006)


@pytest.mark.parametrize(("count", "improved", "tight"), [(1, 0.064, 0.015), (20, 0.073, 0.047), (100, 0.092, 0.088)])
def test_svhn_keeps_its_claim(count: int, improved: float, tight: float) -> None:
    steps = epochs(SVHN, count)
    assert dpviz.langevin_epsilon(steps, **SVHN) == pytest.approx(improved, rel=0.015)
    # Upper ends of a coarser grid; at 100 epochs the central limit theorem (μ = 0.0213) gives 0.076.
    assert 0.85 * tight < dpviz.langevin_epsilon(steps, **SVHN, method="tight", groups=60) <= 1.01 * tight


@pytest.mark.parametrize(
    ("setting", "count", "low", "high"),
    [(MNIST, 1, 0.213, 0.217), (MNIST, 20, 0.400, 0.406), (MNIST, 100, 0.685, 0.693), (SVHN, 1, 0.012, 0.015),
     (SVHN, 100, 0.0704, 0.088)],
)  # fmt: skip
def test_tight_cost_of_table_1(setting: dict, count: int, low: float, high: float) -> None:
    """Other upper bounds for SVHN came from a fixed grid, which reads too high the longer the run."""
    chain = Langevin(setting["n"], setting["batch_size"], setting["clip"])
    found = tight_epsilon_of_events(langevin_events(chain, epochs(setting, count)), setting["delta"])
    assert found.reason == ""
    assert low < float(found.lower) <= float(found.upper) < high
    assert float(found.upper) - float(found.lower) < (0.005 if setting is SVHN else 0.006) * float(found.upper)


def test_a_replaced_example_is_accounted_by_its_own_pair() -> None:
    """Both ends from an independent inversion that rounds losses up or down by 2e-5 a step: [.28798, .29288]."""
    replaced = Langevin(60_000, 245, 4, adjacency="replace_one")
    low, high = langevin_tight(replaced, epochs(MNIST, 1), 1e-5)
    assert 0.28798 < low < high < 0.29288
    assert high < dpviz.langevin_epsilon(epochs(MNIST, 1), **MNIST, adjacency="replace_one") < 1.4
    # Where nearly all are sampled, adding or removing one at σ/2 says .409: that is too little.
    many = Langevin(100, 93, 1, adjacency="replace_one")
    low, high = langevin_tight(many, PowerSchedule(float(many.step_size(1.0)), 0.0, 3), 0.85)
    assert 0.459 < low < high < 0.461


def test_the_step_size_of_the_example_is_no_0_1() -> None:
    setting = {"n": 50_000, "batch_size": math.sqrt(50_000), "clip": 1, "delta": 1e-5}
    found = dpviz.langevin_epsilon(decreasing(0.103, 10_000), **setting, conversion="classic", orders=range(2, 513))
    # Step by step: 0.18663 at α = 105; coarse groups of steps give the 0.191 that is also quoted.
    assert found == pytest.approx(0.18663, rel=3e-4)
    assert found >= 0.18662


def test_cells_lie_closely_above_step_by_step_composition() -> None:
    setting = Langevin(60_000, 245, 4)
    sizes = decreasing(0.1, 245).at(np.arange(1, 246))
    orders = np.array(VARYING_ORDERS)
    exact = renyi_divergence(setting.noise_multiplier(sizes)[:, None], setting.sample_rate, orders).sum(axis=0)
    for schedule in (PowerSchedule(0.1 * setting.cost, 1 / 3, 245), sizes * setting.cost):
        ratio = composed_divergence(schedule, sample_rate=setting.sample_rate) / exact
        assert (ratio >= 1.0).all()
        assert ratio.max() < 1.25  # at orders that decide nothing; ε itself is held below
    best = to_bound(exact, orders, 1e-5, "improved").epsilon
    assert dpviz.langevin_epsilon(decreasing(0.1, 245), **MNIST) == pytest.approx(float(best), rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(
    first=st.floats(1e-3, 30.0),
    exponent=st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 1.0, 2.0]),
    steps=st.integers(1, 20),
    rate=st.floats(1e-4, 1.0),
    as_list=st.booleans(),
    replaced=st.booleans(),
)
def test_never_below_the_exact_composition(
    first: float, exponent: float, steps: int, rate: float, as_list: bool, replaced: bool
) -> None:
    orders = (1.05, 1.5, 2.0, 3.7, 8.0, 40.0)
    schedule = PowerSchedule(first, exponent, steps)
    u = schedule.at(np.arange(1, steps + 1))
    divergence = replaced_divergence if replaced else renyi_divergence
    exact = np.sum([divergence(sigma, rate, np.array(orders)) for sigma in (1 / np.sqrt(u)).tolist()], axis=0)
    bound = composed_divergence(u if as_list else schedule, sample_rate=rate, orders=orders, replaced=replaced)
    assert (bound >= exact * (1 - 1e-12)).all()
    if replaced:  # a step counts at the edge above it, with no more than 2^(1/16) of its 1/σ²
        upper = np.sum(
            [divergence(sigma, rate, np.array(orders)) for sigma in (2**-0.032 / np.sqrt(u)).tolist()], axis=0
        )
        assert (bound <= upper * (1 + 1e-9)).all()


def test_a_fixed_step_size_is_the_renyi_accountant() -> None:
    setting = Langevin(10_000, 100, 1)
    size = float(setting.step_size(4.0))
    orders = Renyi().order_values[100:300:4]
    found = langevin_bound(setting, PowerSchedule(size, 0.0, 10_000), delta=1e-5, orders=orders)
    wanted = dpviz.epsilon("renyi", noise_multiplier=4, sample_rate=0.01, steps=10_000, delta=1e-5, orders=orders)
    assert float(found.epsilon[0]) == pytest.approx(wanted, rel=1e-9)


def test_along_the_steps_the_cost_grows_to_the_whole() -> None:
    setting, schedule = Langevin(60_000, 245, 4), decreasing(0.1, 4898)
    marks = [1, 2, 10, 245, 2449, 4898]
    along = langevin_bound(setting, schedule, delta=1e-5, marks=marks).epsilon
    assert (np.diff(along) > 0).all()
    alone = [dpviz.langevin_epsilon(decreasing(0.1, t), **MNIST) for t in marks]
    np.testing.assert_allclose(along, alone, rtol=2e-3)


def test_lists_functions_and_power_laws_agree() -> None:
    setting = {"n": 10_000, "batch_size": 50, "clip": 1, "delta": 1e-5}
    law = dpviz.langevin_epsilon(PowerSchedule(0.02, 0.5, 2000), **setting)
    function = dpviz.langevin_epsilon(lambda t: 0.02 / np.sqrt(t), steps=2000, **setting)
    shuffled = np.random.default_rng(0).permutation(0.02 / np.sqrt(np.arange(1, 2001)))
    assert function == pytest.approx(law, rel=2e-3)
    assert dpviz.langevin_epsilon(shuffled, **setting) == pytest.approx(function, rel=2e-3)


def test_a_million_steps_and_a_trillion() -> None:
    setting = {"n": 604_388, "batch_size": 777, "clip": 1, "delta": 1e-6}
    million = dpviz.langevin_epsilon(decreasing(0.1, 10**6), **setting)
    listed = dpviz.langevin_epsilon(decreasing(0.1, 10**6).at(np.arange(1, 10**6 + 1)), **setting)
    assert listed == pytest.approx(million, rel=1e-3)
    assert million < dpviz.langevin_epsilon(decreasing(0.1, 10**12), **setting) < math.inf


def test_groups_take_their_largest_step_size() -> None:
    schedule = decreasing(0.1, 5000)
    sizes = schedule.at(np.arange(1, 5001))
    for given_sizes in (schedule, np.random.default_rng(1).permutation(sizes)):
        counts, values = grouped(given_sizes, 50)
        assert counts.sum() == 5000
        assert counts.size <= 50
        descending = np.sort(values)[::-1]
        upper = np.repeat(descending, counts[np.argsort(values)[::-1]].astype(int))
        assert (upper >= sizes * (1 - 1e-12)).all()
    counts, values = grouped(np.array([0.1, 0.2, 0.1, 0.0]), 300)
    assert counts.tolist() == [2.0, 1.0]
    assert values.tolist() == [0.1, 0.2]


def test_splitting_keeps_every_step() -> None:
    schedule = decreasing(1.0, 20_000)
    parts = split(schedule, [7, 300, 20_000])
    sizes = schedule.at(np.arange(1, 20_001))
    assert parts.count.sum() == 20_000
    assert parts.count[parts.mark == 0].sum() == 7
    total = float(parts.count @ parts.mean)
    assert sizes.sum() <= total <= sizes.sum() * (1 + 1e-9)


@pytest.mark.parametrize("first", [1e-300, 1e-12, 1e3, 1e30, 1e300])
@pytest.mark.parametrize("exponent", [0.0, 1 / 3, 5.0])
def test_extremes_have_an_answer(first: float, exponent: float) -> None:
    found = dpviz.langevin_epsilon(PowerSchedule(first, exponent, 10**6), n=50_000, batch_size=224, clip=1, delta=1e-5)
    assert found >= 0.0


def test_the_tight_interval_of_few_groups_holds_that_of_all_steps() -> None:
    setting, schedule = Langevin(2_000, 100, 1.0), PowerSchedule(0.5, 1 / 3, 24)
    low, high = langevin_tight(setting, schedule, 1e-5, groups=24)
    outer_low, outer_high = langevin_tight(setting, schedule, 1e-5, groups=3)
    assert outer_low < low <= high < outer_high
