"""Bayesian DP of a sample: certified where distances have a largest, the estimate as printed, and the truth beside."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.bayesian.accountant import BayesianBound, bayesian_bound, bayesian_group, bayesian_percentile
from dpviz.charts import look
from dpviz.charts.histogram import HistogramPlot
from dpviz.charts.labels import Mark
from dpviz.charts.marks import Band
from dpviz.charts.plot import LinePlot, Plot
from dpviz.fields import numbers
from dpviz.gradients.families import tail_is_infinite
from dpviz.gradients.law_sample import Truth, true_norms_epsilon, true_vectors_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import Answer, Note, given
from dpviz.questions.compose.fields import failure_of, orders_of
from dpviz.questions.gradients import Gradients, Norms, Vectors, clipped
from dpviz.questions.question import Block

MARKS = 40  # steps at which the truth is drawn


@dataclass(frozen=True, eq=False)
class Promise:
    """What Bayesian DP promises, and what of the sample it rests on.

    Attributes:
        main: what the page speaks of: the certified bound where there is one, else the estimate as printed.
        printed: the estimate beside a certified bound.
        threshold: C, in the gradients' units.
        sensitivity: the most that clipped gradients can differ: 2C for pairs of gradients, C for plain norms.
        noise_std: σ · sensitivity, the same for DP and Bayesian DP.
        largest: d_max, where no distance can exceed it and they are independent: what a bound needs; else None.
        worst: ε_μ at T if every distance were d_max; None without one.
        size: how many distances there are.
        independent: whether no two of them share a gradient.
        described: where they come from.
        over: share of the gradients whose norm exceeds C.
    """

    main: BayesianBound
    printed: BayesianBound | None
    threshold: float
    sensitivity: float
    noise_std: float
    largest: float | None
    worst: float | None
    size: int
    independent: bool
    described: str
    over: float

    @property
    def estimate(self) -> BayesianBound | None:
        """The asymptotic estimate as printed, wherever it stands."""
        return self.printed if self.main.certified else self.main

    @property
    def curves(self) -> list[tuple[BayesianBound, bool]]:
        """Those that are drawn, and whether they stay when pinned."""
        return [(self.main, True)] + ([(self.printed, False)] if self.printed is not None else [])

    @property
    def dominated(self) -> int | None:
        """The place of the first step where one distance carries more than half of the estimate; None for none."""
        estimate = self.estimate
        if estimate is None or not bool(estimate.tail_dominated.any()):
            return None
        return int(np.argmax(estimate.tail_dominated))

    @property
    def floor_binds(self) -> bool:
        """Whether the orders' end, not the data, makes up most of ε_μ at T."""
        main = self.main
        return bool(main.at_grid_end[-1]) and float(main.floor[-1]) > 0.5 * float(main.epsilon[-1])


def weak(
    gradients: Gradients, steps: Array, *, mechanism: SampledGaussian, quantile: float, clip: str, **options: Any
) -> Promise:
    """Both curves, other keywords as in `bayesian_bound`; the noise is σ·sensitivity: DP spends exactly its ε(σ, q).

    Raises:
        ValueError: there is no sample, the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    sample = gradients.sample()
    seen = clipped(gradients, quantile, clip)
    noise_std = mechanism.noise_multiplier * seen.sensitivity

    def bound(largest: float | None) -> BayesianBound:
        return bayesian_bound(
            seen.distances,
            noise_std=noise_std,
            sample_rate=mechanism.sample_rate,
            steps=steps,
            largest_distance=largest,
            **options,
        )

    main, printed, worst = bound(None), None, None
    if seen.largest is not None:
        main, printed = bound(seen.largest), main
        worst = float(main.ceiling[-1])
    return Promise(
        main,
        printed,
        seen.threshold,
        seen.sensitivity,
        noise_std,
        seen.largest,
        worst,
        sample.size,
        sample.independent,
        sample.description,
        float(np.mean(sample.norms > seen.threshold)),
    )


# What takes longer than a slider move --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Beside:
    """What is worked out beside the curves.

    Attributes:
        steps: where the truth is known, shape (n,).
        truth: the true cost of the sample's distribution there; None for gradients that nobody drew themselves.
        infinite: the true cost is infinite at T, whatever the order.
        samples: distances at which the bound would be half of the worst case; inf where no number would do, NaN where
            none are asked for.
    """

    steps: Array
    truth: Truth | None
    infinite: bool
    samples: float


def beside_key(answer: Answer[Any]) -> Hashable | None:
    """What decides it; None where there is no Bayesian curve."""
    if answer.facts.bayesian is None:
        return None
    decide = given("mechanism", "steps", "log_steps", "quantile", "clip", "failure", "order", "reading", "divergence")
    return decide(answer), failure_of(answer.given), answer.given["gradients"].key


def beside_part(answer: Answer[Any]) -> dict[str, Beside]:
    """The truth at some steps, whether it is infinite, and how many samples would help."""
    settings, promise = answer.given, answer.facts.bayesian
    places = np.unique(np.linspace(0, answer.facts.steps.size - 1, MARKS).round().astype(int))
    steps = answer.facts.steps[places]
    orders = orders_of(settings["order"])
    if settings["clip"] != "both":
        infinite = unbounded(
            settings["gradients"], promise, settings["mechanism"].sample_rate, settings["steps"], orders[0]
        )
        return {"beside": Beside(steps, None, infinite, math.nan)}
    known: dict[str, Any] = {
        "threshold": promise.threshold,
        "noise_std": promise.noise_std,
        "sample_rate": settings["mechanism"].sample_rate,
        "steps": tuple(steps),
        "delta_mu": failure_of(settings),
        "orders": orders,
        "reading": settings["reading"],
    }
    return {"beside": Beside(steps, truth_of(settings["gradients"], known), False, enough(answer, promise, orders))}


def truth_of(gradients: Gradients, known: dict[str, Any]) -> Truth | None:
    """The interval of the true ε_μ of a clipped synthetic source; None for one that nobody drew from a distribution."""
    if isinstance(gradients, Vectors):
        return true_vectors_epsilon(dimensions=gradients.dimensions, shape=gradients.shape, **known)
    if isinstance(gradients, Norms):
        return true_norms_epsilon(gradients.family, shape=gradients.shape, **known)
    return None


def unbounded(gradients: Gradients, promise: Promise, rate: float, steps: int, order: int) -> bool:
    """Whether unclipped draws of this source cost ∞ at T whatever the order: λ = the smallest has the lightest tail."""
    if not isinstance(gradients, Vectors | Norms):
        return False
    return tail_is_infinite(
        "weibull" if isinstance(gradients, Vectors) else gradients.family,
        clipped=False,
        noise_std=promise.noise_std,
        sample_rate=rate,
        total_steps=steps,
        order=order,
        shape=gradients.shape,
    )


def enough(answer: Answer[Any], promise: Promise, orders: range) -> float:
    """m at which the certified bound would be half of what d_max throughout costs; NaN where it is already.

    NaN for the costs as printed, too: no number of samples mends those.
    """
    settings = answer.given
    if settings["divergence"] == "printed" or promise.largest is None or promise.worst is None:
        return math.nan
    if not float(promise.main.epsilon[-1]) > promise.worst / 2.0:
        return math.nan
    return dpviz.bayesian_samples(
        clipped(settings["gradients"], settings["quantile"], settings["clip"]).distances,
        largest_distance=promise.largest,
        target_epsilon=promise.worst / 2.0,
        noise_std=promise.noise_std,
        sample_rate=settings["mechanism"].sample_rate,
        steps=settings["steps"],
        delta_mu=failure_of(settings),
        estimator_failure=settings["failure"],
        orders=orders,
    )


def beside_drawn(answer: Answer[Any]) -> Plot:
    """With the truth, grey as the tight interval is."""
    beside = answer.facts.beside
    if beside.truth is None:
        return answer.plot
    assert isinstance(answer.plot, LinePlot)
    name = "distribution's true cost"
    band = Band(name, beside.steps, beside.truth.lower, beside.truth.upper, key="true", family=BAYESIAN)
    return replace(answer.plot, bands=(*answer.plot.bands, band))


# Its distances -------------------------------------------------------------------------------------------------------


def warned(answer: Answer[Any]) -> list[Block]:
    """The histogram right below the notes where one of them warns of the sample's tail."""
    promise = answer.facts.bayesian
    return [histogram(answer, promise)] if promise is not None and promise.dominated is not None else []


def distances(answer: Answer[Any]) -> list[Block]:
    """All of it."""
    promise, law = answer.facts.bayesian, answer.facts.law
    if law is not None:
        noise = numbers.plain(law.over_median * answer.given["mechanism"].noise_multiplier, digits=3)
        times = numbers.plain(law.over_median, digits=3)
        return [
            Note(
                f"Norms of a known distribution: C is {times} × the median norm, the noise's standard deviation "
                f"σC {noise} ×. No sample is drawn; distances are the clipped norms."
            )
        ]
    if promise is None:
        return [Note("Bayesian DP is switched off or has no gradients: there are no distances to show.")]
    blocks: list[Block] = [Note(sources_note(promise))]
    if not promise.main.certified:
        text = "The shares below rest on the asymptotic estimate, which is no bound at this sample size."
        blocks.append(Note(text, "caution"))
    return [*blocks, *([histogram(answer, promise)] if promise.dominated is None else []), claims(answer)]


def sources_note(promise: Promise) -> str:
    """Which gradients, threshold and noise the Bayesian curve used."""
    return (
        f"{promise.described} C = {numbers.plain(promise.threshold, digits=4)}, sensitivity "
        f"{numbers.plain(promise.sensitivity, digits=4)}, noise std {numbers.plain(promise.noise_std, digits=4)}."
    )


def histogram(answer: Answer[Any], promise: Promise) -> HistogramPlot:
    """The distances with C and the noise level marked."""
    values = clipped(answer.given["gradients"], answer.given["quantile"], answer.given["clip"]).distances
    marks = [Mark(promise.threshold, "C", f"{numbers.plain(100 * promise.over)} % of the gradients are clipped")]
    if promise.sensitivity != promise.threshold:
        marks.append(Mark(promise.sensitivity, "2C", "the most that two clipped gradients differ", look.GREEN))
    return HistogramPlot(
        values,
        promise.noise_std,
        tuple(marks),
        f"Histogram of {values.size} gradient distances with the clipping threshold and the noise level.",
        log_count=bool(np.ptp(values) > 0),
    )


def claims(answer: Answer[Any]) -> pd.DataFrame:
    """Ordinary (ε, δ) for shares of the data and for groups (Triastcyn & Faltings 2020, §4.4.1 and Appendix A)."""
    epsilon, delta_mu = float(answer.facts.bayesian.main.epsilon[-1]), failure_of(answer.given)
    rows = [
        {
            "holds for": f"{numbers.plain(100 * share, digits=8)} % of such data",
            "ε": numbers.epsilon(epsilon, up=True),
            "δ": numbers.delta(bayesian_percentile(delta_mu=delta_mu, share=share)),
        }
        for share in (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
    ]
    for size in (2, 5) if np.isfinite(epsilon) else ():
        e, d = bayesian_group(epsilon_mu=epsilon, delta_mu=delta_mu, size=size)
        rows.append({"holds for": f"groups of {size}", "ε": numbers.epsilon(e, up=True), "δ": numbers.delta(d)})
    return pd.DataFrame(rows)
