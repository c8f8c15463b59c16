"""DP-SGD, Theorem 2: from moments to δ, a tail bound for each λ and the least of them (Abadi et al. 2016)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Moments, Tight
from dpviz.accounting.pld.bounds import tight_curve, tight_delta
from dpviz.accounting.pld.quick import ZERO, quick_delta, within_one_percent
from dpviz.charts import Axis, Band, Guide, Line, LinePlot, look
from dpviz.charts.marks import floats
from dpviz.fields import number, numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import RATE, SIGMA, STEPS, Answer, Formula, Metric, Note, Question, Slow, Words, setting, units
from dpviz.questions.mechanism import PUBLIC_SIZE, shown_steps

EPSILON = number("ptail")
ORDERS = np.arange(1.0, 33.0)
SHOWN_ORDERS = (1, 2, 4, 8, 16, 32)
LEAST_DELTA = 1e-12
MOST_EPSILON = 200.0  # up to which the tight δ is computed: beyond, grids grow and nothing is gained
TIGHT_POINTS = 49


@dataclass(frozen=True)
class TailFacts:
    """δ at ε.

    Attributes:
        delta, order: by the moments, and the λ that proves it.
        computed: whether the numerical accountant's δ is, as soon as that is done.
        interval: its lower and upper end at ε; None before.
        epsilon: where δ is asked for.
        end: of the chart.
    """

    delta: float
    order: float
    computed: bool
    epsilon: float
    end: float
    noise_multiplier: float
    sample_rate: float
    steps: int
    interval: tuple[float, float] | None = None

    @property
    def mechanism(self) -> SampledGaussian:
        """One step."""
        return SampledGaussian(self.noise_multiplier, self.sample_rate)


def tail_bound(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    steps: Annotated[int, STEPS],
    epsilon: Annotated[float, EPSILON],
) -> Answer[TailFacts]:
    """δ against ε, by each of a few λ and by the best of 1 to 32."""
    divergence = dpviz.renyi_divergence(orders=ORDERS + 1.0, noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    moments = steps * ORDERS * np.asarray(divergence)
    if not np.isfinite(moments[0]):
        raise ValueError(
            "The moments exceed the range of floating-point numbers: raise the noise σ or take fewer steps."
        )
    end = float(((moments - np.log(LEAST_DELTA)) / ORDERS).min())
    x = np.linspace(0.0, max(1.1 * end, 1.2 * min(epsilon, 5.0 * end)), 201)
    logs = np.minimum(moments - ORDERS * epsilon, 0.0)
    facts = TailFacts(
        delta=float(np.exp(logs.min())),
        order=float(ORDERS[logs.argmin()]),
        computed=sample_rate > 0.0 and 0.0 < float(places(x[-1], epsilon)[-1]) <= MOST_EPSILON,
        epsilon=epsilon,
        end=float(x[-1]),
        noise_multiplier=noise_multiplier,
        sample_rate=sample_rate,
        steps=steps,
    )
    plot = LinePlot(
        Axis("ε", hover="ε = %{x:,.4~r}", shown=(0.0, facts.end)),
        Axis("δ", log=True, kind="delta", shown=(1e-12, 2.0), write=numbers.delta),
        tail_lines(x, moments),
        guides=(Guide("x", epsilon, f"ε = {numbers.entered(epsilon)}", noted=False, sets=EPSILON),),
        end_values=False,
    )
    return Answer(plot, facts)


def tail_lines(x: Array, moments: Array) -> tuple[Line, ...]:
    """e^(α(λ) − λε) of a few λ in grey, and the least of all."""
    each = np.minimum(moments[:, None] - ORDERS[:, None] * x, 0.0)
    best = np.exp(each.min(axis=0))
    lines = [
        Line(f"order{order}", f"λ = {order}", x, np.exp(each[order - 1]), look.NEUTRAL, kept=False)
        for order in SHOWN_ORDERS
    ]
    least = np.where(best >= LEAST_DELTA / 10.0, best, np.nan)
    return *lines, Line(Moments.name, "least of λ ≤ 32", x, least, Moments.name)


# --- the numerical accountant's δ, once it is there -------------------------------------------------------------------


def places(end: float, epsilon: float) -> Array:
    """ε where the tight δ is computed, the one asked for among them."""
    return np.unique([*np.linspace(0.0, 0.95 * end, TIGHT_POINTS), epsilon])


def tight_key(answer: Answer[TailFacts]) -> tuple[float, ...] | None:
    """What decides the interval; None where there is none to show."""
    f = answer.facts
    return (f.noise_multiplier, f.sample_rate, f.steps, f.epsilon) if f.computed else None


def tight_tail(answer: Answer[TailFacts]) -> Band:
    """δ from below and above."""
    f = answer.facts
    x = places(f.end, f.epsilon)
    curve, asked = tight_curve(f.mechanism, f.steps, x), tight_delta(f.mechanism, f.steps, f.epsilon)
    lower, upper, here = curve.lower, curve.upper, x == f.epsilon
    lower[here], upper[here] = float(asked.lower), float(asked.upper)
    upper[here] = within_one_percent(upper[here], np.asarray(tail_soon(answer).upper))
    lower, upper = (np.maximum(end, LEAST_DELTA / 10.0) for end in (lower, upper))
    return Band(Tight().label, x, lower, upper, key=Tight.name)


def tail_soon(answer: Answer[TailFacts]) -> Band:
    """From above alone, at the ε asked for: no grid is needed where the moments prove all that is told apart."""
    f = answer.facts
    most, least = f.delta, LEAST_DELTA / 10.0
    if most > least:
        most = min(most, quick_delta(f.mechanism, f.steps, f.epsilon, least))
    return Band(Tight().label, np.array([f.epsilon]), ZERO, np.array([max(most, least)]), key=Tight.name)


def with_tail(answer: Answer[TailFacts], band: Band) -> Answer[TailFacts]:
    """The interval in facts, and in the chart as far as that reaches."""
    assert isinstance(answer.plot, LinePlot)
    facts = answer.facts
    at = int(np.abs(np.asarray(band.x) - facts.epsilon).argmin())
    if float(band.x[at]) == facts.epsilon:
        facts = replace(facts, interval=(float(band.lower[at]), float(band.upper[at])))
    x, lower, upper = (floats(values)[floats(band.x) <= facts.end] for values in (band.x, band.lower, band.upper))
    bands = (replace(band, x=x, lower=lower, upper=upper),) if len(x) > 1 else ()
    return replace(answer, plot=replace(answer.plot, bands=bands), facts=facts)


# --- words ------------------------------------------------------------------------------------------------------------


def headline(f: TailFacts) -> str:
    return (
        f"After {shown_steps(f.steps)}, the moments accountant proves <b>δ ≤ {numbers.delta(f.delta)}</b> at "
        f"{setting(EPSILON, 'ε =', numbers.entered(f.epsilon))}, with the order <b>λ = {f.order:.0f}</b>."
    )


def metrics(f: TailFacts) -> Iterator[Metric]:
    yield Metric("δ by the moments", numbers.delta(f.delta), f"λ = {f.order:.0f} of 1 to 32")
    yield numerical(f)


def numerical(f: TailFacts) -> Metric:
    """The numerical accountant's interval; its lower end is not there while a hand moves."""
    name = "δ, PLD"
    if f.interval is None:
        return Metric(name, "…" if f.computed else "not computed here", "of the mechanism itself")
    low, high = f.interval
    least = numbers.delta(numbers.rounded_down(low)) if low > 0.0 else "…"
    return Metric(name, f"≤ {numbers.delta(high)}", f"≥ {least}")


def notes(f: TailFacts) -> Iterator[Note]:
    if f.order == ORDERS[-1]:
        yield Note("The best λ is the largest one: larger ones might prove a smaller δ.", "caution")
    yield Note(
        "Grey lines are exp(α(λ) − λε) for single λ, steeper for larger λ. The blue curve is their minimum. The grey "
        "band, below it, is the true δ of the mechanism."
    )


FORMULA = Formula(
    "Abadi et al. 2016, Theorem 2",
    r"\delta = \min_\lambda \exp\big(\alpha(\lambda) - \lambda\varepsilon\big),\quad \alpha(\lambda) = \sum_{t=1}^T \ln"
    r" \mathbb{E}\, e^{\lambda \ell_t}",
)
ASSUMPTIONS = f"""
- **Poisson sampling**, add or remove one example, Gaussian noise of standard deviation σ × C, T equal steps.
- **Markov's inequality** gives one line for each λ: P(ℓ ≥ ε) ≤ E exp(λℓ)/exp(λε). λ may be chosen afterwards.
{PUBLIC_SIZE}"""

TAIL = Question(
    "tail",
    "DP-SGD, Theorem 2: from moments to δ",
    tail_bound,
    Words(headline, metrics, notes, lambda _: (FORMULA,), ASSUMPTIONS),
    asks="delta",
    layout={"Question": ("epsilon",), "Mechanism": ("noise_multiplier", units.ALL)},
    slow=(Slow(tight_key, tight_tail, with_tail, tail_soon),),
)
