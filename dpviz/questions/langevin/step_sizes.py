"""The largest first step size against ε, N and L, by theorems of three papers: which step size is private?"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import Axis, Guide, Line, LinePlot, Region, look
from dpviz.fields import flag, numbers
from dpviz.questions import Answer, Note, Words
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import Chain, proven, step_sizes
from dpviz.questions.langevin.facts import (
    EPSILON_POINTS,
    ChainFacts,
    allowed_step_sizes,
    composed,
    epsilon_grid,
    epsilon_with_other_noise,
)
from dpviz.questions.langevin.shared import controls, langevin_question, step_size_axis

RULE = flag("lrule")
THEOREMS = {
    "theorem3": ("Theorem 3, decreasing", look.BLUE),
    "theorem4": ("Theorem 4, fixed", look.GREEN),
    "wang": ("Wang et al. 2015", look.ORANGE),
}
PRINTED = (50_000.0, 10_000, 1.0, 0.103)  # N, T, L and η₁ of the example in Li et al. 2019, Section 3.1


def against_epsilon(chain: Chain) -> Answer[ChainFacts]:
    """The largest step size for each ε, by theorem."""
    x = epsilon_grid(chain.claim)
    facts = ChainFacts(chain, composed(chain), allowed_step_sizes(chain, x), epsilon_with_other_noise(chain))
    own = proven(facts.allowed.step_size[:-1])

    def largest(theorem: str) -> Array:
        return own if theorem == chain.theorem else step_sizes(chain, theorem, x)

    axis = Axis("ε", column="epsilon", log=True, hover="ε = %{x:.4~g}")
    plot = sizes(chain, x, largest, axis, Guide("x", chain.claim, f"ε = {chain.claim:g}", noted=False))
    return Answer(replace(plot, regions=wang_region(chain)), facts)


def wang_region(chain: Chain) -> tuple[Region, ...]:
    """The ε for which the theorem of Wang et al. does not hold."""
    return () if chain.momentum else (Region(chain.wang_limit, math.inf, "Wang et al.: T too small"),)


def against_size(chain: Chain, *, rule: Annotated[bool, RULE]) -> Answer[ChainFacts]:
    """The largest step size for the claim at each N, by theorem; by Li et al.'s rule, or with all else as it is."""
    x = np.unique(np.round(np.geomspace(1e3, 1e6, 7)))
    chains = [with_size(chain, float(n), rule) for n in x]

    def largest(theorem: str) -> Array:
        return np.array([for_claim(one, theorem) if one.batch_size <= one.n else np.nan for one in chains])

    axis = Axis("data set N", column="n", log=True, kind="steps", hover="N = %{x:,d}", write=numbers.steps)
    facts = of_claim(chain)
    return Answer(sizes(chain, x, largest, axis, Guide("x", chain.n, f"N = {chain.n:g}", noted=False)), facts)


def with_size(chain: Chain, n: float, rule: bool) -> Chain:
    """The same steps for a data set of `n`, by the rule or with all else as it is."""
    other = replace(chain, n=n)
    return replace(other, batch_size=math.sqrt(n), steps=round(n), delta=1.0 / n) if rule else other


def against_clip(chain: Chain) -> Answer[ChainFacts]:
    """The largest step size for the claim at each L, by theorem."""
    x = np.geomspace(min(0.05, chain.clip / 2.0), max(20.0, 2.0 * chain.clip), EPSILON_POINTS)
    facts = of_claim(chain)

    def largest(theorem: str) -> Array:  # everything depends on L²η alone: one solution serves all L
        return np.asarray(for_claim(chain, theorem) * (chain.clip / x) ** 2)

    axis = Axis("gradient norm L", column="clip", log=True, hover="gradient norm L = %{x:.4~g}")
    return Answer(sizes(chain, x, largest, axis, Guide("x", chain.clip, f"L = {chain.clip:g}", noted=False)), facts)


def of_claim(chain: Chain) -> ChainFacts:
    return ChainFacts(chain, composed(chain), allowed_step_sizes(chain), epsilon_with_other_noise(chain))


def for_claim(chain: Chain, theorem: str) -> float:
    return float(step_sizes(chain, theorem, chain.claim))


def sizes(chain: Chain, x: Array, largest: Callable[[str], Array], axis: Axis, place: Guide) -> LinePlot:
    """Largest first step sizes by theorem, with the present step size and the present place along x.

    Wang et al. bound SGLD alone, and not for every ε.
    """
    lines = [
        Line(theorem, name, x, largest(theorem), look.SOLID, color=color, kept=theorem == chain.theorem)
        for theorem, (name, color) in THEOREMS.items()
        if theorem != "wang" or not chain.momentum
    ]
    step = Guide("y", chain.step_size, f"your η₁ = {chain.step_size:g}", noted=False)
    return LinePlot(axis, step_size_axis("largest first step size"), tuple(lines), guides=(step, place))


def headline(f: ChainFacts) -> str:
    claim = f"ε ≤ {numbers.at_most(f.chain.claim)}"
    if not f.largest > 0:
        return f"No step size is proven to give {claim}."
    return (
        f"For <b>{claim}</b>, the first step size η₁ may be at most <b>{numbers.at_least(f.largest)}</b> by the "
        f"{words.accountant(f.chain)}."
    )


def notes(f: ChainFacts) -> Iterator[Note]:
    yield from words.notes(f)
    if f.chain.step_size > f.largest > 0:
        yield Note(
            f"Your η₁ = {numbers.entered(f.chain.step_size)} is larger than composed moments allow for "
            f"ε = {numbers.entered(f.chain.claim)}.",
            "caution",
        )


def notes_against_epsilon(f: ChainFacts) -> Iterator[Note]:
    yield from notes(f)
    if (f.chain.n, f.chain.steps, f.chain.clip, f.chain.step_size) == PRINTED:
        yield Note(
            f"The paper prints 0.103 at ε = 0.1. Composed, those steps cost {numbers.up(f.classic_epsilon)} with the "
            "classic conversion. The printed 1.54e-6 of Wang et al. is their formula with ln(T/δ) instead of "
            "ln(2.5T/δ)."
        )
    yield from words.wang(f)


def notes_against_size(f: ChainFacts) -> Iterator[Note]:
    yield from notes(f)
    yield from words.wang(f)


def notes_against_clip(f: ChainFacts) -> Iterator[Note]:
    yield from notes(f)
    yield Note(
        "Composed exactly, the largest step size is proportional to 1/L²; Li et al. read about 1/L from their Fig. 2."
    )
    yield from words.wang(f)


def spoken(notes: Callable[[ChainFacts], Iterator[Note]]) -> Words[ChainFacts]:
    """The words of one of these questions: only their notes differ."""
    return Words(headline, words.metrics, notes, words.formulas, words.assumptions)


EPSILON = langevin_question(
    "epsilon",
    "Largest step size against ε",
    against_epsilon,
    spoken(notes_against_epsilon),
    "sgfig1",
    asks="largest",
)
SIZE = langevin_question(
    "size",
    "Largest step size against N",
    against_size,
    spoken(notes_against_size),
    "sgfig2n",
    asks="largest",
    layout=controls(RULE),
)
CLIP = langevin_question(
    "clip",
    "Largest step size against L",
    against_clip,
    spoken(notes_against_clip),
    "sgfig2l",
    asks="largest",
)
