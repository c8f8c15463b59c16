"""Bayesian DP of a known distribution of norms, clipped at its quantile: no γ, and what a sample of it would say."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.charts.marks import Band, Line
from dpviz.charts.plot import LinePlot, Plot
from dpviz.fields import numbers
from dpviz.gradients.law_bound import LawBound, law_bound, threshold_over_median
from dpviz.gradients.law_sample import LawSample, law_sample
from dpviz.gradients.law_tight import law_tight
from dpviz.questions import guessing, tight_band
from dpviz.questions.answer import Answer, given
from dpviz.questions.compose.fields import failure_of
from dpviz.questions.gradients import Law
from dpviz.questions.methods import NAMES, marked_steps
from dpviz.questions.source import origin
from dpviz.questions.tight_band import LARGEST_EPSILON, TightBand

ONE_IN = 4  # of the other curves' points has a value: this curve costs more
STRIDE = 3  # of those has a value of a sample: it costs more still


@dataclass(frozen=True, eq=False)
class LawCost:
    """ε_μ at `steps`, shape (n,).

    Attributes:
        bound: of the distribution itself; `order` is α.
        over_median: C ÷ the median norm: times σ, the noise that every step gets.
    """

    steps: Array
    bound: LawBound
    over_median: float

    @property
    def last(self) -> float:
        """The bound after all steps."""
        return float(self.bound.upper[-1])


def law_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The page's known distribution, mechanism and δ_μ as the library's keywords."""
    known = origin(given["gradients"])
    assert isinstance(known, Law)
    return known.clip(given["quantile"]) | asdict(given["mechanism"]) | {"delta_mu": failure_of(given)}


@remembered
def law_cost(known: Law, quantile: float, grid: tuple[float, ...], order: int | None, **asked: Any) -> LawCost:
    """The cost along some of the steps, those of the table among them; other keywords as in `LawPlan`.

    Raises:
        ValueError: there is no such quantile to clip at.
    """
    if quantile in (0.0, 1.0):
        end = "the least norm is 0" if quantile == 0.0 else "its norms have no largest"
        raise ValueError(f"{end}: a known distribution has no quantile {quantile:.0f} to clip at. Choose one between.")
    every = np.array(grid)
    spread = (every.size - 1) * np.linspace(0.0, 1.0, max(every.size // ONE_IN, 16)) ** 1.5
    listed = np.abs(every[:, None] - np.array(marked_steps(int(every[-1])))).argmin(axis=0)
    steps = every[np.union1d(spread.round().astype(int), listed)]
    orders = None if order is None else (order + 1.0,)
    bound = law_bound(**known.clip(quantile), steps=steps, orders=orders, **asked)
    return LawCost(steps, bound, threshold_over_median(known.family, known.shape, quantile))


# What is worked out beside its curve ---------------------------------------------------------------------------------


def rank_key(answer: Answer[Any]) -> Hashable | None:
    """What decides the tight value; None where no tight interval is asked, or there is none: strong form, large ε."""
    settings, law = answer.given, answer.facts.law
    if (
        law is None
        or "tight" not in settings["curves"]
        or settings["definition"] != "2"
        or not law.last <= LARGEST_EPSILON
    ):
        return None
    return given("mechanism", "steps", "log_steps", "quantile")(answer), failure_of(settings), settings["gradients"].key


def rank_part(answer: Answer[Any]) -> dict[str, TightBand]:
    """The tight interval where an example keeps its rank in every step, at marked steps; a second."""
    steps = tight_band.marked_steps(answer.given["steps"], log=answer.given["log_steps"])
    bounds = law_tight(**law_of(answer.given), steps=steps)
    return {"rank": TightBand(steps, bounds.lower, bounds.upper)}


def rank_drawn(answer: Answer[Any]) -> Plot:
    assert isinstance(answer.plot, LinePlot)
    rank = answer.facts.rank
    band = Band("Bayesian, tight", rank.x, rank.lower, rank.upper, key="bayesian_tight", family="bayesian")
    return replace(answer.plot, bands=(*answer.plot.bands, band))


@dataclass(frozen=True, eq=False)
class SampledCost:
    """What a sample of the known distribution says at `steps`, shape (n,): the bound, and the estimate as printed."""

    steps: Array
    cost: LawSample


def sampled_key(answer: Answer[Any]) -> Hashable | None:
    """What decides it; None where no sample is asked, where γ leaves nothing of δ_μ, or along the steps of one plan."""
    settings, law = answer.given, answer.facts.law
    if (
        law is None
        or settings["samples"] is None
        or settings["reading"] == "running"
        or settings["failure"] >= failure_of(settings)
    ):
        return None
    decide = given("mechanism", "steps", "log_steps", "quantile", "definition", "order", "samples", "failure")
    return decide(answer), failure_of(settings), settings["gradients"].key


def sampled_part(answer: Answer[Any]) -> dict[str, SampledCost]:
    """Both at some of the steps; some 30 ms."""
    settings = answer.given
    steps = answer.facts.law.steps[::-1][::STRIDE][::-1]
    cost = law_sample(
        **law_of(settings),
        steps=steps,
        samples=settings["samples"],
        failure=settings["failure"],
        definition=int(settings["definition"]),
        orders=None if settings["order"] is None else (settings["order"] + 1.0,),
    )
    return {"sampled": SampledCost(steps, cost)}


def sampled_drawn(answer: Answer[Any]) -> Plot:
    """With both curves: the bound solid, the estimate dashed."""
    assert isinstance(answer.plot, LinePlot)
    sampled = answer.facts.sampled

    def line(key: str, name: str, epsilon: Array, *, approximate: bool) -> Line:
        right = guessing.allowed("right by ε_μ alone:", epsilon, failure_of(answer.given))
        return Line(key, name, sampled.steps, epsilon, "bayesian", approximate=approximate, hover=(right,), kept=False)

    certified = f"certified by {numbers.steps(answer.given['samples'])} norms"
    lines = (
        line("bayesian_sample", certified, sampled.cost.certified, approximate=False),
        line("bayesian_printed", NAMES["bayesian_printed"], sampled.cost.estimate, approximate=True),
    )
    return replace(answer.plot, lines=(*answer.plot.lines, *lines))
