"""The two densities of one sampled step, and their ratio to the power α: which outputs decide R(α)?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Renyi
from dpviz.charts import Area, Axis, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import (
    RATE,
    SIGMA,
    SIZE,
    Answer,
    Formula,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Words,
    cards,
    setting,
    units,
)
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.orders.shared import DIVERGENCE

ORDER = number("oalpha")
POINTS = 401
DRAWN = slice(None, None, 3)  # of these points
REACH = 6.0  # standard deviations of noise beyond the outermost middle
DIGITS = 6  # of a place ÷ σ, behind the point: what the points of an area give
SEEN = 1e-4  # of an area, left out at each edge of the chart


@dataclass(frozen=True)
class DensitiesFacts:
    """One step at one order.

    Attributes:
        divergence: R(α).
        moment: ln A, where A = e^((α − 1) R(α)) is the area below P (Q/P)^α.
        half: the output ÷ C above which half of A lies.
    """

    divergence: float
    moment: float
    half: float
    order: float
    noise_multiplier: float
    sample_rate: float


def densities(
    *, noise_multiplier: Annotated[float, SIGMA], sample_rate: Annotated[float, RATE], order: Annotated[float, ORDER]
) -> Answer[DensitiesFacts]:
    """Densities against the output, in units of C along your gradient.

    Raises:
        ValueError: the noise is so little that R(α) is no finite number.
    """
    sigma, rate = noise_multiplier, sample_rate
    divergence = float(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=order))
    moment = (order - 1.0) * divergence
    if not math.isfinite(moment):
        raise ValueError(f"σ = {sigma:.12g} is too little noise for the order α = {order:.12g}: R(α) is not finite.")
    x = outputs(sigma, order)
    without, ratio = logarithms(x, sigma, rate)
    tilted = np.exp(without + order * ratio - moment)
    share = shares(x, tilted)
    places = np.interp((0.5, 1.0 - SEEN), share / share[-1], x)
    thinned = x[DRAWN]
    half, last = (sigma * round(float(place) / sigma, DIGITS) for place in places)
    shown = (-4.0 * sigma, max(1.0 + 4.0 * sigma, last))
    plot = LinePlot(
        x=Axis("output ÷ C, along your gradient", name="output ÷ C", column="output", shown=shown),
        y=Axis("density", shown=(0.0, 1.08 * max(float(np.exp(without).max()), float(tilted.max())))),
        lines=(
            Line("without", "P: without you", thinned, np.exp(without)[DRAWN], look.SOLID, color=look.BLUE),
            Line("with", "Q: with you", thinned, np.exp(without + ratio)[DRAWN], look.SOLID, color=look.ORANGE),
            Line("tilted", "P (Q/P)^α ÷ A", thinned, tilted[DRAWN], Renyi().family),
        ),
        areas=(Area(thinned, np.zeros_like(thinned), tilted[DRAWN], look.GREEN, name=""),),
        guides=(Guide("x", half, "half of A"),),
        end_values=False,
        names_on_lines=True,
    )
    return Answer(plot, DensitiesFacts(divergence, moment, half, order, sigma, rate))


def outputs(sigma: float, order: float) -> Array:
    """Outputs ÷ C, shape (n,): close around the middles 0, 1 and α, where the areas lie, and coarser between them."""
    far = REACH * sigma
    near = (np.linspace(middle - far, middle + far, POINTS) for middle in (0.0, 1.0, order))
    return np.unique(np.concatenate([*near, np.linspace(-far, order + far, 2 * POINTS)]))


def logarithms(x: Array, sigma: float, rate: float) -> tuple[Array, Array]:
    """ln P and ln(Q/P) at outputs ÷ C, shape (n,) each: P = N(0, σ²) and Q = (1 − q) N(0, σ²) + q N(1, σ²)."""
    without = -0.5 * (x / sigma) ** 2 - math.log(sigma * math.sqrt(2.0 * math.pi))
    with np.errstate(divide="ignore"):
        return without, np.logaddexp(np.log1p(-rate), np.log(rate) + (x - 0.5) / sigma**2)


def shares(x: Array, density: Array) -> Array:
    """The area below a density left of each x, shape (n,), by trapezia."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))])


def headline(f: DensitiesFacts) -> str:
    order = setting(ORDER, "α =", numbers.plain(f.order))
    return (
        f"At {order}, one step has <b>R(α) = {numbers.up(f.divergence)}</b>; half of its area A lies at outputs above "
        f"<b>{numbers.plain(f.half)}</b> × C."
    )


def metrics(f: DensitiesFacts) -> Iterator[Metric]:
    yield Metric("R(α)", numbers.up(f.divergence), "ln A ÷ (α − 1)")
    yield Metric("ln A", numbers.up(f.moment), "A: mean of (Q/P)^α without you")
    yield Metric("Half of A lies above", f"{numbers.plain(f.half)} × C", "output along your gradient")


def notes(f: DensitiesFacts) -> Iterator[Note]:
    yield Note(
        "The ratio Q/P is raised to the power α and weighed by P. The green curve is that product divided by its area "
        "A, so that all three areas are 1. At small orders it lies where P does; at large ones it lies near α × C."
    )


FORMULAS = (
    Formula(
        "Area (Mironov, Talwar, Zhang 2019, §3.3)",
        r"A_\alpha = \int P(x)\left(\frac{Q(x)}{P(x)}\right)^{\!\alpha} dx,"
        r" \qquad R(\alpha) = \frac{\ln A_\alpha}{\alpha-1}",
    ),
    DIVERGENCE,
)
ASSUMPTIONS = f"""
- **The mechanism:** Poisson sampling with probability q, Gaussian noise of standard deviation σ × C, one step; one
  example, whose gradient has the norm C, is added or removed.
{PUBLIC_SIZE.strip()}
- **Along your gradient:** in every other direction both densities are equal, so this one decides.
- **The direction:** Q against P, the larger of both divergences (Mironov, Talwar, Zhang 2019, Theorem 5).
- **R(α)** is computed to about 11 digits as for the question about one step; where half of A lies is read from the
  chart's points.
"""


def layout(get: Reader) -> Layout:
    return {"Question": (ORDER,), "Mechanism": (SIGMA, units.in_units(SIZE, RATE))}


DENSITIES = Question(
    "densities",
    "Which outputs decide R(α)?",
    densities,
    Words(headline, metrics, notes, lambda _: FORMULAS, ASSUMPTIONS),
    asks="divergence",
    layout=layout,
    more={"Accountants": lambda _: cards((Renyi().family,))},
)
