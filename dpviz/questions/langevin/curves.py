"""What the steps cost; the largest step size against ε, N and L; and the error against step size and ε."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.last_iterate import ConvexLoss, last_iterate_bound, not_covered
from dpviz.accounting.langevin.step_sizes import mse_proposition5
from dpviz.charts import Column, Guide, LinePlot, Region
from dpviz.fields import flag, number, numbers
from dpviz.questions import Answer, chart
from dpviz.questions.langevin.chain import (
    EPSILON_POINTS,
    LAST,
    Chain,
    ChainFacts,
    about,
    epsilon_grid,
    finite,
    interval,
    proven,
    step_marks,
    step_sizes,
    steps_alone,
)
from dpviz.questions.tight_band import TightBand, band

TIGHT_MARKS, TIGHT_GROUPS = 12, 44
RULE = flag("lrule")
THEOREMS = ("theorem3", "theorem4", "wang")
VARIANCE = number("lgam")
SMOOTHNESS, STRONG, DIAMETER = (number(key) for key in ("lsmooth", "lstrong", "ldiam"))


def earlier_intervals(answer: Answer[ChainFacts]) -> dict[str, TightBand]:
    """The tight interval after some numbers of steps before the last one, with fewer groups."""
    last = float(answer.facts.chain.steps)
    # Denser towards the end: along a log axis ε bends upwards there, and the band is drawn straight from mark to mark.
    marks = np.unique(np.round(last ** (np.linspace(0.0, 1.0, TIGHT_MARKS) ** 0.6)))
    return {"earlier": interval(answer.facts.chain, marks[marks < last].tolist(), TIGHT_GROUPS)}


def with_last(
    facts: ChainFacts, *, last_only: bool, smoothness: float, strong_convexity: float, diameter: float
) -> ChainFacts:
    """The last model's ε for a loss with these constants; no projection at a `diameter` of 0."""
    chain, last, reason = facts.chain, None, ""
    if last_only:
        loss = ConvexLoss(smoothness, strong_convexity, diameter or math.inf)
        asked = chain.setting, chain.step_size, loss
        reason = not_covered(*asked, float(chain.steps), chain.delta)
        if chain.exponent:
            reason = "Expected a fixed step size: decreasing ones are not worked out."
        if not reason:
            last = last_iterate_bound(*asked, marks=step_marks(chain.steps), delta=chain.delta).epsilon
            last = np.minimum(last, facts.cost["improved"].epsilon)
    return replace(facts, last=last, excluded=reason)


def cost(facts: ChainFacts, **_: object) -> LinePlot:
    """ε of the steps so far by two conversions of Rényi divergences, the tight interval, and the last model's."""
    chain = facts.chain
    x = step_marks(chain.steps)
    models = "" if facts.last is None else ", all models"
    curves: dict[str, Any] = {}
    for key in ("classic", "improved"):
        bound = facts.cost[key]
        order = Column("α", bound.order, key="order")
        curves[key] = {"name": f"Rényi {key}{models}", "y": bound.epsilon, "family": f"renyi_{key}", "hover": (order,)}
    every = [bound.epsilon for bound in facts.cost.values()]
    if facts.last is not None:
        curves["last"] = facts.last
        every.append(facts.last)
    top = max([*finite(every), chain.claim])  # ε from 0, so that the claim shows beside what the steps cost
    noise = chain.setting.noise_multiplier(chain.schedule.at(x))
    return chart(
        "langevin",
        "cost",
        x,
        curves,
        y_axis={"shown": (0.0, 1.08 * top) if 0.0 < top < 1e300 else None},
        bands=() if facts.tight is None or facts.earlier is None else (band(facts.tight.after(facts.earlier)),),
        guides=(Guide("y", chain.claim, f"claimed ε = {chain.claim:g}", noted=False),),
        columns=(Column("σ of that step", noise, key="noise_multiplier"),),
    )


def wang_region(chain: Chain) -> tuple[Region, ...]:
    """The ε for which the theorem of Wang et al. does not hold."""
    return () if chain.momentum else (Region(chain.wang_limit, math.inf, "Wang et al.: T too small"),)


def sizes(
    chain: Chain, x: Array, largest: Callable[[str], Array], axis: Mapping[str, Any], place: tuple[str, float]
) -> LinePlot:
    """Largest first step sizes by theorem, with the present step size and the present place along x.

    Wang et al. bound SGLD alone, and not for every ε.
    """
    symbol, now = place
    theorems = [theorem for theorem in THEOREMS if theorem != "wang" or not chain.momentum]
    return chart(
        "langevin",
        "sizes",
        x,
        {theorem: {"y": largest(theorem), "kept": theorem == chain.theorem} for theorem in theorems},
        axis,
        regions=wang_region(chain) if symbol == "ε" else (),
        guides=(
            Guide("y", chain.step_size, f"your η₁ = {chain.step_size:g}", noted=False),
            Guide("x", now, f"{symbol} = {now:g}", noted=False),
        ),
    )


def against_epsilon(facts: ChainFacts) -> LinePlot:
    """The largest step size for each ε, by theorem."""
    chain = facts.chain
    x, own = epsilon_grid(chain.claim), proven(facts.allowed.step_size[:-1])

    def largest(theorem: str) -> Array:
        return own if theorem == chain.theorem else step_sizes(chain, theorem, x)

    return sizes(chain, x, largest, {"title": "ε", "column": "epsilon", "hover": "ε = %{x:.4~g}"}, ("ε", chain.claim))


def against_size(facts: ChainFacts, *, rule: bool) -> LinePlot:
    """The largest step size for the claim at each N, by theorem; by Li et al.'s rule, or with all else as it is."""
    chain = facts.chain
    x = np.unique(np.round(np.geomspace(1e3, 1e6, 7)))
    chains = [with_size(chain, float(n), rule) for n in x]

    def largest(theorem: str) -> Array:
        return np.array([for_claim(one, theorem) if one.batch_size <= one.n else np.nan for one in chains])

    axis = {"title": "data set N", "column": "n", "kind": "steps", "hover": "N = %{x:,d}", "write": numbers.steps}
    return sizes(chain, x, largest, axis, ("N", chain.n))


def with_size(chain: Chain, n: float, rule: bool) -> Chain:
    """The same steps for a data set of `n`, by the rule or with all else as it is."""
    other = replace(chain, n=n)
    return replace(other, batch_size=math.sqrt(n), steps=round(n), delta=1.0 / n) if rule else other


def for_claim(chain: Chain, theorem: str) -> float:
    return float(step_sizes(chain, theorem, chain.claim))


def against_clip(facts: ChainFacts) -> LinePlot:
    """The largest step size for the claim at each L, by theorem."""
    chain = facts.chain
    x = np.geomspace(min(0.05, chain.clip / 2.0), max(20.0, 2.0 * chain.clip), EPSILON_POINTS)

    def largest(theorem: str) -> Array:  # everything depends on L²η alone: one solution serves all L
        return np.asarray(for_claim(chain, theorem) * (chain.clip / x) ** 2)

    axis = {"title": "gradient norm L", "column": "clip", "hover": "gradient norm L = %{x:.4~g}"}
    return sizes(chain, x, largest, axis, ("L", chain.clip))


def against_step_size(facts: ChainFacts, *, gradient_variance: float) -> LinePlot:
    """The error bound around the best, the present and the largest private step size, with gradients' variance Γ."""
    chain = facts.chain
    places = {"least error": chain.best_step_size, "yours": chain.step_size}
    if facts.largest > 0.0:
        places[f"largest for ε = {chain.claim:g}"] = facts.largest
    x = np.geomspace(min(places.values()) / 5.0, max(places.values()) * 5.0, EPSILON_POINTS)
    guides = tuple(Guide("x", at, name, noted=False) for name, at in places.items())
    return chart("langevin", "mse", x, {"bound": chain.mse(x, gradient_variance)}, guides=guides)


def error_of_epsilon(facts: ChainFacts, *, gradient_variance: float) -> LinePlot:
    """The error bound at the largest step size for each ε, with gradients' variance Γ."""
    chain = facts.chain
    x, allowed = epsilon_grid(chain.claim), proven(facts.allowed.step_size[:-1])
    curves = {"composed": chain.mse(allowed, gradient_variance)}
    if not chain.momentum:
        curves["wang"] = chain.mse(step_sizes(chain, "wang", x), gradient_variance)
    if chain.exponent and not chain.momentum:  # what Proposition 5 speaks of
        # As printed: η̃₀ = ε²/(c₂² L² ln(1/δ)) is the largest step size without its N and T.
        printed = allowed * chain.steps ** (2 / 3) / chain.n
        curves["proposition5"] = chain.error(printed, gradient_variance, mse_proposition5)
    guides = (Guide("x", chain.claim, f"claimed ε = {chain.claim:g}", noted=False),)
    return chart("langevin", "mse_epsilon", x, curves, regions=wang_region(chain), guides=guides)


COST = about(
    "cost",
    cost,
    *("sgmnist", "sgsvhn", "sgmnisthmc", "sgsvhnhmc", "sgexample", "sglast"),
    along_steps=True,
    more_slow=((steps_alone, earlier_intervals),),
    extended=with_last,
    last_only=LAST,
    smoothness=SMOOTHNESS,
    strong_convexity=STRONG,
    diameter=DIAMETER,
)
EPSILON = about("epsilon", against_epsilon, "sgfig1", by_epsilon=True)
SIZE = about("size", against_size, "sgfig2n", rule=RULE)
CLIP = about("clip", against_clip, "sgfig2l")
MSE = about("mse", against_step_size, gradient_variance=VARIANCE)
MSE_EPSILON = about("mse_epsilon", error_of_epsilon, by_epsilon=True, gradient_variance=VARIANCE)
