"""PATE: what the answers of an ensemble of teachers cost, whatever they vote, at known votes, and when published."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pate.answers import Threshold, pate_divergence_at
from dpviz.accounting.pate.release import answers, released_epsilon
from dpviz.accounting.pate.smooth_release import SmoothRelease, most_smoothness
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.charts import Axis, Column, Line, LinePlot, Point, look
from dpviz.fields import choice, flag, number, numbers
from dpviz.questions import DELTA, Answer
from dpviz.questions.papers.pate_votes import (
    VoteRecord,
    answered_shares,
    lead,
    recorded_sums,
    recorded_votes,
    summed,
    vote_record,
    votes_with,
)
from dpviz.questions.printed import CLAIMS
from dpviz.training.ensemble import StudentResult, student

# A bound holds at any orders: a quarter of them costs some 1 % of ε on recorded votes, and a third of the time.
ALL, SOME = np.array(DEFAULT_ORDERS), np.array(DEFAULT_ORDERS[::4])
POINTS = 40
# Of what is published: the noise on ln S, in β, and the chance that it is too low.
LOG_NOISE, CHANCE = 4.0, 0.01
VOTES, RELEASE = choice("pavotes"), choice("panoise")
ORDER, SMOOTHNESS, PUBLISHED_NOISE = number("paalpha"), number("pabeta"), number("pasigss")
NOISES = {  # release → the settings of its noise
    "gnmax": ("noise_std",),
    "confident": ("noise_std", "threshold", "threshold_std"),
    "lnmax": ("noise_scale",),
}


@dataclass(frozen=True)
class PateSettings:
    """What is asked.

    Attributes:
        votes: "digits", recorded ones, or "alike" on every query.
        recorded_teachers: how many, of recorded votes; a choice's text.
        teachers, agreement: how many, and the share that agrees, of votes alike.
        release: a key of `NOISES`.
        queries: how many are asked.
        one_sided: whether the cost at the votes is bounded in the papers' one direction.
        order, smoothness, published_noise: of what is published: α, β as a share of its maximum, and σ_ss.
        draw: seed of the noise.
    """

    votes: Annotated[str, VOTES]
    recorded_teachers: Annotated[str, choice("paens")]
    teachers: Annotated[int, number("pak")]
    agreement: Annotated[float, number("paagree")]
    release: Annotated[str, RELEASE]
    noise_std: Annotated[float, number("pasigma")]
    threshold: Annotated[float, number("pat")]
    threshold_std: Annotated[float, number("pasig1")]
    noise_scale: Annotated[float, number("pab")]
    queries: Annotated[int, number("paqueries")]
    delta: Annotated[float, DELTA]
    one_sided: Annotated[bool, flag("paone")]
    order: Annotated[float, ORDER]
    smoothness: Annotated[float, SMOOTHNESS]
    published_noise: Annotated[float, PUBLISHED_NOISE]
    draw: Annotated[int, number("padraw")]

    @property
    def digits(self) -> bool:
        """Whether the votes are the recorded ones."""
        return self.votes == "digits"

    @property
    def gaussian(self) -> bool:
        """Whether the noise is: only then can the cost at the votes be published."""
        return self.release != "lnmax"

    @property
    def counts(self) -> Array:
        """Votes of the queries, (queries, classes); one row for all where they are alike."""
        return recorded_votes(self.recorded_teachers) if self.digits else votes_with(self.teachers, self.agreement)

    @property
    def noise(self) -> dict[str, Any]:
        """Keywords of dpviz's functions for the noise of the release."""
        return {name: getattr(self, name) for name in NOISES[self.release] if name != "threshold"}

    @property
    def check(self) -> Threshold | None:
        """What a query must pass to be answered."""
        return Threshold(self.threshold, self.threshold_std) if self.release == "confident" else None

    @property
    def smooth(self) -> SmoothRelease | None:
        """How the cost at the votes is published; None where it cannot be."""
        if not self.gaussian:
            return None
        smoothness = self.smoothness * most_smoothness(self.order)
        return SmoothRelease(self.order, smoothness, self.published_noise, LOG_NOISE, CHANCE)


@dataclass(frozen=True)
class PateFacts:
    """What the answers to all queries cost.

    Attributes:
        settings: what is asked.
        queries: how many are counted: of recorded votes no more than there are.
        teachers: how many vote.
        public: the least ε that may be published, for any votes.
        at_votes: ε at these votes.
        smooth, released: how that is published, and as which ε; None where it cannot be.
        answered: how many queries are answered, in expectation.
        lead: by how many votes the first class is ahead, on the median query.
        record: of recorded votes.
        compared: whether printed values stand in the chart.
        student: the student, once it is there.
    """

    settings: PateSettings
    queries: int
    teachers: int
    public: float
    at_votes: float
    smooth: SmoothRelease | None
    released: float | None
    answered: float
    lead: float
    record: VoteRecord
    compared: bool
    student: StudentResult | None = None

    @property
    def cut(self) -> bool:
        """Whether votes are recorded on fewer queries than are asked."""
        return self.queries < self.settings.queries

    @property
    def helpful(self) -> bool:
        """Whether the votes lower ε."""
        return self.at_votes < self.public

    @property
    def answered_share(self) -> float:
        """The share of the queries that is answered, in expectation."""
        return self.answered / self.queries


def ensemble(**settings: Any) -> Answer[PateFacts]:
    """ε against the number of queries; `settings` are those of `PateSettings`."""
    return costs(PateSettings(**settings))


def costs(settings: PateSettings) -> Answer[PateFacts]:
    """ε for any votes, at these votes, and as it may be published."""
    counts = settings.counts
    last = min(settings.queries, len(counts)) if settings.digits else settings.queries
    x: Array = np.unique(np.round(np.linspace(1.0, last, POINTS)))
    lines = lines_for_any_votes(settings, x)
    public = np.asarray(lines[-1].y)  # the least ε that may be published
    at_votes = np.minimum(epsilon_at_votes(settings, counts, x), public)
    answered = summed(answered_shares(counts, settings.check), x)
    expected = Column("answered, expected", answered, key="answered_expected")
    lines.append(Line("votes", "at these votes", x, at_votes, look.AT_VOTES, approximate=True, hover=(expected,)))
    smooth, released = settings.smooth, None
    if smooth is not None:
        sanitised = published_epsilon(settings, smooth, x)
        lines.append(Line("released", "sanitised", x, sanitised, look.SOLID, color=look.MAUVE, approximate=True))
        released = float(sanitised[-1])
    points = printed_points(settings.delta, last)
    plot = LinePlot(
        x=Axis("queries", kind="steps", shown=(0.0, float(last)), hover="%{x:,d} queries", write=numbers.steps),
        y=Axis("ε"),
        lines=tuple(lines),
        points=points,
    )
    facts = PateFacts(
        settings=settings,
        queries=last,
        teachers=int(counts[0].sum()),
        public=float(public[-1]),
        at_votes=float(at_votes[-1]),
        smooth=smooth,
        released=released,
        answered=float(answered[-1]),
        lead=lead(counts[:last]),
        record=vote_record(settings.recorded_teachers),
        compared=bool(points),
    )
    return Answer(plot, facts)


def lines_for_any_votes(settings: PateSettings, queries: Array) -> list[Line]:
    """ε whatever the teachers vote, the least curve last: the tight accountant's, where it knows the noise."""
    noise, delta = settings.noise, settings.delta
    renyi = np.asarray(dpviz.pate.pate_epsilon(queries, delta=delta, method=Renyi.name, **noise))
    lines = [Line(Renyi.name, "any votes", queries, renyi, Renyi().family)]
    if settings.gaussian:
        tight = np.asarray(dpviz.pate.pate_epsilon(queries, delta=delta, method=Tight.name, **noise))
        lines.append(Line(Tight.name, "any votes, PLD", queries, tight, Tight.name))
    return lines


def epsilon_at_votes(settings: PateSettings, counts: Array, queries: Array) -> Array:
    """ε after so many queries on which the teachers vote like this."""
    orders = SOME if settings.digits else ALL
    threshold = None if settings.check is None else settings.check.votes
    each = pate_divergence_at(counts, orders, threshold=threshold, one_sided=settings.one_sided, **settings.noise)
    return np.asarray(to_bound(summed(each, queries), orders, settings.delta, "improved").epsilon)


def published_epsilon(settings: PateSettings, smooth: SmoothRelease, queries: Array) -> Array:
    """ε at the votes as published after so many queries, with noise by its smooth sensitivity and what that costs."""
    sigma, one_sided = settings.noise_std, settings.one_sided
    if settings.digits:
        sums = recorded_sums(settings.recorded_teachers, sigma, smooth.order, one_sided)
        total, local = (each[queries.astype(int) - 1] for each in sums)
    else:
        each = answers(settings.counts, sigma, smooth.order, one_sided=one_sided)
        total, local = (summed(values, queries) for values in each)
    first, second = np.random.default_rng((1, settings.draw)).normal(size=2)
    return released_epsilon(
        total, local, queries, delta=settings.delta, release=smooth, draws=(first, second), **settings.noise
    )


def printed_points(delta: float, last: float) -> tuple[Point, ...]:
    """What Li et al. 2019 print for PATE at this δ, as far as the axis goes."""
    cited = "Li et al. 2019, Table 1"
    return tuple(
        Point(float(queries), claim.number, f"{claim.printed}, {method} on {data}, {cited}", look.AT_VOTES)
        for claim in CLAIMS
        if claim.key.startswith("sg-table1-") and claim.recompute is not None
        if (given := claim.recompute.keywords).get("delta") == delta and (queries := given["queries"]) <= last
        for data, method in [claim.what.split(", ε of ")]
    )


def student_key(answer: Answer[PateFacts]) -> Hashable | None:
    """What decides the student; None where there is none."""
    settings = answer.facts.settings
    noise = tuple(settings.noise.items()), settings.check
    return (settings.recorded_teachers, *noise, answer.facts.queries, settings.draw) if settings.digits else None


def with_student(answer: Answer[PateFacts]) -> Mapping[str, StudentResult]:
    """A student that learns from the answers, drawn once."""
    settings = answer.facts.settings
    counts = recorded_votes(settings.recorded_teachers)[: answer.facts.queries]
    draw, passed = np.random.default_rng(settings.draw), np.ones(len(counts), dtype=np.bool_)
    if settings.check is not None:
        passed = counts.max(axis=1) + draw.normal(0.0, settings.threshold_std, len(counts)) >= settings.threshold
    if settings.gaussian:
        noise = draw.normal(0.0, settings.noise_std, counts.shape)
    else:
        noise = draw.laplace(0.0, settings.noise_scale, counts.shape)
    return {"student": student((counts + noise).argmax(axis=1), passed)}
