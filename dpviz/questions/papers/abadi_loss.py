"""DP-SGD: the privacy loss, the tail beyond ε, and what of that tail δ counts (Abadi et al. 2016, §3.2)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.accounting.pld.loss_density import RESOLVED, LossDensity, loss_density
from dpviz.charts import Axis, Band, Guide, Line, LinePlot, look
from dpviz.fields import choice, flag, number, numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, Formula, Layout, Metric, Note, Question, Reader, Words, setting, units
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIGMA, SIZE, STEPS, shown_steps

EPSILON = number("ploss")
LEAST_DENSITY = 1e-8  # shown, of the largest density
SPAN = choice("pspan")


@dataclass(frozen=True)
class LossFacts:
    """The privacy loss of this direction, `law`, and of the `other` one.

    Attributes:
        law, other: with their tails beyond ε and their δ.
        positive: P(L > 0).
        inside: whether ε lies on the chart.
        direction: "remove" or "add", of the example.
        span: "one" step or "all".
    """

    law: LossDensity
    other: LossDensity
    positive: float
    inside: bool
    sample_rate: float
    steps: int
    epsilon: float
    direction: str
    span: str

    @property
    def delta(self) -> float:
        """δ(ε) of this direction."""
        return self.law.delta

    @property
    def resolved(self) -> bool:
        """Whether δ is larger than what the grid may add to it."""
        return self.law.delta > 10.0 * RESOLVED

    @property
    def cut(self) -> float:
        """−ln(1 − q), which bounds the loss of one step on one side; 0 where nothing does."""
        return -math.log1p(-self.sample_rate) if self.span == "one" and self.sample_rate < 1.0 else 0.0

    def probability(self, value: float) -> str:
        """A probability; where the grid does not resolve it, a limit."""
        limit = 10.0 * RESOLVED
        return numbers.delta(value) if self.law.exact or value >= limit else f"below {numbers.delta(limit)}"


def loss_law(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    steps: Annotated[int, STEPS],
    epsilon: Annotated[float, EPSILON],
    direction: Annotated[str, choice("pdir")],
    span: Annotated[str, SPAN],
    log_density: Annotated[bool, flag("plogd")],
) -> Answer[LossFacts]:
    """Density of the loss, the part beyond ε, and that part times 1 − e^(ε − L), whose area is δ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, no example is used and there is no privacy loss: choose a sampling rate above 0.")
    mechanism, count = SampledGaussian(noise_multiplier, sample_rate), steps if span == "all" else 1
    back = "add" if direction == "remove" else "remove"
    law = loss_density(mechanism, steps=count, epsilon=epsilon, direction=direction)
    low, high, top = reach(law, LEAST_DENSITY if log_density else 1e-3)
    inside = epsilon < high + 0.5 * (high - low)
    end = max(high, 1.1 * epsilon) if inside else high
    facts = LossFacts(
        law=law,
        other=loss_density(mechanism, steps=count, epsilon=epsilon, direction=back),
        positive=loss_density(mechanism, steps=count, epsilon=0.0, direction=direction).beyond,
        inside=inside,
        sample_rate=sample_rate,
        steps=steps,
        epsilon=epsilon,
        direction=direction,
        span=span,
    )
    return Answer(loss_plot(law, epsilon, (low, end), top, log_density), facts)


def loss_plot(law: LossDensity, epsilon: float, shown: tuple[float, float], top: float, log: bool) -> LinePlot:
    """The density between these losses, grey beyond ε; `top` is its largest value."""
    x = np.unique(np.r_[np.linspace(*shown, 301), np.clip(epsilon, *shown)])
    y = np.interp(x, law.loss, law.density, left=0.0, right=0.0)
    tail = x >= epsilon
    counted = np.where(tail, y * -np.expm1(np.minimum(epsilon - x, 0.0)), np.nan)
    floor = np.full(tail.sum(), LEAST_DENSITY * top * log)
    span = (LEAST_DENSITY * top, 3.0 * top) if log else (0.0, 1.08 * top)
    return LinePlot(
        Axis("privacy loss L", hover="L = %{x:,.4~r}", shown=shown),
        Axis("density of L", name="density", log=log, shown=span),
        (
            Line("density", "loss", x, y, look.SOLID),
            Line("counted", "counted in δ", x, counted, look.SOLID, color=look.ORANGE, explained=True),
        ),
        bands=(Band("beyond ε", x[tail], floor, y[tail]),) if tail.sum() > 1 else (),
        guides=(Guide("x", epsilon, f"ε = {numbers.entered(epsilon)}", noted=False, sets=EPSILON),),
        end_values=False,
    )


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


def layout(get: Reader) -> Layout:
    """T only where the loss is that of all steps."""
    mechanism = units.ALL if get(SPAN) == "all" else units.in_units(SIZE, RATE)
    return {
        "Question": ("epsilon", "direction", "span"),
        "Mechanism": ("noise_multiplier", mechanism),
        "Show": ("log_density",),
    }


def headline(f: LossFacts) -> str:
    whose = "One step" if f.span == "one" else f"After {shown_steps(f.steps)}, the output"
    return (
        f"{whose} has a privacy loss above {setting(EPSILON, 'ε =', numbers.entered(f.epsilon))} with probability "
        f"<b>{f.probability(f.law.beyond)}</b>, of which <b>{f.probability(f.law.delta)}</b> counts towards δ, because "
        "only the excess over ε counts."
    )


def metrics(f: LossFacts) -> Iterator[Metric]:
    times = f"{numbers.plain(f.law.beyond / f.law.delta)} times δ" if f.resolved else "the grey area"
    back = f"example {'added' if f.direction == 'remove' else 'removed'}; the larger of both counts"
    negative = f"below 0 with probability {numbers.plain(max(1.0 - f.positive, 0.0))}"
    yield Metric("P(L > ε)", f.probability(f.law.beyond), times)
    yield Metric("δ = E[(1 − exp(ε − L))₊]", f.probability(f.law.delta), "area below the orange curve")
    yield Metric("δ in the other direction", f.probability(f.other.delta), back)
    yield Metric("Mean loss", numbers.epsilon(f.law.mean), negative)


def notes(f: LossFacts) -> Iterator[Note]:
    if not f.inside:
        yield Note("ε is larger than every privacy loss on the chart. Choose a smaller ε to see the tail.", "caution")
    yield Note(
        "L is the logarithm of how much likelier an output is with the example than without it. A loss just above ε "
        "hardly counts towards δ; a loss far above counts fully. δ is therefore less than P(L > ε), the tail that "
        "moments bound."
    )
    if f.cut:
        limit = f"never less than ln(1 − q), {numbers.at_most(f.cut)} from 0"
        if f.direction == "add":
            limit = f"never more than −ln(1 − q), {numbers.at_most(f.cut)} from 0"
        yield Note(f"Sampling bounds the loss on one side: the loss is {limit}.")
    if not f.law.exact:
        yield Note(
            "T steps are convolved on a grid that rounds upwards and is fine enough for the chart. The grey band of "
            "“from moments to δ” has proven bounds from both sides."
        )


def formulas(f: LossFacts) -> Iterator[Formula]:
    here, there = ("D", "D'") if f.direction == "remove" else ("D'", "D")
    yield Formula("Privacy loss", rf"L = \ln\frac{{\Pr[M({here}) = o]}}{{\Pr[M({there}) = o]}},\quad o \sim M({here})")
    yield Formula(
        "δ of this direction, and the tail",
        rf"\delta(\varepsilon) = \mathbb{{E}}\big[(1 - e^{{\varepsilon - L}})_+\big] = {numbers.tex(f.law.delta)} \le"
        rf" \Pr[L > \varepsilon] = {numbers.tex(f.law.beyond)}",
    )


ASSUMPTIONS = f"""
- **Poisson sampling**, add or remove one example, Gaussian noise of standard deviation σ × C, T equal steps.
- **The worst example** changes the sum by the whole sensitivity at every step; other examples have a smaller loss.
- D contains the example, D′ does not. (ε, δ)-DP requires that δ(ε) of both directions is at most δ.
{PUBLIC_SIZE}"""

LOSS = Question(
    "loss",
    "DP-SGD: the privacy loss and its tail",
    loss_law,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="law",
    layout=layout,
)
