"""Parts shared by the questions about orders: the mechanism's controls, assumptions, and the chart of one step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import Line, LinePlot, Region
from dpviz.fields import Number, flag, number
from dpviz.questions import (
    Answer,
    Formula,
    Item,
    Layout,
    Question,
    Reader,
    Words,
    cards,
    experts,
    published,
    units,
)
from dpviz.questions.mechanism import PUBLIC_SIZE, SETTINGS
from dpviz.questions.orders import curves
from dpviz.questions.orders.known import closed_reason, known_bounds
from dpviz.questions.question import Block, Setting

F = TypeVar("F")
LARGEST, LOG_X, LOG_Y = number("omax"), flag("ologx"), flag("ology")
APPROXIMATION = "Dashed: the asymptotic moment without its term of order q³. It is an approximation, not a bound."
UNUSED = "With <b>q = 0</b>, no example is ever used, so R(α) and ε are <b>0</b>."
DIVERGENCE = Formula(
    "Divergence of one step (Mironov, Talwar, Zhang 2019, §3.3)",
    r"""
R(\alpha) = \frac{\ln A_\alpha}{\alpha-1},\quad A_\alpha = \sum_{k=0}^{\alpha}\binom{\alpha}{k}
(1-q)^{\alpha-k}q^k e^{(k^2-k)/(2\sigma^2)}\quad\text{(whole }\alpha\text{)}""",
)
ASSUMPTIONS = f"""
- **The mechanism:** Poisson sampling with probability q, Gaussian noise of standard deviation σ × C, T equal
  steps; one example is added or removed. The Rényi divergence R(α) adds up over the steps.
{PUBLIC_SIZE.strip()}
- **Every order gives a valid ε.** Choosing the best one afterwards costs nothing, because the bound holds at all orders
  at once.
- **Exact** means to about 11 digits, for whole and fractional orders.
- **The asymptotic moment** leaves out a term of order q³ whose constant is unknown. It is dashed and is not a bound,
  although it was never found below the exact moment in its range.
- **The closed form** is drawn where Theorem 11 holds: q ≤ 1/5, σ ≥ 4, and two conditions on α.
- **zCDP:** the sampled Gaussian is 1/(2σ²)-zCDP, as without sampling, because sampling never increases the divergence.
  When papers say "it is not zCDP", they mean that no smaller ρ holds at all orders, however small q is. tCDP only
  considers orders α < ω, where a smaller ρ holds.
- **Thresholds:** the noise σ is fixed and all distances equal C. Bayesian DP then costs as much as the moments
  accountant at the noise multiplier σ/C.
"""


def theorems(sigma: float, rate: float) -> list[str]:
    """Which theorems hold at no order, and that the asymptotic moment is no bound where it is drawn."""
    asymptotic = dpviz.papers.asymptotic_reason(noise_multiplier=sigma, sample_rate=rate)
    return [text for text in (closed_reason(sigma, rate), asymptotic or APPROXIMATION) if text]


def one_step(
    name: str, column: str, lines: Sequence[Line], regions: tuple[Region, ...], largest: float, log: bool, air: float
) -> LinePlot:
    """A quantity of one step against α; `air` above the curves is for the name of a hatched region."""
    shown = curves.whole_span(largest, log)
    return LinePlot(
        x=curves.order_axis(np.asarray(lines[0].x), largest, log=log, shown=shown),
        y=curves.value_axis(f"{name} of one step", name, column, log=True, shown=curves.decades(lines, shown, air)),
        lines=tuple(lines),
        regions=regions,
        end_values=False,
    )


def orders_question(
    key: str,
    title: str,
    answer: Callable[..., Answer[F]],
    words: Words[F],
    accountants: Sequence[str],
    presets: Sequence[str] = (),
    *,
    own: Mapping[str, Number] = {},
    log_y: bool = False,
    more: Mapping[str, Callable[[Answer[F]], Sequence[Block]]] = {},
    **attributes: Any,
) -> Question[F]:
    """A question about the mechanism's orders, with settings of its `own`, cards of accountants and known bounds."""
    settings: dict[str, Setting] = {**SETTINGS, **own, "largest": LARGEST, "log_x": LOG_X}

    def layout(get: Reader) -> Layout:
        groups: dict[str, Sequence[Item]] = {"Question": tuple(own.values())} if own else {}
        shown = (*((LOG_Y,) if log_y else ()), *experts(LARGEST, LOG_X))
        return {**groups, "Mechanism": units.controls(get), "Show": shown}

    return Question(
        key,
        title,
        answer,
        words,
        settings=settings | ({"log_y": LOG_Y} if log_y else {}),
        presets=published(*presets),
        layout=layout,
        more={"Known bounds": known_bounds, **more, "Accountants": lambda _: cards(accountants)},
        **attributes,
    )
