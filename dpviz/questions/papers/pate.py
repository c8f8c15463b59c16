"""PATE: what the answers of an ensemble of teachers cost, whatever they vote, at known votes, and when published."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.methods import BAYESIAN, Renyi, Tight
from dpviz.accounting.pate.answers import Threshold, pate_divergence_at
from dpviz.accounting.pate.release import SmoothRelease, answers, most_smoothness, released_epsilon
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.charts import Column, Point
from dpviz.experiments.record import recorded
from dpviz.fields import choice, number
from dpviz.questions import Answer, Facts, Named, Reader, Slow, chart, experts, make_question
from dpviz.questions.printed import CLAIMS
from dpviz.training.ensemble import Taught, student, votes_of

# A bound holds at any orders: a quarter of them costs some 1 % of ε on recorded votes, and a third of the time.
ALL, SOME = np.array(DEFAULT_ORDERS), np.array(DEFAULT_ORDERS[::4])
POINTS = 40
CLASSES = 10
VOTES = "teachers"  # the record of votes
# Of what is published: the noise on ln S, in β, and the chance that it is too low.
LOG_NOISE, CHANCE = 4.0, 0.01


def ensemble(**given: Any) -> Answer[Facts]:
    """ε against the number of queries; `given` are the settings of the question."""
    digits, queries, delta, one_sided = given["votes"] == "digits", given["queries"], given["delta"], given["one_sided"]
    counts = recorded_votes(given["recorded_teachers"]) if digits else alike(given["teachers"], given["agreement"])
    last = min(queries, len(counts)) if digits else queries
    x: Array = np.unique(np.round(np.linspace(1.0, last, POINTS)))
    at = x.astype(int) - 1
    noise, threshold = released(given)
    gaussian = "noise_std" in noise
    curves: dict[str, Any] = {Renyi.name: np.asarray(dpviz.pate_epsilon(x, delta=delta, **noise))}
    if gaussian:
        curves[Tight.name] = np.asarray(dpviz.pate_epsilon(x, delta=delta, method=Tight.name, **noise))
    public = curves[Tight.name if gaussian else Renyi.name]  # the least ε that may be published
    orders = SOME if digits else ALL
    each = pate_divergence_at(counts, orders, threshold=threshold, one_sided=one_sided, **noise)
    total = np.cumsum(each, axis=0)[at] if digits else x[:, None] * each
    at_votes = np.minimum(to_bound(total, orders, delta, "improved").epsilon, public)
    passed = chances(counts, threshold, noise)
    answered = np.cumsum(passed)[at] if digits else x * passed
    curves["votes"] = {"y": at_votes, "hover": (Column("answered, expected", answered, key="answered_expected"),)}
    smooth = None
    if gaussian:
        order = given["order"]
        smoothness = given["smoothness"] * most_smoothness(order)
        smooth = SmoothRelease(order, smoothness, given["published_noise"], LOG_NOISE, CHANCE)
        curves["released"] = published(x, smooth, noise, given, None if digits else counts)
    points = printed_points(delta, last)
    plot = chart("papers/pate", "pate", x, curves, x_axis={"shown": (0.0, float(last))}, points=points)
    lead = np.sort(counts[:last], axis=1)
    facts = Facts(
        queries=last,
        cut=digits and queries > last,
        teachers=int(counts[0].sum()),
        public=float(public[-1]),
        at_votes=float(at_votes[-1]),
        answered=float(answered[-1]),
        lead=float(np.median(lead[:, -1] - lead[:, -2])),
        smooth=smooth,
        released=float(curves["released"][-1]) if gaussian else None,
        printed=points,
        made=recorded(VOTES).made,
        recorded=recorded(VOTES).of(given["recorded_teachers"])[0].found,
        taught=None,
    )
    return Answer(plot, facts)


def alike(teachers: int, agreement: float) -> Array:
    """One query's votes, (1, classes): a share for the first class, the rest spread over the others."""
    first = max(round(agreement * teachers), math.ceil(teachers / CLASSES))
    share, over = divmod(teachers - first, CLASSES - 1)
    return np.array([[first, *(share + (i < over) for i in range(CLASSES - 1))]], dtype=np.float64)


def released(given: Mapping[str, Any]) -> tuple[dict[str, Any], float | None]:
    """The noise of the chosen release, as keywords of dpviz's functions, and the threshold T of its check."""
    noise = {name: given[name] for name in NOISES[given["release"]]}
    return noise, noise.pop("threshold", None)


def chances(counts: Array, threshold: float | None, noise: Mapping[str, Any]) -> Array:
    """The probability that each query is answered, (queries,)."""
    if threshold is None:
        return np.ones(len(counts))
    return np.exp(Threshold(threshold, noise["threshold_std"]).log_answered(counts.max(axis=1))[0])


def printed_points(delta: float, last: float) -> tuple[Point, ...]:
    """What Li et al. 2019 print for PATE at this δ, as far as the axis goes."""
    cited = "Li et al. 2019, Table 1"
    return tuple(
        Point(float(queries), claim.number, f"{claim.printed}, {method} on {data}, {cited}", BAYESIAN)
        for claim in CLAIMS
        if claim.key.startswith("sg-table1-") and claim.recompute is not None
        if (given := claim.recompute.keywords).get("delta") == delta and (queries := given["queries"]) <= last
        for data, method in [claim.what.split(", ε of ")]
    )


# --- the cost at the votes as it may be published: noise by its smooth sensitivity, and what that costs ---------------


def published(
    queries: Array, smooth: SmoothRelease, noise: Mapping[str, Any], given: Mapping[str, Any], counts: Array | None
) -> Array:
    """ε at the votes as published after so many queries; `counts` of one query for all, or None for recorded ones."""
    sigma, one_sided = noise["noise_std"], given["one_sided"]
    if counts is None:
        sums = recorded_sums(given["recorded_teachers"], sigma, smooth.order, one_sided)
        total, local = (each[queries.astype(int) - 1] for each in sums)
    else:
        each, change = answers(counts, sigma, smooth.order, one_sided=one_sided)
        total, local = queries * each, queries[:, None] * change
    first, second = np.random.default_rng((1, given["draw"])).normal(size=2)
    return released_epsilon(total, local, queries, delta=given["delta"], release=smooth, draws=(first, second), **noise)


@remembered
def recorded_votes(teachers: str) -> Array:
    """Votes (queries, classes) of so many recorded teachers."""
    counts = votes_of(recorded(VOTES).of(teachers)[0].found["votes"]).astype(np.float64)
    counts.setflags(write=False)
    return counts


@remembered
def recorded_sums(teachers: str, noise_std: float, order: float, one_sided: bool) -> tuple[Array, Array]:
    """Sums of `answers` after each query of so many recorded teachers: (queries,) and (queries, distances)."""
    cost, local = answers(recorded_votes(teachers), noise_std, order, one_sided=one_sided)
    sums = np.cumsum(cost), np.cumsum(local, axis=0)
    for each in sums:
        each.setflags(write=False)
    return sums


# --- the student ------------------------------------------------------------------------------------------------------


def taught_key(answer: Answer[Facts]) -> tuple[Any, ...] | None:
    """What decides the student; None where there is none."""
    given, (noise, threshold) = answer.given, released(answer.given)
    decides = given["recorded_teachers"], tuple(noise.items()), threshold, answer.facts.queries, given["draw"]
    return decides if given["votes"] == "digits" else None


def taught(answer: Answer[Facts]) -> Taught:
    """A student that learns from the answers, drawn once."""
    noise, threshold = released(answer.given)
    counts = recorded_votes(answer.given["recorded_teachers"])[: answer.facts.queries]
    draw, passed = np.random.default_rng(answer.given["draw"]), np.ones(len(counts), dtype=np.bool_)
    if threshold is not None:
        passed = counts.max(axis=1) + draw.normal(0.0, noise["threshold_std"], len(counts)) >= threshold
    add = draw.normal if "noise_std" in noise else draw.laplace
    spread = noise.get("noise_std", noise.get("noise_scale", 0.0))
    return student((counts + add(0.0, spread, counts.shape)).argmax(axis=1), passed)


def with_student(answer: Answer[Facts], outcome: Taught) -> Answer[Facts]:
    return replace(answer, facts=Facts(**vars(answer.facts) | {"taught": outcome}))


VOTES_OF, RELEASE = choice("pavotes"), choice("panoise")
NOISES = {
    "gnmax": ("noise_std",),
    "confident": ("noise_std", "threshold", "threshold_std"),
    "lnmax": ("noise_scale",),
}


def layout(get: Reader) -> Named:
    digits, release = get(VOTES_OF) == "digits", get(RELEASE)
    publishes = release != "lnmax"
    whose = ("recorded_teachers",) if digits else ("teachers", "agreement")
    return {
        "Release": ("release", *NOISES[release], "queries", "delta"),
        "Votes": ("votes", *whose, *(("draw",) if digits or publishes else ())),
        "Show": ("one_sided",),
    } | ({"Publish": experts(number("pasigss"), number("pabeta"), number("paalpha"))} if publishes else {})


PATE = make_question(
    "papers/pate/pate",
    ensemble,
    layout,
    slow=(Slow(taught_key, taught, with_student),),
    presets=("sgpate", "sanitised", "confident"),
)
