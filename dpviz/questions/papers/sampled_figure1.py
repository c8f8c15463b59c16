"""Fig. 1 of Mironov, Talwar, Zhang 2019: the closed form against the exact divergence, for several σ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Array, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, InUnits, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIZE
from dpviz.questions.papers.fields import FIRST_SIGMA, SECOND_SIGMA, THIRD_SIGMA
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

ORDERS = np.unique(np.concatenate([1.0 + np.geomspace(0.05, 1e3, 160), np.arange(2.0, 65.0)]))
COLORS = (look.BLUE, look.GREEN, look.ORANGE)


@dataclass(frozen=True)
class Compared:
    """One σ: the largest α that the theorem covers, and the range of closed form ÷ exact up to there; NaN for none."""

    sigma: float
    last: float
    least: float
    most: float


def several(*, sample_rate: float, first: float, second: float, third: float) -> Answer[tuple[Compared, ...]]:
    """R(α) exact and by the closed form, a pair of curves for each distinct σ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 no example is ever used and every R(α) is 0: choose a sampling rate above 0.")
    sigmas = tuple(dict.fromkeys((first, second, third)))
    lines: list[Line] = []
    facts = []
    for sigma, color in zip(sigmas, COLORS, strict=False):
        known = {"noise_multiplier": sigma, "sample_rate": sample_rate, "orders": ORDERS}
        exact = np.asarray(dpviz.renyi_divergence(**known))  # type: ignore[arg-type]
        closed = dpviz.closed_form_divergence(**known)  # type: ignore[arg-type]
        name = f"σ = {numbers.plain(sigma)}"
        lines += [
            Line(f"exact {sigma:g}", name, ORDERS, exact, "renyi_improved", color=color),
            Line(
                f"closed {sigma:g}", f"{name}, Theorem 11", ORDERS, closed, "renyi_classic", color=color, kept=False,
                explained=True,
            ),
        ]  # fmt: skip
        facts.append(compared_at(sigma, exact, closed))
    plot = LinePlot(
        Axis("order α", column="order_alpha", log=True, hover="α = %{x:,.4~r}"),
        Axis("R(α) of one step", name="R(α)", column="divergence", log=True, shown=decent(lines)),
        tuple(lines),
        end_values=False,
    )
    return Answer(plot, tuple(facts))


def compared_at(sigma: float, exact: Array, closed: Array) -> Compared:
    """How far the closed form lies above the exact value."""
    holds = np.isfinite(closed) & (exact > 0.0)
    if not holds.any():
        return Compared(sigma, math.nan, math.nan, math.nan)
    ratio = closed[holds] / exact[holds]
    return Compared(sigma, float(ORDERS[holds][-1]), float(ratio.min()), float(ratio.max()))


def decent(lines: list[Line]) -> tuple[float, float] | None:
    """Six decades from the least value on: exact curves go far up where sampling stops helping."""
    values = np.concatenate([np.asarray(line.y)[line.seen(log_y=True)] for line in lines])
    if not values.size:
        return None
    low = max(float(values.min()), 1e-300)
    return low / 2.0, min(max(float(values.max()), 20.0 * low), 1e6 * low)


def headline(a: Answer[tuple[Compared, ...]]) -> str:
    told = [
        f"σ = {numbers.plain(one.sigma)} up to <b>α = {numbers.plain(one.last)}</b>"
        for one in a.facts
        if not math.isnan(one.last)
    ]
    if not told:
        return "<b>Theorem 11 covers none</b> of these: it needs q ≤ 1/5 and σ ≥ 4, and two conditions on α."
    held = [one for one in a.facts if not math.isnan(one.last)]
    low, high = min(one.least for one in held), max(one.most for one in held)
    return (
        f"The closed form 2q²α/σ² lies <b>{span(low, high)} times</b> above the exact "
        f"divergence where Theorem 11 covers it: {', '.join(told)}."
    )


def metrics(a: Answer[tuple[Compared, ...]]) -> list[Metric]:
    return [
        Metric(
            f"σ = {numbers.plain(one.sigma)}",
            "not covered" if math.isnan(one.last) else f"α ≤ {numbers.plain(one.last)}",
            "Theorem 11"
            if math.isnan(one.last)
            else f"{numbers.plain(one.least)} to {numbers.plain(one.most)} × exact",
        )
        for one in a.facts
    ]


def span(low: float, high: float) -> str:
    return f"{numbers.plain(low)} to {numbers.plain(high)}"


def notes(a: Answer[tuple[Compared, ...]]) -> list[Note]:
    return [
        Note(
            "Solid: exact. Long dashes: the closed form, which ends where a condition of the theorem fails, near where "
            "the exact curve turns up: there sampling stops helping. The paper's own σ and q are not readable in the "
            "text: these are chosen."
        )
    ]


def formulas(a: Answer[tuple[Compared, ...]]) -> list[tuple[str, str]]:
    return [
        (
            "Mironov, Talwar, Zhang 2019, Theorem 11",
            r"R(\alpha) \le \frac{2q^2\alpha}{\sigma^2},\quad q \le \tfrac15,\ \sigma \ge 4,\ "
            r"\alpha \le \tfrac12\sigma^2L - 2\ln\sigma,\ "
            r"\alpha \le \frac{\frac12\sigma^2L^2 - \ln 5 - 2\ln\sigma}{L + \ln(q\alpha) + 1/(2\sigma^2)},\ "
            r"L = \ln\!\Big(1+\tfrac{1}{q(\alpha-1)}\Big)",
        )
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (FIRST_SIGMA, SECOND_SIGMA, THIRD_SIGMA, InUnits((SIZE, RATE))), "Show": experts(IMAGE)}


SAMPLED_FIGURE_1: Question[tuple[Compared, ...]] = Question(
    key="sgm_figure1",
    option="sgm1",
    title="Sampled Gaussian, Fig. 1: closed form against exact",
    settings={"sample_rate": RATE, "first": FIRST_SIGMA, "second": SECOND_SIGMA, "third": THIRD_SIGMA},
    answer=several,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **One step** of the sampled Gaussian: Poisson sampling, add or remove one example, noise of std σ × sensitivity.
- **Exact** means to about 11 digits, for whole and fractional orders alike.
"""
    + PUBLIC_SIZE,
    layout=layout,
)
