"""Is it concentrated DP? R(α)/α of one step, which a concentrated promise bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.accounting.formula import tex
from dpviz.accounting.pld.loss_density import loss_density
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.cards import cards
from dpviz.questions.orders.bounds import known_bounds
from dpviz.questions.orders.curves import (
    Array,
    decades,
    exact,
    leaves,
    no_bound,
    order_axis,
    order_grid,
    value_axis,
    whole_span,
)
from dpviz.questions.orders.divergence import ONE_STEP, doubles, layout
from dpviz.questions.orders.words import ASSUMPTIONS, DIVERGENCE, NOTHING, order
from dpviz.questions.question import Question


@dataclass(frozen=True)
class ConcentratedFacts:
    """One step.

    Attributes:
        two: R(2).
        rho, omega: of truncated concentrated DP: R(α) ≤ ρα for all 1 < α < ω.
        plateau: ½q²(e^{1/σ²} − 1), what R(α)/α is at small orders while q is small.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
        mean: μ of (μ, τ)-CDP, the mean loss of a removed example, which is the larger.
    """

    two: float
    rho: float
    omega: float
    plateau: float
    leaves: float
    mean: float


def concentrated(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[ConcentratedFacts]:
    """R(α)/α against λ; T and δ matter to the known bounds beside it alone."""
    orders = order_grid(largest)
    x, ratio = orders - 1.0, exact(noise_multiplier, sample_rate, orders) / orders
    with np.errstate(over="ignore"):
        unsampled = np.full(x.shape, 0.5 / noise_multiplier / noise_multiplier)
        one = np.float64(1.0)
        plateau = float(0.5 * sample_rate**2 * np.expm1(one / noise_multiplier / noise_multiplier))
    off = leaves(orders, ratio)
    lines = (
        Line("exact", "exact", x, ratio, "renyi_improved", explained=True),
        Line("unsampled", "without sampling: 1/(2σ²)", x, unsampled, "basic", kept=False, explained=True),
        no_bound("plateau", "plateau", x, np.full(x.shape, plateau)),
    )
    shown = whole_span(largest, log_x)
    regions = []
    if sample_rate > 0.0 and not math.isnan(off):
        regions = [Region(off - 1.0, math.inf, f"off the plateau from λ = {numbers.plain(off - 1.0)}")]
    plot = LinePlot(
        x=order_axis(x, largest, log=log_x, shown=shown),
        y=value_axis("R(α)/α of one step", "R(α)/α", "ratio", log=True, shown=decades(lines, shown, 30.0)),
        lines=lines,
        regions=tuple(regions),
        end_values=False,
    )
    two = 2.0 * float(ratio[np.searchsorted(orders, 2.0)])
    mean = 0.0
    if sample_rate > 0.0:
        mean = loss_density(SampledGaussian(noise_multiplier, sample_rate), steps=1, epsilon=0.0).mean
    return Answer(plot, ConcentratedFacts(two, *truncated(orders, ratio, off), plateau, off, mean))


def truncated(orders: Array, ratio: Array, end: float) -> tuple[float, float]:
    """(ρ, ω) of truncated concentrated DP: R(α) ≤ ρα for all 1 < α < ω, ω the last order before `end` (NaN: no end).

    R is increasing, so between two orders of the grid R(α)/α ≤ R(right)/left: no order in between is missed.
    """
    inside = orders < (math.inf if math.isnan(end) else end)
    spent = (ratio * orders)[inside]
    left = np.concatenate([[1.0], orders[inside][:-1]])
    return float((spent / left).max()), float(orders[inside][-1])


def headline(a: Answer[ConcentratedFacts]) -> str:
    f, sigma = a.facts, a.given["noise_multiplier"]
    whole = 0.5 / sigma / sigma
    if a.given["sample_rate"] == 0.0:
        return NOTHING
    if a.given["sample_rate"] == 1.0:
        return (
            f"Without sampling R(α)/α is <b>{numbers.plain(whole)}</b> at every order: the step is ρ-zCDP with that ρ."
        )
    end = "at every order shown" if math.isnan(f.leaves) else f"for α up to ω = <b>{order(f.omega)}</b>"
    return (
        f"R(α) ≤ ρα with <b>ρ = {numbers.epsilon(f.rho, up=True)}</b> {end}: that is truncated concentrated DP. For "
        f"all orders no ρ below 1/(2σ²) = <b>{numbers.plain(whole, digits=4)}</b> will do: zCDP gains "
        "nothing from sampling."
    )


def metrics(a: Answer[ConcentratedFacts]) -> list[Metric]:
    f, sigma = a.facts, a.given["noise_multiplier"]
    return [
        Metric("R(2) of one step", numbers.epsilon(f.two, up=True), "exact"),
        Metric("ρ of (ρ, ω)-tCDP", numbers.epsilon(f.rho, up=True), f"for α < {order(f.omega)}"),
        Metric("ρ of zCDP", numbers.epsilon(0.5 / sigma / sigma, up=True), "1/(2σ²), as without sampling"),
        Metric("Plateau left at", doubles(f.leaves), "where R(α)/α has doubled"),
    ]


def notes(a: Answer[ConcentratedFacts]) -> list[Note]:
    f, sigma, rate = a.facts, a.given["noise_multiplier"], a.given["sample_rate"]
    if rate == 0.0:
        return []
    mean, whole = numbers.epsilon(f.mean, up=True), numbers.plain(0.5 / sigma / sigma)
    if rate == 1.0:
        return [Note(f"(μ, τ)-CDP: the loss is Gaussian with mean μ = {mean} and spread τ = 1/σ, exactly.")]
    return [
        Note(
            f"(μ, τ)-CDP (Dwork & Rothblum 2016) bounds the mean loss by μ and asks that its spread is sub-Gaussian "
            f"with τ. Sampling lowers the mean from {whole} to μ = {mean}, but no τ below 1/σ = "
            f"{numbers.plain(1.0 / sigma)}, as without sampling, will do: R(α)/α tends to 1/(2σ²)."
        )
    ]


def formulas(a: Answer[ConcentratedFacts]) -> list[tuple[str, str]]:
    sigma = a.given["noise_multiplier"]
    return [
        DIVERGENCE,
        (
            "Plateau and limit",
            rf"\frac{{R(\alpha)}}\alpha \approx \tfrac12 q^2\left(e^{{1/\sigma^2}}-1\right) = {tex(a.facts.plateau)},"
            rf"\qquad \frac{{R(\alpha)}}\alpha \to \frac1{{2\sigma^2}} = {tex(0.5 / sigma / sigma)}",
        ),
        (
            "(μ, τ)-CDP",
            rf"\mathbb{{E}}\,L \le \mu = {tex(a.facts.mean)},\quad \ln\mathbb{{E}}\,e^{{\lambda(L - \mathbb{{E}} L)}}"
            rf" \le \tfrac12\lambda^2\tau^2,\ \tau \ge \frac1\sigma = {tex(1.0 / sigma)}",
        ),
    ]


CONCENTRATED: Question[ConcentratedFacts] = Question(
    key="concentrated",
    title="Is it concentrated DP?",
    settings=ONE_STEP.settings,
    answer=concentrated,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    layout=layout,
    more={"Known bounds": known_bounds, "Accountants": lambda _: cards(("renyi_improved",))},
)
