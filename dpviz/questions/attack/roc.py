"""Which attacks are possible? The true positive rate that a mechanism allows at each false positive rate."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.pld.bounds import tight_profile
from dpviz.accounting.pld.quick import quick_profile, quick_tight
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.charts.marks import Line
from dpviz.charts.plot import LinePlot
from dpviz.fields.declared import flag
from dpviz.mechanisms import Mechanism
from dpviz.questions import guessing, kinds
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.chart import chart, style
from dpviz.questions.layout import experts
from dpviz.questions.mechanism import DELTA, STEPS
from dpviz.questions.methods import left_out
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import words

LOG_RATES = flag("arocl")
NO_PROMISE = 1e5  # an ε beyond this needs no second opinion
POINTS = 120  # of the privacy curve


@dataclass(frozen=True, eq=False)
class RocFacts:
    """Numbers beside the curves.

    Attributes:
        epsilon: Rényi's at δ, or the tight accountant's where Rényi knows none; inf where none is proven.
        name: whose it is.
        success: accuracy at even odds under the whole privacy curve: Rényi's, or tight once it is there.
        rates: the plot's false positive rates.
        unsampled: σ of one step in which everybody takes part, where it is a Gaussian mechanism.
        left: accountants that do not know this mechanism → why.
        best: the lowest curve so far, TPR at the plot's rates; None where no ε is proven.
        tight: whether the tight curve is in.
        problem: why it cannot be had.
    """

    epsilon: float
    name: str
    success: float
    rates: Array
    unsampled: float | None
    left: Mapping[str, str]
    best: Array | None = None
    tight: bool = False
    problem: str = ""

    @property
    def source(self) -> tuple[str, str]:
        """Where the privacy curve comes from, in many words and in one."""
        return ("tight accountant", "tight") if self.tight else ("Rényi divergences", "Rényi")

    def alone(self, delta: float) -> float:
        """Right guesses that the pair allows."""
        return float(dpviz.attack_success(self.epsilon, delta=delta))

    def most(self, rate: float) -> float:
        """The true positive rate at a false positive rate, at most; NaN where nothing is proven."""
        return math.nan if self.best is None else float(np.interp(rate, self.rates, self.best))


@dataclass(frozen=True, eq=False)
class TightRegion:
    """The tight region: true positive rates at `rates(log)`, by `log`; accuracy at even odds; why there is none."""

    curves: dict[bool, Array] = field(default_factory=dict)
    success: float = math.nan
    problem: str = ""


def roc(*, mechanism: Mechanism, steps: int, delta: float, log_rates: bool) -> Answer[RocFacts]:
    """Curves that bound TPR at each FPR: one (ε, δ), all of Rényi's (ε, δ(ε)), and one unsampled step exactly."""
    x = rates(log_rates)
    left = left_out((Renyi().family, Tight.name), mechanism)
    known: dict[str, Any] = {"mechanism": mechanism, "steps": steps}
    epsilon, name = math.inf, "Rényi"
    if Renyi().family not in left:
        epsilon = float(dpviz.epsilon("renyi", delta=delta, **known))
    elif Tight.name not in left:
        epsilon, name = quick_tight(mechanism, steps, delta).epsilon, Tight.name
    curves: dict[str, Array] = {}
    unsampled = _without_sampling(mechanism).as_gaussian
    facts = RocFacts(epsilon, name, 1.0, x, unsampled, left)
    if math.isfinite(epsilon):
        pair = dpviz.roc_bound(x, epsilon=epsilon, delta=delta)
        curves["pair"] = pair
        facts = replace(facts, success=facts.alone(delta), best=pair)
    if math.isfinite(epsilon) and Renyi().family not in left:
        at = np.linspace(0.0, 1.5 * epsilon, 61)
        failure = np.minimum(np.asarray(dpviz.delta("renyi", epsilon=at, **known)), 1.0)
        curve = dpviz.profile_roc(x, epsilon=at, delta=failure)
        curves["renyi"] = curve
        facts = replace(facts, success=dpviz.profile_success(epsilon=at, delta=failure), best=curve)
    if unsampled is not None:
        curves["unsampled"] = np.asarray(dpviz.gaussian_roc(x, noise_multiplier=unsampled))
    plot = chart(
        "attack",
        "roc",
        x,
        curves | {"guess": x},
        x_axis={"log": log_rates, "shown": (1e-6, 1.0) if log_rates else (0.0, 1.0)},
        y_axis={"log": log_rates, "shown": (1e-6, 1.3) if log_rates else (0.0, 1.02)},
    )
    return Answer(plot, facts)


def rates(log: bool) -> Array:
    """False positive rates of the chart; always dense near 0, where curves rise steepest."""
    small = np.geomspace(1e-6, 1.0, 241)
    return small if log else np.unique(np.concatenate([[0.0], small, np.linspace(0.0, 1.0, 101)]))


def _without_sampling(mechanism: Mechanism) -> Mechanism:
    """The same, everybody taking part in every step, where it samples."""
    return replace(mechanism, sample_rate=1.0) if "sample_rate" in mechanism.parameters() else mechanism  # type: ignore[type-var]


def region_key(answer: Answer[RocFacts]) -> Hashable | None:
    """What decides the tight region, which holds for every δ at once; None where the chart shows none."""
    known = Tight.name not in answer.facts.left and answer.facts.epsilon < NO_PROMISE
    return (answer.given["mechanism"], answer.given["steps"]) if known else None


def region(answer: Answer[RocFacts]) -> TightRegion:
    """The mechanism's whole privacy curve as a region of error rates."""
    mechanism, steps = answer.given["mechanism"], answer.given["steps"]
    try:
        profile = tight_profile(mechanism, steps, points=POINTS)
    except ValueError as problem:
        return TightRegion(problem=str(problem))
    upper = np.clip(profile.upper, 0.0, 1.0)
    soon = region_soon(answer, (False, True))
    curves = {
        log: np.minimum(dpviz.profile_roc(rates(log), epsilon=profile.epsilon, delta=upper), curve)
        for log, curve in soon.curves.items()
    }
    return TightRegion(curves, min(guessing.accuracy(mechanism, steps).upper, soon.success))


def region_soon(answer: Answer[RocFacts], logs: tuple[bool, ...] = ()) -> TightRegion:
    """The same, hardly larger, from two distributions instead of some fifteen; of the present axes unless told."""
    mechanism, steps = answer.given["mechanism"], answer.given["steps"]
    try:
        profile = quick_profile(mechanism, steps, POINTS)
    except ValueError as problem:
        return TightRegion(problem=str(problem))
    delta = np.clip(profile.upper, 0.0, 1.0)
    shown = logs or (answer.given["log_rates"],)
    curves = {log: dpviz.profile_roc(rates(log), epsilon=profile.epsilon, delta=delta) for log in shown}
    return TightRegion(curves, guessing.accuracy_soon(mechanism, steps).upper)


def with_region(answer: Answer[RocFacts], tight: TightRegion) -> Answer[RocFacts]:
    if tight.problem:
        return replace(answer, facts=replace(answer.facts, problem=tight.problem))
    assert isinstance(answer.plot, LinePlot)
    log = answer.given["log_rates"]
    curve = Line("tight", x=rates(log), y=tight.curves[log], **style("attack", "roc", "tight"))
    kept = tuple(replace(line, kept=False) for line in answer.plot.lines)
    facts = replace(answer.facts, success=tight.success, best=tight.curves[log], tight=True)
    return replace(answer, plot=replace(answer.plot, lines=(*kept, curve)), facts=facts)


ROC: Question[RocFacts] = Question(
    key="roc",
    settings={"mechanism": kinds.MECHANISM, "steps": STEPS, "delta": DELTA, "log_rates": LOG_RATES},
    answer=roc,
    slow=(Slow(region_key, region, with_region, region_soon),),
    layout=lambda get: {"Question": (*kinds.controls(get), LOG_RATES), "Show": experts(IMAGE)},
    **words("attack", "roc"),
)
