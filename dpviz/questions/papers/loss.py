"""The privacy loss itself: its density, the tail beyond ε, and what of that tail δ counts (Abadi et al. 2016, §3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting.formula import tex
from dpviz.accounting.pld.loss_density import RESOLVED, LossDensity, loss_density
from dpviz.charts import look
from dpviz.charts.marks import Band, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, InUnits, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIGMA, SIZE, STEPS
from dpviz.questions.papers.fields import DIRECTION, LOG_DENSITY, LOSS_EPSILON, SPAN
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

SHOWN = 1e-8  # of the largest density


@dataclass(frozen=True)
class LossFacts:
    """The loss in the direction that is shown.

    Attributes:
        beyond, delta: P(L > ε) and δ(ε) of it.
        other: δ(ε) of the other direction.
        mean: E[L].
        negative: P(L < 0), when the output looks as if it came from the neighbouring data set.
        exact: whether nothing was put on a grid.
        inside: whether the chart reaches ε.
    """

    beyond: float
    delta: float
    other: float
    mean: float
    negative: float
    exact: bool
    inside: bool


def loss_law(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    epsilon: float,
    direction: str,
    span: str,
    log_density: bool,
) -> Answer[LossFacts]:
    """Density of the loss, the part beyond ε, and that part times 1 − e^(ε − L), whose area is δ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 no example is ever used and nothing can be lost: choose a sampling rate above 0.")
    mechanism, count = SampledGaussian(noise_multiplier, sample_rate), steps if span == "all" else 1
    back = "add" if direction == "remove" else "remove"
    found = loss_density(mechanism, steps=count, epsilon=epsilon, direction=direction)
    other = loss_density(mechanism, steps=count, epsilon=epsilon, direction=back)
    positive = loss_density(mechanism, steps=count, epsilon=0.0, direction=direction).beyond
    low, high, top = reach(found, SHOWN if log_density else 1e-3)
    inside = epsilon < high + 0.5 * (high - low)
    end = max(high, 1.1 * epsilon) if inside else high
    x = np.unique(np.r_[np.linspace(low, end, 301), np.clip(epsilon, low, end)])
    y = np.interp(x, found.loss, found.density, left=0.0, right=0.0)
    tail = x >= epsilon
    counted = np.where(tail, y * -np.expm1(np.minimum(epsilon - x, 0.0)), np.nan)
    plot = LinePlot(
        Axis("privacy loss L", shown=(low, end), hover="L = %{x:,.4~r}"),
        Axis(
            "density of L",
            name="density",
            log=log_density,
            shown=(SHOWN * top, 3.0 * top) if log_density else (0.0, 1.08 * top),
        ),
        (
            Line("density", "loss", x, y, "moments"),
            Line("counted", "counted in δ", x, counted, "moments", color=look.ORANGE, explained=True),
        ),
        bands=(Band("beyond ε", x[tail], np.full(tail.sum(), SHOWN * top * log_density), y[tail]),)
        if tail.sum() > 1
        else (),
        guides=(Guide("x", epsilon, f"ε = {numbers.plain(epsilon)}", told=False),),
        end_values=False,
    )
    facts = LossFacts(found.beyond, found.delta, other.delta, found.mean, max(1.0 - positive, 0.0), found.exact, inside)
    return Answer(plot, facts)


def reach(found: LossDensity, least: float) -> tuple[float, float, float]:
    """Between which losses the density is above `least` of its largest value, and that value.

    ValueError where it is no curve: two kinds of output, which show whether the example was used.
    """
    if np.isfinite(found.density).all():
        top = float(found.density.max())
        seen = found.loss[found.density > least * top]
        low, high = float(seen[0]), float(seen[-1])
        if high - low > 1e-9 * max(abs(low), abs(high)):
            return low, high, top
    raise ValueError(
        "With so little noise an output shows plainly whether the example was used: its loss has no density to be "
        "drawn. Raise the noise σ."
    )


def probability(value: float, *, exact: bool) -> str:
    """A probability; where the grid does not resolve it, a limit."""
    return numbers.delta(value) if exact or value >= 10.0 * RESOLVED else f"below {numbers.delta(10.0 * RESOLVED)}"


def headline(a: Answer[LossFacts]) -> str:
    f, g = a.facts, a.given
    after = "One step" if g["span"] == "one" else f"After {numbers.steps(g['steps'])} steps the output"
    beyond, delta = (probability(value, exact=f.exact) for value in (f.beyond, f.delta))
    return (
        f"{after} gives away more than ε = {numbers.plain(g['epsilon'])} with probability <b>{beyond}</b>; "
        f"of that δ counts <b>{delta}</b>, for a loss beyond ε breaks the promise only by its excess."
    )


def metrics(a: Answer[LossFacts]) -> list[Metric]:
    f = a.facts
    back = "example added" if a.given["direction"] == "remove" else "example removed"
    ratio = f"{numbers.plain(f.beyond / f.delta)} times δ" if f.delta > 10.0 * RESOLVED else "the grey area"
    return [
        Metric("P(L > ε)", probability(f.beyond, exact=f.exact), ratio),
        Metric("δ = E[(1 − e^(ε − L))₊]", probability(f.delta, exact=f.exact), "the area below the orange curve"),
        Metric("δ the other way", probability(f.other, exact=f.exact), f"{back}; the promise needs the larger"),
        Metric("Mean loss", numbers.epsilon(f.mean), f"below 0 with probability {numbers.plain(f.negative)}"),
    ]


def notes(a: Answer[LossFacts]) -> list[Note]:
    f, g = a.facts, a.given
    built = []
    if not f.inside:
        built.append(Note("ε lies far beyond the losses shown: lower it to see the tail.", "caution"))
    built.append(
        Note(
            "L = ln of how much likelier an output is with the example than without it. A loss just beyond ε hardly "
            "counts, one far beyond counts in full: δ lies below P(L > ε), the tail that moments bound."
        )
    )
    if g["span"] == "one" and g["sample_rate"] < 1.0:
        side = "less than ln(1 − q)" if g["direction"] == "remove" else "more than −ln(1 − q)"
        at = numbers.plain(abs(float(np.log1p(-g["sample_rate"]))))
        built.append(Note(f"Sampling cuts the loss on one side: an output never tells {side}, {at} from 0."))
    if not f.exact:
        built.append(
            Note(
                "T steps are convolved on a grid that errs upwards, fine enough for the eye; proven bounds from "
                "both sides are the grey band of “from moments to δ”."
            )
        )
    return built


def formulas(a: Answer[LossFacts]) -> list[tuple[str, str]]:
    f = a.facts
    top, bottom = ("M(D)", "M(D')") if a.given["direction"] == "remove" else ("M(D')", "M(D)")
    return [
        ("Privacy loss", rf"L = \ln\frac{{\Pr[{top} = o]}}{{\Pr[{bottom} = o]}},\quad o \sim {top}"),
        (
            "δ of this direction, and the tail",
            r"\delta(\varepsilon) = \mathbb{E}\big[(1 - e^{\varepsilon - L})_+\big] = "
            rf"{tex(f.delta)} \le \Pr[L > \varepsilon] = {tex(f.beyond)}",
        ),
    ]


def layout(get: Reader) -> Groups:
    steps = (STEPS,) if get(SPAN) == "all" else ()
    return {
        "Question": (LOSS_EPSILON, DIRECTION, SPAN),
        "Mechanism": (SIGMA, InUnits((SIZE, RATE, *steps))),
        "Show": (LOG_DENSITY, *experts(IMAGE)),
    }


LOSS: Question[LossFacts] = Question(
    key="loss",
    title="DP-SGD: the privacy loss and its tail",
    settings={
        "noise_multiplier": SIGMA,
        "sample_rate": RATE,
        "steps": STEPS,
        "epsilon": LOSS_EPSILON,
        "direction": DIRECTION,
        "span": SPAN,
        "log_density": LOG_DENSITY,
    },
    answer=loss_law,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Poisson sampling**, add or remove one example, Gaussian noise of std σ × sensitivity, T equal steps.
- **The worst example** moves the sum by all of the sensitivity at every step; others lose less.
- D has the example, D′ has not. (ε, δ)-DP asks that δ(ε) of both directions is at most δ.
"""
    + PUBLIC_SIZE,
    layout=layout,
)
