"""What the divisor of the noisy sum reveals where it follows N: what if N is not public?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Renyi
from dpviz.charts import Axis, Guide, Line, LinePlot, Ring, look
from dpviz.fields import choice, number, numbers
from dpviz.questions import DELTA, RATE, SIGMA, SIZE, STEPS, Answer, Formula, Metric, Note, Question, Words
from dpviz.questions.mechanism import shown_delta, shown_steps
from dpviz.questions.methods import step_grid, steps_axis
from dpviz.training.covered import PUBLIC_SIZE

DIMENSION, DIVISOR = number("kdim"), choice("kdiv")
FOLLOWING = ("rate", "floor", "loader")  # divisors that follow N


@dataclass(frozen=True)
class PublicSizeFacts:
    """What the scale of the noise reveals of one person.

    Attributes:
        divisor: how the sum is divided.
        mine, without: what it is divided by with this person, and without.
        epsilon: of the scale of the noise alone; 0 where both are equal.
        right: share of right guesses of the best attack on the scale.
        accounted: an upper bound on ε with a set divisor.
    """

    size: int
    sample_rate: float
    steps: int
    dimension: int
    delta: float
    divisor: str
    mine: float
    without: float
    epsilon: float
    right: float
    accounted: float

    @property
    def reveals(self) -> bool:
        """Whether the noise has another scale without this person."""
        return self.mine != self.without

    @property
    def mu(self) -> float:
        """√(2dT) |ln r|."""
        return math.sqrt(2.0 * self.dimension * self.steps) * abs(math.log(self.mine / self.without))


def public_size(
    *,
    dimension: Annotated[int, DIMENSION],
    divisor: Annotated[str, DIVISOR],
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    size: Annotated[int, SIZE],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
) -> Answer[PublicSizeFacts]:
    """ε of the scale of the noise along the steps for every divisor that follows N, beside the ε that is accounted.

    Raises:
        ValueError: the sum would be divided by 0.
    """
    x = step_grid(steps, log=True)
    accounted = np.asarray(
        dpviz.epsilon(Renyi.name, noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=x, delta=delta)
    )
    lines = [Line(Renyi.name, "accounted", x, accounted, Renyi().family)]
    mine, without = divisors(divisor, size, sample_rate)
    for kind in FOLLOWING:
        pair = divisors(kind, size, sample_rate)
        if pair[0] != pair[1]:
            style = look.SOLID if kind == divisor else look.DASHED
            lines.append(Line(kind, DIVISOR.options[kind], x, along(x, dimension, pair, delta), style))
    scale = float(along(np.array([steps]), dimension, (mine, without), delta)[0])
    right = 0.5 + 0.5 * float(dpviz.noise_scale_delta(0.0, dimension=dimension * steps, ratio=mine / without))
    facts = PublicSizeFacts(
        size=size,
        sample_rate=sample_rate,
        steps=steps,
        dimension=dimension,
        delta=delta,
        divisor=divisor,
        mine=mine,
        without=without,
        epsilon=scale,
        right=right,
        accounted=float(accounted[-1]),
    )
    ring = Ring(steps, scale, f"scale of the noise after {numbers.steps(steps)} steps", look.BLUE)
    plot = LinePlot(
        steps_axis("steps", log=True, marked=steps),
        Axis("ε", log=True),
        tuple(lines),
        rings=(ring,) if facts.reveals else (),
        guides=(Guide("x", steps, "", sets=STEPS),),
    )
    return Answer(plot, facts)


def divisors(kind: str, size: int, sample_rate: float) -> tuple[float, float]:
    """What a noisy sum is divided by with one person, and without: of N and N − 1 records.

    Raises:
        ValueError: one of them is 0.
    """
    pair = _divisor(kind, size, size, sample_rate), _divisor(kind, size - 1, size, sample_rate)
    if min(pair) <= 0.0:
        raise ValueError(
            f"With N = {size} and q = {sample_rate:g} the noisy sum would be divided by 0: raise N or q, or choose "
            "another divisor."
        )
    return pair


def _divisor(kind: str, records: int, planned: int, sample_rate: float) -> float:
    """Of so many records, where q and the batch size were set for the planned ones."""
    batch = float(f"{sample_rate * planned:.12g}")  # without binary dust
    if kind == "set":
        return batch
    if kind == "rate":
        return sample_rate * records
    if kind == "floor":
        return math.floor(float(f"{batch * records / planned:.15g}"))
    return records // math.ceil(records / max(round(batch), 1)) if records else 0


def along(steps: Array, dimension: int, pair: tuple[float, float], delta: float) -> Array:
    """ε of the scale alone after these steps."""
    return dpviz.noise_scale_epsilon(dimension=dimension * steps, ratio=pair[0] / pair[1], delta=delta)


def headline(f: PublicSizeFacts) -> str:
    way = f"divided by <b>{DIVISOR.options[f.divisor]}</b>"
    after = f"after {shown_steps(f.steps)} at {shown_delta(f.delta)}"
    if not f.reveals:
        return (
            f"If N is not public, a noisy sum {way} costs <b>nothing more</b> {after}: without one person it is "
            f"divided by the same number. The accounted ε is at most {numbers.up(f.accounted)}."
        )
    return (
        f"If N is not public, a noisy sum {way} costs one person <b>ε = {numbers.up(f.epsilon)}</b> {after}, "
        f"whatever σ is; the accounted ε ≤ {numbers.up(f.accounted)} does not cover it."
    )


def metrics(f: PublicSizeFacts) -> Iterator[Metric]:
    yield Metric("Scale alone", f"ε = {numbers.up(f.epsilon)}", f"μ = {numbers.plain(f.mu)}")
    yield Metric("Accounted", f"ε ≤ {numbers.up(f.accounted)}", "Rényi; divisor that is set")
    yield Metric("Divided by", numbers.plain(f.mine, digits=8), f"without you: {numbers.plain(f.without, digits=8)}")
    yield Metric("Attack on the scale", f"≤ {numbers.chance_up(f.right)}", "right at even odds; chance: 50 %")


def notes(f: PublicSizeFacts) -> Iterator[Note]:
    if f.reveals:
        yield Note(
            "An attacker who knows the other records sees both: the true ε of this training is at least the larger of "
            "the two, and no bound on it is computed here. Divide by a number that is set, or state that N is public.",
            "caution",
        )
    if f.divisor == "loader" and not f.reveals:
        yield Note(
            f"This holds for N = {numbers.steps(f.size)} against one record less. At another N, the number of batches "
            "or N divided by it may change."
        )
    yield Note("dpviz.training.PrivateTraining divides by a number that is set. Opacus 1.6 divides by N ÷ batches.")


def formulas(f: PublicSizeFacts) -> Iterator[Formula]:
    yield Formula(
        "The two laws of the noise, n = dT coordinates",
        rf"N(0, I_n) \text{{ and }} N(0, r^2 I_n),\quad r = \frac{{{f.mine:.8g}}}{{{f.without:.8g}}} ="
        rf" {f.mine / f.without:.10g},\quad n = {f.dimension * f.steps:.6g}",
    )
    yield Formula(
        "Privacy curve; F and S: the χ² law with n degrees of freedom and its tail",
        r"\delta(\varepsilon) = \max\left(F(s_1) - e^{\varepsilon} F(s_1/r^2),"
        r"\ S(s_2/r^2) - e^{\varepsilon} S(s_2)\right),\quad s_{1,2} = \frac{2(n \ln r \mp \varepsilon)}{1 - r^{-2}}",
    )
    yield Formula("For large n as Gaussian DP", rf"\mu = \sqrt{{2dT}}\,|\ln r| = {f.mu:.6g}")


ASSUMPTIONS = f"""
- {PUBLIC_SIZE}
- **Here N is secret:** the data have N records with you and N − 1 without you. q and the batch size were set before.
- **Only the scale counts:** the attacker knows the sum of the other gradients, and yours is 0. Every step has noise of
  its own, so that n = dT numbers have the one scale or the other.
- **Exact:** δ(ε) is an integral over a χ² law, rounded up by less than one part in a million.
"""

PUBLIC = Question(
    "public_size",
    "What if N is not public?",
    public_size,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="epsilon",
    layout={"Division": (DIVISOR, DIMENSION, "sample_rate", "steps", "size"), "Accounted": (SIGMA, DELTA)},
)
