"""Sampled Gaussian, Fig. 1: the closed form against the exact divergence (Mironov, Talwar, Zhang 2019)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.charts import Axis, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import RATE, SIZE, Answer, Formula, Metric, Note, Question, Words, units
from dpviz.questions.mechanism import PUBLIC_SIZE

ORDERS = np.unique(np.concatenate([1.0 + np.geomspace(0.05, 1e3, 160), np.arange(2.0, 65.0)]))
COLORS = (look.BLUE, look.GREEN, look.ORANGE)


@dataclass(frozen=True)
class CoveredOrders:
    """Where Theorem 11 covers one σ, and closed form ÷ exact there.

    Attributes:
        name: "σ = 4".
        last: the largest α; NaN where it covers none.
        least, most: the range of the ratio; NaN likewise.
    """

    name: str
    last: float = math.nan
    least: float = math.nan
    most: float = math.nan

    @property
    def covered(self) -> bool:
        """Whether the theorem covers an order."""
        return not math.isnan(self.last)

    @property
    def metric(self) -> Metric:
        """Up to which order, and by how much the closed form is larger."""
        if not self.covered:
            return Metric(self.name, "not covered", "Theorem 11")
        span = f"{numbers.at_least(self.least)} to {numbers.at_most(self.most)} × exact"
        return Metric(self.name, f"α ≤ {numbers.at_least(self.last)}", span)


@dataclass(frozen=True)
class ClosedFormFacts:
    """The closed form beside the exact divergence.

    Attributes:
        least, most: of closed form ÷ exact, wherever the theorem covers it; NaN where it covers none.
        each: distinct σ.
    """

    least: float
    most: float
    each: tuple[CoveredOrders, ...]


def closed_form(
    *,
    sample_rate: Annotated[float, RATE],
    first: Annotated[float, number("psig1")],
    second: Annotated[float, number("psig2")],
    third: Annotated[float, number("psig3")],
) -> Answer[ClosedFormFacts]:
    """R(α) exact and by the closed form, a pair of curves for each distinct σ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, no example is used and every R(α) is 0: choose a sampling rate above 0.")
    lines: list[Line] = []
    each: list[CoveredOrders] = []
    for sigma, color in zip(dict.fromkeys((first, second, third)), COLORS, strict=False):
        exact = np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=sample_rate, orders=ORDERS))
        closed = dpviz.closed_form_divergence(noise_multiplier=sigma, sample_rate=sample_rate, orders=ORDERS)
        name, family = f"σ = {numbers.plain(sigma)}", look.DASHED
        lines += [
            Line(f"exact {sigma:g}", name, ORDERS, exact, look.SOLID, color=color),
            Line(
                f"closed {sigma:g}",
                f"{name}, Theorem 11",
                ORDERS,
                closed,
                family,
                color=color,
                kept=False,
                explained=True,
            ),
        ]
        each.append(ratios(name, exact, closed))
    plot = LinePlot(
        Axis("order α", column="order_alpha", log=True, hover="α = %{x:,.4~r}"),
        Axis("R(α) of one step", name="R(α)", column="divergence", log=True, shown=six_decades(lines)),
        tuple(lines),
        end_values=False,
    )
    covered = [one for one in each if one.covered]
    facts = ClosedFormFacts(
        least=min((one.least for one in covered), default=math.nan),
        most=max((one.most for one in covered), default=math.nan),
        each=tuple(each),
    )
    return Answer(plot, facts)


def ratios(name: str, exact: Array, closed: Array) -> CoveredOrders:
    """The largest α that the theorem covers at one σ, and the range of closed form ÷ exact up to there."""
    holds = np.isfinite(closed) & (exact > 0.0)
    if not holds.any():
        return CoveredOrders(name)
    ratio = closed[holds] / exact[holds]
    return CoveredOrders(name, float(ORDERS[holds][-1]), float(ratio.min()), float(ratio.max()))


def six_decades(lines: Sequence[Line]) -> tuple[float, float] | None:
    """From the least value on: exact curves go far up where sampling stops helping."""
    values = np.concatenate([np.asarray(line.y) for line in lines])
    values = values[np.isfinite(values) & (values > 0.0)]
    if not values.size:
        return None
    low = max(float(values.min()), 1e-300)
    return low / 2.0, min(max(float(values.max()), 20.0 * low), 1e6 * low)


def headline(f: ClosedFormFacts) -> str:
    covered = [one for one in f.each if one.covered]
    if not covered:
        return "<b>Theorem 11 covers none</b> of these: it needs q ≤ 1/5 and σ ≥ 4, and two conditions on α."
    times, most = numbers.at_least(f.least), numbers.at_most(f.most)
    times = times if times == most else f"{times} to {most}"
    where = ", ".join(f"{one.name} up to <b>α = {numbers.at_least(one.last)}</b>" for one in covered)
    return f"The closed form 2q²α/σ² is <b>{times} times</b> the exact divergence where Theorem 11 covers it: {where}."


def metrics(f: ClosedFormFacts) -> Iterator[Metric]:
    for one in f.each:
        yield one.metric


NOTE = Note(
    "Solid: exact. Long dashes: the closed form. It ends where a condition of the theorem fails, near where the exact "
    "curve rises steeply because sampling stops helping. The text of the paper does not give its σ and q; these are "
    "chosen here."
)
FORMULA = Formula(
    "Mironov, Talwar, Zhang 2019, Theorem 11",
    r"R(\alpha) \le \frac{2q^2\alpha}{\sigma^2},\quad q \le \tfrac15,\ \sigma \ge 4,\ \alpha \le \tfrac12\sigma^2L -"
    r" 2\ln\sigma,\ \alpha \le \frac{\frac12\sigma^2L^2 - \ln 5 - 2\ln\sigma}{L + \ln(q\alpha) + 1/(2\sigma^2)},\ L ="
    r" \ln\!\Big(1+\tfrac{1}{q(\alpha-1)}\Big)",
)
ASSUMPTIONS = f"""
- **One step** of the sampled Gaussian: Poisson sampling, add or remove one example, noise of standard deviation σ × C.
- **Exact** means to about 11 digits, for whole and fractional orders alike.
{PUBLIC_SIZE}"""

SAMPLED_FIGURE_1 = Question(
    "sgm_figure1",
    "Sampled Gaussian, Fig. 1: closed form against exact",
    closed_form,
    Words(headline, metrics, lambda _: (NOTE,), lambda _: (FORMULA,), ASSUMPTIONS),
    asks="least",
    layout={"Question": ("first", "second", "third", units.in_units(SIZE, RATE))},
    option="sgm1",
)
