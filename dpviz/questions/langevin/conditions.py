"""Where does Theorem 3 speak? Its three conditions along the steps, as printed and as re-derived."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpviz.accounting.langevin.step_sizes import step_size_limits
from dpviz.charts import look
from dpviz.charts.marks import Band, Column, Line, Region
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.fields.declared import choice
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin.chain import Chain, ChainFacts, known, proven, step_marks
from dpviz.questions.langevin.words import about, finite, four_digits
from dpviz.questions.presets import presets

READING = choice("lread")


def conditions(*, reading: str, **setting: Any) -> Answer[ChainFacts]:
    """The step sizes, and between which the three conditions hold at each step; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = step_marks(chain.steps)
    facts = known(chain)
    low, high = step_size_limits(chain.setting, reading)
    third = proven(facts.largest * x**-chain.exponent)
    curves = (
        ("step", "your steps", chain.schedule.at(x), look.BLUE),
        ("first_condition", "(1) at most", np.full(x.size, high), look.BROWN),
        ("second_condition", "(2) more than", np.full(x.size, low), look.MAUVE),
        ("third_condition", "(3) less than", third, look.ORANGE),
    )
    lines = tuple(Line(key, name, x, y, "moments", color=color, kept=key == "step") for key, name, y, color in curves)
    top = np.minimum(high, third)
    private = top > low
    band = Band("private", x, np.where(private, low, np.nan), np.where(private, top, np.nan))
    noise = chain.setting.noise_multiplier(chain.schedule.at(x))
    plot = LinePlot(
        x=Axis("steps", log=True, kind="steps", hover="step %{x:,d}", write=numbers.steps),
        y=Axis("step size", column="step_size", log=True, shown=room(finite(lines)), write=four_digits),
        lines=lines,
        bands=(band,) if private.any() else (),
        regions=tuple(regions(chain, low, high)),
        end_values=False,
        columns=(Column("σ of that step", noise, key="noise_multiplier"),),
    )
    return Answer(plot, facts)


def room(values: list[float]) -> tuple[float, float] | None:
    """The range of all curves, with room for words above them."""
    low, high = min(values), max(values)
    return (low / 2.0, high * 4.0 * (high / low) ** 0.08) if low > 1e-290 and high < 1e290 else None


def regions(chain: Chain, low: float, high: float) -> list[Region]:
    """Steps at which condition (1) or (2) fails."""
    (start, stop), last = speaks(chain, low, high), float(chain.steps)
    if start > stop:
        return [Region(1.0, last, "(1) or (2) fails")]
    built = []
    if start > 1.0:
        built.append(Region(1.0, min(start, last), "(1) fails: σ < 1"))
    if stop < last:
        built.append(Region(stop, last, "(2) fails: q ≥ 1/(16σ)"))
    return built


def speaks(chain: Chain, low: float, high: float) -> tuple[float, float]:
    """First and last step at which conditions (1) and (2) hold together; first > last where they never do."""
    last = float(chain.steps)
    if not chain.exponent:
        return (1.0, last) if low < chain.step_size <= high else (2.0, 1.0)
    above, below = chain.step_size / high, chain.step_size / low
    with np.errstate(over="ignore"):
        start = max(1.0, math.ceil(above**3)) if above < 1e100 else math.inf
        stop = min(last, math.ceil(below**3) - 1.0) if below < 1e100 else last
    return start, stop


def adds(a: Answer[ChainFacts]) -> str:
    """At which steps the theorem speaks."""
    chain = a.facts.chain
    start, stop = speaks(chain, *step_size_limits(chain.setting, a.given["reading"]))
    if start > stop:
        return " <b>Theorem 3's conditions (1) and (2) hold at no step.</b>"
    if start <= 1 and stop >= chain.steps:
        return " Theorem 3's conditions (1) and (2) hold at every step."
    first, last = numbers.steps(start), numbers.steps(stop)
    return f" Conditions (1) and (2) hold only from step <b>{first}</b> to <b>{last}</b>."


def misread(a: Answer[ChainFacts]) -> list[Note]:
    """A word where the printed conditions allow what the re-derived ones do not."""
    low, high = step_size_limits(a.facts.chain.setting)
    if a.given["reading"] != "printed" or low < a.facts.chain.step_size <= high:
        return []
    return [Note("As printed (1) and (2) miss a factor q²: re-derived, η₁ lies outside of what they allow.", "caution")]


CONDITIONS = about(
    "conditions",
    "Where does Theorem 3 speak?",
    conditions,
    adds,
    misread,
    presets=presets("sgconditions"),
    reading=READING,
)
