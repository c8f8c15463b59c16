"""Is it concentrated DP? R(α)/α of one step against α: its plateau at small orders, and its limit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.methods import Renyi
from dpviz.accounting.pld.loss_density import loss_density
from dpviz.charts import Line, Region, look
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, Formula, Metric, Note, Words
from dpviz.questions.orders import curves
from dpviz.questions.orders.curves import no_bound
from dpviz.questions.orders.shared import ASSUMPTIONS, DIVERGENCE, UNUSED, one_step, orders_question


@dataclass(frozen=True)
class ConcentratedFacts:
    """One step.

    Attributes:
        unsampled: 1/(2σ²), R(α)/α without sampling.
        rho, omega: of truncated concentrated DP: R(α) ≤ ρα for all 1 < α ≤ ω.
        epsilon: of all `steps`, from ρ and ω alone.
        plateau: ½q²(e^{1/σ²} − 1), what R(α)/α is at small orders while q is small.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
        mean: μ of (μ, τ)-CDP, the mean loss of a removed example, which is the larger.
    """

    unsampled: float
    rho: float
    omega: float
    epsilon: float
    plateau: float
    leaves: float
    mean: float
    noise_multiplier: float
    sample_rate: float

    @property
    def spread(self) -> float:
        """τ of (μ, τ)-CDP, as without sampling."""
        return 1 / self.noise_multiplier


def concentrated(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[ConcentratedFacts]:
    """R(α)/α against α, and what ρ alone says of T steps."""
    orders = curves.order_grid(largest)
    x, ratio = orders, curves.exact(noise_multiplier, sample_rate, orders) / orders
    with np.errstate(over="ignore"):
        unsampled = np.full(x.shape, 0.5 / noise_multiplier / noise_multiplier)
        one = np.float64(1.0)
        plateau = float(0.5 * sample_rate**2 * np.expm1(one / noise_multiplier / noise_multiplier))
    off = curves.leaves(orders, ratio)
    lines = (
        Line("exact", "exact", x, ratio, Renyi().family, explained=True),
        Line("unsampled", "without sampling: 1/(2σ²)", x, unsampled, look.NEUTRAL, kept=False, explained=True),
        no_bound("plateau", "plateau", x, np.full(x.shape, plateau)),
    )
    regions: tuple[Region, ...] = ()
    if sample_rate > 0.0 and not math.isnan(off):
        regions = (Region(off, math.inf, f"off the plateau from α = {numbers.plain(off)}"),)
    plot = one_step("R(α)/α", "ratio", lines, regions, largest, log_x, air=30.0)
    mean = 0.0
    if sample_rate > 0.0:
        mean = loss_density(SampledGaussian(noise_multiplier, sample_rate), steps=1, epsilon=0.0).mean
    rho, omega = truncated(orders, ratio, off)
    facts = ConcentratedFacts(
        float(unsampled[0]),
        rho,
        omega,
        truncated_epsilon(steps * rho, omega, delta),
        plateau,
        off,
        mean,
        noise_multiplier=noise_multiplier,
        sample_rate=sample_rate,
    )
    return Answer(plot, facts)


def truncated(orders: Array, ratio: Array, end: float) -> tuple[float, float]:
    """(ρ, ω) of truncated concentrated DP: R(α) ≤ ρα for all 1 < α ≤ ω, ω the last order before `end` (NaN: no end).

    R is increasing, so between two orders of the grid R(α)/α ≤ R(right)/left: no order in between is missed.
    """
    inside = orders < (math.inf if math.isnan(end) else end)
    spent = (ratio * orders)[inside]
    left = np.concatenate([[1.0], orders[inside][:-1]])
    return float((spent / left).max()), float(orders[inside][-1])


def truncated_epsilon(rho: float, omega: float, delta: float) -> float:
    """ε at δ of what satisfies (ρ, ω)-tCDP: the least ρα + ln(1/δ)/(α − 1) over 1 < α ≤ ω.

    Bun, Dwork, Rothblum, Steinke 2018, Lemma 6.
    """
    if rho == 0.0:
        return 0.0
    order = min(1.0 + math.sqrt(-math.log(delta) / rho), omega)
    return rho * order - math.log(delta) / (order - 1.0)


def headline(f: ConcentratedFacts) -> str:
    if f.sample_rate == 0:
        return UNUSED
    if f.sample_rate == 1:
        return f"Without sampling, the step is ρ-zCDP with <b>ρ = {numbers.at_most(f.unsampled)}</b>."
    where = f"for orders α up to <b>{numbers.at_least(f.omega)}</b>"
    if math.isnan(f.leaves):
        where = "at every order shown"
    return (
        f"One step satisfies truncated concentrated DP (tCDP) with <b>ρ = {numbers.up(f.rho)}</b> {where}; zCDP, for "
        f"all orders, needs ρ = <b>{numbers.at_most(f.unsampled, 4)}</b>, as without sampling."
    )


def metrics(f: ConcentratedFacts) -> Iterator[Metric]:
    yield Metric("ρ of (ρ, ω)-tCDP", numbers.up(f.rho), f"for α ≤ {numbers.at_least(f.omega)}")
    yield Metric("ρ of zCDP", numbers.up(f.unsampled), "1/(2σ²), as without sampling")
    yield Metric("ε after T steps", f"≤ {numbers.up(f.epsilon)}", "from ρ and ω of tCDP alone")


def notes(f: ConcentratedFacts) -> Iterator[Note]:
    if f.sample_rate == 1:
        yield Note(f"(μ, τ)-CDP: the loss is Gaussian with mean μ = {numbers.up(f.mean)} and spread τ = 1/σ, exactly.")
    elif f.sample_rate:
        yield Note(
            "(μ, τ)-CDP (Dwork & Rothblum 2016) means that the mean privacy loss is at most μ. Around its mean, the "
            f"loss is sub-Gaussian with parameter τ. Sampling lowers the mean from {numbers.at_most(f.unsampled)} to "
            f"μ = {numbers.up(f.mean)}, but τ stays 1/σ = {numbers.at_most(f.spread)}, as without sampling, because "
            "R(α)/α tends to 1/(2σ²)."
        )


def formulas(f: ConcentratedFacts) -> Iterator[Formula]:
    yield DIVERGENCE
    yield Formula(
        "Plateau and limit",
        r"\frac{R(\alpha)}\alpha \approx \tfrac12 q^2\left(e^{1/\sigma^2}-1\right) = "
        rf"{numbers.tex(f.plateau)},"
        r" \qquad \frac{R(\alpha)}\alpha \to \frac1{2\sigma^2} ="
        rf" {numbers.tex_up(f.unsampled)}",
    )
    yield Formula(
        "(μ, τ)-CDP",
        rf"\mathbb{{E}}\,L \le \mu = {numbers.tex_up(f.mean)},\quad \ln\mathbb{{E}}\,e^{{s(L - \mathbb{{E}} L)}}"
        rf" \le \tfrac12 s^2\tau^2,\ \tau \ge \frac1\sigma = {numbers.tex_up(f.spread)}",
    )


CONCENTRATED = orders_question(
    "concentrated",
    "Is it concentrated DP?",
    concentrated,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    (Renyi().family,),
    asks="rho",
)
