"""Abadi et al. 2016: its two theorems, and the privacy loss behind them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.accounting.pld.loss_density import RESOLVED, LossDensity, loss_density
from dpviz.accounting.pld.quick import ZERO, quick_delta, settled
from dpviz.accounting.solve import NoAnswer
from dpviz.charts import look
from dpviz.charts.marks import Array, Band, Column, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.layout import InUnits
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, SIZE, STEPS
from dpviz.questions.noise.needs import delta_up
from dpviz.questions.papers.fields import CLAIMED, DIRECTION, LOG_DENSITY, LOSS_EPSILON, SPAN, TAIL_EPSILON
from dpviz.questions.papers.reproduction import Facts, reproduction

# --- Theorem 1: how much noise, and which logarithm it saves ----------------------------------------------------------

MOST_STEPS = 1e7
POINTS = 25


def main_theorem(*, sample_rate: float, steps: int, delta: float, epsilon: float) -> Answer[Facts]:
    """Least σ against T by the moments accountant and by strong composition, beside the theorem's two forms."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 no example is ever used and no noise is needed: choose a sampling rate above 0.")
    here = min(float(steps), MOST_STEPS)
    x = np.unique(np.round([*np.geomspace(max(here / 1e3, 1.0), min(here * 1e2, MOST_STEPS), POINTS), here]))
    setting = {"target_epsilon": epsilon, "sample_rate": sample_rate, "delta": delta}
    moments, strong = (
        np.array([least_noise(method, steps=each, **setting) for each in x]) for method in ("moments", "strong")
    )
    form = sample_rate * np.sqrt(x * -math.log(delta)) / epsilon
    constants = moments / form
    at = int(np.flatnonzero(x == here)[0])
    c2 = float(constants[at])
    extra = np.sqrt(np.log(x / delta))
    column = (Column("c₂ here", constants, key="c2"),)
    plot = LinePlot(
        Axis("steps T", name="steps", log=True, kind="steps", hover="%{x:,d} steps", write=numbers.steps),
        Axis("least noise σ", column="noise_multiplier", log=True, write=noise_up),
        (
            Line("moments", "moments accountant", x, moments, "moments", hover=column),
            Line("theorem1", "c₂ q√(T ln(1/δ))/ε", x, c2 * form, "closed_form", approximate=True, kept=False),
            Line("standard", "× √ln(T/δ)", x, c2 * form * extra, "basic", approximate=True, kept=False),
            Line("strong", "strong composition", x, strong, "strong", color=look.MAUVE),
        ),
        guides=(Guide("x", here, f"T = {numbers.short_steps(here)}", noted=False),),
        end_values=False,
    )
    sigma = float(moments[at])
    facts = Facts(
        steps=here,
        beyond=steps > MOST_STEPS,
        covered=not math.isnan(sigma),
        sigma=sigma,
        strong=float(strong[at]),
        times=float(strong[at]) / sigma,
        c1=epsilon / (sample_rate**2 * here),  # the theorem's c₁ must exceed it
        c2=c2,
        extra=float(extra[at]),
    )
    return Answer(plot, facts)


def least_noise(method: str, **setting: Any) -> float:
    """The least σ that the method accepts; NaN where there is none."""
    try:
        return float(dpviz.solve("noise_multiplier", method=method, **setting))
    except NoAnswer:
        return math.nan


def noise_up(value: float) -> str:
    return numbers.epsilon(value, up=True)


MAIN_THEOREM = reproduction(
    "abadi",
    "theorem1",
    main_theorem,
    {"sample_rate": RATE, "steps": STEPS, "delta": DELTA, "epsilon": CLAIMED},
    lambda get: {"Question": (CLAIMED,), "Mechanism": (units.ALL, units.suggested(SIZE, get))},
)

# --- §3.2: the privacy loss, the tail beyond ε, and what of that tail δ counts ----------------------------------------

LEAST_DENSITY = 1e-8  # shown, of the largest density


def loss_law(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    epsilon: float,
    direction: str,
    span: str,
    log_density: bool,
) -> Answer[Facts]:
    """Density of the loss, the part beyond ε, and that part times 1 − e^(ε − L), whose area is δ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 no example is ever used and nothing can be lost: choose a sampling rate above 0.")
    mechanism, count = SampledGaussian(noise_multiplier, sample_rate), steps if span == "all" else 1
    back = "add" if direction == "remove" else "remove"
    law = loss_density(mechanism, steps=count, epsilon=epsilon, direction=direction)
    other = loss_density(mechanism, steps=count, epsilon=epsilon, direction=back)
    positive = loss_density(mechanism, steps=count, epsilon=0.0, direction=direction).beyond
    low, high, top = reach(law, LEAST_DENSITY if log_density else 1e-3)
    inside = epsilon < high + 0.5 * (high - low)
    end = max(high, 1.1 * epsilon) if inside else high
    x = np.unique(np.r_[np.linspace(low, end, 301), np.clip(epsilon, low, end)])
    y = np.interp(x, law.loss, law.density, left=0.0, right=0.0)
    tail = x >= epsilon
    counted = np.where(tail, y * -np.expm1(np.minimum(epsilon - x, 0.0)), np.nan)
    ends = (LEAST_DENSITY * top, 3.0 * top) if log_density else (0.0, 1.08 * top)
    floor = np.full(tail.sum(), LEAST_DENSITY * top * log_density)
    plot = LinePlot(
        Axis("privacy loss L", shown=(low, end), hover="L = %{x:,.4~r}"),
        Axis("density of L", name="density", log=log_density, shown=ends),
        (
            Line("density", "loss", x, y, "moments"),
            Line("counted", "counted in δ", x, counted, "moments", color=look.ORANGE, explained=True),
        ),
        bands=(Band("beyond ε", x[tail], floor, y[tail]),) if tail.sum() > 1 else (),
        guides=(Guide("x", epsilon, f"ε = {numbers.plain(epsilon)}", noted=False),),
        end_values=False,
    )
    resolved = law.delta > 10.0 * RESOLVED
    facts = Facts(
        beyond=law.beyond,
        delta=law.delta,
        other=other.delta,
        mean=law.mean,
        negative=max(1.0 - positive, 0.0),
        exact=law.exact,
        inside=inside,
        cut=-math.log1p(-sample_rate) if span == "one" and sample_rate < 1.0 else 0.0,
        after="One step" if span == "one" else f"After {numbers.steps(steps)} steps the output",
        ratio=f"{numbers.plain(law.beyond / law.delta)} times δ" if resolved else "the grey area",
        neighbours="example added" if direction == "remove" else "example removed",
        tail=probability(law.beyond, exact=law.exact),
        counted=probability(law.delta, exact=law.exact),
        back=probability(other.delta, exact=law.exact),
    )
    return Answer(plot, facts)


def reach(law: LossDensity, least: float) -> tuple[float, float, float]:
    """Between which losses the density is above `least` of its largest value, and that value.

    ValueError where it is no curve: two kinds of output, which show whether the example was used.
    """
    if np.isfinite(law.density).all():
        top = float(law.density.max())
        losses = law.loss[law.density > least * top]
        low, high = float(losses[0]), float(losses[-1])
        if high - low > 1e-9 * max(abs(low), abs(high)):
            return low, high, top
    raise ValueError(
        "With so little noise an output shows plainly whether the example was used: its loss has no density to be "
        "drawn. Raise the noise σ."
    )


def probability(value: float, *, exact: bool) -> str:
    """A probability; where the grid does not resolve it, a limit."""
    return numbers.delta(value) if exact or value >= 10.0 * RESOLVED else f"below {numbers.delta(10.0 * RESOLVED)}"


LOSS = reproduction(
    "abadi",
    "loss",
    loss_law,
    {
        "noise_multiplier": SIGMA,
        "sample_rate": RATE,
        "steps": STEPS,
        "epsilon": LOSS_EPSILON,
        "direction": DIRECTION,
        "span": SPAN,
        "log_density": LOG_DENSITY,
    },
    lambda get: {
        "Question": (LOSS_EPSILON, DIRECTION, SPAN),
        "Mechanism": (SIGMA, InUnits((SIZE, RATE, STEPS) if get(SPAN) == "all" else (SIZE, RATE))),
        "Show": (LOG_DENSITY,),
    },
)

# --- Theorem 2: from moments to δ, a tail bound for each λ and the least of them --------------------------------------

ORDERS = np.arange(1.0, 33.0)
SHOWN_ORDERS = (1, 2, 4, 8, 16, 32)
LEAST_DELTA = 1e-12
MOST_EPSILON = 200.0  # up to which the tight δ is computed: beyond, grids grow and nothing is gained
TIGHT_POINTS = 9


def tail_bound(*, noise_multiplier: float, sample_rate: float, steps: int, epsilon: float) -> Answer[Facts]:
    """δ against ε, by each of a few λ and by the best of 1 to 32."""
    divergence = dpviz.renyi_divergence(orders=ORDERS + 1.0, noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    moments = steps * ORDERS * np.asarray(divergence)
    if not np.isfinite(moments[0]):
        raise ValueError("The moments are beyond what numbers hold here: raise the noise σ or take fewer steps.")
    end = float(((moments - np.log(LEAST_DELTA)) / ORDERS).min())
    x = np.linspace(0.0, max(1.1 * end, 1.2 * min(epsilon, 5.0 * end)), 201)
    each = np.minimum(moments[:, None] - ORDERS[:, None] * x, 0.0)
    best = np.exp(each.min(axis=0))
    lines = [
        Line(f"order{order}", f"λ = {order}", x, np.exp(each[order - 1]), "closed_form", color=look.GREY, kept=False)
        for order in SHOWN_ORDERS
    ]
    lines.append(Line("moments", "least of λ ≤ 32", x, np.where(best >= LEAST_DELTA / 10.0, best, np.nan), "moments"))
    plot = LinePlot(
        Axis("ε", shown=(0.0, float(x[-1])), hover="ε = %{x:,.4~r}"),
        Axis("δ", log=True, kind="delta", shown=(LEAST_DELTA, 2.0), write=numbers.delta),
        tuple(lines),
        guides=(Guide("x", epsilon, f"ε = {numbers.plain(epsilon)}", noted=False),),
        end_values=False,
    )
    logs = np.minimum(moments - ORDERS * epsilon, 0.0)
    order = float(ORDERS[logs.argmin()])
    computed = sample_rate > 0.0 and 0.0 < places(x[-1], epsilon)[-1] <= MOST_EPSILON
    facts = Facts(
        delta=float(np.exp(logs.min())),
        order=order,
        last=order == ORDERS[-1],
        end=float(x[-1]),
        computed=computed,
        interval=None,
        itself="…" if computed else "not computed here",
    )
    return Answer(plot, facts)


def places(end: float, epsilon: float) -> Array:
    """ε where the tight δ is computed, the one asked for among them."""
    return np.unique([*np.linspace(0.0, 0.95 * end, TIGHT_POINTS), min(epsilon, end)])


def tight_key(answer: Answer[Facts]) -> tuple[float, ...] | None:
    """What decides the interval; None where there is none to show."""
    return tuple(answer.given.values()) if answer.facts.computed else None


def tight_tail(answer: Answer[Facts]) -> Band:
    """δ from below and above."""
    x = places(answer.facts.end, answer.given["epsilon"])
    mechanism = SampledGaussian(answer.given["noise_multiplier"], answer.given["sample_rate"])
    intervals = [tight_delta(mechanism, answer.given["steps"], float(each)) for each in x]
    lower, upper = (np.array([float(getattr(one, side)) for one in intervals]) for side in ("lower", "upper"))
    here = x == answer.given["epsilon"]
    upper[here] = settled(upper[here], np.asarray(tail_soon(answer).upper))
    return Band("tight", x, np.maximum(lower, LEAST_DELTA / 10.0), np.maximum(upper, LEAST_DELTA / 10.0))


def tail_soon(answer: Answer[Facts]) -> Band:
    """From above alone, at the ε asked for."""
    mechanism = SampledGaussian(answer.given["noise_multiplier"], answer.given["sample_rate"])
    most = quick_delta(mechanism, answer.given["steps"], answer.given["epsilon"])
    return Band("tight", np.array([answer.given["epsilon"]]), ZERO, np.array([max(most, LEAST_DELTA / 10.0)]))


def with_tail(answer: Answer[Facts], band: Band) -> Answer[Facts]:
    """The interval in chart and facts."""
    assert isinstance(answer.plot, LinePlot)
    at = int(np.abs(np.asarray(band.x) - answer.given["epsilon"]).argmin())
    interval: dict[str, Any] = {}
    if float(band.x[at]) == answer.given["epsilon"]:
        low, high = float(band.lower[at]), float(band.upper[at])
        least = numbers.delta(low) if low > 0.0 else "…"
        interval = {"interval": (low, high), "itself": f"≤ {delta_up(high)}", "least": least}
    bands = (band,) if len(band.x) > 1 else ()
    return replace(answer, plot=replace(answer.plot, bands=bands), facts=Facts(**vars(answer.facts) | interval))


TAIL = reproduction(
    "abadi",
    "tail",
    tail_bound,
    {"noise_multiplier": SIGMA, "sample_rate": RATE, "steps": STEPS, "epsilon": TAIL_EPSILON},
    {"Question": (TAIL_EPSILON,), "Mechanism": (SIGMA, units.ALL)},
    slow=(Slow(tight_key, tight_tail, with_tail, tail_soon),),
)
