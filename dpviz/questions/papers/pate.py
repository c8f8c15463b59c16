"""PATE: what the answers of an ensemble of teachers cost, whatever they vote, at known votes, and when published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.pate.answers import Threshold, pate_divergence_at
from dpviz.accounting.pate.release import SmoothRelease, answers, most_smoothness, released_epsilon
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.charts.marks import Array, Column, Line, Point
from dpviz.charts.plot import Axis, LinePlot
from dpviz.experiments.record import recorded
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.papers import fields
from dpviz.questions.papers.reproduction import Facts, reproduction
from dpviz.questions.presets import presets
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
    whatever = np.asarray(dpviz.pate_epsilon(x, delta=delta, **noise))
    lines = [Line("renyi", "any votes", x, whatever, "renyi_improved")]
    public = whatever
    if gaussian:
        public = np.asarray(dpviz.pate_epsilon(x, delta=delta, method="tight", **noise))
        lines.append(Line("tight", "any votes, tight", x, public, "moments"))
    orders = SOME if digits else ALL
    each = pate_divergence_at(counts, orders, threshold=threshold, one_sided=one_sided, **noise)
    total = np.cumsum(each, axis=0)[at] if digits else x[:, None] * each
    at_votes = np.minimum(to_bound(total, orders, delta, "improved").epsilon, public)
    passed = chances(counts, threshold, noise)
    answered = np.cumsum(passed)[at] if digits else x * passed
    column = Column("answered, expected", answered, key="answered_expected")
    lines.append(Line("votes", "at these votes", x, at_votes, "bayesian", approximate=True, hover=(column,)))
    sanitised, smooth = np.array([math.nan]), None
    if gaussian:
        order = given["order"]
        smooth = SmoothRelease(
            order, given["smoothness"] * most_smoothness(order), given["published_noise"], LOG_NOISE, CHANCE
        )
        sanitised = published(x, smooth, noise, given, None if digits else counts)
        lines.append(Line("released", "sanitised", x, sanitised, "rogers", approximate=True))
    points = printed_points(delta, last)
    plot = LinePlot(
        Axis("queries", hover="%{x:,d} queries", kind="steps", write=numbers.steps, shown=(0.0, float(last))),
        Axis("ε", log=False),
        tuple(lines),
        points=points,
    )
    lead = np.sort(counts[:last], axis=1)
    record, teachers = recorded(VOTES), given["recorded_teachers"]
    at_end, publishable = float(sanitised[-1]), float(public[-1])
    facts = Facts(
        queries=last,
        asked=f"{numbers.steps(last)} quer{'y' if last == 1 else 'ies'}",
        cut=digits and queries > last,
        teachers=int(counts[0].sum()),
        whatever=float(whatever[-1]),
        public=publishable,  # the least ε that may be published: the tight one where there is one
        at_votes=float(at_votes[-1]),
        gains=at_votes[-1] < public[-1],
        answered=float(answered[-1]),
        share=float(answered[-1]) / last,
        lead=float(np.median(lead[:, -1] - lead[:, -2])),
        gaussian=gaussian,
        smooth=smooth,
        released=at_end if gaussian else None,
        pays=at_end < publishable,
        dear=at_end >= publishable,
        checks=" Each check is paid for as at any votes, and each query as if it were answered."
        * (threshold is not None),
        dearer=" Here publishing it does not pay: ε whatever the votes is lower." * (at_end >= publishable),
        chance=CHANCE,
        printed=points,
        made=record.made,
        teachers_right=record.of(teachers)[0].found["teachers_right"],
        votes_right=record.of(teachers)[0].found["votes_right"],
        taught=None,
        student="coming",
    )
    return Answer(plot, facts)


def alike(teachers: int, agreement: float) -> Array:
    """One query's votes, (1, classes): a share for the first class, the rest spread over the others."""
    first = max(round(agreement * teachers), math.ceil(teachers / CLASSES))
    share, over = divmod(teachers - first, CLASSES - 1)
    return np.array([[first, *(share + (i < over) for i in range(CLASSES - 1))]], dtype=np.float64)


def released(given: Mapping[str, Any]) -> tuple[dict[str, Any], float | None]:
    """The noise of the chosen release, as keywords of dpviz's functions, and the threshold T of its check."""
    if given["release"] == "lnmax":
        return {"noise_scale": given["noise_scale"]}, None
    if given["release"] == "gnmax":
        return {"noise_std": given["noise_std"]}, None
    return {"noise_std": given["noise_std"], "threshold_std": given["threshold_std"]}, given["threshold"]


def chances(counts: Array, threshold: float | None, noise: Mapping[str, Any]) -> Array:
    """The probability that each query is answered, (queries,)."""
    if threshold is None:
        return np.ones(len(counts))
    return np.exp(Threshold(threshold, noise["threshold_std"]).log_answered(counts.max(axis=1))[0])


def printed_points(delta: float, last: float) -> tuple[Point, ...]:
    """What Li et al. 2019 print for PATE at this δ, as far as the axis goes."""
    cited = "Li et al. 2019, Table 1"
    return tuple(
        Point(float(queries), claim.number, f"{claim.printed}, {method} on {data}, {cited}", "bayesian")
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
    if answer.given["votes"] != "digits":
        return None
    noise, threshold = released(answer.given)
    return (
        answer.given["recorded_teachers"],
        tuple(noise.items()),
        threshold,
        answer.facts.queries,
        answer.given["draw"],
    )


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
    later = {"taught": outcome, "student": "there" if outcome.answered else "none"}
    return replace(answer, facts=Facts(**vars(answer.facts) | later))


def layout(get: Reader) -> Groups:
    digits, release = get(fields.VOTES) == "digits", get(fields.RELEASE)
    noise = {
        "gnmax": (fields.VOTE_NOISE,),
        "confident": (fields.VOTE_NOISE, fields.THRESHOLD, fields.CHECK_NOISE),
        "lnmax": (fields.LAPLACE,),
    }
    publishes = release != "lnmax"
    whose = (fields.ENSEMBLE,) if digits else (fields.CROWD, fields.AGREEMENT)
    return {
        "Release": (fields.RELEASE, *noise[release], fields.QUERIES, DELTA),
        "Votes": (fields.VOTES, *whose, *((fields.DRAW,) if digits or publishes else ())),
        "Show": (fields.ONE_SIDED,),
    } | ({"Publish": experts(fields.PUBLISHED_NOISE, fields.SMOOTHNESS, fields.ORDER)} if publishes else {})


PATE = reproduction(
    "pate",
    "pate",
    ensemble,
    {
        "votes": fields.VOTES,
        "recorded_teachers": fields.ENSEMBLE,
        "teachers": fields.CROWD,
        "agreement": fields.AGREEMENT,
        "release": fields.RELEASE,
        "noise_std": fields.VOTE_NOISE,
        "threshold": fields.THRESHOLD,
        "threshold_std": fields.CHECK_NOISE,
        "noise_scale": fields.LAPLACE,
        "queries": fields.QUERIES,
        "delta": DELTA,
        "one_sided": fields.ONE_SIDED,
        "order": fields.ORDER,
        "smoothness": fields.SMOOTHNESS,
        "published_noise": fields.PUBLISHED_NOISE,
        "draw": fields.DRAW,
    },
    layout,
    slow=(Slow(taught_key, taught, with_student),),
    presets=presets("sgpate", "sanitised", "confident"),
)
