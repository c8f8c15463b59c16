"""Abadi et al. 2016: its two theorems, the privacy loss behind them, clipping; and a lecture's toy example."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Moments, Strong, Tight
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.accounting.pld.loss_density import RESOLVED, LossDensity, loss_density
from dpviz.accounting.pld.quick import ZERO, quick_delta, settled
from dpviz.accounting.solve import NoAnswer
from dpviz.charts import Band, Column, Guide, LinePlot
from dpviz.fields import choice, numbers
from dpviz.gradients.norm_families import FAMILIES, NormFamily
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import RATE, SIZE, STEPS, Answer, Facts, InUnits, Slow, chart, make_question, units
from dpviz.questions.methods import coarse
from dpviz.questions.norm_fields import CLIPPED, FAMILY

ROOM = "papers/abadi"


def upright(at: float, name: str) -> tuple[Guide]:
    """The chosen place on the x axis."""
    return (Guide("x", at, name, noted=False),)


# --- Theorem 1: how much noise, and which logarithm it saves ----------------------------------------------------------

MOST_STEPS = 1e7
POINTS, FEW = 25, 9  # at rest, and while a hand moves: nearly straight lines


def main_theorem(*, sample_rate: float, steps: int, delta: float, epsilon: float) -> Answer[Facts]:
    """Least σ against T by the moments accountant and by strong composition, beside the theorem's two forms."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, no example is used and no noise is needed: choose a sampling rate above 0.")
    here = min(float(steps), MOST_STEPS)
    points = FEW if coarse() else POINTS
    x = np.unique(np.round([*np.geomspace(max(here / 1e3, 1.0), min(here * 1e2, MOST_STEPS), points), here]))
    setting = {"target_epsilon": epsilon, "sample_rate": sample_rate, "delta": delta}
    moments, strong = (
        np.array([least_noise(method, steps=each, **setting) for each in x]) for method in (Moments.name, Strong.name)
    )
    form = sample_rate * np.sqrt(x * -math.log(delta)) / epsilon
    constants, extra = moments / form, np.sqrt(np.log(x / delta))
    at = int(np.flatnonzero(x == here)[0])
    sigma, c2 = float(moments[at]), float(constants[at])
    curves = {
        Moments.name: {"y": moments, "hover": (Column("c₂ here", constants, key="c2"),)},
        "theorem1": c2 * form,
        "standard": c2 * form * extra,
        Strong.name: strong,
    }
    plot = chart(ROOM, "theorem1", x, curves, guides=upright(here, f"T = {numbers.short_steps(here)}"))
    facts = Facts(
        steps=here,
        beyond=steps > MOST_STEPS,
        covered=not math.isnan(sigma),
        sigma=sigma,
        strong=float(strong[at]),
        times=float(strong[at]) / sigma,
        c1=epsilon / (sample_rate**2 * here),  # the theorem's c₁ must exceed it
        c2=c2,
        extra=float(extra[at]),
    )
    return Answer(plot, facts)


def least_noise(method: str, **setting: Any) -> float:
    """The least σ that the method accepts; NaN where there is none."""
    try:
        return float(dpviz.solve("noise_multiplier", method=method, **setting))
    except NoAnswer:
        return math.nan


MAIN_THEOREM = make_question(
    "papers/abadi/theorem1",
    main_theorem,
    lambda get: {"Question": ("epsilon",), "Mechanism": (units.ALL, units.suggested(SIZE, get))},
)

# --- §3.2: the privacy loss, the tail beyond ε, and what of that tail δ counts ----------------------------------------

LEAST_DENSITY = 1e-8  # shown, of the largest density
SPAN = choice("pspan")


def loss_law(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    epsilon: float,
    direction: str,
    span: str,
    log_density: bool,
) -> Answer[Facts]:
    """Density of the loss, the part beyond ε, and that part times 1 − e^(ε − L), whose area is δ."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, no example is used and there is no privacy loss: choose a sampling rate above 0.")
    mechanism, count = SampledGaussian(noise_multiplier, sample_rate), steps if span == "all" else 1
    back = "add" if direction == "remove" else "remove"
    law = loss_density(mechanism, steps=count, epsilon=epsilon, direction=direction)
    other = loss_density(mechanism, steps=count, epsilon=epsilon, direction=back)
    positive = loss_density(mechanism, steps=count, epsilon=0.0, direction=direction).beyond
    low, high, top = reach(law, LEAST_DENSITY if log_density else 1e-3)
    inside = epsilon < high + 0.5 * (high - low)
    end = max(high, 1.1 * epsilon) if inside else high
    x = np.unique(np.r_[np.linspace(low, end, 301), np.clip(epsilon, low, end)])
    y = np.interp(x, law.loss, law.density, left=0.0, right=0.0)
    tail = x >= epsilon
    counted = np.where(tail, y * -np.expm1(np.minimum(epsilon - x, 0.0)), np.nan)
    floor = np.full(tail.sum(), LEAST_DENSITY * top * log_density)
    plot = chart(
        ROOM,
        "loss",
        x,
        {"density": y, "counted": counted},
        x_axis={"shown": (low, end)},
        y_axis={
            "log": log_density,
            "shown": (LEAST_DENSITY * top, 3.0 * top) if log_density else (0.0, 1.08 * top),
        },
        bands=(Band("beyond ε", x[tail], floor, y[tail]),) if tail.sum() > 1 else (),
        guides=upright(epsilon, f"ε = {numbers.plain(epsilon)}"),
    )
    facts = Facts(
        law=law,
        other=other,
        negative=max(1.0 - positive, 0.0),
        inside=inside,
        cut=-math.log1p(-sample_rate) if span == "one" and sample_rate < 1.0 else 0.0,
        resolved=law.delta > 10.0 * RESOLVED,
        tail=probability(law.beyond, exact=law.exact),
        counted=probability(law.delta, exact=law.exact),
        back=probability(other.delta, exact=law.exact),
    )
    return Answer(plot, facts)


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


def probability(value: float, *, exact: bool) -> str:
    """A probability; where the grid does not resolve it, a limit."""
    return numbers.delta(value) if exact or value >= 10.0 * RESOLVED else f"below {numbers.delta(10.0 * RESOLVED)}"


LOSS = make_question(
    "papers/abadi/loss",
    loss_law,
    lambda get: {
        "Question": ("epsilon", "direction", "span"),
        "Mechanism": ("noise_multiplier", InUnits((SIZE, RATE, STEPS) if get(SPAN) == "all" else (SIZE, RATE))),
        "Show": ("log_density",),
    },
)

# --- Theorem 2: from moments to δ, a tail bound for each λ and the least of them --------------------------------------

ORDERS = np.arange(1.0, 33.0)
SHOWN_ORDERS = (1, 2, 4, 8, 16, 32)
LEAST_DELTA = 1e-12
MOST_EPSILON = 200.0  # up to which the tight δ is computed: beyond, grids grow and nothing is gained
TIGHT_POINTS = 9


def tail_bound(*, noise_multiplier: float, sample_rate: float, steps: int, epsilon: float) -> Answer[Facts]:
    """δ against ε, by each of a few λ and by the best of 1 to 32."""
    divergence = dpviz.renyi_divergence(orders=ORDERS + 1.0, noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    moments = steps * ORDERS * np.asarray(divergence)
    if not np.isfinite(moments[0]):
        raise ValueError(
            "The moments exceed the range of floating-point numbers: raise the noise σ or take fewer steps."
        )
    end = float(((moments - np.log(LEAST_DELTA)) / ORDERS).min())
    x = np.linspace(0.0, max(1.1 * end, 1.2 * min(epsilon, 5.0 * end)), 201)
    each = np.minimum(moments[:, None] - ORDERS[:, None] * x, 0.0)
    best = np.exp(each.min(axis=0))
    curves = {f"order{order}": np.exp(each[order - 1]) for order in SHOWN_ORDERS}
    curves[Moments.name] = np.where(best >= LEAST_DELTA / 10.0, best, np.nan)
    guides = upright(epsilon, f"ε = {numbers.plain(epsilon)}")
    plot = chart(ROOM, "tail", x, curves, x_axis={"shown": (0.0, float(x[-1]))}, guides=guides)
    logs = np.minimum(moments - ORDERS * epsilon, 0.0)
    order = float(ORDERS[logs.argmin()])
    computed = sample_rate > 0.0 and 0.0 < places(x[-1], epsilon)[-1] <= MOST_EPSILON
    facts = Facts(
        delta=float(np.exp(logs.min())),
        order=order,
        last=order == ORDERS[-1],
        end=float(x[-1]),
        computed=computed,
        interval=None,
        itself="…" if computed else "not computed here",
    )
    return Answer(plot, facts)


def places(end: float, epsilon: float) -> Array:
    """ε where the tight δ is computed, the one asked for among them."""
    return np.unique([*np.linspace(0.0, 0.95 * end, TIGHT_POINTS), min(epsilon, end)])


def tight_key(answer: Answer[Facts]) -> tuple[float, ...] | None:
    """What decides the interval; None where there is none to show."""
    return tuple(answer.given.values()) if answer.facts.computed else None


def tight_tail(answer: Answer[Facts]) -> Band:
    """δ from below and above."""
    x = places(answer.facts.end, answer.given["epsilon"])
    mechanism = SampledGaussian(answer.given["noise_multiplier"], answer.given["sample_rate"])
    intervals = [tight_delta(mechanism, answer.given["steps"], float(each)) for each in x]
    lower, upper = (np.array([float(getattr(one, side)) for one in intervals]) for side in ("lower", "upper"))
    here = x == answer.given["epsilon"]
    upper[here] = settled(upper[here], np.asarray(tail_soon(answer).upper))
    lower, upper = (np.maximum(end, LEAST_DELTA / 10.0) for end in (lower, upper))
    return Band(Tight().label, x, lower, upper, key=Tight.name)


def tail_soon(answer: Answer[Facts]) -> Band:
    """From above alone, at the ε asked for: no grid is needed where the moments prove all that is told apart."""
    most, least = answer.facts.delta, LEAST_DELTA / 10.0
    if most > least:
        mechanism = SampledGaussian(answer.given["noise_multiplier"], answer.given["sample_rate"])
        most = min(most, quick_delta(mechanism, answer.given["steps"], answer.given["epsilon"], least))
    at, upper = np.array([answer.given["epsilon"]]), np.array([max(most, least)])
    return Band(Tight().label, at, ZERO, upper, key=Tight.name)


def with_tail(answer: Answer[Facts], band: Band) -> Answer[Facts]:
    """The interval in chart and facts."""
    assert isinstance(answer.plot, LinePlot)
    at = int(np.abs(np.asarray(band.x) - answer.given["epsilon"]).argmin())
    facts = Facts(**vars(answer.facts))
    if float(band.x[at]) == answer.given["epsilon"]:
        low, high = facts.interval = float(band.lower[at]), float(band.upper[at])
        facts.itself, facts.least = f"≤ {numbers.delta(high)}", numbers.delta(numbers.down(low)) if low > 0.0 else "…"
    bands = (band,) if len(band.x) > 1 else ()
    return replace(answer, plot=replace(answer.plot, bands=bands), facts=facts)


TAIL = make_question(
    "papers/abadi/tail",
    tail_bound,
    {"Question": ("epsilon",), "Mechanism": ("noise_multiplier", units.ALL)},
    slow=(Slow(tight_key, tight_tail, with_tail, tail_soon),),
)

# --- Clipping, and why (§3.1): what a threshold keeps of a gradient, against the noise it asks for --------------------


def clipping(
    *, family: str, clipped: str, threshold: float, noise_multiplier: float, batch: int, coordinates: int
) -> Answer[Facts]:
    """Error of the averaged gradient against C, from clipping and from noise; or the largest norm, unclipped.

    The mean gradient of a family of examples is known in closed form, so is the mean of the clipped ones; the noise on
    an average over B examples has the length σC√d/B. No finite noise hides an example whose gradient may be of any
    length.
    """
    norms = FAMILIES[family]
    if clipped == "off":
        return unclipped(norms)
    x = np.unique(np.r_[np.geomspace(min(0.01, threshold), max(100.0, threshold), 241), threshold])
    length = float(np.hypot(*norms.mean))
    bias = np.hypot(*(norms.mean - norms.clipped(x)).T) / length
    noise = noise_multiplier * math.sqrt(coordinates) / batch * x / length
    whole = np.hypot(bias, noise)
    at, best = int(np.flatnonzero(x == threshold)[0]), int(whole.argmin())
    mean, held = norms.mean, norms.clipped(threshold)
    cosine = float(mean @ held) / (length * float(np.hypot(*held)))
    guides = upright(threshold, f"C = {numbers.plain(threshold)}")
    plot = chart(ROOM, "clipping", x, {"bias": bias, "noise": noise, "both": whole}, guides=guides)
    facts = Facts(
        several=len(norms.groups) > 1,  # directions
        kept=float(norms.clipped_norm(threshold)) / norms.mean_norm,
        over=float(norms.beyond(threshold)),
        bias=float(bias[at]),
        turned=math.degrees(math.acos(min(cosine, 1.0))),
        signal=float(np.hypot(*held) / length / noise[at]),
        best=float(x[best]),
        least=float(whole[best]),
    )
    return Answer(plot, facts)


def unclipped(norms: NormFamily) -> Answer[Facts]:
    """The largest norm against the number of examples: it has no end."""
    x = np.geomspace(1.0, 1e12, 121)
    thousand, million, billion = norms.largest(np.array([1e3, 1e6, 1e9])).tolist()  # medians
    facts = Facts(thousand=thousand, million=million, billion=billion)
    return Answer(chart(ROOM, "unclipped", x, {"largest": norms.largest(x)}), facts)


CLIPPING = make_question(
    "papers/abadi/clipping",
    clipping,
    lambda get: (
        {"Question": ("clipped", "family")}
        if get(CLIPPED) == "off"
        else {
            "Question": ("clipped", "family", "threshold"),
            "Noise": ("noise_multiplier", "batch", "coordinates"),
        }
    ),
    {"family": FAMILY},
)

# --- A lecture's toy example: what do two answers of a model say about Bob's record, and what does ε allow? -----------


def bob(*, inside: float, outside: float, delta: float) -> Answer[Facts]:
    """How often the answer may come with Bob in, against ε, when it comes with probability `outside` without him."""
    least = least_epsilon(inside, outside, delta)
    proven = math.isinf(least)
    reach = 20.0 if proven else max(4.0, 1.5 * least)
    x = np.linspace(0.0, reach, 241)
    high = np.array([float(dpviz.roc_bound(outside, epsilon=float(e), delta=delta)) for e in x])
    low = np.array([1.0 - float(dpviz.roc_bound(1.0 - outside, epsilon=float(e), delta=delta)) for e in x])
    guides = (Guide("y", inside, f"with Bob {numbers.plain(inside)}"), *(() if proven else upright(least, "least ε")))
    plot = chart(ROOM, "bob", x, {"high": high, "low": low}, x_axis={"shown": (0.0, reach)}, guides=guides)
    both = inside + outside
    belief = inside / both if both > 0.0 else 0.5  # that he is in, after “cancer”, at even odds
    return Answer(plot, Facts(least=least, proven=proven, belief=belief, right=0.5 + 0.5 * abs(inside - outside)))


def least_epsilon(inside: float, outside: float, delta: float) -> float:
    """The least ε with p ≤ e^ε p′ + δ for both answers, “cancer” or not, in either direction; ∞ where there is none."""
    no, without = 1.0 - inside, 1.0 - outside
    pairs = [(inside, outside), (outside, inside), (no, without), (without, no)]
    needed = [math.log((p - delta) / other) if other else math.inf for p, other in pairs if p > delta]
    return max(0.0, *needed)


BOB = make_question("papers/abadi/bob", bob)
