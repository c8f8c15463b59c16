"""R(α) of one step against α, exact, closed form, asymptotic, without sampling: what does one step cost?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.methods import ClosedForm, Renyi
from dpviz.charts import Line, Region, look
from dpviz.fields import numbers
from dpviz.questions import STEPS, Answer, Formula, Metric, Note, Words, setting
from dpviz.questions.orders import curves
from dpviz.questions.orders.curves import no_bound
from dpviz.questions.orders.shared import ASSUMPTIONS, DIVERGENCE, UNUSED, one_step, orders_question, theorems


@dataclass(frozen=True)
class DivergenceFacts:
    """One step.

    Attributes:
        divergence: R(2).
        closed_last: the largest α shown with a closed form, NaN where it holds nowhere.
        asymptotic_last: the largest α that the asymptotic lemma covers; NaN where none.
        epsilon: of all `steps`, by Rényi DP.
        theorems: which hold at no order, in sentences.
    """

    divergence: float
    closed_last: float
    asymptotic_last: float
    epsilon: float
    theorems: list[str]
    noise_multiplier: float
    sample_rate: float
    steps: int


def divergence(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[DivergenceFacts]:
    """R(α) against α, and what T such steps cost."""
    orders = curves.order_grid(largest)
    x, divergences = orders, curves.exact(noise_multiplier, sample_rate, orders)
    closed = dpviz.closed_form_divergence(noise_multiplier=noise_multiplier, sample_rate=sample_rate, orders=orders)
    with np.errstate(over="ignore"):
        unsampled = orders / (2.0 * noise_multiplier) / noise_multiplier
    whole, moment = curves.asymptotic(noise_multiplier, sample_rate, largest)
    drawn = (
        Line("exact", "exact", x, divergences, Renyi().family, explained=True),
        Line(ClosedForm.name, "closed form", x, closed, ClosedForm.name, kept=False, explained=True),
        no_bound("asymptotic", "asymptotic", whole, moment),
        Line("unsampled", "without sampling", x, unsampled, look.NEUTRAL, kept=False, explained=True),
    )
    lines, last = tuple(line for line in drawn if len(line.x)), curves.closed_last(orders, closed)
    regions = () if sample_rate == 0.0 else beyond(last, largest)
    plot = one_step("R(α)", "divergence", lines, regions, largest, log_x, air=4.0)
    facts = DivergenceFacts(
        divergence=float(divergences[np.searchsorted(orders, 2.0)]),
        closed_last=last,
        asymptotic_last=1.0
        + dpviz.papers.asymptotic_last_order(noise_multiplier=noise_multiplier, sample_rate=sample_rate),
        epsilon=float(
            dpviz.epsilon(
                Renyi.name, noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, delta=delta
            )
        ),
        theorems=theorems(noise_multiplier, sample_rate),
        noise_multiplier=noise_multiplier,
        sample_rate=sample_rate,
        steps=steps,
    )
    return Answer(plot, facts)


def beyond(last: float, largest: float) -> tuple[Region, ...]:
    """Where there is no closed form."""
    if math.isnan(last):
        return (Region(-math.inf, math.inf, "closed form holds nowhere"),)
    if last >= largest:
        return ()
    return (Region(last, math.inf, f"no closed form beyond α = {numbers.at_least(last)}"),)


def headline(f: DivergenceFacts) -> str:
    if f.sample_rate == 0:
        return UNUSED
    unsampled = 1 / f.noise_multiplier / f.noise_multiplier
    cost = setting(STEPS, numbers.steps(f.steps)) + (" step costs" if f.steps == 1 else " steps cost")
    return (
        f"One step has the Rényi divergence <b>R(2) = {numbers.up(f.divergence)}</b> (without sampling: "
        f"{numbers.at_most(unsampled)}); {cost} <b>ε ≤ {numbers.up(f.epsilon)}</b>."
    )


def metrics(f: DivergenceFacts) -> Iterator[Metric]:
    closed = "nowhere" if math.isnan(f.closed_last) else f"α ≤ {numbers.at_least(f.closed_last)}"
    lemma = "nowhere" if math.isnan(f.asymptotic_last) else f"whole α ≤ {numbers.steps(f.asymptotic_last)}"
    yield Metric("R(2) of one step", numbers.up(f.divergence), "exact")
    yield Metric("Closed form holds", closed, "of the orders shown")
    yield Metric("Asymptotic lemma holds", lemma, "an approximation")
    yield Metric("ε after T steps", f"≤ {numbers.up(f.epsilon)}", "Rényi DP, best order")


def notes(f: DivergenceFacts) -> Iterator[Note]:
    if f.sample_rate:
        yield from map(Note, f.theorems)


FORMULAS = (
    DIVERGENCE,
    Formula("Closed form (Mironov, Talwar, Zhang 2019, Theorem 11)", r"R(\alpha) \le \frac{2q^2\alpha}{\sigma^2}"),
    Formula(
        "Asymptotic moment (Abadi et al. 2016, Lemma 3)",
        r"R(\alpha) \le \frac{q^2\alpha}{(1-q)\sigma^2} + O\!\left(\frac{q^3(\alpha-1)^2}{\sigma^3}\right),"
        r" \quad \sigma\ge1,\ q<\tfrac1{16\sigma},\ \alpha-1\le\sigma^2\ln\tfrac1{q\sigma}",
    ),
)

ONE_STEP = orders_question(
    "divergence",
    "What does one step cost?",
    divergence,
    Words(headline, metrics, notes, lambda _: FORMULAS, ASSUMPTIONS),
    (Renyi().family, ClosedForm.name),
    ["sgm1"],
    asks="divergence",
)
