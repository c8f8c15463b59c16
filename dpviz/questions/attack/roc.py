"""Which attacks are possible? The true positive rate that a mechanism allows at each false positive rate."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack.trade_off import MIDDLE, upper_deltas
from dpviz.accounting.attack.trade_off import POINTS as CURVE
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pld.bounds import tight_profile
from dpviz.accounting.pld.quick import quick_epsilon, quick_profile
from dpviz.charts import Line, LinePlot
from dpviz.fields import flag
from dpviz.mechanisms import Mechanism
from dpviz.questions import DELTA, STEPS, Answer, chart, guessing, kinds, make_question, slow_facts, style
from dpviz.questions.methods import left_out

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
        bound: the privacy curve (ε, δ) behind the lowest one without the tight one; None where no ε is proven.
        profiles: those behind the tight one; empty before it is there.
        problem: why it cannot be had.
    """

    epsilon: float
    name: str
    success: float
    rates: Array
    unsampled: float | None
    left: Mapping[str, str]
    bound: tuple[Array, Array] | None = None
    profiles: tuple[tuple[Array, Array], ...] = ()
    problem: str = ""

    def best(self, rates: Array) -> Array | None:
        """The lowest curve so far, at these false positive rates."""
        curves = self.profiles or ((self.bound,) if self.bound else ())
        regions = [dpviz.profile_roc(rates, epsilon=epsilon, delta=delta) for epsilon, delta in curves]
        return np.min(regions, axis=0) if regions else None

    @property
    def source(self) -> tuple[str, str]:
        """Where the privacy curve comes from, in many words and in one."""
        return ("numerical (PLD) accountant", "numerical (PLD)") if self.profiles else ("Rényi divergences", "Rényi")

    def alone(self, delta: float) -> float:
        """Right guesses that the pair allows."""
        return float(dpviz.attack_success(self.epsilon, delta=delta))

    def most(self, rate: float) -> float:
        """The true positive rate at a false positive rate, at most; NaN where nothing is proven."""
        best = self.best(np.array([rate]))
        return math.nan if best is None else float(best[0])


def roc(*, mechanism: Mechanism, steps: int, delta: float, log_rates: bool) -> Answer[RocFacts]:
    """Curves that bound TPR at each FPR: one (ε, δ), all of Rényi's (ε, δ(ε)), and one unsampled step exactly."""
    x = rates(log_rates)
    left = left_out((Renyi().family, Tight.name), mechanism)
    run: dict[str, Any] = {"mechanism": mechanism, "steps": steps}
    epsilon, name = math.inf, "Rényi"
    if Renyi().family not in left:
        epsilon = float(dpviz.epsilon(Renyi.name, delta=delta, **run))
    elif Tight.name not in left:
        epsilon, name = quick_epsilon([(mechanism, steps)], delta), Tight.name
    curves: dict[str, Array] = {}
    unsampled = _without_sampling(mechanism).as_gaussian
    facts = RocFacts(epsilon, name, 1.0, x, unsampled, left)
    if math.isfinite(epsilon):
        pair = dpviz.roc_bound(x, epsilon=epsilon, delta=delta)
        curves["pair"] = pair
        facts = replace(facts, success=facts.alone(delta), bound=(np.array([epsilon]), np.array([delta])))
    if math.isfinite(epsilon) and Renyi().family not in left:
        at = np.linspace(0.0, 1.5 * epsilon, 61)
        failure = np.minimum(np.asarray(dpviz.delta(Renyi.name, epsilon=at, **run)), 1.0)
        curve = dpviz.profile_roc(x, epsilon=at, delta=failure)
        curves[Renyi.name] = curve
        facts = replace(facts, success=dpviz.profile_success(epsilon=at, delta=failure), bound=(at, failure))
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
    return mechanism.changed(sample_rate=1.0) if "sample_rate" in mechanism.parameters() else mechanism


def region_key(answer: Answer[RocFacts]) -> Hashable | None:
    """What decides the tight region, which holds for every δ at once; None where the chart shows none."""
    within_reach = Tight.name not in answer.facts.left and answer.facts.epsilon < NO_PROMISE
    return (answer.given["mechanism"], answer.given["steps"]) if within_reach else None


def region(answer: Answer[RocFacts]) -> dict[str, Any]:
    """The mechanism's whole privacy curve as a region of error rates, beside the quick one."""
    mechanism, steps = answer.given["mechanism"], answer.given["steps"]
    soon = region_soon(answer)
    if "problem" in soon:
        return soon
    try:
        profile = tight_profile(mechanism, steps, points=POINTS)
    except ValueError as problem:
        return {"problem": str(problem)}
    last = float(profile.epsilon[-1])
    whole = np.linspace(0.0, last, CURVE), upper_deltas(mechanism, steps, MIDDLE * last, 0.0, last)
    profiles = (*soon["profiles"], (profile.epsilon, np.clip(profile.upper, 0.0, 1.0)), whole)
    return {"profiles": profiles, "success": min(guessing.accuracy(mechanism, steps).upper, soon["success"])}


def region_soon(answer: Answer[RocFacts]) -> dict[str, Any]:
    """The same, hardly larger, from two distributions instead of some fifteen."""
    mechanism, steps = answer.given["mechanism"], answer.given["steps"]
    try:
        profile = quick_profile(mechanism, steps, POINTS)
    except ValueError as problem:
        return {"problem": str(problem)}
    profiles = ((profile.epsilon, np.clip(profile.upper, 0.0, 1.0)),)
    return {"profiles": profiles, "success": guessing.accuracy_soon(mechanism, steps).upper}


def with_region(answer: Answer[RocFacts]) -> LinePlot:
    """The plot with the tight curve, which alone is kept when it is pinned."""
    assert isinstance(answer.plot, LinePlot)
    best = answer.facts.best(answer.facts.rates)
    if best is None or not answer.facts.profiles:
        return answer.plot
    curve = Line(Tight.name, x=answer.facts.rates, y=best, **style("attack", "roc", Tight.name))
    kept = (replace(line, kept=False) for line in answer.plot.lines if line.key != Tight.name)
    return replace(answer.plot, lines=(*kept, curve))


ROC = make_question(
    "attack/roc",
    roc,
    lambda get: {"Question": (*kinds.controls(get), LOG_RATES)},
    {"mechanism": kinds.MECHANISM, "steps": STEPS, "delta": DELTA, "log_rates": LOG_RATES},
    slow=(slow_facts(region_key, region, region_soon, with_region),),
)
