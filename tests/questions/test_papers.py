"""The papers' figures as questions: what is drawn is what the theorems and the authors' procedures say."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.stats import beta, binom

import dpviz
from dpviz import renyi_divergence
from dpviz.accounting.bayesian.accountant import bayesian_epsilon
from dpviz.experiments.record import recorded
from dpviz.gradients.norm_families import FAMILIES
from dpviz.questions.answer import Answer
from dpviz.questions.asked import ask
from dpviz.questions.papers.abadi import BOB, CLIPPING, LOSS, MAIN_THEOREM, TAIL, least_epsilon
from dpviz.questions.papers.adaptive import ADAPTIVE
from dpviz.questions.papers.bayesian import FIGURE_1, FIGURE_3, INFERENCE, RARE, TOGETHER
from dpviz.questions.papers.claims import PRINTED_CLAIMS
from dpviz.questions.papers.sampled import SAMPLED_FIGURE_1, THEOREM_5
from dpviz.questions.printed import CLAIMS, PAPERS
from dpviz.questions.printed.filters import LAST_LAYER, RUNS, PublishedRun
from dpviz.questions.printed.synthetic import ORDERS, epsilon_of_costs, one_step, unclipped_sample
from tests.questions.asking import asked, asked_whole, lines, of_preset


def curve(a: Answer[object], key: str) -> tuple[np.ndarray, np.ndarray]:
    line = lines(a)[key]
    return np.asarray(line.x), np.asarray(line.y)


# --- Bayesian DP, Figures 1, 3 and 4 ----------------------------------------------------------------------------------


def test_figure_1_has_four_curves_within_its_axes() -> None:
    """DP at λ = 16 as the authors' code gives it: 1.880, 12.326, 116.78 after 1, 10 and 100 steps."""
    answer = asked_whole(FIGURE_1, pquant="0.05")
    _, fixed = curve(answer, "dp_fixed")
    assert fixed[[0, 9, 99]] == pytest.approx([1.880, 12.326, 116.78], rel=1e-3)
    assert [line.key for line in answer.plot.lines] == ["dp_fixed", "dp_best", "bayesian_fixed", "bayesian_best"]  # type: ignore[attr-defined]
    low, high = answer.plot.chart().figure["layout"]["yaxis"]["range"]
    for line in answer.plot.lines:  # type: ignore[attr-defined]
        assert low <= math.log10(float(np.asarray(line.y)[-1])) <= high, line.key
    assert answer.facts.bayesian_best <= answer.facts.bayesian_fixed
    assert answer.facts.dp_best < answer.facts.dp_fixed


def test_figure_1_says_nothing_of_a_gain_before_it_is_known() -> None:
    """At the 0.95-quantile Bayesian DP gains in this draw; before it is there, no note says so or denies it."""
    first, joined = asked(FIGURE_1, pquant="0.95"), asked_whole(FIGURE_1, pquant="0.95")
    assert joined.facts.bayesian_best < joined.facts.dp_best
    assert "does not gain" not in (text := " ".join(note.text for note in FIGURE_1.notes(first)))
    assert "what is left between" not in text
    assert "what is left between" in FIGURE_1.notes(joined)[0].text


def test_dp_is_the_same_in_all_panels_and_the_panels_differ() -> None:
    facts = [asked_whole(FIGURE_1, pquant=quantile).facts for quantile in ("0.05", "0.25", "0.75", "0.95")]
    assert len({f.dp_fixed for f in facts}) == 1
    bayesian = [f.bayesian_fixed for f in facts]
    assert bayesian == sorted(bayesian, reverse=True)
    assert bayesian[0] > 100 * bayesian[-1]


def test_costs_of_one_fixed_distribution_add_up_to_bayesian_epsilon() -> None:
    distances, noise = unclipped_sample(0.75, 0)
    costs = dpviz.bayesian_cost(distances, noise_std=noise, sample_rate=1e-3, total_steps=1, orders=list(ORDERS))
    alone = epsilon_of_costs(costs[None, :])[0]
    known = bayesian_epsilon(distances, noise_std=noise, sample_rate=1e-3, steps=1, delta_mu=1e-5, orders=ORDERS)
    assert alone.min() == pytest.approx(float(known), rel=1e-3)
    assert one_step(distances, noise, 1.0) == pytest.approx(alone, rel=1e-12)


def test_figure_3_is_the_authors_at_its_order() -> None:
    """σ = .55, quantile .50: DP 34.6, Bayesian DP 12.0; DP at its best λ 2.93."""
    facts = asked(FIGURE_3, pclip="0.5").facts
    assert (facts.dp_fixed, facts.dp_best) == pytest.approx((34.606, 2.930), rel=1e-3)
    assert 11.5 < facts.bayesian_fixed < 12.5
    assert facts.bayesian_best <= facts.bayesian_fixed


def test_clipped_distances_do_not_near_the_sensitivity() -> None:
    for quantile in ("0.01", "0.5", "0.99"):
        assert 0.4 < asked(FIGURE_3, pclip=quantile).facts.median < 0.7


def test_unclipped_costs_at_least_as_much_as_clipped() -> None:
    clipped, unclipped = (asked(FIGURE_3, pclip="0.05", punclip=flag).facts for flag in "01")
    assert unclipped.bayesian_fixed >= clipped.bayesian_fixed


# --- DP-SGD: two theorems and an example ------------------------------------------------------------------------------


def test_the_theorems_noise_is_accepted_and_c2_is_its_constant() -> None:
    answer = asked(MAIN_THEOREM)
    f = answer.facts
    epsilon = dpviz.epsilon("moments", noise_multiplier=f.sigma, sample_rate=0.01, steps=10_000, delta=1e-5)
    assert epsilon == pytest.approx(2.0, rel=1e-5)
    assert epsilon <= 2.0
    assert f.c2 * 0.01 * math.sqrt(1e4 * math.log(1e5)) / 2.0 == pytest.approx(f.sigma)
    assert f.extra == pytest.approx(math.sqrt(math.log(1e9)))
    assert f.strong > f.sigma
    x, least = curve(answer, "moments")
    assert (np.diff(least) >= 0).all()
    assert x[0] < 10_000 < x[-1]


def test_an_epsilon_below_the_moments_floor_is_said() -> None:
    answer = asked(MAIN_THEOREM, pteps="0.1")
    assert math.isnan(answer.facts.sigma)
    assert "No noise lets the moments accountant" in MAIN_THEOREM.headline(answer)


def test_the_tail_bound_inverts_the_accountant_and_lies_above_the_tight_delta() -> None:
    answer = asked_whole(TAIL, ptail="1.258574741")
    f = answer.facts
    assert f.delta == pytest.approx(1e-5, rel=1e-6)
    assert f.order == 19
    assert f.interval is not None
    assert f.interval[0] <= f.interval[1] < f.delta
    x, best = curve(answer, "moments")
    for order in (1, 8, 32):
        _, single = curve(answer, f"order{order}")
        seen = np.isfinite(best)
        assert (best[seen] <= single[seen] * (1 + 1e-12)).all()
    assert x[0] == 0.0


@pytest.mark.parametrize(("inside", "outside"), [(0.9, 0.3), (0.3, 0.9), (0.5, 0.5), (0.99, 0.9), (0.02, 0.01)])
def test_bobs_least_epsilon_is_where_the_bounds_allow_both_answers(inside: float, outside: float) -> None:
    least = least_epsilon(inside, outside, 1e-5)

    def allowed(epsilon: float) -> bool:
        high = float(dpviz.roc_bound(outside, epsilon=epsilon, delta=1e-5))
        low = 1.0 - float(dpviz.roc_bound(1.0 - outside, epsilon=epsilon, delta=1e-5))
        back = float(dpviz.roc_bound(inside, epsilon=epsilon, delta=1e-5))
        return low - 1e-12 <= inside <= high + 1e-12 and outside <= back + 1e-12

    assert allowed(least)
    assert least == 0.0 or not allowed(0.99 * least)


def test_an_answer_that_proves_it_keeps_no_epsilon() -> None:
    answer = asked(BOB, pwithout="0")
    assert math.isinf(answer.facts.least)
    assert "no ε" in BOB.headline(answer)


# --- sampled Gaussian, Figure 1 ---------------------------------------------------------------------------------------


def test_the_closed_form_lies_above_the_exact_one_wherever_it_is_drawn() -> None:
    answer = asked(SAMPLED_FIGURE_1)
    for sigma in ("4", "8", "20"):
        _, exact = curve(answer, f"exact {sigma}")
        _, closed = curve(answer, f"closed {sigma}")
        seen = np.isfinite(closed)
        assert seen.any()
        assert not seen.all()
        assert (closed[seen] >= exact[seen]).all()
    f = answer.facts
    assert [round(one.last) for one in f.each] == [14, 37, 107]


def test_equal_noises_are_one_curve_and_too_little_noise_is_said() -> None:
    answer = asked(SAMPLED_FIGURE_1, psig1="2", psig2="2", psig3="2")
    assert len(answer.facts.each) == 1
    assert "covers none" in SAMPLED_FIGURE_1.headline(answer)


# --- the claims as a page ---------------------------------------------------------------------------------------------


def test_every_claim_is_counted_once_whichever_way_it_is_asked() -> None:
    everything = asked(PRINTED_CLAIMS).facts.chosen
    assert everything == CLAIMS
    by_paper = [claim for key in PAPERS for claim in asked(PRINTED_CLAIMS, ppaper=key).facts.chosen]
    assert sorted(claim.key for claim in by_paper) == sorted(claim.key for claim in CLAIMS)
    open_ones = asked(PRINTED_CLAIMS, pverdict="open").facts.chosen
    assert {claim.verdict for claim in open_ones} == {"open"}


def test_what_takes_long_comes_later_and_joins() -> None:
    first = asked(PRINTED_CLAIMS, ppaper="sgmcmc")
    assert {claim.key for claim in first.facts.waiting} == {
        claim.key for claim in CLAIMS if claim.slow and claim.paper == "sgmcmc"
    }
    whole = asked_whole(PRINTED_CLAIMS, ppaper="sgmcmc")
    assert not whole.facts.waiting
    assert "MNIST, ε of DP-SGLD" in set(whole.plot.table()["printed"])


@pytest.mark.parametrize("paper", ["all", *PAPERS])
def test_the_headline_counts_what_was_computed_and_what_was_not(paper: str) -> None:
    answer = asked(PRINTED_CLAIMS, ppaper=paper)
    chosen = answer.facts.chosen
    computed = [claim for claim in chosen if claim.recompute is not None and claim.verdict != "open"]
    text = PRINTED_CLAIMS.headline(answer).replace("<b>", "").replace("</b>", "")
    assert f"Of {len(chosen)} printed values and statements, {len(computed)} were computed anew and " in text
    assert f" and {len(chosen) - len(computed)} were not: " in text
    assert sum(map(int, re.findall(r"(\d+) (?:hold|is|are|rest|do|cannot)", text))) == len(chosen)


# --- Bayesian DP, Table 1: variational inference ----------------------------------------------------------------------


@pytest.mark.parametrize(("data", "arm", "dp", "printed"), [
    ("abalone", "noise_1", 7.6, ((7.6, 76.0), (0.61, 76.0))), ("adult", "noise_4", 0.5, ((0.5, 81.0), (0.2, 81.0))),
])  # fmt: skip
def test_inference_is_drawn_as_it_was_recorded(
    data: str, arm: str, dp: float, printed: tuple[tuple[float, float], ...]
) -> None:
    answer, record = asked(INFERENCE, pinfer=data), recorded(f"inference_{data}")
    settings, f = record.settings[arm], answer.facts
    known = {"sample_rate": settings["batch_size"] / record.of(arm)[0].found["examples"], "steps": settings["steps"]}
    epsilon = float(dpviz.epsilon("moments", noise_multiplier=settings["noise_multiplier"], delta=1e-5, **known))
    assert 0.98 * dp < epsilon <= dp
    mean = 100.0 * record.spread(arm, "posterior_accuracy").mean
    for key, at in (("moments", epsilon), ("bayesian", record.spread(arm, "epsilon_mu").highest)):
        x, y = curve(answer, key)
        assert y[np.flatnonzero(np.isclose(x, at, rtol=1e-9))] == pytest.approx([mean])
        assert (np.diff(x) > 0.0).all()
    plot = answer.plot
    assert tuple((point.x, point.y) for point in plot.points) == printed
    at = f.runs.within(dp)
    assert f.runs.arms[at] == arm
    assert f"<b>{mean:.1f}\u00a0%</b>" in INFERENCE.headline(answer)
    (table,) = INFERENCE.more["The runs"](answer)
    assert len(table) == len(record.settings)  # type: ignore[arg-type]
    assert list(table["accuracy"])[1 + at] == f"{mean:.1f}\u00a0%"  # type: ignore[index,call-overload]


# --- Filters and odometers, Figures 1 and 2 ---------------------------------------------------------------------------


def divergences(run: PublishedRun, orders: np.ndarray) -> np.ndarray:
    """Σ R(α) as the plotting code counts, shape (orders,)."""
    sums = np.zeros(len(orders))
    for mechanism, count in run.events():
        sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
        sums += count * np.asarray(renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders))
    return sums


def test_adaptive_runs_are_drawn_from_the_records() -> None:
    """Their ends are sums of all steps; the last epoch gives way to one more at the first σ, and counts are added."""
    answer = asked(ADAPTIVE, ppart="1b")
    x, y = curve(answer, "noise_3")
    orders = np.array([*np.arange(2.25, 10.1, 0.25), 16.0, 32.0])
    sums = divergences(RUNS["noise"][3], orders)
    assert x[-1] == len(x) == RUNS["noise"][3].epochs == 286
    assert y[-1] == pytest.approx((sums + math.log(1e6) / (orders - 1.0)).min(), rel=1e-9)
    at = list(orders).index(4.5)
    trained = divergences(RUNS["noise"][4], orders)[at] + divergences(PublishedRun(0.0, sigma=((1, 1.0),)), orders)[at]
    trained -= divergences(PublishedRun(0.0, sigma=((1, 1.1),)), orders)[at]
    trained += 291 * 4.5 / (2.0 * 100.0**2)
    _, ours = curve(answer, "charged")
    assert ours[-1] == pytest.approx(trained + math.log(3.5 / 4.5) + (math.log(1e6) - math.log(4.5)) / 3.5, rel=1e-9)
    assert [len(curve(asked(ADAPTIVE, ppart=part), key)[0]) for part, key in (("1c", "noise"), ("1d", "batch"))] == [
        286, 158,
    ]  # fmt: skip


def test_the_odometer_of_the_plotting_code_reads_what_its_rule_gives() -> None:
    """γ = 6/(α − 1), f = max(0, ⌈log₂(R/γ)⌉), ε = min γ 2^f + ln(2|Λ|(f + 1)²/δ)/(α − 1); and a later σ falls later."""
    orders = np.array([*np.arange(2.25, 10.1, 0.25), 16.0, 32.0])
    _, drawn = curve(asked(ADAPTIVE, ppart="2b"), "plotted")
    for epoch in (6, 20):
        sums = divergences(PublishedRun(0.0, sigma=((epoch, 1.0),)), orders)
        gamma = 6.0 / (orders - 1.0)
        f = np.ceil(np.log2(np.maximum(sums, gamma) / gamma))
        rule = gamma * 2.0**f + np.log(2.0 * len(orders) * (f + 1.0) ** 2 / 1e-6) / (orders - 1.0)
        assert drawn[epoch - 1] == pytest.approx(rule.min(), rel=1e-9)
    assert drawn[[5, 19]] == pytest.approx([3.2047, 4.6550], abs=1e-4)
    assert LAST_LAYER.epochs == 50


# --- the privacy loss -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("span", ["one", "all"])
def test_the_areas_are_the_probabilities(direction: str, span: str) -> None:
    """The grey area is P(L > ε), the one below the orange curve δ."""
    texts = {"pdir": direction, "pspan": span, "ploss": "0.002" if span == "one" else "0.3"}
    answer = asked(LOSS, **texts)
    x, y = curve(answer, "density")
    tail = answer.plot.bands[0]  # type: ignore[attr-defined]
    grey = np.trapezoid(np.asarray(tail.upper), np.asarray(tail.x))
    at, counted = curve(answer, "counted")
    seen = np.isfinite(counted)
    f = answer.facts
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.01)
    assert grey == pytest.approx(f.law.beyond, rel=0.02)
    assert np.trapezoid(counted[seen], at[seen]) == pytest.approx(f.law.delta, rel=0.02)
    assert f.law.delta < f.law.beyond
    back = asked(LOSS, **texts | {"pdir": "add" if direction == "remove" else "remove"})
    assert back.facts.law.delta == f.other.delta
    assert back.facts.other.delta == f.law.delta


def test_a_mean_loss_is_the_divergence_at_order_one() -> None:
    """R(α) tends to it as α tends to 1; T steps have T times as much."""
    one, many = (asked(LOSS, pspan=span).facts.law.mean for span in ("one", "all"))
    assert many == pytest.approx(1e4 * one)
    near = float(renyi_divergence(noise_multiplier=4.0, sample_rate=0.01, orders=[1.001])[0])  # type: ignore[index]
    assert one == pytest.approx(near, rel=2e-3)


def test_a_tail_that_the_chart_does_not_reach_is_said() -> None:
    answer = asked(LOSS, ploss="50")
    assert "below 1e-12" in LOSS.headline(answer)
    assert any("far beyond" in note.text for note in LOSS.notes(answer))


# --- clipping ---------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_drawn_gradients() -> None:
    """A million examples of the minority's family, clipped one by one."""
    draw = np.random.default_rng(0)
    rare = draw.random(1_000_000) < 0.05
    norms = np.where(rare, 10.0, 0.5) * draw.weibull(2.0, rare.size)
    ways = np.where(rare[:, None], [0.0, 1.0], [1.0, 0.0])
    held = np.minimum(norms, 1.0)
    mean, clipped = (ways * norms[:, None]).mean(axis=0), (ways * held[:, None]).mean(axis=0)
    f = asked(CLIPPING, cthr="1", sigma="2", cbatch="500", cdim="400").facts
    assert f.kept == pytest.approx(held.sum() / norms.sum(), rel=5e-3)
    assert f.over == pytest.approx((norms > 1).mean(), rel=1e-2)
    assert f.bias == pytest.approx(np.hypot(*(mean - clipped)) / np.hypot(*mean), rel=1e-2)
    angle = math.degrees(math.atan2(mean[1], mean[0]) - math.atan2(clipped[1], clipped[0]))
    assert f.turned == pytest.approx(angle, rel=1e-2)
    assert f.signal == pytest.approx(np.hypot(*clipped) / (2.0 * math.sqrt(400) / 500), rel=1e-2)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_best_threshold_has_the_least_error(family: str) -> None:
    answer = asked(CLIPPING, cfam=family)
    x, both = curve(answer, "both")
    assert answer.facts.least == both.min()
    assert x[both.argmin()] == answer.facts.best
    more = asked(CLIPPING, cfam=family, sigma="20").facts
    assert more.best <= answer.facts.best, "more noise asks for a smaller C"


def test_without_clipping_there_is_no_sensitivity() -> None:
    answer = asked(CLIPPING, con="off", cfam="spread")
    assert "no finite sensitivity" in CLIPPING.headline(answer)
    # exponential norms: the median of the largest of n is −ln(1 − 2^(−1/n))
    assert answer.facts.million == pytest.approx(-math.log(-math.expm1(-math.log(2) / 1e6)), rel=1e-6)
    groups = CLIPPING.groups(lambda field: "off" if field.key == "con" else field.default)
    assert [field.key for field in groups["Question"]] == ["con", "cfam"]  # type: ignore[union-attr]


# --- Bayesian DP: what no sample has shown, and several at once -------------------------------------------------------


def test_a_hundred_zeros_give_one_in_a_hundred() -> None:
    answer = of_preset(RARE, RARE.presets[0].key)
    assert answer.facts.posterior == pytest.approx(0.01, rel=1e-9)
    assert "<b>ρ̂ = 0.01</b>" in RARE.headline(answer)


@pytest.mark.parametrize(("zeros", "ones", "failure"), [(100, 0, 0.05), (40, 3, 0.01), (7, 7, 0.3)])
def test_the_bound_for_every_share_is_missed_as_often_as_it_says(zeros: int, ones: int, failure: float) -> None:
    f = asked(RARE, rzeros=str(zeros), rones=str(ones), gamma=str(failure)).facts
    assert binom.cdf(ones, zeros + ones, f.exact) == pytest.approx(failure, rel=1e-9)
    assert beta.sf(f.posterior, ones + 1, zeros + 1) == pytest.approx(failure, rel=1e-9)
    assert f.posterior < f.exact


def test_the_flat_priors_estimate_may_be_missed_more_often_for_one_share() -> None:
    """What the note says: at ρ just above ρ̂(N₁ = 0) a sample without any C comes more often than γ."""
    f = asked(RARE, rzeros="100", gamma="0.05").facts
    assert (1 - f.posterior) ** 100 > 0.05
    assert (1 - f.exact) ** 100 == pytest.approx(0.05)


def test_no_zeros_say_nothing() -> None:
    assert asked(RARE, rzeros="0").facts.exact == 1.0


def test_several_at_once() -> None:
    f = asked(TOGETHER, geps="0.5", gdmu="1e-5", gk="5").facts
    assert f.basic == pytest.approx((2.5, 5e-5))
    assert f.group == pytest.approx((2.5, 5 * math.exp(2.5) * 1e-5))
    assert f.largest * math.exp(f.largest * 0.5) * 1e-5 < 1 < (f.largest + 1) * math.exp((f.largest + 1) * 0.5) * 1e-5
    assert "no δ below 1" in TOGETHER.headline(asked(TOGETHER, gk="50"))


# --- sampled Gaussian, Theorem 5 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_theorem_5_is_seen_for_both_noises(noise: str) -> None:
    answer = asked(THEOREM_5, pnoise=noise, sigma="1", b="1", q="0.1")
    f = answer.facts
    assert f.holds
    assert not f.same
    assert f.ratio > 1.1
    _, added = curve(answer, "added")
    assert (added < -math.log1p(-0.1)).all()
    assert "at every order" in THEOREM_5.headline(answer)


def test_without_sampling_both_directions_are_one() -> None:
    answer = asked(THEOREM_5, q="1")
    assert answer.facts.same
    assert (answer.facts.removed, answer.facts.added) == pytest.approx((64 / 32, 64 / 32))


def test_how_many_times_more_at_most_is_rounded_up() -> None:
    found = ask("theorem5", noise_multiplier=200)
    assert 1.0 < found.answer.facts.ratio < 1.005
    assert "at most 1.01 times as much" in found.headline
