"""Step-size bounds of Li et al. 2019 and Wang et al. 2015: printed numbers, safety, constants, conditions, MSE."""

import math

import numpy as np
import pytest

import dpviz
from dpviz.accounting.langevin.cost import Langevin
from dpviz.accounting.langevin.mse import (
    best_step_size,
    mse_of_schedule,
    mse_proposition5,
)
from dpviz.accounting.langevin.step_sizes import (
    composed_step_size,
    langevin_constants,
    step_size_limits,
    wang_largest_epsilon,
)
from dpviz.accounting.renyi.varying_noise import WHOLE_ORDERS
from dpviz.accounting.schedules import PowerSchedule

PAPER = {"delta": 1e-5, "n": 50_000, "steps": 10_000, "clip": 1}
BATCH = math.sqrt(50_000)


def test_wang_s_theorem_is_refused_where_its_condition_fails() -> None:
    """Its step size at ε = 1 would cost at least 25 here; just inside its condition the claim is kept."""
    setting = {"delta": 1e-6, "n": 1e6, "clip": 1, "batch_size": 100}
    with pytest.raises(ValueError, match=r"epsilon=1 <= 0.0215.*T ≥ ε²/\(32 q² ln\(2/δ\)\)"):
        dpviz.langevin_step_size("wang", **setting, epsilon=1.0, steps=100)
    with pytest.raises(ValueError, match="theorem"):
        dpviz.langevin_step_size("wang", **setting, epsilon=[0.02, 0.022], steps=100)
    for steps in (100, 10_000):
        epsilon = wang_largest_epsilon(sample_rate=1e-4, steps=steps, delta=1e-6)
        for adjacency in ("add_remove", "replace_one"):
            size = dpviz.langevin_step_size("wang", **setting, epsilon=epsilon, steps=steps, adjacency=adjacency)
            chain = dpviz.PowerSchedule(size, 0.0, steps)
            assert dpviz.langevin_epsilon(chain, **setting, adjacency=adjacency, method="tight") <= epsilon


@pytest.mark.parametrize(("theorem", "exponent"), [("theorem3", 1 / 3), ("theorem4", 0.0)])
@pytest.mark.parametrize("conversion", ["classic", "improved"])
@pytest.mark.parametrize("epsilon", [0.1, 1.5])
def test_the_largest_step_size_is_safe_and_largest(
    theorem: str, exponent: float, conversion: str, epsilon: float
) -> None:
    size = dpviz.langevin_step_size(theorem, epsilon=epsilon, **PAPER, batch_size=BATCH, conversion=conversion)
    setting = {"n": 50_000, "batch_size": BATCH, "clip": 1, "delta": 1e-5}
    orders = range(2, 1200)

    def cost(factor: float) -> float:
        schedule = PowerSchedule(factor * size, exponent, 10_000)
        return dpviz.langevin_epsilon(schedule, **setting, conversion=conversion, orders=orders)

    assert cost(1.0) <= epsilon * (1 + 1e-4)
    assert cost(1.01) > epsilon


def test_quick_answers_are_safe_and_near() -> None:
    epsilon = np.geomspace(0.02, 1.7, 12)
    quick = dpviz.langevin_step_size("theorem3", epsilon=epsilon, **PAPER, batch_size=BATCH, refine=False)
    refined = dpviz.langevin_step_size("theorem3", epsilon=epsilon, **PAPER, batch_size=BATCH)
    assert (quick <= refined).all()
    assert (quick >= 0.94 * refined).all()
    assert (np.diff(quick) > 0).all()


def test_the_step_size_goes_with_one_over_the_clip_squared() -> None:
    one, two = (
        dpviz.langevin_step_size(
            "theorem3", epsilon=0.5, delta=1e-4, n=10_000, steps=10_000, clip=c, batch_size=100, refine=False
        )
        for c in (1.0, 2.0)
    )
    assert one == pytest.approx(4 * two, rel=1e-9)


def test_friction_scales_the_step_size() -> None:
    common = {"epsilon": 0.5, **PAPER, "batch_size": BATCH, "refine": False}
    plain = dpviz.langevin_step_size("theorem4", **common)
    assert dpviz.langevin_step_size("theorem4", **common, friction=0.05) == pytest.approx(0.1 * plain, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("rate", [0.0045, 0.5])
@pytest.mark.one_of(3)
def test_the_step_size_of_a_replaced_example_keeps_its_claim(rate: float, epsilon: float) -> None:
    setting = {"n": 50_000, "clip": 1, "delta": 1e-5, "batch_size": rate * 50_000, "adjacency": "replace_one"}
    size = dpviz.langevin_step_size("theorem3", **setting, epsilon=epsilon, steps=10_000, refine=False)
    costs = [
        dpviz.langevin_epsilon(dpviz.PowerSchedule(more * size, 1 / 3, 10_000), **setting, conversion="classic")
        for more in (1.0, 1.3)
    ]
    assert costs[0] <= epsilon < costs[1]


@pytest.mark.parametrize("theorem", ["wang", "wang_as_plotted"])
def test_replacing_doubles_the_sensitivity_of_the_bound_of_wang_et_al_too(theorem: str) -> None:
    one, other = (
        dpviz.langevin_step_size(theorem, epsilon=0.1, **PAPER, adjacency=a) for a in ("add_remove", "replace_one")
    )
    assert other == pytest.approx(one / 4, rel=1e-12)


def test_constants_turn_the_third_condition_into_the_largest_step_size() -> None:
    setting = Langevin(50_000, BATCH, 1)
    found = langevin_constants(setting, epsilon=[0.1, 1.0], delta=1e-5, exponent=1 / 3, steps=10_000)
    third = np.square([0.1, 1.0]) * 50_000 / (10_000 ** (2 / 3) * math.log(1e5))
    np.testing.assert_allclose(third / found.c_squared, found.step_size, rtol=1e-12)
    # 0.103 at ε = 0.1, as printed, would need 0.908; composing classic moments needs three times that.
    assert third[0] / 0.908 == pytest.approx(0.103, abs=5e-4)
    assert found.c_squared[0] == pytest.approx(3.02, abs=0.02)
    assert found.c1[0] == pytest.approx(0.1 / (BATCH / 50_000) ** 2 / 10_000 ** (2 / 3), rel=1e-12)
    assert set(found.order) <= set(WHOLE_ORDERS)


def test_conditions_as_rederived_are_those_of_the_moment_bound() -> None:
    setting = Langevin(60_000, 245, 4)
    low, high = step_size_limits(setting)
    assert float(setting.noise_multiplier(high)) == pytest.approx(1.0, rel=1e-12)
    assert setting.sample_rate * 16 * float(setting.noise_multiplier(low)) == pytest.approx(1.0, rel=1e-12)
    q, size, clip = setting.sample_rate, 60_000, 4
    assert high == pytest.approx(q**2 * size / clip**2, rel=1e-12)
    assert low == pytest.approx(256 * q**4 * size / clip**2, rel=1e-12)
    assert step_size_limits(setting, "printed") == (pytest.approx(q**2 * size / (256 * clip**2)), 60_000 / 16)


def test_table_1_breaks_the_rederived_first_condition() -> None:
    limit = step_size_limits(Langevin(60_000, math.sqrt(60_000), 4))[1]
    assert limit == pytest.approx(1 / 16, rel=1e-12)
    assert limit < 0.1


def test_nothing_is_proven_where_no_order_reaches() -> None:
    size, order = composed_step_size(Langevin(50_000, 224, 1), epsilon=1e-9, delta=1e-5, exponent=0.0, steps=10)
    assert float(size) == 0.0
    assert math.isnan(float(order))


def test_lemma_6_and_its_best_step_size() -> None:
    steps, eta, spread = 1000, 0.05, 1e-7
    found = mse_of_schedule(eta, exponent=0.0, steps=steps, n=5000, batch_size=50, gradient_variance=spread)
    wanted = (5000 / 50 - 1) * 5000**2 * spread / steps + 1 / (steps * eta) + eta**2
    assert float(found) == pytest.approx(wanted, rel=1e-9)
    assert best_step_size(exponent=0.0, steps=steps) == pytest.approx((2 * steps) ** (-1 / 3), rel=1e-9)


@pytest.mark.parametrize("exponent", [0.0, 1 / 3])
def test_the_best_step_size_is_a_minimum(exponent: float) -> None:
    best = best_step_size(exponent=exponent, steps=2000)
    around = mse_of_schedule([0.97 * best, best, 1.03 * best], exponent=exponent, steps=2000, n=100, batch_size=10)
    assert around[1] < around[0]
    assert around[1] < around[2]


def test_decreasing_steps_summed_one_by_one() -> None:
    t = np.arange(1.0, 3001.0)
    sizes = 0.2 * t ** (-1 / 3)
    total, squares = sizes.sum(), (sizes**2).sum()
    wanted = squares / total**2 * (100 / 10 - 1) * 100**2 * 0.01 + 1 / total + (squares / total) ** 2
    found = mse_of_schedule(0.2, exponent=1 / 3, steps=3000, n=100, batch_size=10, gradient_variance=0.01)
    assert float(found) == pytest.approx(wanted, rel=1e-9)


def test_proposition_5_as_printed() -> None:
    found = mse_proposition5(0.5, steps=1000, n=100, batch_size=10, gradient_variance=0.01)
    wanted = 2 / 3 * 9 * 100**2 * 0.01 / 1000 + 1 / 1.5 + 2 * 0.25 / 100
    assert float(found) == pytest.approx(wanted, rel=1e-12)
    best = (1000 ** (2 / 3) / 12) ** (1 / 3)
    near = mse_proposition5([0.97 * best, best, 1.03 * best], steps=1000, n=100, batch_size=10)
    assert near[1] == near.min()
