"""Bayesian DP: of a known distribution of norms, bounded by an integral without γ; and of a sample.

Of a sample it is certified where distances have a largest; beside it stand the estimate as printed, and the truth.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import BayesianBound, bayesian_bound, bayesian_group, bayesian_percentile
from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.charts import Band, HistogramPlot, Line, LinePlot, Mark, Plot, look
from dpviz.fields import numbers
from dpviz.gradients.families import tail_is_infinite
from dpviz.gradients.law_bound import LawBound, law_bound, threshold_over_median
from dpviz.gradients.law_sample import LawSample, Truth, law_sample, true_norms_epsilon, true_vectors_epsilon
from dpviz.gradients.law_tight import bayesian_law_tight
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, Block, Note, given, guessing, tight_band
from dpviz.questions.gradients import Distances, Gradients, Law, Norms, Vectors, clipped
from dpviz.questions.methods import NAMES, coarse, marked_steps
from dpviz.questions.source import origin
from dpviz.questions.tight_band import LARGEST_EPSILON, TightBand, with_bands

MARKS = 40  # steps at which the truth is drawn
ONE_IN, LEAST = 4, 16  # of the other curves' points has a value: this curve costs more
CELLS = 8  # of the distribution in the tight interval: mostly .2 % of ε wider than with the library's 40, at most 4 %
STRIDE = 3  # of those has a value of a sample: it costs more still


def orders_of(order: int | None) -> range:
    """The moment orders λ that are tried."""
    return range(1, 33) if order is None else range(order, order + 1)


def failure_of(given: Mapping[str, Any]) -> float:
    """δ_μ, which is δ unless it is set."""
    failure: float = given["delta"] if given["delta_mu"] is None else given["delta_mu"]
    return failure


def decisive(answer: Answer[Any], *names: str) -> Hashable:
    """The settings that decide all parts beside Bayesian curves, and those with these names."""
    decide = given("mechanism", "steps", "log_steps", "quantile", *names)
    return decide(answer), failure_of(answer.given), answer.given["gradients"].key


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


def law_steps(grid: Array) -> Array:
    """Some of the steps of the other curves, those of the table among them where there is one."""
    share = np.linspace(0.0, 1.0, max(grid.size // ONE_IN, LEAST)) ** (1.0 if coarse() else 1.5)
    listed = [] if coarse() else marked_steps(int(grid[-1]))
    places = [np.abs(grid - one).argmin() for one in listed]
    chosen: Array = grid[np.union1d(((grid.size - 1) * share).round(), places).astype(int)]
    return chosen


@remembered
def law_cost(known: Law, quantile: float, steps: tuple[float, ...], order: int | None, **asked: Any) -> LawCost:
    """The cost along these steps; other keywords as in `LawPlan`.

    Raises:
        ValueError: there is no such quantile to clip at.
    """
    if quantile in (0.0, 1.0):
        end = "the least norm is 0" if quantile == 0.0 else "its norms have no largest"
        raise ValueError(f"{end}: a known distribution has no quantile {quantile:.0f} to clip at. Choose one between.")
    orders = None if order is None else (order + 1.0,)
    bound = law_bound(**known.clip(quantile), steps=steps, orders=orders, **asked)
    return LawCost(np.array(steps), bound, threshold_over_median(known.family, known.shape, quantile))


# What is worked out beside its curve ---------------------------------------------------------------------------------


def rank_key(answer: Answer[Any]) -> Hashable | None:
    """What decides the tight value; None where no tight interval is asked, or there is none: strong form, large ε."""
    settings, law = answer.given, answer.facts.law
    if (
        law is None
        or Tight.name not in settings["curves"]
        or settings["definition"] != "2"
        or not law.last <= LARGEST_EPSILON
    ):
        return None
    return decisive(answer)


def rank_part(answer: Answer[Any]) -> dict[str, TightBand]:
    """The tight interval where an example keeps its rank in every step, at marked steps; some 0.1 s."""
    steps = tight_band.marked_steps(answer.given["steps"], log=answer.given["log_steps"])
    bounds = bayesian_law_tight(**law_of(answer.given), steps=steps, cells=CELLS)
    return {"rank": TightBand(steps, bounds.lower, bounds.upper)}


def rank_drawn(answer: Answer[Any]) -> Plot:
    rank = answer.facts.rank
    name, key = "Bayesian, numerical", "bayesian_tight"
    return with_bands(answer, Band(name, rank.x, rank.lower, rank.upper, key=key, family=BAYESIAN))


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
    return decisive(answer, "definition", "order", "samples", "failure")


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
        return Line(key, name, sampled.steps, epsilon, BAYESIAN, approximate=approximate, hover=(right,), kept=False)

    certified = f"certified by {numbers.steps(answer.given['samples'])} norms"
    lines = (
        line("bayesian_sample", certified, sampled.cost.certified, approximate=False),
        line("bayesian_printed", NAMES["bayesian_printed"], sampled.cost.estimate, approximate=True),
    )
    return replace(answer.plot, lines=(*answer.plot.lines, *lines))


# Of a sample ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Promise:
    """What Bayesian DP promises, and what of the sample it rests on.

    Attributes:
        main: what the page speaks of: the certified bound where there is one, else the estimate as printed.
        printed: the estimate beside a certified bound.
        noise_std: σ · sensitivity, the same for DP and Bayesian DP.
        worst: ε_μ at T if every distance were d_max; None without one.
        size: how many distances there are.
        independent: whether no two of them share a gradient.
    """

    main: BayesianBound
    printed: BayesianBound | None
    noise_std: float
    worst: float | None
    size: int
    independent: bool

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


def promised(
    gradients: Gradients, steps: Array, mechanism: SampledGaussian, quantile: float, clip: str, **options: Any
) -> Promise:
    """Both curves, other keywords as in `bayesian_bound`; the noise is σ·sensitivity: DP spends exactly its ε(σ, q).

    Raises:
        ValueError: there is no sample, the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    sample, seen = gradients.sample(), clipped(gradients, quantile, clip)
    noise_std = mechanism.noise_multiplier * seen.sensitivity
    options |= {"noise_std": noise_std, "sample_rate": mechanism.sample_rate, "steps": steps}
    main, printed = bayesian_bound(seen.distances, largest_distance=None, **options), None
    if seen.largest is not None:
        main, printed = bayesian_bound(seen.distances, largest_distance=seen.largest, **options), main
    worst = None if seen.largest is None else float(main.ceiling[-1])
    return Promise(main, printed, noise_std, worst, sample.size, sample.independent)


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
    names = ("clip", "failure", "order", "reading", "divergence")
    return None if answer.facts.bayesian is None else decisive(answer, *names)


def beside_part(answer: Answer[Any]) -> dict[str, Beside]:
    """The truth at some steps, whether it is infinite, and how many samples would help."""
    settings, promise = answer.given, answer.facts.bayesian
    places = np.unique(np.linspace(0, answer.facts.steps.size - 1, MARKS).round().astype(int))
    steps, orders, drawn_from = answer.facts.steps[places], orders_of(settings["order"]), settings["gradients"]
    known: dict[str, Any] = {"noise_std": promise.noise_std, "sample_rate": settings["mechanism"].sample_rate}
    if isinstance(drawn_from, Vectors | Norms):
        known["shape"] = drawn_from.shape
    if settings["clip"] != "both":
        # λ = the smallest has the lightest tail.
        infinite = isinstance(drawn_from, Vectors | Norms) and tail_is_infinite(
            "weibull" if isinstance(drawn_from, Vectors) else drawn_from.family,
            clipped=False,
            total_steps=settings["steps"],
            order=orders[0],
            **known,
        )
        return {"beside": Beside(steps, None, infinite, math.nan)}
    known |= {"threshold": seen_of(settings).threshold, "steps": tuple(steps), "delta_mu": failure_of(settings)}
    known |= {"orders": orders, "reading": settings["reading"]}
    truth = None  # of gradients that nobody drew from a distribution
    if isinstance(drawn_from, Vectors):
        truth = true_vectors_epsilon(dimensions=drawn_from.dimensions, **known)
    elif isinstance(drawn_from, Norms):
        truth = true_norms_epsilon(drawn_from.family, **known)
    return {"beside": Beside(steps, truth, False, enough(settings, promise))}


def seen_of(settings: Mapping[str, Any]) -> Distances:
    """The sample as the page clips it."""
    return clipped(settings["gradients"], settings["quantile"], settings["clip"])


def enough(settings: Mapping[str, Any], promise: Promise) -> float:
    """m at which the certified bound would be half of what d_max throughout costs; NaN where it is already.

    NaN for the costs as printed, too: no number of samples mends those.
    """
    if settings["divergence"] == "printed" or promise.worst is None:
        return math.nan
    if not float(promise.main.epsilon[-1]) > promise.worst / 2.0:
        return math.nan
    seen = seen_of(settings)
    return dpviz.bayesian_samples(
        seen.distances,
        largest_distance=seen.largest,
        target_epsilon=promise.worst / 2.0,
        noise_std=promise.noise_std,
        sample_rate=settings["mechanism"].sample_rate,
        steps=settings["steps"],
        delta_mu=failure_of(settings),
        estimator_failure=settings["failure"],
        orders=orders_of(settings["order"]),
    )


def beside_drawn(answer: Answer[Any]) -> Plot:
    """With the truth, grey as the tight interval is."""
    beside, name = answer.facts.beside, "distribution's true cost"
    if beside.truth is None:
        return answer.plot
    return with_bands(
        answer, Band(name, beside.steps, beside.truth.lower, beside.truth.upper, key="true", family=BAYESIAN)
    )


# Its distances -------------------------------------------------------------------------------------------------------


def warned(answer: Answer[Any]) -> list[Block]:
    """The histogram right below the notes where one of them warns of the sample's tail."""
    promise = answer.facts.bayesian
    return [histogram(answer)] if promise is not None and promise.dominated is not None else []


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
    seen, source = seen_of(answer.given), answer.given["gradients"].sample().description
    c, most, noise = (numbers.plain(v, digits=4) for v in (seen.threshold, seen.sensitivity, promise.noise_std))
    source = f"{answer.given['gradients'].sample().description} C = {c}, sensitivity {most}, noise std {noise}."
    blocks: list[Block] = [Note(source)]
    if not promise.main.certified:
        text = "The shares below rest on the asymptotic estimate, which is no bound at this sample size."
        blocks.append(Note(text, "caution"))
    return [*blocks, *([histogram(answer)] if promise.dominated is None else []), claims(answer)]


def histogram(answer: Answer[Any]) -> HistogramPlot:
    """The distances with C and the noise level marked."""
    seen, promise = seen_of(answer.given), answer.facts.bayesian
    over = float(np.mean(answer.given["gradients"].sample().norms > seen.threshold))
    marks = [Mark(seen.threshold, "C", f"{numbers.plain(100 * over)} % of the gradients are clipped")]
    if seen.sensitivity != seen.threshold:
        marks.append(Mark(seen.sensitivity, "2C", "the most that two clipped gradients differ", look.GREEN))
    return HistogramPlot(
        seen.distances,
        promise.noise_std,
        tuple(marks),
        f"Histogram of {seen.distances.size} gradient distances with the clipping threshold and the noise level.",
        log_count=bool(np.ptp(seen.distances) > 0),
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
