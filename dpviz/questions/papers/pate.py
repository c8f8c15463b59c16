"""PATE: what the answers of an ensemble of teachers cost, whatever they vote and at known votes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.pate.answers import Threshold, pate_divergence_at
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.charts.marks import Array, Column, Line, Point
from dpviz.charts.plot import Axis, LinePlot
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.layout import Expert, Groups, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.papers import pate_fields as fields
from dpviz.questions.papers import pate_words as words
from dpviz.questions.papers.pate_published import Publication, recorded_votes
from dpviz.questions.papers.pate_words import PateFacts
from dpviz.questions.presets import presets
from dpviz.questions.printed import CLAIMS
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.training.ensemble import Taught, student

# A bound holds at any orders: a quarter of them costs some 1 % of ε on recorded votes, and a third of the time.
ALL, SOME = np.array(DEFAULT_ORDERS), np.array(DEFAULT_ORDERS[::4])
POINTS = 40
CLASSES = 10


@dataclass(frozen=True)
class Release:
    """What is done with the votes, as keywords of dpviz's functions.

    Attributes:
        noise: the noise on the counts, and on the check where there is one.
        threshold: T of the check; None without.
    """

    noise: dict[str, Any]
    threshold: float | None


def ensemble(
    *,
    votes: str,
    recorded_teachers: str,
    teachers: int,
    agreement: float,
    release: str,
    noise_std: float,
    threshold: float,
    threshold_std: float,
    noise_scale: float,
    queries: int,
    delta: float,
    one_sided: bool,
    order: float,
    smoothness: float,
    published_noise: float,
    draw: int,
) -> Answer[PateFacts]:
    """ε against the number of queries."""
    counts = recorded_votes(recorded_teachers) if votes == "digits" else alike(teachers, agreement)
    last = min(queries, len(counts)) if votes == "digits" else queries
    x = np.unique(np.round(np.linspace(1.0, last, POINTS)))
    how = released(release, noise_std, noise_scale, threshold, threshold_std)
    whatever = np.asarray(dpviz.pate_epsilon(x, delta=delta, **how.noise))
    lines = [Line("renyi", "any votes", x, whatever, "renyi_improved")]
    public = whatever
    if "noise_std" in how.noise:
        public = np.asarray(dpviz.pate_epsilon(x, delta=delta, method="tight", **how.noise))
        lines.append(Line("tight", "any votes, tight", x, public, "moments"))
    orders = SOME if votes == "digits" else ALL
    each = pate_divergence_at(counts, orders, threshold=how.threshold, one_sided=one_sided, **how.noise)
    total = np.cumsum(each, axis=0)[x.astype(int) - 1] if votes == "digits" else x[:, None] * each
    at_votes = np.minimum(to_bound(total, orders, delta, "improved").epsilon, public)
    passed = chances(counts, how)
    often = np.cumsum(passed)[x.astype(int) - 1] if votes == "digits" else x * passed
    column = Column("answered, expected", often, key="answered_expected")
    lines.append(Line("votes", "at these votes", x, at_votes, "bayesian", approximate=True, hover=(column,)))
    sanitised = None
    if "noise_std" in how.noise:
        publication = Publication(order, smoothness, published_noise, draw)
        sanitised = publication.epsilon(
            x, recorded_teachers if votes == "digits" else counts, how.noise, delta=delta, one_sided=one_sided
        )
        lines.append(Line("released", "sanitised", x, sanitised, "rogers", approximate=True))
    plot = LinePlot(
        Axis("queries", hover="%{x:,d} queries", kind="steps", write=words.count, shown=(0.0, float(last))),
        Axis("ε", log=False),
        tuple(lines),
        points=printed_points(delta, last),
    )
    lead = np.sort(counts[:last], axis=1)
    facts = PateFacts(
        queries=last,
        teachers=int(counts[0].sum()),
        whatever=float(whatever[-1]),
        public=float(public[-1]),
        at_votes=float(at_votes[-1]),
        answered=float(often[-1]),
        lead=float(np.median(lead[:, -1] - lead[:, -2])),
        released=None if sanitised is None else float(sanitised[-1]),
    )
    return Answer(plot, facts)


def alike(teachers: int, agreement: float) -> Array:
    """One query's votes, (1, classes): a share for the first class, the rest spread over the others."""
    first = max(round(agreement * teachers), math.ceil(teachers / CLASSES))
    share, over = divmod(teachers - first, CLASSES - 1)
    return np.array([[first, *(share + (i < over) for i in range(CLASSES - 1))]], dtype=np.float64)


def released(release: str, noise_std: float, noise_scale: float, threshold: float, threshold_std: float) -> Release:
    """The chosen release."""
    if release == "lnmax":
        return Release({"noise_scale": noise_scale}, None)
    if release == "gnmax":
        return Release({"noise_std": noise_std}, None)
    return Release({"noise_std": noise_std, "threshold_std": threshold_std}, threshold)


def chances(counts: Array, how: Release) -> Array:
    """The probability that each query is answered, (queries,)."""
    if how.threshold is None:
        return np.ones(len(counts))
    return np.exp(Threshold(how.threshold, how.noise["threshold_std"]).log_answered(counts.max(axis=1))[0])


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


def taught_key(a: Answer[PateFacts]) -> tuple[Any, ...] | None:
    """What decides the student; None where there is none."""
    g = a.given
    if g["votes"] != "digits":
        return None
    how = released(g["release"], g["noise_std"], g["noise_scale"], g["threshold"], g["threshold_std"])
    return g["recorded_teachers"], tuple(how.noise.items()), how.threshold, a.facts.queries, g["draw"]


def taught(a: Answer[PateFacts]) -> Taught:
    """A student that learns from the answers, drawn once."""
    g = a.given
    how = released(g["release"], g["noise_std"], g["noise_scale"], g["threshold"], g["threshold_std"])
    counts, draw = recorded_votes(g["recorded_teachers"])[: a.facts.queries], np.random.default_rng(g["draw"])
    passed = np.ones(len(counts), dtype=np.bool_)
    if how.threshold is not None:
        passed = counts.max(axis=1) + draw.normal(0.0, how.noise["threshold_std"], len(counts)) >= how.threshold
    add = draw.normal if "noise_std" in how.noise else draw.laplace
    noise = add(0.0, how.noise.get("noise_std", how.noise.get("noise_scale", 0.0)), counts.shape)
    return student((counts + noise).argmax(axis=1), passed)


def with_student(a: Answer[PateFacts], found: Taught) -> Answer[PateFacts]:
    return replace(a, facts=replace(a.facts, taught=found))


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
        "Show": (fields.ONE_SIDED, Expert(IMAGE)),
    } | ({"Publish": experts(fields.PUBLISHED_NOISE, fields.SMOOTHNESS, fields.ORDER)} if publishes else {})


PATE: Question[PateFacts] = Question(
    key="pate",
    title="PATE: what do answers cost?",
    settings={
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
    answer=ensemble,
    headline=words.headline,
    metrics=words.metrics,
    notes=words.notes,
    formulas=words.formulas,
    assumptions=words.ASSUMPTIONS,
    presets=presets("sgpate", "sanitised", "confident"),
    slow=(Slow(taught_key, taught, with_student),),
    layout=layout,
)
