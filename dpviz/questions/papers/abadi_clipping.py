"""DP-SGD: why clip, and at which C? What a threshold keeps of a gradient, against the noise (Abadi et al. 2016, §3.1).

The mean gradient of a family of examples is known in closed form, so is the mean of the clipped ones; the noise on an
average over B examples has the length σC√d/B. No finite noise hides an example whose gradient may be of any length.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.gradients.norm_families import FAMILIES, NormFamily
from dpviz.questions import SIGMA, Answer, Formula, Layout, Metric, Note, Question, Reader, Words
from dpviz.questions.norm_fields import CLIPPED, EXAMPLES, FAMILY, THRESHOLD


@dataclass(frozen=True)
class ClippedMean:
    """What a threshold does to the mean gradient.

    Attributes:
        kept: E min(r, C) ÷ E r.
        over: the share of the examples that are clipped.
        bias: length of the change ÷ length of the mean gradient.
        turned: by how many degrees.
        several: whether gradients have several directions.
        signal: length of the clipped mean ÷ length of the noise.
    """

    kept: float
    over: float
    bias: float
    turned: float
    several: bool
    signal: float


@dataclass(frozen=True)
class ClippedAverage:
    """What clipping the average as a whole does.

    Attributes:
        farther: how many times as far one example moves the average as where each is clipped.
        error: at C, ÷ length of the mean gradient.
        each_least: the least error where each example is clipped.
    """

    farther: float
    error: float
    each_least: float


@dataclass(frozen=True)
class ClippingFacts:
    """What clipping does, or what it would cost to do without.

    Attributes:
        threshold: C.
        mean: what C does; None without clipping.
        best, least: the C with the least error on the chart, and this error; NaN without clipping.
        average: what clipping the average would cost, where that is asked; None elsewhere.
        largest: without clipping, medians of the largest of a thousand, a million and a billion norms.
    """

    threshold: float
    mean: ClippedMean | None = None
    best: float = math.nan
    least: float = math.nan
    average: ClippedAverage | None = None
    largest: tuple[float, ...] = ()


def clipping(
    *,
    clipped: Annotated[str, CLIPPED],
    threshold: Annotated[float, THRESHOLD],
    noise_multiplier: Annotated[float, SIGMA],
    batch: Annotated[int, EXAMPLES],
    coordinates: Annotated[int, number("cdim")],
    family: Annotated[str, FAMILY],
) -> Answer[ClippingFacts]:
    """Error of the averaged gradient against C, from clipping and from noise; or the largest norm, unclipped."""
    norms = FAMILIES[family]
    if clipped == "off":
        return unclipped(norms, threshold)
    if clipped == "after":
        return clipped_average(norms, threshold, noise_multiplier, batch, coordinates)
    x = np.unique(np.r_[np.geomspace(min(0.01, threshold), max(100.0, threshold), 241), threshold])
    length = float(np.hypot(*norms.mean))
    bias = np.hypot(*(norms.mean - norms.clipped(x)).T) / length
    noise = noise_multiplier * math.sqrt(coordinates) / batch * x / length
    error = np.hypot(bias, noise)
    at, best = int(np.flatnonzero(x == threshold)[0]), int(error.argmin())
    mean, held = norms.mean, norms.clipped(threshold)
    cosine = float(mean @ held) / (length * float(np.hypot(*held)))
    plot = LinePlot(
        Axis("threshold C", log=True, hover="C = %{x:,.4~r}"),
        Axis("error ÷ length of the mean gradient", name="relative error", log=True, shown=(1e-3, 20.0)),
        (
            Line("bias", "clipping", x, bias, look.SOLID),
            Line("noise", "noise", x, noise, look.SOLID, color=look.ORANGE),
            Line("both", "both", x, error, look.SOLID, color=look.GREEN),
        ),
        guides=(Guide("x", threshold, f"C = {numbers.plain(threshold)}", noted=False, sets=THRESHOLD),),
        end_values=False,
    )
    effect = ClippedMean(
        kept=float(norms.clipped_norm(threshold)) / norms.mean_norm,
        over=float(norms.beyond(threshold)),
        bias=float(bias[at]),
        turned=math.degrees(math.acos(min(cosine, 1.0))),
        several=len(norms.groups) > 1,
        signal=float(np.hypot(*held) / length / noise[at]),
    )
    return Answer(plot, ClippingFacts(threshold, effect, float(x[best]), float(error[best])))


def clipped_average(
    norms: NormFamily, threshold: float, noise_multiplier: float, batch: int, coordinates: int
) -> Answer[ClippingFacts]:
    """Error against C where the average is clipped as a whole, beside that where each example is.

    One example can turn an average of length C around, which moves it by 2C; clipped alone, it moves it by C/B. The
    noise is σ times that, for the same ε.
    """
    x = np.unique(np.r_[np.geomspace(1e-5, max(100.0, threshold), 321), threshold])
    length = float(np.hypot(*norms.mean))
    noise = noise_multiplier * math.sqrt(coordinates) * x / length
    error = np.hypot(np.maximum(1.0 - x / length, 0.0), 2.0 * noise)
    each = np.hypot(np.hypot(*(norms.mean - norms.clipped(x)).T) / length, noise / batch)
    at, best = int(np.flatnonzero(x == threshold)[0]), int(error.argmin())
    plot = LinePlot(
        Axis("threshold C", log=True, hover="C = %{x:,.4~r}"),
        Axis("error ÷ length of the mean gradient", name="relative error", log=True, shown=(1e-3, 1e5)),
        (
            Line("average", "average clipped", x, error, look.SOLID, color=look.ORANGE),
            Line("both", "each example clipped", x, each, look.SOLID, color=look.GREEN),
        ),
        guides=(Guide("x", threshold, f"C = {numbers.plain(threshold)}", noted=False, sets=THRESHOLD),),
        end_values=False,
    )
    average = ClippedAverage(2.0 * batch, float(error[at]), float(each.min()))
    return Answer(plot, ClippingFacts(threshold, None, float(x[best]), float(error[best]), average))


def unclipped(norms: NormFamily, threshold: float) -> Answer[ClippingFacts]:
    """The largest norm against the number of examples: it has no end."""
    x = np.geomspace(1.0, 1e12, 121)
    plot = LinePlot(
        Axis("examples", log=True, kind="steps", hover="%{x:,.3~s} examples", write=numbers.short_steps),
        Axis("largest gradient norm", name="norm"),
        (Line("largest", "largest norm", x, norms.largest(x), look.SOLID),),
    )
    return Answer(plot, ClippingFacts(threshold, largest=tuple(norms.largest(np.array([1e3, 1e6, 1e9])).tolist())))


def layout(get: Reader) -> Layout:
    """C and the noise only where gradients are clipped."""
    if get(CLIPPED) == "off":
        return {"Question": ("clipped", "family")}
    return {"Question": ("clipped", "family", "threshold"), "Noise": ("noise_multiplier", "batch", "coordinates")}


def headline(f: ClippingFacts) -> str:
    if f.average is not None:
        return (
            "If the average is clipped instead of each example, one example moves it by 2C instead of C/B: the same ε "
            f"needs <b>{numbers.steps(f.average.farther)}</b> times the noise, and the least error is "
            f"<b>{numbers.percent(f.least)}</b> instead of <b>{numbers.percent(f.average.each_least)}</b>."
        )
    if f.mean is None:
        return (
            "Without clipping, one example can change the sum by any amount: there is <b>no finite sensitivity</b>, so "
            "no noise gives a finite ε."
        )
    bias = f"the mean gradient by <b>{numbers.percent(f.mean.bias)}</b>"
    effect = f"shortens {bias}"
    if f.mean.several:
        effect = f"changes {bias} (it is turned by <b>{numbers.plain(f.mean.turned)}°</b>)"
    return (
        f"C = {numbers.plain(f.threshold)} clips {numbers.percent(f.mean.over)} of the examples and {effect}; the "
        f"error is smallest at <b>C ≈ {numbers.plain(f.best, digits=2)}</b>."
    )


def metrics(f: ClippingFacts) -> Iterator[Metric]:
    if f.average is not None:
        yield Metric("Noise, times as much", numbers.steps(f.average.farther), "2C ÷ (C/B) = 2B")
        yield Metric("Error at this C", numbers.percent(f.average.error), "of the mean gradient's length")
        yield Metric("Least error", numbers.percent(f.least), f"C = {numbers.plain(f.best, digits=2)}")
        yield Metric("Each example clipped", numbers.percent(f.average.each_least), "least error")
        return
    if f.mean is None:
        yield Metric("Sensitivity", "none", "no largest norm")
        for count, norm in zip(("1 000", "1 million", "1 billion"), f.largest, strict=True):
            yield Metric(f"Largest of {count} norms", numbers.plain(norm), "median")
        return
    turned = f"turned by {numbers.plain(f.mean.turned)}°" if f.mean.several else "shorter, not turned"
    yield Metric("Norm kept", numbers.percent(f.mean.kept), "E min(r, C) ÷ E r")
    yield Metric("Error of clipping", numbers.percent(f.mean.bias), turned)
    yield Metric("Signal to noise", numbers.plain(f.mean.signal), "norms, of an average over B")
    yield Metric("Best C here", numbers.plain(f.best, digits=2), f"error {numbers.percent(f.least)}")


def notes(f: ClippingFacts) -> Iterator[Note]:
    if f.average is not None:
        yield Note(
            "An error of 100 % is that of an answer without any data: with so much noise the best C is close to 0. "
            "Clipping each example before averaging is what Algorithm 1 of DP-SGD does."
        )
        return
    if f.mean is None:
        yield Note(
            "The sensitivity is the maximum over all gradients that an example could have, not over those that were "
            "seen. The largest norm in the data is not a bound, and publishing it is another release."
        )
        return
    yield Note(
        "The noise must hide the longest possible gradient, so it grows with C; a smaller C clips more. If C is far "
        "below all norms, reducing it further gains nothing, because signal and noise shrink equally."
    )
    if f.mean.several:
        yield Note(
            "Clipping also changes the direction. A small group with long gradients loses more of its influence than "
            "the others, and more examples do not remove this error."
        )


FORMULAS = (
    Formula("Clipping (Abadi et al. 2016, Algorithm 1)", r"\bar g_i = g_i \min(1, C/\lVert g_i\rVert)"),
    Formula(
        "Released average",
        r"\frac1B\Big(\sum_{i \in \text{batch}} \bar g_i + \mathcal N(0, \sigma^2C^2 I_d)\Big),\quad \text{error}^2 ="
        r" \lVert \mathbb{E} g - \mathbb{E}\bar g\rVert^2 + d\,\sigma^2C^2/B^2",
    ),
)
ASSUMPTIONS = """
- **Families, no data:** Weibull norms in one or two groups, all gradients of a group in one direction. Real gradients
  differ, and change while a network learns.
- **The error** is that of the expected average; the sampling error of a batch is the same without privacy and left out.
- **ε does not depend on C here:** the noise is σC, so only σ decides. Choosing C by looking at the data costs
  additional privacy.
"""

CLIPPING = Question(
    "clipping",
    "DP-SGD: why clip, and at which C?",
    clipping,
    Words(headline, metrics, notes, lambda _: FORMULAS, ASSUMPTIONS),
    asks="best",
    layout=layout,
)
