"""Which attacks are possible? The true positive rate that a mechanism allows at each false positive rate."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz import library as dpviz
from dpviz.accounting.formula import tex
from dpviz.accounting.pld.bounds import tight_profile
from dpviz.accounting.pld.quick import quick_profile
from dpviz.charts import look
from dpviz.charts.marks import Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions import guessing, units
from dpviz.questions.answer import Answer, Metric, Note, Slow
from dpviz.questions.attack.fields import LOG_RATES
from dpviz.questions.attack.words import ASSUMPTIONS, at_most
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

Array = npt.NDArray[np.float64]

NO_PROMISE = 1e5  # an ε beyond this needs no second opinion
POINTS = 120  # of the privacy curve


@dataclass(frozen=True, eq=False)
class RocFacts:
    """Numbers beside the curves.

    Attributes:
        epsilon: Rényi's at δ; inf where none is proven.
        success: accuracy at even odds under the whole privacy curve: Rényi's, or tight once it is there.
        best: the lowest curve so far, TPR at the plot's rates; None where no ε is proven.
        tight: whether the tight curve is in.
        problem: why it cannot be had.
    """

    epsilon: float
    success: float
    best: Array | None = None
    tight: bool = False
    problem: str = ""


@dataclass(frozen=True, eq=False)
class TightRegion:
    """The tight region: true positive rates at `rates(log)`, by `log`; accuracy at even odds; why there is none."""

    curves: dict[bool, Array] = field(default_factory=dict)
    success: float = math.nan
    problem: str = ""


def roc(*, noise_multiplier: float, sample_rate: float, steps: int, delta: float, log_rates: bool) -> Answer[RocFacts]:
    """Curves that bound TPR at each FPR: one (ε, δ), all of Rényi's (ε, δ(ε)), and one unsampled step exactly."""
    x = rates(log_rates)
    mechanism: dict[str, Any] = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    epsilon = float(dpviz.epsilon("renyi", delta=delta, **mechanism))
    alone = dpviz.gaussian_roc(x, noise_multiplier=noise_multiplier)
    lines = [
        Line("unsampled", "one step, no sampling", x, alone, "moments", color=look.MAUVE, kept=False),
        Line("guess", "guessing", x, x, "moments", color=look.GREY, kept=False, approximate=True),
    ]
    facts = RocFacts(epsilon, 1.0)
    if math.isfinite(epsilon):
        pair = dpviz.roc_bound(x, epsilon=epsilon, delta=delta)
        at = np.linspace(0.0, 1.5 * epsilon, 61)
        failure = np.minimum(np.asarray(dpviz.delta("renyi", epsilon=at, **mechanism)), 1.0)
        curve = dpviz.profile_roc(x, epsilon=at, delta=failure)
        lines = [
            Line("pair", "one (ε, δ)", x, pair, "moments", color=look.BLUE, kept=False),
            Line("renyi", "Rényi, all ε", x, curve, "moments", color=look.GREEN),
            *lines,
        ]
        facts = RocFacts(epsilon, dpviz.profile_success(epsilon=at, delta=failure), curve)
    span = (1e-6, 1.0) if log_rates else (0.0, 1.0)
    plot = LinePlot(
        x=Axis(
            "false positive rate: called in, but out",
            name="false positive rate",
            column="fpr",
            log=log_rates,
            shown=span,
            hover="FPR %{x:.4~r}",
            marks=(0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9),
        ),
        y=Axis(
            "true positive rate: called in, and in",
            name="true positive rate",
            column="tpr",
            log=log_rates,
            shown=(1e-6, 1.3) if log_rates else (0.0, 1.02),
            write=at_most,
        ),
        lines=tuple(lines),
        end_values=False,
    )
    return Answer(plot, facts)


def rates(log: bool) -> Array:
    """False positive rates of the chart; always dense near 0, where curves rise steepest."""
    small = np.geomspace(1e-6, 1.0, 241)
    return small if log else np.unique(np.concatenate([[0.0], small, np.linspace(0.0, 1.0, 101)]))


def region_key(a: Answer[RocFacts]) -> Hashable | None:
    """What decides the tight region, which holds for every δ at once; None where the chart shows none."""
    g = a.given
    return (g["noise_multiplier"], g["sample_rate"], g["steps"]) if a.facts.epsilon < NO_PROMISE else None


def region(a: Answer[RocFacts]) -> TightRegion:
    """The mechanism's whole privacy curve as a region of error rates."""
    sigma, rate, steps = a.given["noise_multiplier"], a.given["sample_rate"], a.given["steps"]
    try:
        profile = tight_profile(dpviz.SampledGaussian(sigma, rate), steps, points=POINTS)
    except ValueError as problem:
        return TightRegion(problem=str(problem))
    upper = np.clip(profile.upper, 0.0, 1.0)
    soon = region_soon(a, (False, True))
    curves = {
        log: np.minimum(dpviz.profile_roc(rates(log), epsilon=profile.epsilon, delta=upper), curve)
        for log, curve in soon.curves.items()
    }
    return TightRegion(curves, min(guessing.accuracy(dpviz.SampledGaussian(sigma, rate), steps).upper, soon.success))


def region_soon(a: Answer[RocFacts], logs: tuple[bool, ...] = ()) -> TightRegion:
    """The same, hardly larger, from two distributions instead of some fifteen; of the present axes unless told."""
    mechanism, steps = dpviz.SampledGaussian(a.given["noise_multiplier"], a.given["sample_rate"]), a.given["steps"]
    try:
        profile = quick_profile(mechanism, steps, POINTS)
    except ValueError as problem:
        return TightRegion(problem=str(problem))
    delta = np.clip(profile.upper, 0.0, 1.0)
    shown = logs or (a.given["log_rates"],)
    curves = {log: dpviz.profile_roc(rates(log), epsilon=profile.epsilon, delta=delta) for log in shown}
    return TightRegion(curves, guessing.accuracy_soon(mechanism, steps).upper)


def with_region(a: Answer[RocFacts], found: TightRegion) -> Answer[RocFacts]:
    if found.problem:
        return replace(a, facts=replace(a.facts, problem=found.problem))
    assert isinstance(a.plot, LinePlot)
    log = a.given["log_rates"]
    curve = Line("tight", "tight, all ε", rates(log), found.curves[log], "moments", color=look.ORANGE)
    kept = tuple(replace(line, kept=False) for line in a.plot.lines)
    facts = replace(a.facts, success=found.success, best=found.curves[log], tight=True)
    return replace(a, plot=replace(a.plot, lines=(*kept, curve)), facts=facts)


def headline(a: Answer[RocFacts]) -> str:
    f, delta = a.facts, a.given["delta"]
    if not math.isfinite(f.epsilon):
        return "No finite ε can be proven here: any attack may succeed. Add noise or take fewer steps."
    alone = float(dpviz.attack_success(f.epsilon, delta=delta))
    source = "tight accountant" if f.tight else "Rényi divergences"
    return (
        f"After <b>{numbers.steps(a.given['steps'])}</b> steps no attack is right more than "
        f"<b>{at_most(f.success)}</b> of the time at even odds (whole privacy curve, {source}); the single pair ε = "
        f"{numbers.epsilon(f.epsilon, up=True)}, δ = {numbers.delta(delta)} would allow <b>{at_most(alone)}</b>."
    )


def metrics(a: Answer[RocFacts]) -> list[Metric]:
    f = a.facts
    source = "tight" if f.tight else "Rényi"
    alone = float(dpviz.attack_success(f.epsilon, delta=a.given["delta"]))
    built = [
        Metric("Accuracy at even odds", f"≤ {at_most(f.success)}", f"whole privacy curve, {source}"),
        Metric("From one (ε, δ)", f"≤ {at_most(alone)}", f"ε = {numbers.epsilon(f.epsilon, up=True)}, Rényi"),
    ]
    for rate in (0.01, 0.001):
        top = math.nan if f.best is None else float(np.interp(rate, rates(a.given["log_rates"]), f.best))
        shown = "–" if math.isnan(top) else f"≤ {at_most(top)}"
        built.append(Metric(f"Found at FPR {numbers.plain(100 * rate)} %", shown, "true positive rate, at most"))
    return built


def notes(a: Answer[RocFacts]) -> list[Note]:
    built = [Note("Every curve but “one step, no sampling” bounds all attacks: the lowest one says most.")]
    if a.facts.problem:
        built.insert(0, Note(f"Tight region: {a.facts.problem}", "caution"))
    return built


def formulas(a: Answer[RocFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Region of one (ε, δ) (Kairouz, Oh, Viswanath 2015)",
            r"\mathrm{TPR} \le \min\left(e^{\varepsilon}\,\mathrm{FPR}+\delta,\ "
            rf"1-e^{{-\varepsilon}}(1-\delta-\mathrm{{FPR}})\right),\quad \varepsilon = {tex(a.facts.epsilon)}",
        ),
        (
            "Gaussian mechanism, exact (Dong, Roth, Su 2022)",
            rf"\mathrm{{TPR}} = \Phi\left(\Phi^{{-1}}(\mathrm{{FPR}}) + \tfrac1\sigma\right),"
            rf"\quad \tfrac1\sigma = {1.0 / a.given['noise_multiplier']:.4g}",
        ),
        (
            "Whole privacy curve",
            r"\mathrm{TPR} \le \min_{\varepsilon}\ \mathrm{region}(\varepsilon, \delta(\varepsilon)),\quad "
            rf"P(A) \le \tfrac{{1+\delta(0)}}2 = {a.facts.success:.6g}",
        ),
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (*units.controls(get), LOG_RATES), "Show": experts(IMAGE)}


ROC: Question[RocFacts] = Question(
    key="roc",
    title="Which attacks are possible?",
    settings={**SETTINGS, "log_rates": LOG_RATES},
    answer=roc,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    slow=(Slow(region_key, region, with_region, region_soon),),
    layout=layout,
)
