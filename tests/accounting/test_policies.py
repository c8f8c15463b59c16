"""Adaptive policies: the rules of Lécuyer 2021, §5.1, what they cost, and that they see released counts alone."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.odometer import AUTHORS_ORDERS
from dpviz.accounting.adaptive.policies import AdaptiveBatch, AdaptiveNoise, FineTuning, Fixed, Policy, Setting
from dpviz.accounting.adaptive.policy_trajectory import Scenario, policy_trajectory
from dpviz.accounting.adaptive.released import Released, Spending, release
from tests.accounting.released_counts import released

BASE = Setting(noise_multiplier=1.0, batch_size=512)
PAPER: dict[str, Any] = {"delta": 1e-6, "target_epsilon": 8.22, "most_epochs": 400, "variant": "authors"}
EASY = Scenario(top=0.9, pace=0.25)


def follow(policy: Policy, counts: list[float]) -> list[Setting]:
    seen = []
    for count in counts:
        policy = policy.observe(released(count))
        seen.append(policy.setting)
    return seen


def noises(*values: float) -> list[Setting]:
    return [Setting(value, 512) for value in values]


FOLLOWED: list[tuple[Policy, list[float], list[Setting]]] = [  # 300 is three standard deviations of the count's noise
    (AdaptiveNoise(BASE), [1e4, 10_300, 10_599, *[11_000] * 4], noises(1.1, 1.2, 1.1, 1.2, 1.1, 1.0, 1.0)),
    (AdaptiveBatch(BASE), [1e4, 2e4, 3e4, 3e4, 30_100], [Setting(1.0, size) for size in (384, 256, 256, 384, 512)]),
    (FineTuning(Setting(1.2, 512)), [0.0] * 4, noises(1.1, 1.0, 1.0, 1.0)),
    (FineTuning(Setting(0.5, 512)), [0.0] * 2, noises(0.5, 0.5)),
]


class TestRules:
    @pytest.mark.parametrize(("policy", "counts", "settings_"), FOLLOWED, ids=repr)
    def test_significant_rises_decide(self, policy: Policy, counts: list[float], settings_: list[Setting]) -> None:
        assert follow(policy, counts) == settings_

    def test_budget_is_lowered_only_when_allowed(self) -> None:
        for policy in (AdaptiveNoise(BASE), AdaptiveBatch(BASE)):
            assert policy.observe(released(10_000), may_lower=False).setting == BASE
            assert policy.blocked(released(10_000), may_lower=False)
            assert not policy.blocked(released(10_000), may_lower=True)
            assert not policy.blocked(released(100), may_lower=False), "it did not rise"
            lowered = policy.observe(released(10_000))
            assert lowered.observe(released(10_000), may_lower=False).setting == BASE, "raising back needs no allowance"

    def test_fine_tuning_quietens_without_rises_and_stops_at_its_goal(self) -> None:
        policy = FineTuning(Setting(2.0, 512), goal=40_000)
        seen = []
        for count in (10_000, 10_100, 10_200, 20_000, 40_000):
            policy = policy.observe(released(count))
            seen.append((policy.setting.noise_multiplier, policy.stopped))
        assert seen == [(2.0, False), (1.9, False), (1.8, False), (1.8, False), (1.8, True)]

    @given(st.lists(st.tuples(st.floats(0, 5e4), st.booleans()), max_size=60))
    @settings(max_examples=60, deadline=None)
    def test_never_more_budget_than_the_baseline(self, seen: list[tuple[float, bool]]) -> None:
        noise: Policy = AdaptiveNoise(BASE)
        batch: Policy = AdaptiveBatch(BASE)
        for count, may in seen:
            noise, batch = (each.observe(released(count), may_lower=may) for each in (noise, batch))
            assert noise.setting.noise_multiplier >= 1.0
            assert 256 <= batch.setting.batch_size <= 512
            assert round(10 * noise.setting.noise_multiplier, 6).is_integer()


class TestCourse:
    def test_baseline_of_the_paper(self) -> None:
        """100 epochs of 98 steps, no counts: the classic RDP and the authors' odometer at 9800 steps."""
        trajectory = policy_trajectory(Fixed(BASE), Scenario(), **PAPER, filter_orders="paper")
        assert (trajectory.ended, trajectory.epochs[-1]) == ("budget", 100)
        assert trajectory.planned[-1] == pytest.approx(8.2187, abs=5e-5)
        assert trajectory.odometer[-1] == pytest.approx(10.2046, abs=5e-5)
        assert trajectory.events == ((dpviz.SampledGaussian(1.0, 512 / 50_000), 9800),)
        assert np.isnan(trajectory.count).all()

    @pytest.mark.parametrize("policy", [AdaptiveNoise(BASE), AdaptiveBatch(BASE)], ids=["noise", "batch"])
    def test_adaptive_policies_train_longer_within_the_budget(self, policy: Policy) -> None:
        """The improved conversion at one order, which is proved, beside the paper's at all of them, which is not."""
        one, all_ = (
            policy_trajectory(policy, Scenario(), **PAPER, filter_orders=orders) for orders in ("one", "paper")
        )
        assert all_.ended == "budget"
        assert 110 < all_.epochs[-1] < 300, "the paper: up to three times the baseline's 100"
        assert all_.planned[-1] <= 8.22 < all_.odometer[-1]
        assert one.epochs[-1] >= all_.epochs[-1]
        assert one.planned[-1] <= 8.22
        assert float(dpviz.accountant("renyi").of_events(one.events, 1e-6).epsilon) <= one.planned[-1]

    @pytest.mark.parametrize(
        "policy", [Fixed(BASE), AdaptiveNoise(BASE), AdaptiveBatch(BASE), FineTuning(Setting(2.0, 512))], ids=repr
    )
    def test_budgets_are_those_of_what_was_spent(self, policy: Policy) -> None:
        trajectory = policy_trajectory(policy, EASY, delta=1e-6, most_epochs=60, variant="authors")
        plain = dpviz.accountant("renyi", conversion="improved", orders=AUTHORS_ORDERS)
        odometer = dpviz.accountant("odometer", variant="authors")
        for accountant, reading in ((plain, trajectory.planned), (odometer, trajectory.odometer)):
            spent = float(accountant.of_events(trajectory.events, 1e-6).epsilon)
            assert reading[-1] == pytest.approx(spent, rel=1e-10)
        counted = sum(count for mechanism, count in trajectory.events if mechanism == policy.count_mechanism)
        assert counted == np.isfinite(trajectory.count).sum() == (60 // policy.every if policy.every else 0)
        assert (np.diff(trajectory.planned) >= 0).all()
        assert (trajectory.odometer >= trajectory.planned - 1e-12).all()

    def test_settings_follow_the_counts(self) -> None:
        trajectory = policy_trajectory(AdaptiveNoise(BASE), Scenario(), delta=1e-6, most_epochs=100)
        policy: Policy = AdaptiveNoise(BASE)
        for epoch in range(1, 101):
            assert trajectory.noise_multiplier[epoch] == policy.setting.noise_multiplier
            if math.isfinite(trajectory.count[epoch]):
                policy = policy.observe(released(float(trajectory.count[epoch])))

    def test_the_margin_blocks_and_says_so(self) -> None:
        known = {"delta": 1e-6, "target_epsilon": 3.0, "most_epochs": 400}
        narrow, wide = (
            policy_trajectory(AdaptiveNoise(BASE), Scenario(), margin_epochs=margin, **known) for margin in (0, 400)
        )
        assert wide.blocked.sum() > 0
        assert set(wide.noise_multiplier) == {1.0}
        assert narrow.blocked.sum() == 0
        assert narrow.noise_multiplier.max() > 1.0
        assert narrow.epochs[-1] > wide.epochs[-1]


COUNT = dpviz.SampledGaussian(100.0)
ROOT = Path(__file__).parents[2]


class Book:
    """Notes what happens to it, in order."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.happened: list[str] = []

    def reserve(self, mechanism: dpviz.SampledGaussian) -> None:
        self.happened.append("reserved")
        if self.refuses:
            raise BudgetExceeded(mechanism, 1, 0, 1.0)

    def count(self, mechanism: dpviz.SampledGaussian) -> None:
        self.happened.append("charged")

    def standard_normal(self) -> float:
        self.happened.append("drew")
        return 0.5

    def look(self) -> float:
        self.happened.append("looked")
        return 9_000.0

    def release(self) -> Released:
        return release(self.look, mechanism=COUNT, account=self, random=self)  # type: ignore[arg-type]


def test_reserve_draw_charge_and_only_then_look() -> None:
    book = Book()
    found = book.release()
    assert book.happened == ["reserved", "drew", "charged", "looked"]
    assert (found.value, found.mechanism) == (9_050.0, COUNT)


def test_what_is_refused_is_not_looked_at() -> None:
    book = Book(refuses=True)
    with pytest.raises(BudgetExceeded):
        book.release()
    assert book.happened == ["reserved"]


def test_the_noise_is_the_mechanism_s() -> None:
    random, budget = np.random.default_rng(1), Filter(target_epsilon=100.0, delta=1e-5)
    paid = {"mechanism": dpviz.SampledGaussian(50.0), "account": Spending(budget), "random": random}
    noise = np.array([release(lambda: 4000.0, **paid).value - 4000.0 for _ in range(4000)])  # type: ignore[arg-type]
    assert abs(noise.mean()) < 5 * 50 / np.sqrt(4000)
    assert abs(noise.std() - 50.0) < 5 * 50 / np.sqrt(8000)
    assert budget.events == ((dpviz.SampledGaussian(50.0), 4000),)


def test_a_sampled_mechanism_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected sample_rate=0.5"):
        release(lambda: 1.0, mechanism=dpviz.SampledGaussian(1.0, 0.5), account=Book(), random=np.random.default_rng(0))


@pytest.mark.parametrize("maker", [None, object(), Released])
def test_nobody_else_makes_one(maker: object) -> None:
    with pytest.raises(TypeError, match="release"):
        Released(9_000.0, COUNT, maker)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        type("Peek", (Released,), {})
    found = released(1.0)
    with pytest.raises(AttributeError):
        found.value = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("kind", [Fixed, AdaptiveNoise, AdaptiveBatch, FineTuning])
def test_policies_take_nothing_else(kind: type) -> None:
    policy = kind(Setting(2.0, 512))
    for peeked in (9_000.0, 9_000, np.float64(9_000.0)):
        with pytest.raises(TypeError, match="Expected a Released count"):
            policy.observe(peeked)
    with pytest.raises(ValueError, match="Expected a count released by"):
        policy.observe(released(9_000.0, noise=1e-9))


def test_no_module_takes_the_maker() -> None:
    users = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "dpviz").rglob("*.py"))
        if re.search(r"\b_MAKER\b|\b_Maker\b", path.read_text(encoding="utf-8"))
    ]
    assert users == [str(Path("dpviz/accounting/adaptive/released.py"))]
