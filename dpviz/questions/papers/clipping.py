"""Clipping, and why: what a threshold keeps of a gradient, against the noise it asks for (Abadi et al. 2016, §3.1).

The mean gradient of a family of examples is known in closed form, so is the mean of the clipped ones; the noise on an
average over B examples has the length σC√d/B. No finite noise hides an example whose gradient may be of any length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.charts import look
from dpviz.charts.marks import Array, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.gradients.norm_families import FAMILIES, NormFamily
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import SIGMA
from dpviz.questions.norm_fields import CLIPPED, COORDINATES, EXAMPLES, FAMILY, THRESHOLD
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

SIZES = (1e3, 1e6, 1e9)
SHOWN = (1e-3, 20.0)


@dataclass(frozen=True)
class ClippingFacts:
    """At the threshold chosen; the norms of `SIZES` examples alone where nothing is clipped.

    Attributes:
        kept: E[min(r, C)]/E[r].
        over: share of the examples that are clipped.
        bias: length of what clipping takes off the mean gradient ÷ its length.
        turned: by how many degrees the mean gradient turns.
        signal: length of the mean clipped gradient ÷ that of the noise.
        best, least: the threshold whose error is least, and that error.
        largest: median of the largest norm among so many examples.
    """

    kept: float = math.nan
    over: float = math.nan
    bias: float = math.nan
    turned: float = math.nan
    signal: float = math.nan
    best: float = math.nan
    least: float = math.nan
    largest: tuple[float, ...] = ()


def clipping(
    *, family: str, clipped: str, threshold: float, noise_multiplier: float, batch: int, coordinates: int
) -> Answer[ClippingFacts]:
    """Error of the averaged gradient against C, from clipping and from noise; or the largest norm, unclipped."""
    norms = FAMILIES[family]
    if clipped == "off":
        return unclipped(norms)
    x = np.unique(np.r_[np.geomspace(min(0.01, threshold), max(100.0, threshold), 241), threshold])
    bias, noise = errors(norms, x, noise_multiplier * math.sqrt(coordinates) / batch)
    whole = np.hypot(bias, noise)
    at, best = int(np.flatnonzero(x == threshold)[0]), int(whole.argmin())
    mean, held = norms.mean, norms.clipped(threshold)
    cosine = float(mean @ held) / (float(np.hypot(*mean)) * float(np.hypot(*held)))
    plot = LinePlot(
        Axis("threshold C", log=True, hover="C = %{x:,.4~r}"),
        Axis("error ÷ length of the mean gradient", name="relative error", log=True, shown=SHOWN),
        (
            Line("bias", "clipping", x, bias, "moments"),
            Line("noise", "noise", x, noise, "moments", color=look.ORANGE),
            Line("both", "both", x, whole, "moments", color=look.GREEN),
        ),
        guides=(Guide("x", threshold, f"C = {numbers.plain(threshold)}", told=False),),
        end_values=False,
    )
    facts = ClippingFacts(
        kept=float(norms.clipped_norm(threshold)) / norms.mean_norm,
        over=float(norms.beyond(threshold)),
        bias=float(bias[at]),
        turned=math.degrees(math.acos(min(cosine, 1.0))),
        signal=float(np.hypot(*held) / np.hypot(*mean) / noise[at]),
        best=float(x[best]),
        least=float(whole[best]),
    )
    return Answer(plot, facts)


def errors(norms: NormFamily, threshold: Array, noise: float) -> tuple[Array, Array]:
    """Lengths of what clipping takes off and of what noise adds ÷ the mean gradient's, at thresholds (n,).

    `noise`: σ√d/B.
    """
    length = float(np.hypot(*norms.mean))
    lost = norms.mean - norms.clipped(threshold)
    return np.hypot(lost[:, 0], lost[:, 1]) / length, noise * threshold / length


def unclipped(norms: NormFamily) -> Answer[ClippingFacts]:
    """The largest norm against the number of examples: it has no end."""
    x = np.geomspace(1.0, 1e12, 121)
    plot = LinePlot(
        Axis("examples", log=True, kind="steps", hover="%{x:,.3~s} examples", write=numbers.short_steps),
        Axis("largest gradient norm", name="norm"),
        (Line("largest", "largest norm", x, norms.largest(x), "moments"),),
    )
    return Answer(plot, ClippingFacts(largest=tuple(norms.largest(np.array(SIZES)).tolist())))


def percent(share: float) -> str:
    return f"{numbers.plain(100.0 * share)} %"


def headline(a: Answer[ClippingFacts]) -> str:
    f, g = a.facts, a.given
    if g["clipped"] == "off":
        return (
            "Without clipping one example may move the sum by any amount: <b>no finite sensitivity</b>, so no noise "
            f"gives an ε. Of a million examples one has a norm of about <b>{numbers.plain(f.largest[1])}</b>, "
            "and a larger one may come."
        )
    bias, signal = percent(f.bias), numbers.plain(f.signal)
    turned = f" and turns it by <b>{numbers.plain(f.turned)}°</b>" if several(a) else ""
    return (
        f"C = {numbers.plain(g['threshold'])} clips {percent(f.over)} of the examples, takes <b>{bias}</b> off "
        f"the mean gradient{turned}; the signal is <b>{signal}</b> times the noise. The error is least "
        f"at <b>C ≈ {numbers.plain(f.best, digits=2)}</b>."
    )


def several(a: Answer[ClippingFacts]) -> bool:
    """Whether gradients point in more than one direction."""
    return len(FAMILIES[a.given["family"]].groups) > 1


def metrics(a: Answer[ClippingFacts]) -> list[Metric]:
    f = a.facts
    if a.given["clipped"] == "off":
        counts = zip(SIZES, f.largest, strict=True)
        return [
            Metric("Sensitivity", "none", "no largest norm"),
            *(Metric(f"Largest of {numbers.short_steps(n)}", numbers.plain(norm), "median") for n, norm in counts),
        ]
    return [
        Metric("Norm kept", percent(f.kept), "E min(r, C) ÷ E r"),
        Metric(
            "Error of clipping",
            percent(f.bias),
            f"turned by {numbers.plain(f.turned)}°" if several(a) else "shorter, not turned",
        ),
        Metric("Signal to noise", numbers.plain(f.signal), "lengths, of an average over B"),
        Metric("Best C here", numbers.plain(f.best, digits=2), f"error {percent(f.least)}"),
    ]


def notes(a: Answer[ClippingFacts]) -> list[Note]:
    if a.given["clipped"] == "off":
        return [
            Note(
                "The sensitivity is over all gradients that an example could have, not over those that were seen: a "
                "largest norm read off the data is no bound, and to publish it is another release."
            )
        ]
    built = [
        Note(
            "Noise has to hide the longest gradient that may come, so it grows with C; clipping takes off the more "
            "the smaller C is. Far below all norms a smaller C gains nothing: signal and noise shrink alike."
        )
    ]
    if several(a):
        built.append(
            Note(
                "Clipping changes directions as well: a small group with long gradients loses more of its say than "
                "the others, and no number of examples averages that away."
            )
        )
    return built


def formulas(a: Answer[ClippingFacts]) -> list[tuple[str, str]]:
    return [
        ("Clipping (Abadi et al. 2016, Algorithm 1)", r"\bar g_i = g_i \min(1, C/\lVert g_i\rVert)"),
        (
            "Released average",
            r"\frac1B\Big(\sum_{i \in \text{batch}} \bar g_i + \mathcal N(0, \sigma^2C^2 I_d)\Big),\quad "
            r"\text{error}^2 = \lVert \mathbb{E} g - \mathbb{E}\bar g\rVert^2 + d\,\sigma^2C^2/B^2",
        ),
    ]


def layout(get: Reader) -> Groups:
    if get(CLIPPED) == "off":
        return {"Question": (CLIPPED, FAMILY), "Show": experts(IMAGE)}
    return {"Question": (CLIPPED, FAMILY, THRESHOLD), "Noise": (SIGMA, EXAMPLES, COORDINATES), "Show": experts(IMAGE)}


CLIPPING: Question[ClippingFacts] = Question(
    key="clipping",
    title="DP-SGD: why clip, and at which C?",
    settings={
        "family": FAMILY,
        "clipped": CLIPPED,
        "threshold": THRESHOLD,
        "noise_multiplier": SIGMA,
        "batch": EXAMPLES,
        "coordinates": COORDINATES,
    },
    answer=clipping,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Families, no data:** Weibull norms in one or two groups, all gradients of a group in one direction. Real gradients
  differ, and change while a network learns.
- **The error** is that of the expected average; that a batch is a sample of the data is left out, as without privacy.
- **ε does not depend on C here:** the noise is σC, so that σ alone decides what is promised. C may be chosen by looking
  at data only if that look is paid for.
""",
    layout=layout,
)
