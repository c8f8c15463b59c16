"""Budgets: numbers and words of what stopping costs, of spending by hand, and of policies."""

import numpy as np
import pytest
from scipy.special import ndtr

import dpviz
from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.adaptive.individual import IndividualFilter
from dpviz.accounting.adaptive.one_order import one_order_filter
from dpviz.fields import numbers
from dpviz.questions import kinds
from dpviz.questions.budget.blocks import Block, enough_for
from dpviz.questions.budget.individual import INDIVIDUAL
from dpviz.questions.budget.policy import POLICY
from dpviz.questions.budget.shared import NAMES, filter_of
from dpviz.questions.budget.spend import SPEND
from dpviz.questions.budget.stop import OTHER, STOP
from tests.questions.asking import asked, asked_whole, curves, headline, of_preset

SETTING = {"sigma": "1", "q": "512/50000", "delta": "1e-6"}
CIFAR = SETTING | {"n": "50000"}
SPENT = "1x0.01024x980~2x0.01024x1500~1x0.02x300"
STEP = dpviz.SampledGaussian(1.0, 512 / 50_000)

COMPUTED = ("allocation", "secret")  # on a grid, without Rényi divergences


class TestStop:
    @pytest.mark.parametrize("kind", COMPUTED)
    def test_what_the_odometer_does_not_know_it_refuses(self, kind: str) -> None:
        with pytest.raises(ValueError, match="Expected a mechanism that 'odometer' knows, found Gaussian"):
            asked(STOP, mech=kind, steps="3")

    @pytest.mark.parametrize("texts", [
        CIFAR | {"bodo": "authors", "conversion": "improved", "steps": "4900", "target": "5.76"}, CIFAR,
        CIFAR | {"logx": "1", "q": "0"}, *({"mech": kind, "steps": "300", "target": "0.4"} for kind in kinds.KINDS
        if kind not in COMPUTED),
    ], ids=str)  # fmt: skip
    @pytest.mark.one_of(3)
    def test_every_curve_is_the_librarys(self, texts: dict[str, str]) -> None:
        """By any mechanism; what there is not is not drawn, and the headline rounds up."""
        a = asked_whole(STOP, **texts, bcurves="odometer.mixture.other.planned.filter.rogers.tight")
        g, by, mechanism = a.given, curves(a), a.given["mechanism"]
        steps = np.asarray(a.plot.lines[0].x)  # type: ignore[attr-defined]
        for key, name, option in (
            ("odometer", "odometer", {"variant": g["variant"]}),
            ("mixture", "mixture", {}),
            ("other", "odometer", {"variant": OTHER[g["variant"]]}),
            ("planned", "renyi", {"conversion": g["conversion"]}),
        ):
            bound = dpviz.accountant(name, **option).epsilon_of(mechanism, steps=steps, delta=g["delta"])
            np.testing.assert_allclose(by[key], bound.epsilon, rtol=1e-12)
        budget = dpviz.Filter(target_epsilon=g["target_epsilon"], delta=g["delta"], conversion=g["conversion"])
        assert a.facts.allowed == budget.remaining_steps(mechanism), "one order, fixed in advance, has no price"
        if a.facts.tight is not None:
            assert not a.facts.tight.lower[-1] > by["planned"][-1]  # NaN where ε guarantees nothing
            np.testing.assert_array_equal(a.plot.bands[0].lower, a.facts.tight.lower)  # type: ignore[attr-defined]
        assert ("rogers" in by) == (mechanism.kind == "gaussian")
        if "n" in texts:
            plan = {"noise_multiplier": 1.0, "sample_rate": mechanism.sample_rate, "size": 50_000, "delta": g["delta"]}
            rogers = dpviz.papers.rogers_odometer_epsilon(steps=steps, horizon=g["steps"], **plan)
            np.testing.assert_allclose(by["rogers"], rogers, rtol=1e-12)
        else:
            assert a.facts.tight is not None
            assert (by["odometer"] >= by["planned"] - 1e-12).all()
            assert (mechanism.assumes in STOP.assumed(a)) == (mechanism.kind != "gaussian")
        if g["target_epsilon"] == 5.76:
            least = min(float(by[key][-1]) for key in ("odometer", "mixture"))
            assert f"ε ≤ {numbers.epsilon(least, up=True)}" in headline(STOP, a)
            assert numbers.steps(a.facts.allowed) in headline(STOP, a)

    def test_filter_ends_where_the_plan_crosses_the_budget(self) -> None:
        by = curves(asked(STOP, **CIFAR, steps="4900", target="5"))
        np.testing.assert_array_equal(np.isfinite(by["filter"]), by["planned"] <= 5.0)
        none = asked(STOP, **CIFAR, target="1e-6")
        assert "filter" not in curves(none)
        assert STOP.slow[0].key(asked(STOP, bcurves="odometer")) is None, "a band that is not drawn is not computed"

    @pytest.mark.parametrize(
        ("texts", "name"),
        [
            ({}, "Whitehouse odometer"),
            ({"sigma": "200", "q": "0.01", "steps": "5", "bodo": "powers"}, "Lécuyer odometer"),
        ],
    )
    def test_the_headline_names_the_smaller_odometer_at_the_end_whatever_is_drawn(
        self, texts: dict[str, str], name: str
    ) -> None:
        a = asked(STOP, **(CIFAR | texts), bcurves="odometer")
        (epsilon, label), (other, _) = a.facts.anytime
        assert label == name
        assert epsilon < other
        assert {epsilon, other} == {float(a.facts.odometer.epsilon[-1]), float(a.facts.mixture.epsilon[-1])}
        assert f"ε ≤ {numbers.epsilon(epsilon, up=True)}</b> at δ = 1e-6 by the {name};" in headline(STOP, a)

    def test_rogers_leaves_through_the_top_also_beside_pins(self) -> None:
        plot = asked(STOP, **CIFAR, steps="4900").plot
        top = plot.chart().figure["layout"]["yaxis"]["range"][1]
        assert top < 20
        pinned = asked(STOP, **(CIFAR | {"sigma": "0.9"}), steps="4900").plot
        both = plot.with_pinned([("σ 0.9", pinned)])
        assert [line.name for line in both.lines if line.faded] == [
            "σ 0.9: Lécuyer odometer",
            "σ 0.9: Whitehouse odometer",
            "σ 0.9: T fixed in advance",
        ]
        assert both.chart().figure["layout"]["yaxis"]["range"][1] > top


class TestSpend:
    @pytest.mark.parametrize(("conversion", "variant"), [("classic", "paper"), ("improved", "authors")])
    def test_blocks_are_the_filters(self, conversion: str, variant: str) -> None:
        a = asked(SPEND, **SETTING, target="5", bblocks=SPENT, conversion=conversion, bodo=variant)
        budget = one_order_filter([(STEP, 1)], target_epsilon=5.0, delta=1e-6, conversion=conversion)
        odometer = dpviz.Odometer(delta=1e-6, variant=variant)
        for entry in a.facts.entries:
            assert entry.passed
            budget.spend(entry.block.mechanism, entry.block.steps)
            odometer.spend(entry.block.mechanism, entry.block.steps)
            assert entry.filled == pytest.approx(budget.epsilon(), rel=1e-12)
            assert entry.odometer == pytest.approx(odometer.epsilon(), rel=1e-12)
        filled = a.plot.lines[0]
        assert filled.x[-1] == budget.steps == 2780
        assert filled.y[-1] == a.facts.filled == a.facts.entries[-1].filled
        assert a.facts.left == budget.remaining_steps(STEP)
        assert numbers.epsilon(budget.epsilon(), up=True) in headline(SPEND, a)

    def test_a_refused_block_stays_in_the_list_and_costs_nothing(self) -> None:
        classic = SETTING | {"conversion": "classic", "target": "3"}
        a = asked(SPEND, **classic, bblocks="1x0.01024x980~1x0.01024x500~2x0.01024x10")
        assert [entry.passed for entry in a.facts.entries] == [True, False, True]
        without = asked(SPEND, **classic, bblocks="1x0.01024x980~2x0.01024x10")
        assert a.facts.filled == without.facts.filled
        fits = dpviz.Filter(target_epsilon=3.0, delta=1e-6, conversion="classic").remaining_steps(STEP) - 980
        assert a.facts.entries[1].fits == fits
        assert f"refused ({fits} fit)" in a.plot.table()["filter"].tolist()

    def test_the_coming_block_is_drawn_but_is_not_what_was_spent(self) -> None:
        a = asked(SPEND, **SETTING, target="5", bblocks=SPENT)
        assert "filter: filled" in a.plot.alt.split(":", 1)[1]
        assert "pinned" not in a.plot.alt
        ahead = curves(a)["ahead"]
        assert a.facts.filled == pytest.approx(ahead[0], rel=1e-12)
        assert ahead[0] < ahead[-1] <= 5.0

    def test_the_tight_interval_is_that_of_the_blocks(self) -> None:
        a = asked_whole(SPEND, bblocks="4x0.01x42~5x0.02x10", sigma="7")
        assert a.facts.tight.lower <= a.facts.tight.upper <= a.facts.filled
        assert "…" not in [metric.value for metric in SPEND.metrics(a)]
        assert SPEND.slow[0].key(asked(SPEND)) is None


class TestOrdersOfTheFilter:
    """Where results choose noise or batch, pages keep to one order fixed in advance, or share δ among the orders."""

    def test_the_union_has_its_price_on_the_first_question(self) -> None:
        classic = {"conversion": "classic"}
        assert asked(STOP, **classic).facts.allowed == 24_644
        shared = asked(STOP, **classic, bunion="1")
        assert shared.facts.allowed == 16_142
        assert shared.facts.orders.allowed == 24_644

    def test_the_first_block_fixes_the_order_of_all(self) -> None:
        """Whatever later blocks are: another order would be chosen by results."""
        blocks = ("1x0.01024x98", "1x0.01024x98~4x0.01x500", "1x0.01024x98~9x0.2x3~1x0.5x1")
        orders = {float(asked(SPEND, **SETTING, target="5", bblocks=some).facts.orders[0]) for some in blocks}
        alone = one_order_filter([(STEP, 1)], target_epsilon=5.0, delta=1e-6).accountant.orders
        assert orders == set(alone.tolist())

    def test_a_budget_shared_among_orders_is_full_when_nothing_more_fits(self) -> None:
        allowed = int(asked(SPEND, bunion="1").facts.left)
        full = asked(SPEND, bunion="1", bblocks=f"4x0.01x{allowed}")
        assert full.facts.left == 0
        assert 1.999 < full.facts.filled <= 2.0

    def test_all_orders_for_blocks_that_results_choose_is_a_caution(self) -> None:
        kinds_of = {key: [note.kind for note in SPEND.notes(asked(SPEND, bunion=key))] for key in ("0", "1", "paper")}
        assert kinds_of == {"0": ["note"], "1": ["note"], "paper": ["caution"]}

    def test_an_adaptive_policy_stays_within_either_budget(self) -> None:
        ends = {}
        for key in ("0", "1"):
            facts = asked(POLICY, **CIFAR, target="5", bpol="noise", bunion=key).facts
            assert facts.trajectories["noise"].planned[-1] <= 5.0
            ends[key] = facts.trajectories["noise"].epochs[-1]
        assert ends["1"] < ends["0"]

    @pytest.mark.parametrize("orders", ["one", "union", "paper"])
    def test_the_budget_for_pasted_blocks_lets_them_pass_and_little_less_does_not(self, orders: str) -> None:
        blocks = [Block(1.1, 0.01, 3000), Block(0.9, 0.01, 500), Block(3.0, 0.5, 2)]
        rest = {"delta": 1e-6, "conversion": "improved"}
        enough = enough_for(blocks, 1.0, orders, **rest)
        events = [(block.mechanism, block.steps) for block in blocks]
        for share, fits in ((1.0, True), (0.98, False)):
            budget = filter_of(blocks[0].mechanism, orders, target_epsilon=share * enough, **rest)
            assert all(spends(budget, *event) for event in events) == fits
        assert enough_for(blocks, 50.0, orders, **rest) == 50.0
        assert enough_for([Block(0.01, 1.0, 10**9)], 1.0, orders, **rest) == np.inf


def spends(budget: Filter, mechanism: dpviz.SampledGaussian, count: int) -> bool:
    """Whether the filter let them pass."""
    try:
        budget.spend(mechanism, count)
    except dpviz.BudgetExceeded:
        return False
    return True


class TestPolicy:
    def test_figures_1b_and_2d(self) -> None:
        """The baseline ends after its 100 epochs; both policies go on for longer within the same budget."""
        a = of_preset(POLICY, "fo1b")
        trajectories = a.facts.trajectories
        ends = {key: int(trajectory.epochs[-1]) for key, trajectory in trajectories.items()}
        assert ends["fixed"] == 100 < ends["batch"] < ends["noise"] < 300
        assert all(trajectory.planned[-1] <= 8.22 for trajectory in trajectories.values())
        said = headline(POLICY, a)
        assert all(NAMES[key] in said and f"<b>{end}</b>" in said for key, end in ends.items())
        trajectories = of_preset(POLICY, "fo2d").facts.trajectories
        tuned, fixed = trajectories["tune"], trajectories["fixed"]
        assert tuned.ended == "goal"
        assert tuned.odometer[-1] < 0.5 * fixed.odometer[int(tuned.epochs[-1])]

    def test_what_is_drawn_is_the_account_or_the_quantity(self) -> None:
        texts = {**CIFAR, "bpol": "fixed.noise.batch.tune", "bepochs": "40", "target": "5"}
        for shown, account, name in (
            ("epsilon", "filter", "planned"),
            ("epsilon", "odometer", "odometer"),
            ("noise", "filter", "noise_multiplier"),
            ("batch", "filter", "batch_size"),
            ("accuracy", "filter", "accuracy"),
        ):
            a = asked(POLICY, **texts, bshow=shown, bread=account)
            for key, trajectory in a.facts.trajectories.items():
                np.testing.assert_array_equal(curves(a)[key], getattr(trajectory, name))

    def test_a_pin_of_another_quantity_stays_off_the_chart(self) -> None:
        costs, noise = (asked(POLICY, bshow=shown, bepochs="10").plot for shown in ("epsilon", "noise"))
        other = asked(POLICY, sigma="3", bepochs="10").plot
        assert "σ 3: fixed" in [line.name for line in costs.with_pinned([("σ 3", other)]).lines if line.faded]
        assert not any(line.faded for line in noise.with_pinned([("σ 3", other)]).lines)

    def test_the_margin_is_a_setting_and_says_when_it_blocks(self) -> None:
        narrow, wide = (
            asked(POLICY, **CIFAR, bpol="noise", target="3", bmargin=margin, bepochs="60") for margin in ("0", "90")
        )
        most = [a.facts.trajectories["noise"].noise_multiplier.max() for a in (narrow, wide)]
        assert most[0] > 1.0 == most[1]


# --- unequal blocks by each accountant -------------------------------------------------------------------------------


def strong_by_hand(blocks: list[tuple[float, float, int]], delta: float) -> float:
    """√(2 ln(1/δ′) Σε_i²) + Σε_i(e^ε_i − 1), δ = δ′ + Σ q_i δ₀, the split searched finely."""
    least = np.inf
    for share in 1.0 / (1.0 + np.exp(np.linspace(-8, 8, 4001))):
        each = (1 - share) * delta / sum(rate * steps for _, rate, steps in blocks)
        tail = {sigma: 1 / (2 * sigma**2) + np.sqrt(2 * np.log(1 / each)) / sigma for sigma, _, _ in blocks}
        known = {sigma: np.sqrt(2 * np.log(1.25 / each)) / sigma for sigma, _, _ in blocks}
        # the textbook's ε₀ where the Gaussian's own δ confirms it, else the tail of the loss
        first = {
            sigma: known[sigma]
            if ndtr(0.5 / sigma - known[sigma] * sigma)
            - np.exp(known[sigma]) * ndtr(-0.5 / sigma - known[sigma] * sigma)
            <= each
            else tail[sigma]
            for sigma, _, _ in blocks
        }
        step = np.array([np.log1p(rate * np.expm1(first[sigma])) for sigma, rate, _ in blocks])
        count = np.array([steps for _, _, steps in blocks])
        slack = -2 * np.log(share * delta)
        least = min(least, np.sqrt(slack * (count * step**2).sum()) + (count * step * np.expm1(step)).sum())
    return float(least)


def test_unequal_blocks_have_strong_compositions_own_epsilon() -> None:
    answer = asked(SPEND, bblocks="4x0.01x500~8x0.02x300", target="20", delta="1e-5")
    words, table, *_ = SPEND.more["Accountants"](answer)
    assert "had they been planned" in words.text  # type: ignore[union-attr]
    shown = dict(zip(table["accountant"], table["ε"], strict=True))  # type: ignore[index]
    by_hand = strong_by_hand([(4.0, 0.01, 500), (8.0, 0.02, 300)], 1e-5)
    assert float(shown["strong"]) == pytest.approx(by_hand, rel=2e-3)
    assert float(shown["Rényi improved"]) < float(shown["Rényi classic"]) < float(shown["strong"])
    whole = asked_whole(SPEND, bblocks="4x0.01x500~8x0.02x300", target="20", delta="1e-5")
    assert SPEND.more["Accountants"](whole)[1]["accountant"].tolist()[-1] == "PLD"  # type: ignore[index]
    assert "Nothing is spent" in SPEND.more["Accountants"](asked(SPEND))[0].text  # type: ignore[union-attr]


# --- a budget for each person -----------------------------------------------------------------------------------------


def test_people_leave_as_a_simulation_with_their_norms_has_it() -> None:
    """A thousand exponential norms, each charged by itself."""
    texts = {"cfam": "spread", "sigma": "20", "q": "1", "steps": "400", "target": "2"}
    f = asked(INDIVIDUAL, **texts).facts
    norms = np.minimum(-np.log1p(-(np.arange(1000) + 0.5) / 1000), 1.0)
    budget = IndividualFilter(people=1000, noise_std=20.0, largest_norm=1.0, target_epsilon=2.0, delta=1e-5)
    for _ in range(399):
        budget.spend(norms)
    inside = budget.spend(norms)
    assert f.staying == pytest.approx(inside.mean(), abs=2e-3)
    assert f.weight == pytest.approx(norms[inside].sum() / norms.sum(), abs=2e-3)
    assert f.ordinary == 86


def test_nobody_leaves_before_the_ordinary_filter_ends() -> None:
    answer = asked(INDIVIDUAL)
    by, x = curves(answer), np.asarray(answer.plot.lines[0].x)  # type: ignore[attr-defined]
    assert (by["people"][x <= answer.facts.ordinary] == 1.0).all()
    assert (by["ordinary"][x > answer.facts.ordinary] == 0.0).all()
    assert (np.diff(by["people"]) <= 1e-12).all()


@pytest.mark.parametrize("preset", ["", "fo1assumed"])
def test_policies_open_where_they_differ(preset: str) -> None:
    """Before all three trained the most epochs that were asked for."""
    facts = (of_preset(POLICY, preset) if preset else asked(POLICY)).facts
    assert {trajectory.ended for trajectory in facts.trajectories.values()} == {"budget"}
    assert facts.epochs["fixed"] < facts.epochs["noise"]
    assert facts.epochs["fixed"] < facts.epochs["batch"]
