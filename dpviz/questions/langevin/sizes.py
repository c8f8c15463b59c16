"""Largest step size against ε, against the size of the data set, and against the norm that gradients are clipped to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz.charts import look
from dpviz.charts.marks import Array, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.fields.declared import flag
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin.chain import EPSILON_POINTS, Chain, ChainFacts, epsilon_grid, known, proven, step_sizes
from dpviz.questions.langevin.words import EPSILON_AXIS, about, four_digits, log_axis, wang_note, wang_region
from dpviz.questions.presets import presets

RULE = flag("lrule")
THEOREMS = {
    "theorem3": ("Theorem 3, decreasing", look.BLUE),
    "theorem4": ("Theorem 4, fixed", look.GREEN),
    "wang": ("Wang et al. 2015", look.ORANGE),
}


def sizes(chain: Chain, x: Array, largest: Callable[[str], Array], axis: Axis, place: tuple[str, float]) -> LinePlot:
    """Largest first step sizes by theorem, with the present step size and the present place along x.

    Wang et al. bound SGLD alone, and not for every ε.
    """
    symbol, now = place
    return LinePlot(
        x=axis,
        y=Axis("largest first step size", column="step_size", log=True, write=four_digits),
        lines=tuple(
            Line(theorem, name, x, largest(theorem), "moments", color=color, kept=theorem == chain.theorem)
            for theorem, (name, color) in THEOREMS.items()
            if theorem != "wang" or not chain.momentum
        ),
        regions=wang_region(chain) if symbol == "ε" else (),
        guides=(
            Guide("y", chain.step_size, f"your η₁ = {chain.step_size:g}", told=False),
            Guide("x", now, f"{symbol} = {now:g}", told=False),
        ),
    )


def against_epsilon(**setting: Any) -> Answer[ChainFacts]:
    """The largest step size for each ε, by theorem; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = epsilon_grid(chain.claim)
    facts = known(chain, epsilon=x)
    own = proven(facts.allowed.step_size[:-1])

    def largest(theorem: str) -> Array:
        return own if theorem == chain.theorem else step_sizes(chain, theorem, x)

    return Answer(sizes(chain, x, largest, EPSILON_AXIS, ("ε", chain.claim)), facts)


def against_size(*, rule: bool, **setting: Any) -> Answer[ChainFacts]:
    """The largest step size for the claim at each N, by theorem; keywords as in `Chain`, and Li et al.'s rule."""
    chain = Chain(**setting)
    x = np.unique(np.round(np.geomspace(1e3, 1e6, 7)))
    chains = [with_size(chain, float(n), rule) for n in x]

    def largest(theorem: str) -> Array:
        return np.array([for_claim(one, theorem) if one.batch_size <= one.n else np.nan for one in chains])

    axis = Axis("data set N", column="n", log=True, kind="steps", hover="N = %{x:,d}", write=numbers.steps)
    return Answer(sizes(chain, x, largest, axis, ("N", chain.n)), known(chain))


def with_size(chain: Chain, n: float, rule: bool) -> Chain:
    """The same steps for a data set of `n`, by the rule or with all else as it is."""
    other = replace(chain, n=n)
    return replace(other, batch_size=math.sqrt(n), steps=round(n), delta=1.0 / n) if rule else other


def for_claim(chain: Chain, theorem: str) -> float:
    return float(step_sizes(chain, theorem, chain.claim))


def against_clip(**setting: Any) -> Answer[ChainFacts]:
    """The largest step size for the claim at each L, by theorem; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = np.geomspace(min(0.05, chain.clip / 2.0), max(20.0, 2.0 * chain.clip), EPSILON_POINTS)

    def largest(theorem: str) -> Array:  # everything depends on L²η alone: one solution serves all L
        return np.asarray(for_claim(chain, theorem) * (chain.clip / x) ** 2)

    return Answer(sizes(chain, x, largest, log_axis("gradient norm L", "clip"), ("L", chain.clip)), known(chain))


def adds(a: Answer[ChainFacts]) -> str:
    """What the first step may be."""
    f = a.facts
    if f.largest <= 0.0:
        return f" No step size is proven to give ε = {numbers.plain(f.chain.claim)}."
    return f" For it, the first step may be at most <b>{numbers.plain(numbers.down(f.largest))}</b>."


def notes(a: Answer[ChainFacts], *more: Note) -> list[Note]:
    f, chain = a.facts, a.facts.chain
    size, claim = numbers.plain(chain.step_size), numbers.plain(chain.claim)
    above = Note(f"Your η₁ = {size} lies above what composed moments prove for ε = {claim}.", "caution")
    return [*([above] if chain.step_size > f.largest > 0 else []), *more, wang_note(chain)]


def notes_of_epsilon(a: Answer[ChainFacts]) -> list[Note]:
    """Those of the paper's example, too."""
    chain = a.facts.chain
    if (chain.n, chain.steps, chain.clip, chain.step_size) != (50_000, 10_000, 1.0, 0.103):
        return notes(a)
    cost = numbers.epsilon(a.facts.epsilon("classic"), up=True)
    printed = (
        f"Printed 0.103 at ε = 0.1: composed, those steps cost {cost} by the classic conversion. The printed 1.54e-6 "
        "of Wang et al. is their formula with ln(T/δ) for ln(2.5T/δ)."
    )
    return notes(a, Note(printed))


def notes_of_clip(a: Answer[ChainFacts]) -> list[Note]:
    power = "Composed exactly, the largest step size goes with 1/L²; Li et al. read about 1/L from their Fig. 2."
    return notes(a, Note(power))


EPSILON = about(
    "epsilon", "Largest step size against ε", against_epsilon, adds, notes_of_epsilon, presets=presets("sgfig1")
)
SIZE = about("size", "Largest step size against N", against_size, adds, notes, presets=presets("sgfig2n"), rule=RULE)
CLIP = about("clip", "Largest step size against L", against_clip, adds, notes_of_clip, presets=presets("sgfig2l"))
