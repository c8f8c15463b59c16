"""The true δ of the planned ε, read at a stop that results chose: what if I just stop?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.accounting.adaptive.chosen_stop import chosen_stop_delta, planned_stop_epsilon
from dpviz.accounting.methods import MixtureOdometer, Tight
from dpviz.charts import Axis, Column, Floor, Guide, Line, LinePlot
from dpviz.fields import number, numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import DELTA, Answer, Formula, Metric, Note, Question, Words, cards, setting
from dpviz.questions.methods import steps_axis

MU, STOPS, FROM = number("bmu"), number("bstops"), number("bfrom")


@dataclass(frozen=True)
class ChosenStopFacts:
    """A claim that is read off a plan at a stop that results chose.

    Attributes:
        true_delta: δ of the claim, a little too large.
        first, last: the planned ε after the first step that may be the last, and after all.
        odometer: ε at δ that the odometer reads after all steps, whenever one stops.
    """

    true_delta: float
    first: float
    last: float
    odometer: float
    mu: float
    steps: int
    begin: int
    delta: float

    @property
    def times(self) -> float:
        """The true δ ÷ the claimed one."""
        return self.true_delta / self.delta

    @property
    def true_text(self) -> str:
        """The true δ, rounded up."""
        return numbers.delta(self.true_delta)


def chosen(
    *,
    mu: Annotated[float, MU],
    steps: Annotated[int, STOPS],
    begin: Annotated[int, FROM],
    delta: Annotated[float, DELTA],
) -> Answer[ChosenStopFacts]:
    """The true δ against the first step after which results may decide to stop."""
    begin = min(begin, steps)
    x = np.arange(1.0, steps + 1.0)
    true = chosen_stop_delta(mu=mu, steps=steps, delta=delta)
    planned = planned_stop_epsilon(mu=mu, steps=steps, delta=delta)
    odometer = MixtureOdometer().epsilon_of(SampledGaussian(np.sqrt(steps) / mu, 1.0), steps=x[-1:], delta=delta)
    plot = LinePlot(
        x=steps_axis(log=False, shown=(0.0, float(steps))),
        y=Axis("true δ of the planned ε", name="true δ", log=True, kind="delta", shown=(0.7 * delta, 1.4 * true[0])),
        lines=(
            Line("true", "stop chosen by results", x, true, Tight.name, hover=(Column("planned ε", planned),), end=""),
        ),
        floors=(Floor(delta, "claimed δ", "budget"),),
        guides=(Guide("x", begin, f"from step {begin}: {numbers.delta(true[begin - 1])}", sets=FROM),),
    )
    facts = ChosenStopFacts(
        true_delta=float(true[begin - 1]),
        first=float(planned[begin - 1]),
        last=float(planned[-1]),
        odometer=float(odometer.epsilon[-1]),
        mu=mu,
        steps=steps,
        begin=begin,
        delta=delta,
    )
    return Answer(plot, facts)


def headline(f: ChosenStopFacts) -> str:
    claimed, steps = numbers.delta(f.delta), setting(STOPS, str(f.steps))
    if f.begin == f.steps:
        return f"If all <b>{steps}</b> steps are taken whatever they show, the planned ε holds at its δ = {claimed}."
    begin = setting(FROM, str(f.begin))
    return (
        f"If results decide when you stop, from step <b>{begin}</b> of <b>{steps}</b> on, and you state the ε planned "
        f"for that step, its δ is not {claimed} but <b>{f.true_text}</b>, "
        f"<b>{numbers.up(f.times)} times</b> as much."
    )


def metrics(f: ChosenStopFacts) -> Iterator[Metric]:
    yield Metric("True δ", f.true_text, f"{numbers.up(f.times)} times the claimed one")
    yield Metric("Whole plan's ε instead", f"ε ≤ {numbers.up(f.last)}", "holds wherever you stop; at δ, as a filter's")
    yield Metric("Odometer instead", f"ε ≤ {numbers.up(f.odometer)}", "after all steps; less if you stop early")
    yield Metric("Read off the plan", f"{numbers.up(f.first)} to {numbers.up(f.last)}", "at the first and last stop")


def notes(f: ChosenStopFacts) -> Iterator[Note]:
    yield Note(
        "The δ is that of the worst rule for stopping: it stops where the loss so far gives most away. A stop that was "
        "fixed in advance keeps the claimed δ."
    )


def formulas(f: ChosenStopFacts) -> Iterator[Formula]:
    yield Formula(
        "the true δ, by dynamic programming backwards from T",
        r"\delta^* = \sup_{\tau \ge f} \mathbb E_P\big[(1 - e^{\varepsilon_\tau - L_\tau})_+\big],\quad "
        r"V_t(\ell) = \max\big\{(1 - e^{\varepsilon_t - \ell})_+,\ \mathbb E\, V_{t+1}(\ell + L)\big\},\quad "
        rf"L \sim \mathcal N\big(\tfrac{{\mu^2}}{{2T}}, \tfrac{{\mu^2}}{{T}}\big),\ \mu = {numbers.tex(f.mu)}",
    )


ASSUMPTIONS = """
- **Steps:** T equal Gaussian steps without sampling, together as one Gaussian mechanism of parameter μ (Dong, Roth and
  Su 2022); adding or removing one example.
- **The stop:** whoever runs it sees all results and may stop after any step from the first allowed one on, by any rule.
- **The claim:** the ε that the PLD accountant gives at δ for the steps taken, as if their number had been planned.
- **Numbers:** on a grid of losses, each step split to the two points around it; the δ shown is a little too large
  (below 1 % at δ ≥ 1e-12), never too small.
"""

CHOSEN_STOP = Question(
    "chosen",
    "What if I just stop?",
    chosen,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="true_delta",
    layout=lambda get: {"Budget": (MU, STOPS, FROM, DELTA)},
    more={"Accountants": lambda _: cards((Tight.name, MixtureOdometer.name))},
)
