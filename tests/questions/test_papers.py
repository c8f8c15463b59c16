"""The papers' figures as questions: what is drawn is what the theorems and the authors' procedures say."""

import math
import re

import numpy as np
import pytest
from scipy.stats import beta, binom

import dpviz
from dpviz import renyi_divergence
from dpviz.accounting.bayesian.accountant import bayesian_epsilon
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.charts import LinePlot, Panels, look
from dpviz.charts.axes import Box
from dpviz.charts.labels import text_width
from dpviz.experiments.record import recorded
from dpviz.fields import numbers
from dpviz.gradients.norm_families import FAMILIES
from dpviz.questions.answer import Answer
from dpviz.questions.budget.courses import courses
from dpviz.questions.papers.abadi_clipping import CLIPPING
from dpviz.questions.papers.abadi_loss import LOSS
from dpviz.questions.papers.abadi_tail import TAIL
from dpviz.questions.papers.abadi_theorem1 import MAIN_THEOREM
from dpviz.questions.papers.adaptive import ADAPTIVE
from dpviz.questions.papers.bayesian_inference import INFERENCE
from dpviz.questions.papers.bayesian_noise import FIGURE_3
from dpviz.questions.papers.bayesian_panels import PANELS
from dpviz.questions.papers.bayesian_rare import RARE
from dpviz.questions.papers.bayesian_steps import FIGURE_1
from dpviz.questions.papers.bayesian_table1 import TABLE_1, headline
from dpviz.questions.papers.bob import least_epsilon
from dpviz.questions.papers.claims import PRINTED_CLAIMS
from dpviz.questions.papers.sampled_figure1 import SAMPLED_FIGURE_1
from dpviz.questions.papers.sampled_theorem5 import THEOREM_5
from dpviz.questions.printed import CLAIMS, PAPERS, synthetic
from dpviz.questions.printed.filters import ADAPTED, FINE_TUNED, LAST_LAYER, RUNS, PublishedRun
from dpviz.questions.printed.synthetic import ORDERS, epsilon_of_costs, one_step
from dpviz.questions.question import AnyQuestion
from tests.questions.asking import asked, asked_whole, lines


def curve(a: Answer[object], key: str) -> tuple[np.ndarray, np.ndarray]:
    line = lines(a)[key]
    return np.asarray(line.x), np.asarray(line.y)


# --- Bayesian DP, Figures 1, 3 and 4 ----------------------------------------------------------------------------------


def test_figure_1_has_four_curves() -> None:
    """DP at λ = 16 as the authors' code gives it: 1.880, 12.326, 116.78 after 1, 10 and 100 steps."""
    answer = asked_whole(FIGURE_1, pquant="0.05")
    _, fixed = curve(answer, "dp_fixed")
    assert fixed[[0, 9, 99]] == pytest.approx([1.880, 12.326, 116.78], rel=1e-3)
    assert list(lines(answer)) == ["dp_fixed", "dp_best", "bayesian_fixed", "bayesian_best"]


@pytest.mark.parametrize(
    ("figure", "single", "settings"),
    [
        ("1", FIGURE_1, [{"pquant": quantile} for quantile in ("0.05", "0.25", "0.75", "0.95")]),
        ("3", FIGURE_3, [{"pclip": quantile} for quantile in ("0.01", "0.5", "0.99")]),
        ("4", FIGURE_3, [{"pclip": quantile, "punclip": "1"} for quantile in ("0.05", "0.5", "0.95")]),
    ],
)
def test_panels_are_what_the_question_of_each_draws(
    figure: str, single: AnyQuestion, settings: list[dict[str, str]]
) -> None:
    answer = asked_whole(PANELS, pfigure=figure)
    assert isinstance(answer.plot, Panels)
    for panel, facts, own in zip(answer.plot.panels, answer.facts.panels, settings, strict=True):
        alone = asked_whole(single, **own)
        assert f"{panel.value:g}" == next(iter(own.values()))
        assert facts == alone.facts
        drawn, expected = {line.key: line for line in panel.plot.lines}, lines(alone)
        assert list(drawn) == list(expected)
        for key, line in drawn.items():
            np.testing.assert_array_equal(line.y, expected[key].y)
    assert len({facts.dp_fixed for facts in answer.facts.panels}) == 1, "DP is the same in all"
    for end in (answer.facts.panels[0], answer.facts.panels[-1]):
        assert f"<b>{numbers.epsilon(end.bayesian_fixed, digits=4)}</b>" in PANELS.headline(answer)


def test_panels_wait_for_estimates_of_steps() -> None:
    answer = asked(PANELS, pfigure="1")
    assert answer.facts.estimates == (None,) * 4
    assert isinstance(answer.plot, Panels)
    assert {len(panel.plot.lines) for panel in answer.plot.panels} == {2}
    assert "<b>…</b>" in PANELS.headline(answer)


def test_costs_of_one_fixed_distribution_add_up_to_bayesian_epsilon() -> None:
    distances, noise = synthetic.distances(0.75, 0, clipped=False)
    costs = dpviz.bayesian_cost(distances, noise_std=noise, sample_rate=1e-3, total_steps=1, orders=list(ORDERS))
    alone = epsilon_of_costs(costs[None, :])[0]
    known = bayesian_epsilon(distances, noise_std=noise, sample_rate=1e-3, steps=1, delta_mu=1e-5, orders=ORDERS)
    assert alone.min() == pytest.approx(float(known), rel=1e-3)
    assert one_step(distances, noise, 1.0) == pytest.approx(alone, rel=1e-12)


def test_table_1_shows_an_estimate_beside_what_the_same_steps_guarantee() -> None:
    """Bounds are computed anew by other accountants; the estimate lies above what no data can change."""
    for weights in ("tenth", "all"):
        answer = asked(TABLE_1, pweights=weights)
        f, rate = answer.facts, 1024 / 60_000
        run = {"sample_rate": rate, "steps": 1856, "delta": 1e-5}
        assert f.guaranteed <= dpviz.epsilon("renyi", noise_multiplier=0.1 / 2.0, **run), "two clipped means, 2C apart"
        assert f.each <= dpviz.epsilon("renyi", noise_multiplier=0.1 * 1024, **run), "each example clipped, then ÷ B"
        assert f.guaranteed > 1e3 * f.estimate
        assert f.account.one <= dpviz.epsilon("renyi", noise_multiplier=0.05, sample_rate=rate, steps=1, delta=1e-5)
        assert f.account.one == pytest.approx(dpviz.epsilon("tight", noise_multiplier=0.05, **run | {"steps": 1}))
        most = max(f.account.result["moved"])
        assert f.person == pytest.approx(dpviz.epsilon("renyi", noise_multiplier=0.1 / most, **run))
        assert math.log(1e10) / 32 < f.estimate < f.guaranteed
        assert "estimate, no guarantee" in headline(f)
        assert ("on all weights" in headline(f)) is (weights == "all")
        printed = answer.plot.chart().figure["data"]
        [points] = [trace for trace in printed if trace.get("name") == "published"]
        assert 10.0 ** np.array(points["y"]) == pytest.approx([2.2, 0.95], rel=1e-3) or points["y"] == [2.2, 0.95]


def test_the_estimate_of_table_1_is_corollary_1_for_the_recorded_costs() -> None:
    f = asked(TABLE_1).facts
    costs, orders = np.array(f.account.result["costs"][-1]), np.array(f.account.settings["orders"])
    assert f.estimate == pytest.approx(((costs - math.log(1e-10 - 1856e-15)) / orders).min())
    apart = np.array(f.account.result["distances"])
    assert (apart.max(axis=1) <= 2.0 * np.array(f.account.result["moved"])).all(), "one example out, another in"


# --- DP-SGD: two theorems and an example ------------------------------------------------------------------------------


def test_the_theorems_noise_is_accepted_and_c2_is_its_constant() -> None:
    answer = asked(MAIN_THEOREM)
    f = answer.facts
    epsilon = dpviz.epsilon("moments", noise_multiplier=f.noise_multiplier, sample_rate=0.01, steps=10_000, delta=1e-5)
    assert epsilon == pytest.approx(2.0, rel=1e-5)
    assert epsilon <= 2.0
    assert f.c2 * 0.01 * math.sqrt(1e4 * math.log(1e5)) / 2.0 == pytest.approx(f.noise_multiplier)
    assert f.saved == pytest.approx(math.sqrt(math.log(1e9)))
    assert f.strong > f.noise_multiplier
    x, least = curve(answer, "moments")
    assert (np.diff(least) >= 0).all()
    assert x[0] < 10_000 < x[-1]


def test_the_exact_tail_is_no_lower_between_its_points_than_at_them() -> None:
    """log δ bends down: straight lines between points that are far apart would show less δ than there is."""
    answer = asked_whole(TAIL)
    (band,) = answer.plot.bands  # type: ignore[attr-defined]
    x, upper = np.asarray(band.x), np.asarray(band.upper)
    seen = np.flatnonzero((upper[1:] > 1e-11) & (x[1:] - x[:-1] > 0.01))[::6]
    assert seen.size >= 4
    for k in seen:
        between = 0.5 * float(x[k] + x[k + 1])
        least = float(tight_delta(answer.facts.mechanism, answer.facts.steps, between).lower)
        assert math.sqrt(upper[k] * upper[k + 1]) > 0.99 * least


def test_the_tail_bound_inverts_the_accountant_and_lies_above_the_tight_delta() -> None:
    answer = asked_whole(TAIL, ptail="1.258574741")
    assert "PLD" in [trace.get("name") for trace in answer.plot.chart().figure["data"]], "as on other pages"
    f = answer.facts
    assert (f.delta, f.order) == (pytest.approx(1e-5, rel=1e-6), 19)
    assert f.interval[0] <= f.interval[1] < f.delta
    _, best = curve(answer, "moments")
    seen = np.isfinite(best)
    lowest = np.min([curve(answer, f"order{order}")[1] for order in (1, 2, 4, 8, 16, 32)], axis=0)
    ratio = (best / lowest)[seen]
    assert ratio.max() == pytest.approx(1.0, rel=1e-12), "no more than each, and where one of them decides no less"


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


# --- sampled Gaussian, Figure 1 ---------------------------------------------------------------------------------------


def test_the_closed_form_lies_above_the_exact_one_wherever_it_is_drawn() -> None:
    answer = asked(SAMPLED_FIGURE_1)
    for sigma in ("4", "8", "20"):
        exact, closed = (curve(answer, f"{which} {sigma}")[1] for which in ("exact", "closed"))
        seen = np.isfinite(closed)
        assert seen.any() > seen.all()
        assert (closed[seen] >= exact[seen]).all()


# --- the claims as a page ---------------------------------------------------------------------------------------------


def test_every_claim_is_counted_once_whichever_way_it_is_asked() -> None:
    assert asked(PRINTED_CLAIMS).facts.chosen == CLAIMS
    by_paper = [claim.key for key in PAPERS for claim in asked(PRINTED_CLAIMS, ppaper=key).facts.chosen]
    assert sorted(by_paper) == sorted(claim.key for claim in CLAIMS)
    assert {claim.verdict for claim in asked(PRINTED_CLAIMS, pverdict="open").facts.chosen} == {"open"}


@pytest.mark.parametrize("paper", ["all", *PAPERS])
def test_the_headline_counts_what_was_computed_and_what_was_not(paper: str) -> None:
    answer = asked(PRINTED_CLAIMS, ppaper=paper)
    chosen = answer.facts.chosen
    computed = [claim for claim in chosen if claim.recompute is not None and claim.verdict != "open"]
    text = PRINTED_CLAIMS.headline(answer).replace("<b>", "").replace("</b>", "")
    n, hold, *others = map(int, re.findall(r"(\d+) (?:printed|hold|(?:is|are) not|cannot)", text))
    assert n == len(chosen) == hold + sum(others)
    assert re.search(rf"; {len(computed)} (was|were) recomputed\.$", text)


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


ORDERS_PLOTTED = np.array([*np.arange(2.25, 10.1, 0.25), 16.0, 32.0])


def equal_epochs(count: int, sigma: float) -> PublishedRun:
    return PublishedRun(sigma=((count, sigma),), batch=((count, 512),))


def divergences(run: PublishedRun, orders: np.ndarray) -> np.ndarray:
    """Σ R(α) as the plotting code counts, shape (orders,)."""
    sums = np.zeros(len(orders))
    for mechanism, count in run.events():
        sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
        sums += count * np.asarray(renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders))
    return sums


@pytest.mark.parametrize(("policy", "printed", "lengths"), [
    ("baseline", ("53.40", "55.24"), (100, 100)), ("batch", ("54.93", "56.38"), (143, 158)),
    ("noise", ("56.96", "57.4"), (211, 291)),
])  # fmt: skip
def test_published_runs_are_those_of_the_paper(policy: str, printed: tuple[str, str], lengths: tuple[int, int]) -> None:
    """Least and largest accuracies are printed in §5.1, cut or rounded; ε of each run comes near the baseline's."""
    runs = RUNS[policy]
    accuracies, epochs = [100.0 * run.accuracy[-1] for run in runs], [run.epochs for run in runs]
    for text, value in zip(printed, (min(accuracies), max(accuracies)), strict=True):
        assert abs(value - float(text)) <= 10.0 ** -len(text.partition(".")[2])
    assert (len(epochs), min(epochs), max(epochs)) == (5, *lengths)
    for run in runs:
        assert 8.19 < float((divergences(run, ORDERS_PLOTTED) + math.log(1e6) / (ORDERS_PLOTTED - 1.0)).min()) < 8.29


def test_adaptive_runs_are_drawn_from_the_records() -> None:
    """Their ends are sums of all steps; the last epoch gives way to one more at the first σ, and counts are added."""
    answer = asked(ADAPTIVE, ppart="1b")
    x, y = curve(answer, "noise_3")
    orders = ORDERS_PLOTTED
    sums = divergences(RUNS["noise"][3], orders)
    assert x[-1] == len(x) == RUNS["noise"][3].epochs == 286
    assert y[-1] == pytest.approx((sums + math.log(1e6) / (orders - 1.0)).min(), rel=1e-9)
    at = list(orders).index(4.5)
    trained = divergences(RUNS["noise"][4], orders)[at] + divergences(equal_epochs(1, 1.0), orders)[at]
    trained -= divergences(equal_epochs(1, 1.1), orders)[at]
    trained += 291 * 4.5 / (2.0 * 100.0**2)
    _, ours = curve(answer, "charged")
    assert ours[-1] == pytest.approx(trained + math.log(3.5 / 4.5) + (math.log(1e6) - math.log(4.5)) / 3.5, rel=1e-9)
    assert [len(curve(asked(ADAPTIVE, ppart=part), key)[0]) for part, key in (("1c", "noise"), ("1d", "batch"))] == [
        286, 158,
    ]  # fmt: skip


@pytest.mark.parametrize(("part", "ends"), [
    ("1a", {"baseline": 0.5463, "noise": 0.5720, "batch": 0.5548}), ("2a", {"all": 0.8300, "last": 0.8331}),
    ("2c", {"all": 0.8166, "last": 0.8328}),
])  # fmt: skip
def test_accuracies_are_drawn_from_every_epoch_of_the_records(part: str, ends: dict[str, float]) -> None:
    """The mean of all runs up to where the first ends, and a circle at the mean of their own ends."""
    answer = asked(ADAPTIVE, ppart=part)
    runs = {"1a": RUNS, "2a": FINE_TUNED, "2c": ADAPTED}[part]
    plot = answer.plot
    assert isinstance(plot, LinePlot)
    assert list(lines(answer)) == list(runs) == list(ends)
    for (key, several), ring in zip(runs.items(), plot.rings, strict=True):
        x, y = curve(answer, key)
        assert x[-1] == len(x) == min(run.epochs for run in several)
        assert y == pytest.approx([np.mean(now) for now in zip(*(run.accuracy for run in several), strict=False)])
        assert (ring.x, ring.y) == pytest.approx(
            (np.mean([run.epochs for run in several]), np.mean([run.accuracy[-1] for run in several]))
        )
        assert ring.y == pytest.approx(ends[key], abs=5e-5)
        assert f"{100.0 * ends[key]:.2f}\u00a0%" in ADAPTIVE.headline(answer)
        assert all(len(run.accuracy) == run.epochs for run in several)


def test_adaptivity_pays_on_cifar_10_and_not_on_digits() -> None:
    """Both on one chart: epochs as multiples of the baseline's, points above the baseline's end."""
    answer, digits = asked(ADAPTIVE, ppart="gain"), courses("budget_cnn", "paper").arms
    reached = {key: 100.0 * np.mean([run.accuracy[-1] for run in runs]) for key, runs in digits.items()}
    here = {f"{key}_digits": reached[key] - reached["fixed"] for key in ("noise", "batch")}
    expected = {"noise_CIFAR-10": 2.574, "batch_CIFAR-10": 0.856} | here
    adaptive = [key for key in lines(answer) if not key.startswith("baseline")]
    plot = answer.plot
    assert isinstance(plot, LinePlot)
    assert {key: ring.y for key, ring in zip(adaptive, plot.rings, strict=True)} == pytest.approx(expected, abs=1e-3)
    for value, ring in zip(("+2.6", "+0.9", "−0.8", "−9.1"), plot.rings, strict=True):
        assert ring.name == value
        assert f"<b>{value}</b>" in ADAPTIVE.headline(answer)
    for data in ("CIFAR-10", "digits"):
        x, y = curve(answer, f"baseline_{data}")
        assert (x[-1], y[-1]) == pytest.approx((1.0, 0.0))


def test_no_name_lies_on_another_curve_of_the_gain_beside_digits() -> None:
    plot = asked(ADAPTIVE, ppart="gain").plot
    assert isinstance(plot, LinePlot)
    plane, x = plot.plane(), np.linspace(0.0, 1.0, 400)
    notes = {note.get("name"): note for note in plot.chart().figure["layout"]["annotations"]}
    for line in plot.lines:
        note = notes[f"line {line.name}"]
        width, height = text_width(line.end or line.name, look.LABEL_SIZE), look.LABEL_SIZE
        right, up = (1 if note["xanchor"] == "left" else -1), (1 if note["yanchor"] == "bottom" else -1)
        across, along = note["xshift"] + 0.5 * right * width, note["yshift"] + 0.5 * up * height
        box = Box(note["x"] + across / plane.width, note["y"] + along / plane.inner, width, height)
        others = [other for other in plot.lines if other is not line]
        courses = plane.courses(x, [(other.x, other.y) for other in others])
        for other, room in zip(others, plane.apart([box], x, courses)[:, 0], strict=True):
            assert room > 0.0, other.name


def test_adaptive_fine_tuning_pays_by_an_early_stop() -> None:
    """80 % take longer and cost less; the odometer has no more and no less than the epochs up to there."""
    fixed, adaptive = asked(ADAPTIVE, ppart="2c").facts.goal
    assert fixed.epochs == (5, 6, 5, 5, 6)
    assert adaptive.epochs == (8, 7, 11, 6, 15)
    assert max(adaptive.epsilons) < min(fixed.epsilons)
    account = dpviz.Odometer(delta=1e-6, variant="paper")
    account.spend(dpviz.SampledGaussian(1.0, 512 / 50_000), 6 * 98)
    account.spend(dpviz.SampledGaussian(100.0, 1.0), 6)
    assert fixed.epsilons[1] == pytest.approx(float(account.epsilon()), rel=1e-12)


def test_the_odometer_of_the_plotting_code_reads_what_its_rule_gives() -> None:
    """γ = 6/(α − 1), f = max(0, ⌈log₂(R/γ)⌉), ε = min γ 2^f + ln(2|Λ|(f + 1)²/δ)/(α − 1); and a later σ falls later."""
    orders = ORDERS_PLOTTED
    _, drawn = curve(asked(ADAPTIVE, ppart="2b"), "plotted")
    for epoch in (6, 20):
        sums = divergences(equal_epochs(epoch, 1.0), orders)
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
    texts = {"pspan": span, "ploss": "0.002" if span == "one" else "0.3"}
    answer, back = (asked(LOSS, pdir=way, **texts) for way in (direction, "add" if direction == "remove" else "remove"))
    x, y = curve(answer, "density")
    at, counted = curve(answer, "counted")
    seen, tail, law = np.isfinite(counted), answer.plot.bands[0], answer.facts.law  # type: ignore[attr-defined]
    areas = [np.trapezoid(y, x), np.trapezoid(tail.upper, tail.x), np.trapezoid(counted[seen], at[seen])]
    assert areas == pytest.approx([1.0, law.beyond, law.delta], rel=0.02)
    assert law.delta < law.beyond
    assert (back.facts.law.delta, back.facts.other.delta) == (answer.facts.other.delta, law.delta)


# --- clipping ---------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_drawn_gradients() -> None:
    """A million examples of the minority's family, clipped one by one."""
    draw = np.random.default_rng(0)
    rare = draw.random(1_000_000) < 0.05
    norms = np.where(rare, 10.0, 0.5) * draw.weibull(2.0, rare.size)
    ways = np.where(rare[:, None], [0.0, 1.0], [1.0, 0.0])
    held = np.minimum(norms, 1.0)
    mean, clipped = (ways * norms[:, None]).mean(axis=0), (ways * held[:, None]).mean(axis=0)
    f = asked(CLIPPING, cthr="1", sigma="2", cbatch="500", cdim="400").facts.mean
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


def test_an_average_that_is_clipped_as_a_whole_needs_2b_times_the_noise() -> None:
    """By hand: the mean of Weibull norms in one direction, at C = 1, σ = 2, B = 500, d = 400."""
    texts = {"sigma": "2", "cbatch": "500", "cdim": "400", "cthr": "1"}
    after, each = (asked(CLIPPING, con=con, **texts) for con in ("after", "on"))
    length = float(np.hypot(*FAMILIES[each.given["family"]].mean))
    error = math.hypot(max(1.0 - 1.0 / length, 0.0), 2.0 * 2.0 * math.sqrt(400) / length)
    assert after.facts.average.error == pytest.approx(error, rel=1e-12)
    assert after.facts.average.farther == 1000.0
    assert after.facts.average.each_least == pytest.approx(each.facts.least, rel=0.05)
    assert after.facts.least > 0.99 > each.facts.least
    assert "<b>1000</b> times the noise" in CLIPPING.headline(after)


# --- Bayesian DP: what no sample has shown, and several at once -------------------------------------------------------


@pytest.mark.parametrize(("zeros", "ones", "failure"), [(100, 0, 0.05), (40, 3, 0.01), (7, 7, 0.3)])
def test_the_bound_for_every_share_is_missed_as_often_as_it_says(zeros: int, ones: int, failure: float) -> None:
    f = asked(RARE, rzeros=str(zeros), rones=str(ones), gamma=str(failure)).facts
    assert binom.cdf(ones, zeros + ones, f.exact) == pytest.approx(failure, rel=1e-9)
    assert beta.sf(f.posterior, ones + 1, zeros + 1) == pytest.approx(failure, rel=1e-9)
    assert f.posterior < f.exact


# --- sampled Gaussian, Theorem 5 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_an_added_example_costs_less_and_never_more_than_sampling_allows(noise: str) -> None:
    answer = asked(THEOREM_5, pnoise=noise, sigma="1", b="1", q="0.1")
    assert answer.facts.ratio > 1.1
    assert (curve(answer, "added")[1] < -math.log1p(-0.1)).all()
