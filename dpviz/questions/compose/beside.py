"""What is worked out beside the Bayesian curves: a synthetic distribution's true cost, and how many samples help."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.charts.marks import Band
from dpviz.charts.plot import LinePlot
from dpviz.gradients.families import tail_is_infinite
from dpviz.gradients.law_sample import Truth, true_norms_epsilon, true_vectors_epsilon
from dpviz.questions.answer import Answer
from dpviz.questions.compose.bayesian import Promise, failure_of, orders_of
from dpviz.questions.compose.curves import Beside, ComposeFacts
from dpviz.questions.gradients import Gradients, Norms, Vectors, clipped

MARKS = 40


def beside_key(a: Answer[ComposeFacts]) -> Hashable | None:
    """What decides it; None where there is no Bayesian curve."""
    if a.facts.bayesian is None:
        return None
    g = a.given
    decide = ("mechanism", "steps", "log_steps", "quantile", "clip", "failure", "order", "reading", "divergence")
    return (*(g[key] for key in decide), failure_of(g), g["gradients"].key)


def beside_part(a: Answer[ComposeFacts]) -> Beside:
    """The truth at some steps, whether it is infinite, and how many samples would help."""
    g, found = a.given, a.facts.bayesian
    assert found is not None
    places = np.unique(np.linspace(0, a.facts.steps.size - 1, MARKS).round().astype(int))
    steps = a.facts.steps[places]
    orders = orders_of(g["order"])
    if g["clip"] != "both":
        infinite = unbounded(g["gradients"], found, g["mechanism"].sample_rate, g["steps"], orders[0])
        return Beside(steps, None, infinite, math.nan)
    known: dict[str, Any] = {
        "threshold": found.threshold,
        "noise_std": found.noise_std,
        "sample_rate": g["mechanism"].sample_rate,
        "steps": tuple(steps),
        "delta_mu": failure_of(g),
        "orders": orders,
        "reading": g["reading"],
    }
    return Beside(steps, truth_of(g["gradients"], known), False, enough(a, found, orders))


def truth_of(gradients: Gradients, known: dict[str, Any]) -> Truth | None:
    """The interval of the true ε_μ of a clipped synthetic source; None for one that nobody drew from a distribution."""
    if isinstance(gradients, Vectors):
        return true_vectors_epsilon(dimensions=gradients.dimensions, shape=gradients.shape, **known)
    if isinstance(gradients, Norms):
        return true_norms_epsilon(gradients.family, shape=gradients.shape, **known)
    return None


def unbounded(gradients: Gradients, found: Promise, rate: float, steps: int, order: int) -> bool:
    """Whether unclipped draws of this source cost ∞ at T whatever the order: λ = the smallest has the lightest tail."""
    if not isinstance(gradients, Vectors | Norms):
        return False
    return tail_is_infinite(
        "weibull" if isinstance(gradients, Vectors) else gradients.family,
        clipped=False,
        noise_std=found.noise_std,
        sample_rate=rate,
        total_steps=steps,
        order=order,
        shape=gradients.shape,
    )


def enough(a: Answer[ComposeFacts], found: Promise, orders: range) -> float:
    """m at which the certified bound would be half of what d_max throughout costs; NaN where it is already.

    NaN for the costs as printed, too: no number of samples mends those.
    """
    g = a.given
    if g["divergence"] == "printed" or found.largest is None or found.worst is None:
        return math.nan
    if not float(found.main.epsilon[-1]) > found.worst / 2.0:
        return math.nan
    return dpviz.bayesian_samples(
        clipped(g["gradients"], g["quantile"], g["clip"]).distances,
        largest_distance=found.largest,
        target_epsilon=found.worst / 2.0,
        noise_std=found.noise_std,
        sample_rate=g["mechanism"].sample_rate,
        steps=g["steps"],
        delta_mu=failure_of(g),
        estimator_failure=g["failure"],
        orders=orders,
    )


def with_beside(a: Answer[ComposeFacts], found: Beside) -> Answer[ComposeFacts]:
    """The same answer with it; the truth is grey as the tight interval is."""
    facts = replace(a.facts, beside=found)
    if found.truth is None:
        return replace(a, facts=facts)
    assert isinstance(a.plot, LinePlot)
    band = Band(
        "distribution's true cost", found.steps, found.truth.lower, found.truth.upper, key="true", family="bayesian"
    )
    return replace(a, plot=replace(a.plot, bands=(*a.plot.bands, band)), facts=facts)
