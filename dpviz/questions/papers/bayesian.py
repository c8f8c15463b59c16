"""Triastcyn & Faltings 2020: Figs. 1, 3 and 4, the estimator of §4.3.1, Propositions 3 and 4, Table 1's inference."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainccinv

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import BAYESIAN, Basic, Moments, Renyi
from dpviz.charts import Band, Column, Guide, LinePlot, Point
from dpviz.fields import number, numbers
from dpviz.questions import Answer, Block, Expert, Facts, Rerun, Slow, chart, given, make_question
from dpviz.questions.printed import BY_KEY, synthetic
from dpviz.questions.printed.bayesian import LAST_ORDER, PLAIN, inferred

ROOM = "papers/bayesian"

# --- Figs. 1, 3 and 4: ε along 100 steps, and of one step against σ ---------------------------------------------------

SEED = Expert(number("pseed"))
ALONG = np.arange(1.0, synthetic.STEPS + 1.0)
SIGMAS = tuple(float(s) for s in np.round(np.linspace(0.55, 1.35, 33), 4))
Curves = dict[str, Array]  # ε at the paper's order, "dp_fixed", and at the best one, "dp_best"; or of Bayesian DP


def dp_curves(order: int, **setting: Any) -> Curves:
    """ε of DP at the δ of the figures."""
    common: dict[str, Any] = {"sample_rate": synthetic.RATE, "delta": synthetic.DELTA, **setting}
    fixed = dpviz.epsilon(Renyi.name, conversion="classic", orders=[order + 1.0], **common)
    return {"dp_fixed": np.asarray(fixed), "dp_best": np.asarray(dpviz.epsilon(Moments.name, **common))}


def bayesian_curves(order: int, each: Array) -> Curves:
    """The same of Bayesian DP, from ε_μ at every order, shape (n, orders)."""
    return {"bayesian_fixed": each[:, synthetic.ORDERS.index(order)], "bayesian_best": each.min(axis=1)}


def compared(key: str, x: Array, order: int, at: int, curves: Curves, **facts: Any) -> Answer[Facts]:
    """All curves, and what they are `at` one place."""
    names = {"dp_fixed": f"DP, λ = {order}", "bayesian_fixed": f"Bayesian, λ = {order}"}
    lines = {name: {"y": y, **({"name": names[name]} if name in names else {})} for name, y in curves.items()}
    return Answer(chart(ROOM, key, x, lines), Facts(**facts | {name: float(y[at]) for name, y in curves.items()}))


def along_steps(*, quantile: str, order: int, seed: int) -> Answer[Facts]:
    """DP along the steps; quantile and seed decide the Bayesian curves, which come later."""
    curves = dp_curves(order, steps=ALONG, noise_multiplier=1.0)
    return compared("bdp_figure1", ALONG, order, -1, curves, bayesian_fixed=None, bayesian_best=None)


def with_bayesian(answer: Answer[Facts], costs: Array) -> Answer[Facts]:
    """The two Bayesian curves, from ĉ_t(λ) of the steps, 50 new gradients each."""
    assert isinstance(answer.plot, LinePlot)
    order, curves = answer.given["order"], {line.key: np.asarray(line.y) for line in answer.plot.lines}
    curves |= bayesian_curves(order, synthetic.epsilon_of_costs(costs))
    return replace(compared("bdp_figure1", ALONG, order, -1, curves), given=answer.given)


FIGURE_1 = make_question(
    "papers/bayesian/bdp_figure1",
    along_steps,
    {"Question": ("quantile", "order", SEED)},
    slow=(
        Slow(
            given("quantile", "seed"),
            lambda answer: synthetic.fresh_costs(float(answer.given["quantile"]), answer.given["seed"]),
            with_bayesian,
        ),
    ),
    option="figure1",
)


def against_noise(*, quantile: str, unclipped: bool, order: int, seed: int) -> Answer[Facts]:
    """ε of one step against σ."""
    x = np.array(SIGMAS)
    each = synthetic.one_step_curve(float(quantile), unclipped, seed, SIGMAS)
    curves = dp_curves(order, steps=1, noise_multiplier=x) | bayesian_curves(order, each)
    return compared("bdp_figure3", x, order, 0, curves, median=synthetic.median_share(float(quantile), seed))


FIGURE_3 = make_question(
    "papers/bayesian/bdp_figure3",
    against_noise,
    {"Question": ("quantile", "unclipped", "order", SEED)},
    option="figure3",
)

# --- §4.3.1: how likely is a distance that no sample has shown? -------------------------------------------------------


def rare(*, zeros: int, ones: int, failure: float) -> Answer[Facts]:
    """ρ̂ against the number of distances of 0, for as many distances of C as were seen."""
    reach = 10.0 ** np.ceil(np.log10(max(float(zeros), 100.0)) + 1.0)
    x: Array = np.unique(np.round(np.r_[np.geomspace(1.0, reach, 161), max(zeros, 1)]))
    sample: dict[str, Any] = {"ones": ones, "estimator_failure": failure}
    posterior = np.array([dpviz.binary_estimator(zeros=each, **sample) for each in x])
    curves = {"posterior": posterior, "exact": most_likely(x, ones, failure), "sample": ones / (x + ones)}
    guides = (Guide("x", zeros, f"N₀ = {numbers.short_steps(zeros)}", noted=False),)
    facts = Facts(
        posterior=dpviz.binary_estimator(zeros=zeros, **sample),
        exact=float(most_likely(np.array([float(zeros)]), ones, failure)[0]),
        seen=ones / (zeros + ones) if zeros + ones else 0.0,
    )
    return Answer(chart(ROOM, "rare", x, curves, y_axis={"shown": (0.1 / reach, 2.0)}, guides=guides), facts)


def most_likely(zeros: Array, ones: int, failure: float) -> Array:
    """The upper end of Clopper & Pearson 1934: too low with probability γ at most, whatever ρ is."""
    return np.where(zeros > 0.0, betainccinv(ones + 1.0, np.maximum(zeros, 1.0), failure), 1.0)


RARE = make_question("papers/bayesian/rare", rare, {"Sample": ("zeros", "ones", "failure")}, presets=("bdpzeros",))

# --- Propositions 3 and 4: k mechanisms, a group of k -----------------------------------------------------------------


def together(*, epsilon_mu: float, delta_mu: float, count: int) -> Answer[Facts]:
    """δ of k mechanisms and of groups of k against k; ε is kε_μ for both."""
    each = {"epsilon_mu": epsilon_mu, "delta_mu": delta_mu}
    x = np.arange(1.0, max(20, min(2 * count, 400)) + 1.0)
    if count > x[-1]:
        x = np.unique(np.round(np.r_[np.geomspace(1.0, 2.0 * count, 400), count]))
    epsilons, basic = np.transpose([dpviz.bayesian_basic(**each, count=k) for k in x])
    group = np.array([dpviz.bayesian_group(**each, size=k)[1] for k in x])
    curves = {Basic.name: {"y": basic, "hover": (Column("ε", epsilons, key="epsilon"),)}, "group": group}
    guides = (Guide("x", count, f"k = {numbers.short_steps(count)}", noted=False),)
    plot = chart(ROOM, "together", x, curves, y_axis={"shown": (delta_mu / 2.0, 2.0)}, guides=guides)
    of_mechanisms, of_group = dpviz.bayesian_basic(**each, count=count), dpviz.bayesian_group(**each, size=count)
    facts = Facts(
        basic=of_mechanisms,
        group=of_group,
        epsilon=numbers.epsilon(of_mechanisms[0] * (1.0 - 1e-12), up=True),
        largest=largest_group(epsilon_mu, delta_mu),
    )
    return Answer(plot, facts)


def largest_group(epsilon_mu: float, delta_mu: float) -> int:
    """The largest k whose δ is below 1; 0 where there is none. It is below 1/δ_μ."""
    low, high = 0, math.ceil(1.0 / delta_mu)
    while high - low > 1:
        middle = (low + high) // 2
        delta = dpviz.bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=min(middle, 2**53))[1]
        low, high = (middle, high) if delta < 1.0 else (low, middle)
    return low


TOGETHER = make_question("papers/bayesian/together", together, {"Promise": ("epsilon_mu", "delta_mu", "count")})

# --- Table 1, Abalone and Adult: what private variational inference reaches at which ε --------------------------------

TABLE = "Triastcyn & Faltings 2020, Table 1"
ROWS = {"dp": "dp-{}", "bayesian": "bdp-{}", "plain": "accuracy-{}-0", "private": "accuracy-{}-1"}


def inference(*, data: str) -> Answer[Facts]:
    """Accuracy against ε, by two accounts of the same runs."""
    runs = inferred(data)
    claims = {name: BY_KEY[f"bdp-table1-{row.format(data)}"] for name, row in ROWS.items()}
    printed = Facts(**{name: float(claim.printed.removesuffix(" %")) for name, claim in claims.items()})
    mean, lowest, highest = (100.0 * np.array(column) for column in zip(*runs.accuracy, strict=True))
    without, dp, bayesian, private = 100.0 * runs.without.mean, printed.dp, printed.bayesian, printed.private
    order = np.argsort(runs.moments)
    noise = (Column("σ", runs.sigma[order], key="sigma"),)
    low, high = min(lowest.min(), private, without), max(highest.max(), private, without)
    shown = (0.8 * min(bayesian, dp, runs.moments.min()), 1.4 * max(runs.bayesian.max(), runs.moments.max(), dp))
    epsilons = {Moments.name: runs.moments, BAYESIAN: runs.bayesian}
    plot = chart(
        ROOM,
        "inference",
        runs.moments[order],
        {name: {"x": x[order], "y": mean[order], "hover": noise} for name, x in epsilons.items()},
        x_axis={"shown": shown, "marks": tuple(np.sort(np.concatenate([*epsilons.values()])))},
        y_axis={"shown": (low - 0.5, high + 0.5)},
        bands=(Band("all seeds", runs.moments[order], lowest[order], highest[order], key="seeds"),),
        points=(
            Point(dp, private, f"{private:g} % at DP's ε = {dp:g}, {TABLE}", Moments.name),
            Point(bayesian, private, f"{private:g} % at Bayesian ε = {bayesian:g}, {TABLE}", BAYESIAN),
        ),
        guides=(Guide("y", without, f"without privacy {without:.1f}\u00a0%"),),
    )
    at = runs.within(dp)
    return Answer(plot, Facts(runs=runs, at=at, printed=printed, reached=runs.accuracy[at], last=LAST_ORDER))


def table(answer: Answer[Facts]) -> list[Block]:
    """A row for each level of noise."""
    runs = answer.facts.runs
    arms, spreads = (PLAIN, *runs.arms), (runs.without, *runs.accuracy)
    up = [[numbers.epsilon(value, up=True) for value in values] for values in (runs.moments, runs.bayesian)]
    columns = {
        "σ": ["none", *(f"{sigma:g}" for sigma in runs.sigma)],
        "ε, moments": ["–", *up[0]],
        "ε_μ, Bayesian": ["–", *up[1]],
        "accuracy": [numbers.tenths(spread.mean) for spread in spreads],
        "seeds from to": [f"{numbers.tenths(spread.lowest)} to {numbers.tenths(spread.highest)}" for spread in spreads],
        "of the mean weights": [numbers.tenths(runs.record.spread(arm, "test_accuracy").mean) for arm in arms],
        "clipped": ["–", *(numbers.probability(float(share)) for share in runs.clipped)],
    }
    return [pd.DataFrame(columns)]


INFERENCE = make_question(
    "papers/bayesian/inference",
    inference,
    more={"The runs": table, "One run again": lambda answer: (Rerun(answer.facts.runs.record.key),)},
    option="bdpvi",
)
