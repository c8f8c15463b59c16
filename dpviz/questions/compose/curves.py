"""Every accountant's ε along the steps, for one setting."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.bayesian.accountant import BayesianBound
from dpviz.accounting.bound import Bound, Kind
from dpviz.charts.marks import Column, Floor, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.gradients.law_sample import LawSample, Truth
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.questions import guessing, tight_band
from dpviz.questions.answer import Answer, Note
from dpviz.questions.compose.bayesian import Array, Promise, orders_of, weak
from dpviz.questions.compose.fields import CURVES
from dpviz.questions.compose.law import LawCost, law_cost
from dpviz.questions.gradients import Gradients, Law
from dpviz.questions.methods import NAMES, left_out, marked_steps, method, step_grid
from dpviz.questions.source import NoSample


@dataclass(frozen=True, eq=False)
class Beside:
    """What takes longer than a slider move (`beside`).

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


@dataclass(frozen=True, eq=False)
class SampledCost:
    """What a sample of the known distribution says at `steps`, shape (n,)."""

    steps: Array
    cost: LawSample


@dataclass(frozen=True, eq=False)
class ComposeFacts:
    """ε at `steps` (shape (n,), whole, increasing) under each chosen method.

    Attributes:
        bounds: key → the accountant's answer.
        left: keys of curves that there are none of under this mechanism → why.
        valid: keys of those that are bounds here, no approximations: their accountants know.
        law: Bayesian DP of a known distribution; None where it is off, is for a sample, or has no number.
        bayesian: what Bayesian DP promises for a sample; None likewise. `problem` says why there is no number.
        tight, accuracy: the tight interval, and the best attack's after all steps; None until they are there, and
            (½, 1) where the privacy loss is not known.
        rank: the tight interval of the known distribution where ranks are kept; None until it is there.
        sampled: what a sample of it would say; None until it is there, and where none is asked.
        beside: what is worked out beside the Bayesian curves of a sample; None until it is there.
    """

    steps: Array
    bounds: dict[str, Bound]
    left: Mapping[str, str] = field(default_factory=dict)
    valid: frozenset[str] = frozenset()
    law: LawCost | None = None
    bayesian: Promise | None = None
    problem: tuple[Note, ...] = field(default=())
    tight: tight_band.TightBand | None = None
    accuracy: Accuracy | None = None
    rank: tight_band.TightBand | None = None
    sampled: SampledCost | None = None
    beside: Beside | None = None

    def tightest(self) -> str | None:
        """The valid DP method with the smallest ε at the last step; None when none has one."""
        ends = {key: float(bound.epsilon[-1]) for key, bound in self.bounds.items() if key in self.valid}
        finite = {key: value for key, value in ends.items() if np.isfinite(value)}
        return min(finite, key=lambda key: finite[key]) if finite else None


def growth(
    *,
    mechanism: Mechanism,
    steps: int,
    delta: float,
    curves: tuple[str, ...],
    amplification: str,
    log_steps: bool,
    log_epsilon: bool,
    quantile: float,
    clip: str,
    delta_mu: float | None,
    failure: float,
    order: int | None,
    definition: str,
    samples: int | None,
    reading: str,
    divergence: str,
    gradients: Gradients | None,
) -> Answer[ComposeFacts]:
    """All chosen curves that there are. A sample that cannot be had is told, not raised: the other curves stand."""
    grid = step_grid(steps, log_steps)
    left = left_out(CURVES.options, mechanism)
    delta_mu = delta if delta_mu is None else delta_mu
    drawn = [key for key in curves if key not in ("bayesian", "tight", *left)]
    accountants = {key: method(key, amplification, order or 0) for key in drawn}
    bounds = {key: one.epsilon_of(mechanism, steps=grid, delta=delta) for key, one in accountants.items()}
    valid = frozenset(key for key, one in accountants.items() if one.kind is Kind.UPPER)
    facts = ComposeFacts(grid, bounds, left, valid, accuracy=Accuracy(0.5, 1.0) if "tight" in left else None)
    if "bayesian" in curves and gradients is not None and isinstance(mechanism, SampledGaussian):
        try:
            if isinstance(gradients, Law):
                asked = asdict(mechanism) | {"delta_mu": delta_mu, "definition": int(definition), "reading": reading}
                facts = replace(facts, law=law_cost(gradients, quantile, tuple(grid), order, **asked))
            else:
                found = weak(
                    gradients,
                    grid,
                    mechanism=mechanism,
                    quantile=quantile,
                    clip=clip,
                    delta_mu=delta_mu,
                    estimator_failure=failure,
                    orders=orders_of(order),
                    reading=reading,
                    divergence=divergence,
                )
                facts = replace(facts, bayesian=found)
        except ValueError as problem:
            late = isinstance(problem, NoSample) and problem.coming
            facts = replace(facts, problem=(Note(f"Bayesian DP: {problem}", "caution" if late else "problem"),))
    lines = [dp_line(facts, key, delta) for key in bounds]
    lines += [] if facts.law is None else [law_line(facts.law, delta_mu)]
    lines += [bayesian_line(found, grid, delta_mu, kept) for found, kept in drawn_of(facts.bayesian)]
    plot = LinePlot(
        x=Axis(
            "steps",
            log=log_steps,
            kind="steps",
            hover="%{x:,d} steps",
            write=numbers.steps,
            marks=tuple(map(float, marked_steps(steps))),
        ),
        y=Axis("ε", column="epsilon", log=log_epsilon, write=epsilon_up, lowest="best", reading="attack"),
        lines=tuple(lines),
        floors=() if order else tuple(floors(bounds)),
        more=tuple(tails(facts.bayesian)),
    )
    return Answer(plot, facts)


def epsilon_up(value: float) -> str:
    return numbers.epsilon(value, digits=4, up=True)


def dp_line(facts: ComposeFacts, key: str, delta: float) -> Line:
    """One accountant's curve; of a pinned state the tightest valid bound stays."""
    bound, valid = facts.bounds[key], key in facts.valid
    orders = () if np.isnan(bound.order).all() else (Column("α", bound.order, key="order"),)
    return Line(
        key,
        NAMES[key],
        facts.steps,
        bound.epsilon,
        key,
        approximate=not valid,
        hover=(guessing.allowed("right by ε alone:", bound.epsilon, delta), *orders),
        kept=key == facts.tightest(),
        label=NAMES[key] if valid else f"{NAMES[key]} (no bound)",
        explained=True,  # its accountant says why there is no value
    )


def drawn_of(found: Promise | None) -> list[tuple[BayesianBound, bool]]:
    """Bayesian DP's curves, and whether they stay when pinned."""
    if found is None:
        return []
    return [(found.main, True)] + ([(found.printed, False)] if found.printed is not None else [])


def law_line(found: LawCost, delta_mu: float) -> Line:
    """Bayesian DP of a known distribution: a bound."""
    return Line(
        "bayesian",
        "Bayesian DP of this distribution",
        found.steps,
        found.bound.upper,
        "bayesian",
        hover=bayesian_hover(found.bound.upper, found.bound.order, delta_mu),
        end=NAMES["bayesian"],
    )


def bayesian_hover(epsilon: Array, order: Array, delta_mu: float) -> tuple[Column, ...]:
    return guessing.allowed("right by ε_μ alone:", epsilon, delta_mu), Column("α", order, key="order")


def bayesian_line(found: BayesianBound, steps: Array, delta_mu: float, kept: bool) -> Line:
    """A bound that holds is solid; the estimate, as the paper prints it, dashed, and dotted where its tail decides."""
    key = "bayesian" if found.certified else "bayesian_printed"
    dominated = found.tail_dominated & (not found.certified)
    return Line(
        key,
        NAMES[key],
        steps,
        found.epsilon,
        "bayesian",
        approximate=not found.certified,
        dotted_from=float(steps[int(np.argmax(dominated))]) if dominated.any() else None,
        hover=bayesian_hover(found.epsilon, found.order, delta_mu),
        kept=kept,
        label=NAMES["bayesian"] if found.certified else None,
    )


def floors(bounds: dict[str, Bound]) -> list[Floor]:
    """Where orders end; a floor is worth a line only where some curve lies on it."""
    return [
        Floor(float(bound.floor[-1]), f"{NAMES[key]}: orders end", key)
        for key, bound in bounds.items()
        if bool(bound.at_grid_end[-1]) and float(bound.floor[-1]) > 0.5 * float(bound.epsilon[-1])
    ]


def tails(found: Promise | None) -> list[tuple[str, Array]]:
    """What the file says of the sample's tail."""
    columns = []
    for curve, _ in drawn_of(found):
        name = "bayesian" if curve.certified else "bayesian_printed"
        columns += [(f"largest_share_{name}", curve.largest_share), (f"effective_size_{name}", curve.effective_size)]
    return columns


Tight = tuple[tight_band.TightBand | None, Accuracy]


def tight_key(a: Answer[ComposeFacts]) -> Hashable | None:
    """What decides the tight interval, unless it is switched off, and the best attack's accuracy.

    None for a mechanism whose privacy loss is not known.
    """
    g = a.given
    if "tight" in a.facts.left:
        return None
    every = (g["mechanism"], g["steps"])
    return (*every, g["delta"], g["log_steps"]) if "tight" in g["curves"] else every


def tight_part(a: Answer[ComposeFacts]) -> Tight:
    """The tight interval at marked steps, and the best attack's accuracy after all of them."""
    g = a.given
    shown = "tight" in g["curves"]
    band = tight_band.along_steps(g["mechanism"], g["steps"], g["delta"], log=g["log_steps"]) if shown else None
    return band, guessing.accuracy(g["mechanism"], g["steps"])


def tight_soon(a: Answer[ComposeFacts]) -> Tight:
    """The upper ends of both."""
    g = a.given
    end = tight_band.end([(g["mechanism"], g["steps"])], g["delta"]) if "tight" in g["curves"] else None
    return end, guessing.accuracy_soon(g["mechanism"], g["steps"])


def with_tight(a: Answer[ComposeFacts], found: Tight) -> Answer[ComposeFacts]:
    """The same answer with both."""
    assert isinstance(a.plot, LinePlot)
    band, accuracy = found
    bands = a.plot.bands if band is None or band.soon else (tight_band.band(band), *a.plot.bands)
    facts = replace(a.facts, tight=band, accuracy=accuracy)
    return replace(a, plot=replace(a.plot, bands=bands), facts=facts)
