"""Slow parts of the curves: tight values, truths and samples of Bayesian DP, and the cost of tuning.

Every part has the key of what decides it, its work, and the plot of an answer that has it.
"""

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.accounting.pld.quick import quick_epsilon
from dpviz.charts import Band, Line, LinePlot, Plot
from dpviz.fields import numbers
from dpviz.gradients.families import tail_is_infinite
from dpviz.gradients.law_sample import law_sample
from dpviz.gradients.law_tight import bayesian_law_tight
from dpviz.gradients.law_truth import Truth, true_norms_epsilon, true_vectors_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, guessing, tight_band
from dpviz.questions.compose.distribution import SampledCost
from dpviz.questions.compose.facts import LONGER, ComposeFacts
from dpviz.questions.compose.sample import Beside, Promise
from dpviz.questions.gradients import Gradients, Norms, Vectors
from dpviz.questions.methods import NAMES
from dpviz.questions.tight_band import LARGEST_EPSILON, TightBand, with_bands

MARKS = 40  # steps at which the truth is shown
CELLS = 8  # of the distribution in the tight interval: mostly .2 % of ε wider than with the library's 40, at most 4 %
STRIDE = 3  # of the known distribution's points has a value of a sample: it costs more still

ComposeAnswer = Answer[ComposeFacts]


def decisive(f: ComposeFacts, *more: Hashable) -> Hashable:
    """What decides every part of Bayesian DP, and the settings that decide this one."""
    return f.mechanism, f.steps, f.log_steps, f.options.key, *more


def gaussian_of(f: ComposeFacts) -> SampledGaussian:
    """The mechanism: there is no Bayesian DP of another."""
    assert isinstance(f.mechanism, SampledGaussian)
    return f.mechanism


def law_keywords(f: ComposeFacts) -> dict[str, Any]:
    """The known distribution, mechanism and δ_μ as the library's keywords."""
    mechanism = gaussian_of(f)
    return f.options.law.clip(f.options.quantile) | {
        "noise_multiplier": mechanism.noise_multiplier,
        "sample_rate": mechanism.sample_rate,
        "delta_mu": f.options.delta_mu,
    }


def longer_key(answer: ComposeAnswer) -> Hashable | None:
    """What decides ε after `LONGER` times the steps; None where the numerical accountant is off or has no ε."""
    f = answer.facts
    return None if Tight.name not in f.curves or Tight.name in f.excluded else (f.mechanism, f.steps, f.delta)


def longer_part(answer: ComposeAnswer) -> dict[str, float]:
    """Its upper end, at most 1 % above the truth; some milliseconds."""
    f = answer.facts
    return {"longer": quick_epsilon([(f.mechanism, LONGER * f.steps)], f.delta)}


def rank_key(answer: ComposeAnswer) -> Hashable | None:
    """What decides the tight value; None where no tight interval is asked, or there is none: strong form, large ε, or
    another person in each step."""
    f = answer.facts
    if f.options.reading == "another":
        return None
    if f.law is None or Tight.name not in f.curves or f.options.definition != "2" or not f.law.last <= LARGEST_EPSILON:
        return None
    return decisive(f)


def rank_part(answer: ComposeAnswer) -> dict[str, TightBand]:
    """The tight interval where an example keeps its rank in every step, at marked steps; some 0.1 s."""
    f = answer.facts
    steps = tight_band.marked_steps(f.steps, log=f.log_steps)
    bounds = bayesian_law_tight(**law_keywords(f), steps=steps, cells=CELLS)
    return {"rank": TightBand(steps, bounds.lower, bounds.upper)}


def with_rank(answer: ComposeAnswer) -> Plot:
    rank = answer.facts.rank
    assert rank is not None
    name, key = "Bayesian (weaker), numerical", "bayesian_tight"
    return with_bands(answer, Band(name, rank.x, rank.lower, rank.upper, key=key, family=BAYESIAN))


def sampled_key(answer: ComposeAnswer) -> Hashable | None:
    """What decides it; None where no sample is asked, where γ leaves nothing of δ_μ, or along the steps of one plan."""
    f, options = answer.facts, answer.facts.options
    if f.law is None or options.samples is None or options.reading != "planned" or options.failure >= options.delta_mu:
        return None
    return decisive(f, options.definition, options.order, options.samples, options.failure)


def sampled_part(answer: ComposeAnswer) -> dict[str, SampledCost]:
    """What a sample certifies and estimates, at some of the steps; some 30 ms."""
    f, options = answer.facts, answer.facts.options
    assert f.law is not None
    assert options.samples is not None
    steps = f.law.steps[::-1][::STRIDE][::-1]
    cost = law_sample(
        **law_keywords(f),
        steps=steps,
        samples=options.samples,
        failure=options.failure,
        definition=int(options.definition),
        orders=options.renyi_orders,
    )
    return {"sampled": SampledCost(steps, cost)}


def with_sampled(answer: ComposeAnswer) -> Plot:
    """With both curves: the bound solid, the estimate dashed."""
    sampled, options = answer.facts.sampled, answer.facts.options
    assert isinstance(answer.plot, LinePlot)
    assert sampled is not None
    assert options.samples is not None

    def line(key: str, name: str, epsilon: Array, *, approximate: bool) -> Line:
        right = guessing.allowed("right by ε_μ alone:", epsilon, options.delta_mu)
        return Line(key, name, sampled.steps, epsilon, BAYESIAN, approximate=approximate, hover=(right,), kept=False)

    certified = f"weaker, certified by {numbers.steps(options.samples)} norms"
    lines = (
        line("bayesian_sample", certified, sampled.cost.certified, approximate=False),
        line("bayesian_printed", NAMES["bayesian_printed"], sampled.cost.estimate, approximate=True),
    )
    return replace(answer.plot, lines=(*answer.plot.lines, *lines))


def beside_key(answer: ComposeAnswer) -> Hashable | None:
    """What decides it; None where there is no Bayesian curve."""
    f, options = answer.facts, answer.facts.options
    if f.bayesian is None:
        return None
    return decisive(f, options.clip, options.failure, options.order, options.reading, options.divergence)


def beside_part(answer: ComposeAnswer) -> dict[str, Beside]:
    """The truth at some steps, whether it is infinite, and how many samples would help."""
    f, promise = answer.facts, answer.facts.bayesian
    assert promise is not None
    places = np.unique(np.linspace(0, f.grid.size - 1, MARKS).round().astype(int))
    steps = f.grid[places]
    if f.options.clip != "both":
        return {"beside": Beside(steps, None, infinite_cost(f, promise), math.nan)}
    return {"beside": Beside(steps, true_cost(f, promise, steps), False, enough(f, promise))}


def shape_of(gradients: Gradients) -> dict[str, float]:
    """The distribution's shape as the library's keyword; nothing for gradients that nobody drew from one."""
    return {"shape": gradients.shape} if isinstance(gradients, Vectors | Norms) else {}


def infinite_cost(f: ComposeFacts, promise: Promise) -> bool:
    """Whether the unclipped distribution costs infinitely much at every order: the smallest has the lightest tail."""
    gradients = f.options.source
    return isinstance(gradients, Vectors | Norms) and tail_is_infinite(
        "weibull" if isinstance(gradients, Vectors) else gradients.family,
        clipped=False,
        total_steps=f.steps,
        order=f.options.orders[0],
        noise_std=promise.noise_std,
        sample_rate=gaussian_of(f).sample_rate,
        **shape_of(gradients),
    )


def true_cost(f: ComposeFacts, promise: Promise, steps: Array) -> Truth | None:
    """The cost of the clipped distribution; None for gradients that nobody drew from one."""
    gradients, options = f.options.source, f.options
    asked: dict[str, Any] = shape_of(gradients) | {
        "noise_std": promise.noise_std,
        "sample_rate": gaussian_of(f).sample_rate,
        "threshold": options.distances.threshold,
        "steps": tuple(steps),
        "delta_mu": options.delta_mu,
        "orders": options.orders,
        "reading": options.reading,
    }
    if isinstance(gradients, Vectors):
        return true_vectors_epsilon(dimensions=gradients.dimensions, **asked)
    return true_norms_epsilon(gradients.family, **asked) if isinstance(gradients, Norms) else None


def enough(f: ComposeFacts, promise: Promise) -> float:
    """m at which the certified bound would be half of what d_max throughout costs; NaN where it is already.

    NaN for the costs as printed, too: no number of samples mends those.
    """
    options, seen = f.options, f.options.distances
    if options.divergence == "printed" or promise.worst is None or not promise.last > promise.worst / 2.0:
        return math.nan
    assert seen.largest is not None
    return dpviz.bayesian.bayesian_samples(
        seen.distances,
        largest_distance=seen.largest,
        target_epsilon=promise.worst / 2.0,
        noise_std=promise.noise_std,
        sample_rate=gaussian_of(f).sample_rate,
        steps=f.steps,
        delta_mu=options.delta_mu,
        estimator_failure=options.failure,
        orders=options.orders,
    )


def with_truth(answer: ComposeAnswer) -> Plot:
    """With the truth, in the hue of the curves of Bayesian DP."""
    beside, name = answer.facts.beside, "distribution's true cost"
    if beside is None or beside.truth is None:
        return answer.plot
    return with_bands(
        answer, Band(name, beside.steps, beside.truth.lower, beside.truth.upper, key="true", family=BAYESIAN)
    )


def tuned_key(answer: ComposeAnswer) -> Hashable | None:
    """What decides the cost of tuning; None for one run."""
    f = answer.facts
    return (f.mechanism, f.steps, f.delta, f.tried, f.runs_law) if f.tried > 1 else None


def tuned_part(answer: ComposeAnswer) -> dict[str, Any]:
    """ε of the best of several runs; some 0.1 s."""
    f = answer.facts
    law: Any = f.runs_law  # one of the names that the library knows
    try:
        tuned = dpviz.tuned_epsilon(mechanism=f.mechanism, steps=f.steps, delta=f.delta, runs=f.tried, law=law)
        return {"tuned": tuned}
    except ValueError as problem:
        return {"tuned": math.inf, "untuned": str(problem)}
