"""What the questions about the largest step size share: curves by theorem, the present step, the words."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpviz.charts import look, numbers
from dpviz.charts.guides import Guide
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import Axis, LinePlot
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import Array, Chain, ChainFacts
from dpviz.questions.langevin.words import four_digits

THEOREMS = {
    "theorem3": ("Theorem 3, decreasing", look.BLUE),
    "theorem4": ("Theorem 4, fixed", look.GREEN),
    "wang": ("Wang et al. 2015", look.ORANGE),
}


def theorems(chain: Chain) -> list[str]:
    """Those that speak of this sampler: Wang et al. bound SGLD alone."""
    return [theorem for theorem in THEOREMS if theorem != "wang" or not chain.momentum]


def size_plot(
    chain: Chain, curves: Mapping[str, Array], x: Array, axis: Axis, here: Guide, regions: tuple[Region, ...] = ()
) -> LinePlot:
    """Largest first step sizes by theorem, with the present step size and the present place along x."""
    return LinePlot(
        x=axis,
        y=Axis("largest first step size", column="step_size", log=True, write=four_digits),
        lines=tuple(
            Line(key, THEOREMS[key][0], x, y, "moments", color=THEOREMS[key][1], kept=key == chain.theorem)
            for key, y in curves.items()
        ),
        regions=regions,
        guides=(Guide("y", chain.step_size, f"your η₁ = {chain.step_size:g}", told=False), here),
    )


def wang_region(chain: Chain) -> tuple[Region, ...]:
    """The ε for which the theorem of Wang et al. does not hold."""
    return () if chain.momentum else (Region(chain.wang_limit, math.inf, "Wang et al.: T too small"),)


def headline(a: Answer[ChainFacts]) -> str:
    f = a.facts
    if f.largest <= 0.0:
        return f"{words.headline(a)} No step size is proven to give ε = {numbers.plain(f.chain.claim)}."
    largest = numbers.plain(numbers.down(f.largest))
    return f"{words.headline(a)} For it, the first step may be at most <b>{largest}</b>."


def notes(a: Answer[ChainFacts], *more: Note) -> list[Note]:
    f, chain = a.facts, a.facts.chain
    built = words.notes(a)
    if chain.step_size > f.largest > 0:
        built.append(
            Note(
                f"Your η₁ = {numbers.plain(chain.step_size)} lies above what composed moments prove for ε = "
                f"{numbers.plain(chain.claim)}.",
                "caution",
            )
        )
    return [*built, *more, words.wang_note(chain)]
