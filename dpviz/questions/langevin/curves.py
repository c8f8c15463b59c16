"""What the steps cost; the largest step size against ε, N and L; and the error against step size and ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz.accounting.langevin.mse import mse_proposition5
from dpviz.charts import look
from dpviz.charts.marks import Array, Column, Guide, Line
from dpviz.charts.plot import Axis, LinePlot, Plot
from dpviz.fields import numbers
from dpviz.fields.declared import flag, number
from dpviz.questions.answer import Answer, slow_facts
from dpviz.questions.langevin.chain import (
    EPSILON_POINTS,
    Chain,
    ChainFacts,
    epsilon_grid,
    known,
    proven,
    step_marks,
    step_sizes,
    tight_interval,
    tight_key,
)
from dpviz.questions.langevin.family import EPSILON_AXIS, about, at_most, finite, four_digits, log_axis, wang_region

RULE = flag("lrule")
THEOREMS = {
    "theorem3": ("Theorem 3, decreasing", look.BLUE),
    "theorem4": ("Theorem 4, fixed", look.GREEN),
    "wang": ("Wang et al. 2015", look.ORANGE),
}
VARIANCE = number("lgam")
ERROR_AXIS = Axis("mean squared error ÷ C, at most", column="mse", log=True, write=four_digits)


def cost(**setting: Any) -> Answer[ChainFacts]:
    """ε of the steps so far by two conversions of Rényi divergences; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = step_marks(chain.steps)
    facts = known(chain, marks=x)
    lines = tuple(
        Line(
            key,
            f"Rényi {key}",
            x,
            facts.cost[key].epsilon,
            f"renyi_{key}",
            color=look.GREEN,
            hover=(Column("α", facts.cost[key].order, key="order"),),
            kept=key == "improved",
        )
        for key in ("classic", "improved")
    )
    top = max([*finite(lines), chain.claim])  # ε from 0, so that the claim shows beside what the steps cost
    noise = chain.setting.noise_multiplier(chain.schedule.at(x))
    plot = LinePlot(
        x=Axis("steps", log=True, kind="steps", hover="%{x:,d} steps", write=numbers.steps),
        y=Axis(
            "ε",
            column="epsilon",
            shown=(0.0, 1.08 * top) if 0.0 < top < 1e300 else None,
            write=at_most,
            lowest="best",
            reading="attack",
        ),
        lines=lines,
        guides=(Guide("y", chain.claim, f"claimed ε = {chain.claim:g}", noted=False),),
        columns=(Column("σ of that step", noise, key="noise_multiplier"),),
    )
    return Answer(plot, facts)


def with_band(answer: Answer[ChainFacts]) -> Plot:
    """The interval in the chart, too."""
    plot, tight = answer.plot, answer.facts.tight
    assert isinstance(plot, LinePlot)
    assert tight is not None
    return replace(plot, bands=(tight,))


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
            Guide("y", chain.step_size, f"your η₁ = {chain.step_size:g}", noted=False),
            Guide("x", now, f"{symbol} = {now:g}", noted=False),
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


def proposition5(chain: Chain, step_size: Array, variance: float) -> Array:
    """Proposition 5 as printed: η̃₀ = ε²/(c₂² L² ln(1/δ)) is the largest step size without its N and T."""
    return chain.error(step_size * chain.steps ** (2 / 3) / chain.n, variance, mse_proposition5)


def against_step_size(*, gradient_variance: float, **setting: Any) -> Answer[ChainFacts]:
    """The error bound around the best, the present and the largest private step size; keywords as in `Chain`, and Γ."""
    chain = Chain(**setting)
    facts, best = known(chain), chain.best_step_size
    places = {"least error": best, "yours": chain.step_size}
    if facts.largest > 0.0:
        places[f"largest for ε = {chain.claim:g}"] = facts.largest
    x = np.geomspace(min(places.values()) / 5.0, max(places.values()) * 5.0, EPSILON_POINTS)
    bound = chain.mse(x, gradient_variance)
    plot = LinePlot(
        x=log_axis("step size η₁", "step_size"),
        y=ERROR_AXIS,
        lines=(Line("bound", "error bound", x, bound, "moments", color=look.BLUE),),
        guides=tuple(Guide("x", at, name, noted=False) for name, at in places.items()),
    )
    return Answer(plot, facts)


def error_of_epsilon(*, gradient_variance: float, **setting: Any) -> Answer[ChainFacts]:
    """The error bound at the largest step size for each ε; keywords as in `Chain`, and Γ."""
    chain = Chain(**setting)
    x = epsilon_grid(chain.claim)
    facts = known(chain, epsilon=x)
    allowed = proven(facts.allowed.step_size[:-1])
    bound = chain.mse(allowed, gradient_variance)
    lines = [Line("composed", "largest private steps", x, bound, "moments", color=look.BLUE)]
    if not chain.momentum:
        wang = chain.mse(step_sizes(chain, "wang", x), gradient_variance)
        lines.append(Line("wang", "Wang et al. 2015", x, wang, "moments", color=look.ORANGE, kept=False))
    if chain.prints:
        y, name = proposition5(chain, allowed, gradient_variance), "Prop. 5 as printed"
        lines.append(Line("proposition5", name, x, y, "moments", color=look.GREY, approximate=True, kept=False))
    plot = LinePlot(
        x=EPSILON_AXIS,
        y=ERROR_AXIS,
        lines=tuple(lines),
        regions=wang_region(chain),
        guides=(Guide("x", chain.claim, f"claimed ε = {chain.claim:g}", noted=False),),
    )
    return Answer(plot, facts)


COST = about(
    "cost",
    cost,
    *("sgmnist", "sgsvhn", "sgmnisthmc", "sgsvhnhmc", "sgexample"),
    slow=(slow_facts(tight_key, tight_interval, drawn=with_band),),
)
EPSILON = about("epsilon", against_epsilon, "sgfig1")
SIZE = about("size", against_size, "sgfig2n", rule=RULE)
CLIP = about("clip", against_clip, "sgfig2l")
MSE = about("mse", against_step_size, gradient_variance=VARIANCE)
MSE_EPSILON = about("mse_epsilon", error_of_epsilon, gradient_variance=VARIANCE)
