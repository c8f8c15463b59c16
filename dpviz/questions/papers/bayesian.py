"""Triastcyn & Faltings 2020: Figs. 1, 3 and 4, the estimator of §4.3.1, and Propositions 3 and 4."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import betainccinv

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Array, Column, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.layout import Expert
from dpviz.questions.papers.fields import (
    CLIP_AT,
    EACH,
    MANY,
    ONES,
    ORDER_1,
    ORDER_3,
    PANEL,
    SEED,
    UNCLIPPED,
    ZEROS,
)
from dpviz.questions.papers.reproduction import Facts, reproduction
from dpviz.questions.presets import presets
from dpviz.questions.printed import synthetic
from dpviz.questions.shared import FAILURE, FAILURE_MU


def dp_curves(x: Array, order: int, **setting: Any) -> tuple[Array, Array, tuple[Line, Line]]:
    """ε of DP at the paper's order and at its best one, against x, and their lines."""
    known: dict[str, Any] = {"sample_rate": synthetic.RATE, "delta": synthetic.DELTA, **setting}
    fixed = np.asarray(dpviz.epsilon("renyi", conversion="classic", orders=[order + 1.0], **known))
    best = np.asarray(dpviz.epsilon("moments", **known))
    return fixed, best, (
        Line("dp_fixed", f"DP, λ = {order}", x, fixed, "renyi_classic", color=look.BLUE),
        Line("dp_best", "DP, best λ", x, best, "moments"),
    )  # fmt: skip


def bayesian_curves(x: Array, order: int, each: Array) -> tuple[Array, Array, tuple[Line, Line]]:
    """The same of Bayesian DP, from ε_μ at every order, shape (len(x), orders)."""
    fixed, best = each[:, synthetic.ORDERS.index(order)], each.min(axis=1)
    return fixed, best, (
        Line("bayesian_fixed", f"Bayesian, λ = {order}", x, fixed, "bayesian", approximate=True),
        Line("bayesian_best", "Bayesian, best λ", x, best, "bayesian", approximate=True, color=look.BROWN),
    )  # fmt: skip


# --- Fig. 1: ε along 100 steps ----------------------------------------------------------------------------------------

ALONG = np.arange(1.0, synthetic.STEPS + 1.0)


def along_steps(*, quantile: str, order: int, seed: int) -> Answer[Facts]:
    """DP along the steps; quantile and seed decide the Bayesian curves, which come later."""
    fixed, best, lines = dp_curves(ALONG, order, steps=ALONG, noise_multiplier=1.0)
    shown = (0.0, float(synthetic.STEPS))
    axis = Axis("steps", shown=shown, hover="%{x:,d} steps", kind="steps", write=numbers.steps)
    facts = Facts(dp_fixed=float(fixed[-1]), dp_best=float(best[-1]), bayes_fixed=None, bayes_best=None, gain="unknown")
    return Answer(LinePlot(axis, Axis("ε", log=True, reading="attack"), lines), facts)


def with_bayesian(answer: Answer[Facts], costs: Array) -> Answer[Facts]:
    """The two Bayesian curves, from ĉ_t(λ) of the steps, 50 new gradients each."""
    assert isinstance(answer.plot, LinePlot)
    fixed, best, lines = bayesian_curves(ALONG, answer.given["order"], synthetic.epsilon_of_costs(costs))
    gain = "some" if best[-1] < answer.facts.dp_best else "none"
    later = {"bayes_fixed": float(fixed[-1]), "bayes_best": float(best[-1]), "gain": gain}
    return replace(
        answer, plot=replace(answer.plot, lines=(*answer.plot.lines, *lines)), facts=Facts(**vars(answer.facts) | later)
    )


FIGURE_1 = reproduction(
    "bayesian",
    "bdp_figure1",
    along_steps,
    {"quantile": PANEL, "order": ORDER_1, "seed": SEED},
    {"Question": (PANEL, ORDER_1, Expert(SEED))},
    slow=(
        Slow(
            lambda answer: (answer.given["quantile"], answer.given["seed"]),
            lambda answer: synthetic.fresh_costs(float(answer.given["quantile"]), answer.given["seed"]),
            with_bayesian,
        ),
    ),
    option="figure1",
)

# --- Figs. 3 and 4: ε of one step against σ ---------------------------------------------------------------------------

SIGMAS = tuple(float(s) for s in np.round(np.linspace(0.55, 1.35, 33), 4))


def against_noise(*, quantile: str, unclipped: bool, order: int, seed: int) -> Answer[Facts]:
    """ε of one step against σ."""
    x = np.array(SIGMAS)
    fixed, best, dp_lines = dp_curves(x, order, steps=1, noise_multiplier=x)
    each = synthetic.one_step_curve(float(quantile), unclipped, seed, SIGMAS)
    bayes_fixed, bayes_best, bayesian_lines = bayesian_curves(x, order, each)
    plot = LinePlot(
        Axis("noise σ", column="noise_multiplier", hover="σ = %{x:,.3~r}"),
        Axis("ε", log=True, reading="attack"),
        (*dp_lines, *bayesian_lines),
    )
    facts = Facts(
        dp_fixed=float(fixed[0]),
        dp_best=float(best[0]),
        bayes_fixed=float(bayes_fixed[0]),
        bayes_best=float(bayes_best[0]),
        median=synthetic.median_share(float(quantile), seed),
    )
    return Answer(plot, facts)


FIGURE_3 = reproduction(
    "bayesian",
    "bdp_figure3",
    against_noise,
    {"quantile": CLIP_AT, "unclipped": UNCLIPPED, "order": ORDER_3, "seed": SEED},
    {"Question": (CLIP_AT, UNCLIPPED, ORDER_3, Expert(SEED))},
    option="figure3",
)

# --- §4.3.1: how likely is a distance that no sample has shown? -------------------------------------------------------


def rare(*, zeros: int, ones: int, failure: float) -> Answer[Facts]:
    """ρ̂ against the number of distances of 0, for as many distances of C as were seen."""
    reach = 10.0 ** np.ceil(np.log10(max(float(zeros), 100.0)) + 1.0)
    x: Array = np.unique(np.round(np.r_[np.geomspace(1.0, reach, 161), max(zeros, 1)]))
    sample: dict[str, Any] = {"ones": ones, "estimator_failure": failure}
    posterior = np.array([dpviz.binary_estimator(zeros=each, **sample) for each in x])
    plot = LinePlot(
        Axis("distances of 0 in the sample", name="zeros", log=True, kind="steps", hover="%{x:,d} zeros",
             write=numbers.steps),
        Axis("probability ρ of a distance C", name="ρ", log=True, shown=(0.1 / reach, 2.0)),
        (
            Line("posterior", "ρ̂ of the paper", x, posterior, "moments", color=look.ORANGE),
            Line("exact", "bound for every ρ", x, most_likely(x, ones, failure), "moments"),
            Line("sample", "share seen", x, ones / (x + ones), "basic", kept=False, explained=True),
        ),
        guides=(Guide("x", zeros, f"N₀ = {numbers.short_steps(zeros)}", noted=False),),
        end_values=False,
    )  # fmt: skip
    facts = Facts(
        posterior=dpviz.binary_estimator(zeros=zeros, **sample),
        exact=float(most_likely(np.array([float(zeros)]), ones, failure)[0]),
        seen=ones / (zeros + ones) if zeros + ones else 0.0,
    )
    return Answer(plot, facts)


def most_likely(zeros: Array, ones: int, failure: float) -> Array:
    """The upper end of Clopper & Pearson 1934: too low with probability γ at most, whatever ρ is."""
    return np.where(zeros > 0.0, betainccinv(ones + 1.0, np.maximum(zeros, 1.0), failure), 1.0)


RARE = reproduction(
    "bayesian",
    "rare",
    rare,
    {"zeros": ZEROS, "ones": ONES, "failure": FAILURE},
    {"Sample": (ZEROS, ONES, FAILURE)},
    presets=presets("bdpzeros"),
)

# --- Propositions 3 and 4: k mechanisms, a group of k -----------------------------------------------------------------


def together(*, epsilon_mu: float, delta_mu: float, count: int) -> Answer[Facts]:
    """δ of k mechanisms and of groups of k against k; ε is kε_μ for both."""
    each = {"epsilon_mu": epsilon_mu, "delta_mu": delta_mu}
    x = np.arange(1.0, max(20, min(2 * count, 400)) + 1.0)
    if count > x[-1]:
        x = np.unique(np.round(np.r_[np.geomspace(1.0, 2.0 * count, 400), count]))
    epsilons, basic = np.transpose([dpviz.bayesian_basic(**each, count=k) for k in x])
    group = np.array([dpviz.bayesian_group(**each, size=k)[1] for k in x])
    hover = (Column("ε", epsilons, key="epsilon"),)
    plot = LinePlot(
        Axis("k", hover="k = %{x:,d}", write=numbers.steps),
        Axis("δ", log=True, kind="delta", shown=(delta_mu / 2.0, 2.0), write=numbers.delta),
        (
            Line("basic", "k mechanisms", x, basic, "moments", hover=hover),
            Line("group", "group of k", x, group, "moments", color=look.ORANGE),
        ),
        guides=(Guide("x", count, f"k = {numbers.short_steps(count)}", noted=False),),
        end_values=False,
    )
    of_mechanisms, of_group = dpviz.bayesian_basic(**each, count=count), dpviz.bayesian_group(**each, size=count)
    facts = Facts(
        basic=of_mechanisms,
        group=of_group,
        grouped=of_group[1] < 1.0,
        epsilon=numbers.epsilon(of_mechanisms[0] * (1.0 - 1e-12), up=True),
        basic_delta=delta_up(of_mechanisms[1]),
        group_delta=delta_up(of_group[1]),
        largest=largest_group(epsilon_mu, delta_mu),
    )
    return Answer(plot, facts)


def delta_up(delta: float) -> str:
    """Rounded up, but for what floating point adds."""
    return numbers.delta(numbers.up(delta * (1.0 - 1e-12)))


def largest_group(epsilon_mu: float, delta_mu: float) -> int:
    """The largest k whose δ is below 1; 0 where there is none. It is below 1/δ_μ."""
    low, high = 0, math.ceil(1.0 / delta_mu)
    while high - low > 1:
        middle = (low + high) // 2
        delta = dpviz.bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=min(middle, 2**53))[1]
        low, high = (middle, high) if delta < 1.0 else (low, middle)
    return low


TOGETHER = reproduction(
    "bayesian",
    "together",
    together,
    {"epsilon_mu": EACH, "delta_mu": FAILURE_MU, "count": MANY},
    {"Promise": (EACH, FAILURE_MU, MANY)},
)
