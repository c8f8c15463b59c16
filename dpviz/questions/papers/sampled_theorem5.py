"""Sampled Gaussian, Theorem 5: which direction costs more, a removed or an added example (Mironov et al. 2019)?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.accounting.renyi.both_directions import both_directions
from dpviz.charts import Axis, Line, LinePlot, look
from dpviz.fields import choice, number, numbers
from dpviz.mechanisms import Laplace, SampledGaussian
from dpviz.questions import RATE, SIGMA, SIZE, Answer, Formula, Layout, Metric, Note, Question, Reader, Words, units
from dpviz.questions.mechanism import PUBLIC_SIZE

EQUAL = 1e-6  # relative: what is closer counts as one
NOISE_KIND = choice("pnoise")


@dataclass(frozen=True)
class DirectionsFacts:
    """A removed example beside an added one.

    Attributes:
        ratio, order: the largest A ÷ B of the divergences, and its α.
        holds: whether A ≥ B at every order.
        same: whether both are one.
        removed, added: the divergences at the largest order.
    """

    ratio: float
    order: float
    holds: bool
    same: bool
    removed: float
    added: float
    sample_rate: float

    @property
    def most(self) -> float:
        """−ln(1 − q), the most that an added example costs at any order; 0 where there is no such limit."""
        return -math.log1p(-self.sample_rate) if self.sample_rate < 1.0 else 0.0


def directions(
    *,
    noise: Annotated[str, NOISE_KIND],
    noise_multiplier: Annotated[float, SIGMA],
    scale: Annotated[float, number("b")],
    sample_rate: Annotated[float, RATE],
) -> Answer[DirectionsFacts]:
    """ln A_α/(α − 1) and ln B_α/(α − 1) of one step against α."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, nothing is released and both are 0: choose a sampling rate above 0.")
    mechanism = Laplace(scale, sample_rate) if noise == "laplace" else SampledGaussian(noise_multiplier, sample_rate)
    x = 1.0 + np.geomspace(0.01, 63.0, 81)
    removed, added = both_directions(mechanism, x)
    both = (added > 0.0) & np.isfinite(removed)
    ratio = np.where(both, removed / np.where(both, added, 1.0), 1.0)
    plot = LinePlot(
        Axis("order α", log=True, hover="α = %{x:,.4~r}"),
        Axis("Rényi divergence of one step", name="R(α)", log=True),
        (
            Line("removed", "A: removed", x, removed, look.SOLID),
            Line("added", "B: added", x, added, look.SOLID, color=look.ORANGE),
        ),
        end_values=False,
    )
    largest = int(ratio.argmax())
    facts = DirectionsFacts(
        ratio=float(ratio[largest]),
        order=float(x[largest]),
        holds=bool((ratio >= 1.0 - EQUAL).all()),
        same=bool((np.abs(ratio - 1.0) <= EQUAL).all()),
        removed=float(removed[-1]),
        added=float(added[-1]),
        sample_rate=sample_rate,
    )
    return Answer(plot, facts)


def layout(get: Reader) -> Layout:
    """The parameter of the noise that is chosen."""
    return {
        "Noise": ("noise", "scale" if get(NOISE_KIND) == "laplace" else "noise_multiplier", units.in_units(SIZE, RATE)),
    }


def headline(f: DirectionsFacts) -> str:
    if f.same:
        return (
            "Both directions cost <b>the same</b>, because without sampling symmetric noise is the same from either "
            "side."
        )
    if not f.holds:
        return "B exceeds A at an order shown, which <b>contradicts Theorem 5</b>: a number here is wrong."
    return (
        "A removed example costs at least as much as an added one <b>at every order</b>. At the orders of the chart it "
        f"costs at most <b>{numbers.up(f.ratio)} times</b> as much (at α = {numbers.plain(f.order)}); larger orders "
        "can differ more."
    )


def metrics(f: DirectionsFacts) -> Iterator[Metric]:
    yield Metric("A: removed", numbers.up(f.removed), "at α = 64")
    yield Metric("B: added", numbers.up(f.added), "at α = 64")
    yield Metric("Largest A ÷ B", numbers.at_most(f.ratio), f"of divergences, at α = {numbers.plain(f.order)}")


def notes(f: DirectionsFacts) -> Iterator[Note]:
    if f.most:
        yield Note(
            f"An added example can never cost more than −ln(1 − q) = {numbers.at_most(f.most)}, at any order, because "
            "every output is possible without the example. With Gaussian noise, a removed example has no such limit."
        )
    yield Note(
        "The theorem only needs noise that is symmetric about a centre: Gaussian, Laplace and their discrete and "
        "multidimensional forms. This is why accountants compute only one direction."
    )


FORMULA = Formula(
    "Mironov, Talwar, Zhang 2019, Theorem 5",
    r"A_\alpha = \mathbb{E}_{\mu_0}\Big(\frac{\mu}{\mu_0}\Big)^{\alpha} \ge B_\alpha ="
    r" \mathbb{E}_{\mu}\Big(\frac{\mu_0}{\mu}\Big)^{\alpha},\quad \mu = (1-q)\,\mu_0 + q\,\mu_1,\ \mu_1(z) ="
    r" \mu_0(1 - z)",
)
ASSUMPTIONS = f"""
- **Poisson sampling**, add or remove one example that moves the sum by all of the sensitivity, one step.
- {SampledGaussian.assumes}
- {Laplace.assumes}
- **Both integrals are computed** independently, for orders from 1.01 to 64.
{PUBLIC_SIZE}"""

THEOREM_5 = Question(
    "theorem5",
    "Sampled Gaussian, Theorem 5: which direction costs more?",
    directions,
    Words(headline, metrics, notes, lambda _: (FORMULA,), ASSUMPTIONS),
    asks="ratio",
    layout=layout,
)
