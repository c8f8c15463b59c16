"""From moments to δ: a tail bound for each λ, and the least of them (Abadi et al. 2016, Theorem 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.accounting.pld.quick import ZERO, quick_delta, settled
from dpviz.charts import look
from dpviz.charts.marks import Array, Band, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import units
from dpviz.questions.answer import Answer, Metric, Note, Slow
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIGMA, STEPS
from dpviz.questions.noise.needs import delta_up
from dpviz.questions.papers.fields import TAIL_EPSILON
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

ORDERS = np.arange(1.0, 33.0)
SHOWN = (1, 2, 4, 8, 16, 32)
LEAST = 1e-12  # δ
MOST = 200.0  # ε up to which the tight δ is computed: beyond, grids grow and nothing is gained
TIGHT_POINTS = 9


@dataclass(frozen=True)
class TailFacts:
    """δ at the ε asked for, and the λ that decides; the interval where it is known."""

    delta: float
    order: float
    interval: tuple[float, float] | None = None


def tail_bound(*, noise_multiplier: float, sample_rate: float, steps: int, epsilon: float) -> Answer[TailFacts]:
    """δ against ε, by each of a few λ and by the best of 1 to 32."""
    known = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate}
    moments = steps * ORDERS * np.asarray(dpviz.renyi_divergence(orders=ORDERS + 1.0, **known))
    if not np.isfinite(moments[0]):
        raise ValueError("The moments are beyond what numbers hold here: raise the noise σ or take fewer steps.")
    reach = float(((moments - np.log(LEAST)) / ORDERS).min())
    x = np.linspace(0.0, max(1.1 * reach, 1.2 * min(epsilon, 5.0 * reach)), 201)
    each = np.minimum(moments[:, None] - ORDERS[:, None] * x, 0.0)
    best = np.exp(each.min(axis=0))
    lines = [
        Line(f"order{order}", f"λ = {order}", x, np.exp(each[order - 1]), "closed_form", color=look.GREY, kept=False)
        for order in SHOWN
    ]
    lines.append(Line("moments", "least of λ ≤ 32", x, np.where(best >= LEAST / 10.0, best, np.nan), "moments"))
    plot = LinePlot(
        Axis("ε", shown=(0.0, float(x[-1])), hover="ε = %{x:,.4~r}"),
        Axis("δ", log=True, kind="delta", shown=(LEAST, 2.0), write=numbers.delta),
        tuple(lines),
        guides=(Guide("x", epsilon, f"ε = {numbers.plain(epsilon)}", told=False),),
        end_values=False,
    )
    logs = np.minimum(moments - ORDERS * epsilon, 0.0)
    return Answer(plot, TailFacts(float(np.exp(logs.min())), float(ORDERS[logs.argmin()])))


def tight_key(a: Answer[TailFacts]) -> tuple[float, ...] | None:
    """What decides the interval; None where there is none to show."""
    g = a.given
    if g["sample_rate"] == 0.0 or not 0.0 < places(a)[-1] <= MOST:
        return None
    return (g["noise_multiplier"], g["sample_rate"], g["steps"], g["epsilon"])


def places(a: Answer[TailFacts]) -> Array:
    """ε where the tight δ is computed, the one asked for among them."""
    assert isinstance(a.plot, LinePlot)
    end = float(np.asarray(a.plot.lines[0].x)[-1])
    return np.unique([*np.linspace(0.0, 0.95 * end, TIGHT_POINTS), min(a.given["epsilon"], end)])


def tight_tail(a: Answer[TailFacts]) -> Band:
    """δ from below and above."""
    x = places(a)
    mechanism = SampledGaussian(a.given["noise_multiplier"], a.given["sample_rate"])
    found = [tight_delta(mechanism, a.given["steps"], float(each)) for each in x]
    lower, upper = (np.array([float(getattr(one, side)) for one in found]) for side in ("lower", "upper"))
    here = x == a.given["epsilon"]
    upper[here] = settled(upper[here], np.asarray(tail_soon(a).upper))
    return Band("tight", x, np.maximum(lower, LEAST / 10.0), np.maximum(upper, LEAST / 10.0))


def tail_soon(a: Answer[TailFacts]) -> Band:
    """From above alone, at the ε asked for."""
    mechanism = SampledGaussian(a.given["noise_multiplier"], a.given["sample_rate"])
    most = quick_delta(mechanism, a.given["steps"], a.given["epsilon"])
    return Band("tight", np.array([a.given["epsilon"]]), ZERO, np.array([max(most, LEAST / 10.0)]))


def with_tail(a: Answer[TailFacts], found: Band) -> Answer[TailFacts]:
    """The interval in chart and facts."""
    assert isinstance(a.plot, LinePlot)
    at = int(np.abs(np.asarray(found.x) - a.given["epsilon"]).argmin())
    interval = None
    if float(found.x[at]) == a.given["epsilon"]:
        interval = float(found.lower[at]), float(found.upper[at])
    bands = (found,) if len(found.x) > 1 else ()
    return replace(a, plot=replace(a.plot, bands=bands), facts=replace(a.facts, interval=interval))


def headline(a: Answer[TailFacts]) -> str:
    f, g = a.facts, a.given
    return (
        f"After {numbers.steps(g['steps'])} steps the moments prove (ε, δ) at ε = {numbers.plain(g['epsilon'])} with "
        f"<b>δ ≤ {numbers.delta(f.delta)}</b>, by <b>λ = {f.order:.0f}</b>; each λ alone is a straight line."
    )


def metrics(a: Answer[TailFacts]) -> list[Metric]:
    f = a.facts
    known = f.interval
    said, note = "…" if tight_key(a) is not None else "not computed here", "numerically tight"
    if known is not None:
        said, least = f"≤ {delta_up(known[1])}", numbers.delta(known[0]) if known[0] > 0.0 else "…"
        note = f"numerically tight, ≥ {least}"
    return [
        Metric("δ by the moments", numbers.delta(f.delta), f"λ = {f.order:.0f} of 1 to 32"),
        Metric("δ itself", said, note),
    ]


def notes(a: Answer[TailFacts]) -> list[Note]:
    built = []
    if a.facts.order == ORDERS[-1]:
        built.append(Note("The largest λ decides: larger ones might prove a smaller δ.", "caution"))
    built.append(
        Note(
            "Grey lines: exp(α(λ) − λε) for single λ, steeper for larger λ. The blue curve is their lowest point; the "
            "grey band, the mechanism's own δ, lies below."
        )
    )
    return built


def formulas(a: Answer[TailFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Abadi et al. 2016, Theorem 2",
            r"\delta = \min_\lambda \exp\big(\alpha(\lambda) - \lambda\varepsilon\big),\quad "
            r"\alpha(\lambda) = \sum_{t=1}^T \ln \mathbb{E}\, e^{\lambda \ell_t}",
        )
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (TAIL_EPSILON,), "Mechanism": (SIGMA, units.ALL), "Show": experts(IMAGE)}


TAIL: Question[TailFacts] = Question(
    key="tail",
    title="DP-SGD, Theorem 2: from moments to δ",
    settings={"noise_multiplier": SIGMA, "sample_rate": RATE, "steps": STEPS, "epsilon": TAIL_EPSILON},
    answer=tail_bound,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Poisson sampling**, add or remove one example, Gaussian noise of std σ × sensitivity, T equal steps.
- **Markov's inequality** gives one line for each λ: P(ℓ ≥ ε) ≤ E e^(λℓ)/e^(λε). λ may be chosen afterwards.
"""
    + PUBLIC_SIZE,
    slow=(Slow(tight_key, tight_tail, with_tail, tail_soon),),
    layout=layout,
)
