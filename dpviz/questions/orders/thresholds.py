"""ε(λ) at whole λ of three thresholds, with the noise fixed: what does the threshold C change?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.accounting.methods import Renyi
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.charts import Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import SIGMA, Answer, Formula, Metric, Note, Words, setting
from dpviz.questions.mechanism import shown_steps
from dpviz.questions.orders import curves
from dpviz.questions.orders.curves import Least, least
from dpviz.questions.orders.deciding import ALL_ORDERS
from dpviz.questions.orders.shared import ASSUMPTIONS, UNUSED, orders_question

MOMENT = Formula(
    "Cost of one step at distance C (Triastcyn & Faltings 2020, Theorem 3)",
    r"""
\psi(\lambda, C) = \ln \sum_{k=0}^{\lambda+1}\binom{\lambda+1}{k}
(1-q)^{\lambda+1-k}q^k e^{(k^2-k)C^2/(2\sigma^2)}""",
)
THRESHOLDS_C = {name: number(key) for name, key in (("first", "oc1"), ("second", "oc2"), ("third", "oc3"))}


@dataclass(frozen=True)
class ThresholdFacts:
    """What each threshold costs.

    Attributes:
        best: (name, its lowest point) of each curve; NaNs where no order gives a finite ε.
        last: the largest λ tried.
    """

    best: tuple[tuple[str, Least], ...]
    last: float
    noise_multiplier: float
    sample_rate: float
    steps: int
    largest: float

    @property
    def falling(self) -> list[str]:
        """The curves that still fall at the largest λ."""
        return [name for name, best in self.best if best.order == self.last]


def thresholds(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    first: float,
    second: float,
    third: float,
    largest: float,
    log_x: bool,
    log_y: bool,
) -> Answer[ThresholdFacts]:
    """ε(λ) at whole λ with noise of standard deviation σ, all distances equal to C: the noise multiplier is σ/C."""
    orders, lines = curves.whole_grid(largest) + 1.0, []
    for index, threshold in enumerate(dict.fromkeys([first, second, third])):
        spent = steps * curves.exact(noise_multiplier / threshold, sample_rate, orders)
        epsilon = epsilon_per_order(spent, orders, np.array(delta), "classic")
        name, color = f"C = {numbers.plain(threshold)}", (look.BLUE, look.ORANGE, look.GREEN)[index]
        lines.append(Line(f"C{index}", name, orders - 1.0, epsilon, look.SOLID, color=color, explained=True))
    plot = LinePlot(
        x=curves.order_axis(
            orders - 1.0, largest, log=log_x, shown=curves.whole_span(largest, log_x, first=1.0), letter="λ"
        ),
        y=curves.value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=curves.around(lines, log_y)),
        lines=tuple(lines),
        rings=tuple(curves.rings(lines, "λ")) if sample_rate > 0.0 else (),
        end_values=False,
        names_on_lines=True,
        summary=curves.lowest_point(lines[0], "λ"),
    )
    facts = ThresholdFacts(
        best=tuple((line.name, least(line)) for line in lines),
        last=float(orders[-1] - 1.0),
        noise_multiplier=noise_multiplier,
        sample_rate=sample_rate,
        steps=steps,
        largest=largest,
    )
    return Answer(plot, facts)


def headline(f: ThresholdFacts) -> str:
    if f.sample_rate == 0:
        return UNUSED
    gives = [
        f"{name} gives {'no finite ε' if math.isnan(best.order) else f'<b>ε ≤ {numbers.up(best.value)}</b>'}"
        for name, best in f.best
    ]
    fixed = f"with the noise fixed at {setting(SIGMA, 'σ =', numbers.entered(f.noise_multiplier))}"
    return f"After {shown_steps(f.steps)} {fixed}, {', '.join(gives)}."


def metrics(f: ThresholdFacts) -> Iterator[Metric]:
    for name, best in f.best:
        if not math.isnan(best.order):
            which = "the last one shown" if best.order == f.last else "the best whole order"
            yield Metric(f"ε at {name}", f"≤ {numbers.up(best.value)}", f"λ = {best.order:.0f}, {which}")


def notes(f: ThresholdFacts) -> Iterator[Note]:
    if f.sample_rate and f.falling and f.largest < ALL_ORDERS:
        falling = " and ".join(f.falling)
        yield Note(f"{falling}: ε still decreases at the largest order shown, λ = {f.largest:.0f}.", "caution")
    if f.sample_rate and f.noise_multiplier != 1:
        yield Note("Here σ is the standard deviation of the noise, in the unit of C; the noise multiplier is σ/C.")


def formulas(f: ThresholdFacts) -> Iterator[Formula]:
    yield MOMENT
    for name, best in f.best:
        if not math.isnan(best.order):
            yield Formula(
                f"{name} (Triastcyn & Faltings 2020, Fig. 5: the moments accountant at σ/C)",
                r"\varepsilon = \tfrac1\lambda\left(T\,\psi(\lambda, C) - \ln\delta\right) ="
                rf" {numbers.tex_up(best.value)} \quad (\lambda = {best.order:.0f},\ \sigma/C)",
            )


THRESHOLDS = orders_question(
    "thresholds",
    "What does the threshold C change?",
    thresholds,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    (Renyi().family,),
    ["bdp5"],
    asks="best",
    own=THRESHOLDS_C,
    log_y=True,
)
