"""Clipping, and why: what a threshold keeps of a gradient, against the noise it asks for (Abadi et al. 2016, §3.1).

The mean gradient of a family of examples is known in closed form, so is the mean of the clipped ones; the noise on an
average over B examples has the length σC√d/B. No finite noise hides an example whose gradient may be of any length.
"""

from __future__ import annotations

import math

import numpy as np

from dpviz.charts import look
from dpviz.charts.marks import Array, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.gradients.norm_families import FAMILIES, NormFamily
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Groups, Reader
from dpviz.questions.mechanism import SIGMA
from dpviz.questions.norm_fields import CLIPPED, COORDINATES, EXAMPLES, FAMILY, THRESHOLD
from dpviz.questions.papers.reproduction import Facts, reproduction


def clipping(
    *, family: str, clipped: str, threshold: float, noise_multiplier: float, batch: int, coordinates: int
) -> Answer[Facts]:
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
        Axis("error ÷ length of the mean gradient", name="relative error", log=True, shown=(1e-3, 20.0)),
        (
            Line("bias", "clipping", x, bias, "moments"),
            Line("noise", "noise", x, noise, "moments", color=look.ORANGE),
            Line("both", "both", x, whole, "moments", color=look.GREEN),
        ),
        guides=(Guide("x", threshold, f"C = {numbers.plain(threshold)}", noted=False),),
        end_values=False,
    )
    facts = Facts(
        several=len(norms.groups) > 1,  # directions
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


def unclipped(norms: NormFamily) -> Answer[Facts]:
    """The largest norm against the number of examples: it has no end."""
    x = np.geomspace(1.0, 1e12, 121)
    plot = LinePlot(
        Axis("examples", log=True, kind="steps", hover="%{x:,.3~s} examples", write=numbers.short_steps),
        Axis("largest gradient norm", name="norm"),
        (Line("largest", "largest norm", x, norms.largest(x), "moments"),),
    )
    thousand, million, billion = norms.largest(np.array([1e3, 1e6, 1e9])).tolist()  # medians
    return Answer(plot, Facts(thousand=thousand, million=million, billion=billion))


def layout(get: Reader) -> Groups:
    if get(CLIPPED) == "off":
        return {"Question": (CLIPPED, FAMILY)}
    return {"Question": (CLIPPED, FAMILY, THRESHOLD), "Noise": (SIGMA, EXAMPLES, COORDINATES)}


CLIPPING = reproduction(
    "abadi",
    "clipping",
    clipping,
    {
        "family": FAMILY,
        "clipped": CLIPPED,
        "threshold": THRESHOLD,
        "noise_multiplier": SIGMA,
        "batch": EXAMPLES,
        "coordinates": COORDINATES,
    },
    layout,
)
