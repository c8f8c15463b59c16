"""The three conditions of Theorem 3 along the steps, as printed and as re-derived: where does it apply?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.charts import Area, Axis, Column, Line, LinePlot, Region, look
from dpviz.fields import choice, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Words
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import Chain, proven
from dpviz.questions.langevin.facts import ChainFacts, allowed_step_sizes, step_marks
from dpviz.questions.langevin.shared import controls, finite, langevin_question, step_size_axis
from dpviz.questions.methods import marked_steps

READING = choice("lread")


@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionsFacts(ChainFacts):
    """The steps, and how conditions (1) and (2) are read: "rederived" or "printed"."""

    reading: str

    @property
    def applies(self) -> tuple[float, float]:
        """First and last step at which conditions (1) and (2) hold together; first > last where they never do."""
        return covered_steps(self.chain, self.reading)

    @property
    def misread(self) -> bool:
        """Whether η₁ is allowed only because the conditions are read as printed."""
        low, high = self.chain.limits("rederived")
        return self.reading == "printed" and not low < self.chain.step_size <= high


def covered_steps(chain: Chain, reading: str) -> tuple[float, float]:
    """First and last step at which conditions (1) and (2) hold together; first > last where they never do."""
    (low, high), last = chain.limits(reading), float(chain.steps)
    if not chain.exponent:
        return (1.0, last) if low < chain.step_size <= high else (2.0, 1.0)
    above, below = chain.step_size / high, chain.step_size / low
    with np.errstate(over="ignore"):
        start = max(1.0, math.ceil(above**3)) if above < 1e100 else math.inf
        stop = min(last, math.ceil(below**3) - 1.0) if below < 1e100 else last
    return start, stop


def conditions(chain: Chain, *, reading: Annotated[str, READING]) -> Answer[ConditionsFacts]:
    """The step sizes, and between which the three conditions hold at each step."""
    facts = ConditionsFacts(chain, allowed_step_sizes(chain), reading=reading)
    x = step_marks(chain.steps)
    low, high = chain.limits(reading)
    own, third = chain.schedule.at(x), proven(facts.largest * x**-chain.exponent)
    bounds = (
        ("first_condition", "(1) at most", np.full(x.size, high), look.BROWN),
        ("second_condition", "(2) more than", np.full(x.size, low), look.MAUVE),
        ("third_condition", "(3) less than", third, look.ORANGE),
    )
    top = np.minimum(high, third)
    private = top > low
    area = Area(x[private], np.full(private.sum(), low), top[private], look.GREEN, 0.22, "private")
    plot = LinePlot(
        Axis(
            "steps",
            column="steps",
            log=True,
            kind="steps",
            hover="step %{x:,d}",
            write=numbers.steps,
            marks=tuple(map(float, marked_steps(chain.steps))),
        ),
        step_size_axis("step size", room_above(finite([own, *(bound for _, _, bound, _ in bounds)]))),
        (
            Line("step", "your steps", x, own, look.SOLID, color=look.BLUE),
            *(Line(key, name, x, bound, look.SOLID, color=color, kept=False) for key, name, bound, color in bounds),
        ),
        areas=(area,) if private.any() else (),
        regions=tuple(failing(chain, reading)),
        end_values=False,
        columns=(Column("σ of that step", chain.setting.noise_multiplier(own), key="noise_multiplier"),),
    )
    return Answer(plot, facts)


def room_above(values: list[float]) -> tuple[float, float] | None:
    """The range of all curves, with room for words above them."""
    low, high = min(values), max(values)
    return (low / 2.0, high * 4.0 * (high / low) ** 0.08) if low > 1e-290 and high < 1e290 else None


def failing(chain: Chain, reading: str) -> Iterator[Region]:
    """Steps at which condition (1) or (2) fails."""
    (start, stop), last = covered_steps(chain, reading), float(chain.steps)
    if start > stop:
        yield Region(1.0, last, "(1) or (2) fails")
        return
    if start > 1.0:
        yield Region(1.0, min(start, last), "(1) fails: σ < 1")
    if stop < last:
        yield Region(stop, last, "(2) fails: q ≥ 1/(16σ)")


def headline(f: ConditionsFacts) -> str:
    start, stop = f.applies
    hold = "Conditions (1) and (2) of Theorem 3 hold"
    if start > stop:
        return f"{hold} at <b>no step</b>."
    if start <= 1 and stop >= f.chain.steps:
        return f"{hold} at <b>every step</b>."
    first = "up to step" if start <= 1 else f"from step <b>{numbers.steps(start)}</b> to"
    return f"{hold} only {first} <b>{numbers.steps(stop)}</b>."


def metrics(f: ConditionsFacts) -> Iterator[Metric]:
    """What each condition demands of the step sizes, and the steps' noise."""
    low, high = f.chain.limits(f.reading)
    every = "at each step"
    yield Metric("Condition (1)", f"η ≤ {numbers.plain(high)}", every)
    yield Metric("Condition (2)", f"η > {numbers.plain(low)}", every)
    if f.largest > 0:
        name = "Condition (3)" if f.chain.exponent else "Theorem 4, as (3)"
        yield Metric(name, f"η₁ < {numbers.at_least(f.largest)}", f"ε ≤ {numbers.entered(f.chain.claim)}")
    yield words.noise_of_steps(f.chain)


def notes(f: ConditionsFacts) -> Iterator[Note]:
    yield from words.notes(f.chain)
    yield from lacking_factor(f)


def lacking_factor(f: ConditionsFacts) -> Iterator[Note]:
    """What is wrong with the conditions as printed, where that matters."""
    if f.misread:
        yield Note(
            "As printed, conditions (1) and (2) lack a factor q². Re-derived, they do not allow your η₁.", "caution"
        )


def formulas(f: ConditionsFacts) -> Iterator[Formula]:
    yield from words.formulas(f, reading=f.reading)


CONDITIONS = langevin_question(
    "conditions",
    "Where does Theorem 3 apply?",
    conditions,
    Words(headline, metrics, notes, formulas, lambda f: words.assumptions(f.chain)),
    "sgconditions",
    asks="applies",
    layout=controls(READING),
)
