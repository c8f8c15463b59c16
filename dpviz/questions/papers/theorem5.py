"""Which direction costs more? A_α ≥ B_α for symmetric noise (Mironov, Talwar, Zhang 2019, Theorem 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.accounting.renyi.both_directions import both_directions
from dpviz.charts import look
from dpviz.charts.marks import Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import Laplace, SampledGaussian
from dpviz.questions import kinds
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.kinds import SCALE
from dpviz.questions.layout import Groups, InUnits, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE, RATE, SIGMA, SIZE
from dpviz.questions.papers.fields import NOISE_KIND
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

LARGEST, POINTS = 64.0, 81
EQUAL = 1e-6  # relative; closer they are told to be one


@dataclass(frozen=True)
class DirectionFacts:
    """Over the orders shown.

    Attributes:
        holds: whether A_α ≥ B_α at each of them, but for rounding.
        same: whether the two are one.
        ratio, order: the largest ln A_α/ln B_α, and its order α.
        last: both divergences at the largest order.
    """

    holds: bool
    same: bool
    ratio: float
    order: float
    last: tuple[float, float]


def directions(*, noise: str, noise_multiplier: float, scale: float, sample_rate: float) -> Answer[DirectionFacts]:
    """ln A_α/(α − 1) and ln B_α/(α − 1) of one step against α."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 nothing is released and both are 0: choose a sampling rate above 0.")
    mechanism = Laplace(scale, sample_rate) if noise == "laplace" else SampledGaussian(noise_multiplier, sample_rate)
    x = 1.0 + np.geomspace(0.01, LARGEST - 1.0, POINTS)
    removed, added = both_directions(mechanism, x)
    seen = (added > 0.0) & np.isfinite(removed)
    ratio = np.where(seen, removed / np.where(seen, added, 1.0), 1.0)
    plot = LinePlot(
        Axis("order α", log=True, hover="α = %{x:,.4~r}"),
        Axis("Rényi divergence of one step", name="R(α)", log=True),
        (
            Line("removed", "A: removed", x, removed, "moments"),
            Line("added", "B: added", x, added, "moments", color=look.ORANGE),
        ),
        end_values=False,
    )
    most = int(ratio.argmax())
    facts = DirectionFacts(
        holds=bool((ratio >= 1.0 - EQUAL).all()),
        same=bool((np.abs(ratio - 1.0) <= EQUAL).all()),
        ratio=float(ratio[most]),
        order=float(x[most]),
        last=(float(removed[-1]), float(added[-1])),
    )
    return Answer(plot, facts)


def headline(a: Answer[DirectionFacts]) -> str:
    f = a.facts
    if f.same:
        return "Both directions cost <b>the same</b>: without sampling symmetric noise looks alike from either side."
    if not f.holds:
        return "B exceeds A at an order shown: <b>Theorem 5 says that it cannot</b>, so a number here is wrong."
    return (
        f"A removed example costs at least as much as an added one <b>at every order</b>, at most "
        f"<b>{numbers.epsilon(f.ratio, up=True)} times</b> as much, at α = {numbers.plain(f.order)}: A alone has to "
        "be computed."
    )


def metrics(a: Answer[DirectionFacts]) -> list[Metric]:
    f = a.facts
    removed, added = (numbers.epsilon(value, up=True) for value in f.last)
    at = f"at α = {numbers.plain(LARGEST)}"
    return [
        Metric("A: removed", removed, at),
        Metric("B: added", added, at),
        Metric("Largest A ÷ B", numbers.plain(f.ratio), f"of divergences, at α = {numbers.plain(f.order)}"),
    ]


def notes(a: Answer[DirectionFacts]) -> list[Note]:
    built = []
    if a.given["sample_rate"] < 1.0:
        most = numbers.plain(-math.log1p(-a.given["sample_rate"]))
        built.append(
            Note(
                f"An added example can never cost more than −ln(1 − q) = {most}, at any order: however an output "
                "looks, it may have come without the example. A removed one has no such limit under Gaussian noise."
            )
        )
    built.append(
        Note(
            "The theorem needs noise that is symmetric about a centre, no more: Gaussian, Laplace and their discrete "
            "and many-dimensional kin. It is why accountants compute one direction."
        )
    )
    return built


def formulas(a: Answer[DirectionFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Mironov, Talwar, Zhang 2019, Theorem 5",
            r"A_\alpha = \mathbb{E}_{\mu_0}\Big(\frac{\mu}{\mu_0}\Big)^{\alpha} \ge "
            r"B_\alpha = \mathbb{E}_{\mu}\Big(\frac{\mu_0}{\mu}\Big)^{\alpha},\quad "
            r"\mu = (1-q)\,\mu_0 + q\,\mu_1,\ \mu_1(z) = \mu_0(1 - z)",
        )
    ]


def layout(get: Reader) -> Groups:
    noise = SCALE if get(NOISE_KIND) == "laplace" else SIGMA
    return {"Noise": (NOISE_KIND, noise, InUnits((SIZE, RATE))), "Show": experts(IMAGE)}


THEOREM_5: Question[DirectionFacts] = Question(
    key="theorem5",
    title="Sampled Gaussian, Theorem 5: which direction costs more?",
    settings={"noise": NOISE_KIND, "noise_multiplier": SIGMA, "scale": SCALE, "sample_rate": RATE},
    answer=directions,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=f"""
- **Poisson sampling**, add or remove one example that moves the sum by all of the sensitivity, one step.
- {kinds.KINDS["gaussian"].assumes}
- {kinds.KINDS["laplace"].assumes}
- **Both are integrated**, neither is taken from the other; orders from 1.01 to 64.
"""
    + PUBLIC_SIZE,
    layout=layout,
)
