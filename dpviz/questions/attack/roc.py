"""The highest true positive rate of any attack at each false positive rate: which attacks are possible?"""

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack.trade_off import MIDDLE, upper_deltas
from dpviz.accounting.attack.trade_off import POINTS as CURVE
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pld.bounds import tight_profile
from dpviz.accounting.pld.quick import quick_epsilon, quick_profile
from dpviz.charts import Axis, Line, LinePlot, Ring, look
from dpviz.fields import flag, number, numbers
from dpviz.mechanisms import Mechanism
from dpviz.questions import (
    DELTA,
    STEPS,
    Answer,
    Formula,
    Metric,
    Note,
    Question,
    Words,
    guessing,
    kinds,
    setting,
    slow_facts,
)
from dpviz.questions.attack.shared import ATTACKS
from dpviz.questions.guessing import limit
from dpviz.questions.methods import left_out, without

FALSE_POSITIVES, LOG_RATES = number("arocf"), flag("arocl")
ABOUT = {
    "pair": "What this ε and δ alone allow: the same for every mechanism that has them.",
    "unsampled": "One step in which everybody takes part, exactly.",
    "guess": "An attacker who has seen nothing: members and non-members are called members equally often.",
}
NO_PROMISE = 1e5  # an ε beyond this needs no second opinion
POINTS = 120  # of the privacy curve
SELDOM = 0.001  # false positives of an attack that must almost never be wrong


@dataclass(frozen=True, eq=False)
class RocFacts:
    """Numbers beside the curves.

    Attributes:
        epsilon: Rényi's at δ, or the tight accountant's where Rényi knows none; inf where none is proven.
        name: whose it is.
        success: accuracy at even odds under the whole privacy curve: Rényi's, or tight once it is there.
        rates: the plot's false positive rates.
        false_positives: the chosen one, of the attacker's point.
        unsampled: σ of one step in which everybody takes part, where it is a Gaussian mechanism.
        excluded: accountants that do not know this mechanism → why.
        bound: the privacy curve (ε, δ) behind the lowest one without the tight one; None where no ε is proven.
        profiles: those behind the tight one; empty before it is there. `problem` says why it cannot be had.
    """

    epsilon: float
    name: str
    success: float
    mechanism: Mechanism
    steps: int
    delta: float
    rates: Array
    false_positives: float
    unsampled: float | None
    excluded: Mapping[str, str]
    bound: tuple[Array, Array] | None = None
    profiles: tuple[tuple[Array, Array], ...] = ()
    problem: str = ""

    def best(self, rates: Array) -> Array | None:
        """The lowest curve so far, at these false positive rates."""
        curves = self.profiles or ((self.bound,) if self.bound else ())
        regions = [dpviz.profile_roc(rates, epsilon=epsilon, delta=delta) for epsilon, delta in curves]
        return np.min(regions, axis=0) if regions else None

    @property
    def source(self) -> str:
        """Where the privacy curve comes from."""
        return "PLD" if self.profiles else "Rényi"

    @property
    def alone(self) -> float:
        """Right guesses that the pair allows."""
        return float(dpviz.attack_success(self.epsilon, delta=self.delta))

    def most(self, rate: float) -> float:
        """The true positive rate at a false positive rate, at most; NaN where nothing is proven."""
        best = self.best(np.array([rate]))
        return math.nan if best is None else float(best[0])


def roc(
    *,
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    false_positives: Annotated[float, FALSE_POSITIVES],
    log_rates: Annotated[bool, LOG_RATES],
) -> Answer[RocFacts]:
    """Curves that bound TPR at each FPR: one (ε, δ), all of Rényi's (ε, δ(ε)), and one unsampled step exactly."""
    x, excluded = rates(log_rates), left_out((Renyi().family, Tight.name), mechanism)
    epsilon, name = math.inf, "Rényi"
    if Renyi().family not in excluded:
        epsilon = float(dpviz.epsilon(Renyi.name, mechanism=mechanism, steps=steps, delta=delta))
    elif Tight.name not in excluded:
        epsilon, name = quick_epsilon([(mechanism, steps)], delta), Tight.name
    facts = RocFacts(
        epsilon=epsilon,
        name=name,
        success=1.0,
        mechanism=mechanism,
        steps=steps,
        delta=delta,
        rates=x,
        false_positives=false_positives,
        unsampled=_without_sampling(mechanism).as_gaussian,
        excluded=excluded,
    )
    lines = []
    if math.isfinite(epsilon):
        pair = dpviz.roc_bound(x, epsilon=epsilon, delta=delta)
        lines.append(_line("pair", "one (ε, δ)", x, pair, look.BROWN))
        facts = replace(facts, success=facts.alone, bound=(np.array([epsilon]), np.array([delta])))
    if math.isfinite(epsilon) and Renyi().family not in excluded:
        at = np.linspace(0.0, 1.5 * epsilon, 61)
        failure = np.minimum(np.asarray(dpviz.delta(Renyi.name, mechanism=mechanism, steps=steps, epsilon=at)), 1.0)
        curve = dpviz.profile_roc(x, epsilon=at, delta=failure)
        lines.append(Line(Renyi.name, "Rényi, all ε", x, curve, Renyi().family))
        facts = replace(facts, success=dpviz.profile_success(epsilon=at, delta=failure), bound=(at, failure))
    if facts.unsampled is not None:
        exact = np.asarray(dpviz.gaussian_roc(x, noise_multiplier=facts.unsampled))
        lines.append(_line("unsampled", "one step, no sampling", x, exact, look.MAUVE))
    lines.append(replace(_line("guess", "guessing", x, x, look.GREY), approximate=True))
    return Answer(replace(rates_plot(tuple(lines), log=log_rates), rings=attacker(facts)), facts)


def _line(key: str, name: str, x: Array, y: Array, color: str) -> Line:
    """A curve that is no accountant's, and does not stay when it is pinned."""
    return Line(key, name, x, y, look.SOLID, color=color, kept=False, about=ABOUT[key])


def attacker(f: RocFacts) -> tuple[Ring, ...]:
    """The attacker's point: at the chosen false positive rate the highest true positive rate; none where none is
    proven."""
    most = f.most(f.false_positives)
    if math.isnan(most):
        return ()
    share = numbers.chance_up(most)
    hover = f"at most {share} of the members are found at {numbers.percent(f.false_positives, 4)} false positives"
    return (Ring(f.false_positives, most, hover, look.GREY, name=f"≤ {share}", sets=(FALSE_POSITIVES, None)),)


def rates_plot(lines: tuple[Line, ...], *, log: bool) -> LinePlot:
    """TPR against FPR."""
    return LinePlot(
        x=Axis(
            "false positive rate: said “in”, but was out",
            name="false positive rate",
            column="fpr",
            log=log,
            shown=(1e-6, 1.0) if log else (0.0, 1.0),
            hover="FPR %{x:.4~r}",
            marks=(1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9),
        ),
        y=Axis(
            "true positive rate: said “in”, and was in",
            name="true positive rate",
            column="tpr",
            log=log,
            shown=(1e-6, 1.3) if log else (0.0, 1.02),
            write=numbers.chance_up,
        ),
        lines=lines,
        end_values=False,
    )


def rates(log: bool) -> Array:
    """False positive rates of the chart; always dense near 0, where curves rise steepest."""
    small = np.geomspace(1e-6, 1.0, 241)
    return small if log else np.unique(np.concatenate([[0.0], small, np.linspace(0.0, 1.0, 101)]))


def _without_sampling(mechanism: Mechanism) -> Mechanism:
    """The same, everybody taking part in every step, where it samples."""
    return mechanism.changed(sample_rate=1.0) if "sample_rate" in mechanism.parameters() else mechanism


def region_key(answer: Answer[RocFacts]) -> Hashable | None:
    """What decides the tight region, which holds for every δ at once; None where the chart shows none."""
    f = answer.facts
    return (f.mechanism, f.steps) if Tight.name not in f.excluded and f.epsilon < NO_PROMISE else None


def region(answer: Answer[RocFacts]) -> dict[str, Any]:
    """The mechanism's whole privacy curve as a region of error rates, beside the quick one."""
    mechanism, steps = answer.facts.mechanism, answer.facts.steps
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
    mechanism, steps = answer.facts.mechanism, answer.facts.steps
    try:
        profile = quick_profile(mechanism, steps, POINTS)
    except ValueError as problem:
        return {"problem": str(problem)}
    profiles = ((profile.epsilon, np.clip(profile.upper, 0.0, 1.0)),)
    return {"profiles": profiles, "success": guessing.accuracy_soon(mechanism, steps).upper}


def with_region(answer: Answer[RocFacts]) -> LinePlot:
    """The plot with the tight curve, which alone is kept when it is pinned."""
    assert isinstance(answer.plot, LinePlot)
    rates = answer.facts.rates
    best = answer.facts.best(rates)
    if best is None or not answer.facts.profiles:
        return answer.plot
    curve = Line(Tight.name, "PLD, all ε", rates, best, Tight.name)
    kept = (replace(line, kept=False) for line in answer.plot.lines if line.key != Tight.name)
    return replace(answer.plot, lines=(*kept, curve), rings=attacker(answer.facts))


def headline(f: RocFacts) -> str:
    if math.isinf(f.epsilon):
        return "No finite ε can be proven here, so any attack may succeed: add noise or take fewer steps."
    steps = setting(kinds.T[f.mechanism.step], numbers.steps(f.steps))
    after = f"After <b>{steps}</b> {f.mechanism.step}{'s' * (f.steps > 1)}"
    return f"{after}, {limit('attack', f.success)}."


def metrics(f: RocFacts) -> Iterator[Metric]:
    if math.isinf(f.epsilon):
        return
    whole_curve = f"at even odds; from the whole privacy curve ({f.source})"
    yield Metric("Best attack accuracy", f"≤ {numbers.chance_up(f.success)}", whole_curve)
    yield Metric("From one (ε, δ)", f"≤ {numbers.chance_up(f.alone)}", f"ε = {numbers.up(f.epsilon)}, {f.name}")
    for rate in dict.fromkeys((f.false_positives, SELDOM)):
        share = f"≤ {numbers.chance_up(f.most(rate))}"
        yield Metric(f"TPR at FPR {numbers.percent(rate, 4)}", share, "largest share of members found")


def notes(f: RocFacts) -> Iterator[Note]:
    if f.problem:
        yield Note(f"PLD region: {f.problem}", "caution")
    other = "" if f.unsampled is None else ", and “one step, no sampling” is another mechanism"
    yield Note(
        f"The diagonal is guessing{other}. Every other curve bounds all attacks, and the lowest of them is the "
        "strongest bound."
    )
    yield from map(Note, without(f.excluded))


def formulas(f: RocFacts) -> Iterator[Formula]:
    yield Formula(
        "Region of one (ε, δ) (Kairouz, Oh, Viswanath 2015)",
        r"\mathrm{TPR} \le \min\left(e^{\varepsilon}\,\mathrm{FPR}+\delta,"
        r"\ 1-e^{-\varepsilon}(1-\delta-\mathrm{FPR})\right),\quad"
        rf" \varepsilon = {numbers.tex_up(f.epsilon)}",
    )
    if f.unsampled is not None:
        yield Formula(
            "Gaussian mechanism, exact (Dong, Roth, Su 2022)",
            r"\mathrm{TPR} = \Phi\left(\Phi^{-1}(\mathrm{FPR}) + \tfrac1\sigma\right),\quad"
            rf" \tfrac1\sigma = {1 / f.unsampled:.4g}",
        )
    yield Formula(
        "Whole privacy curve",
        r"\mathrm{TPR} \le \min_{\varepsilon}\ \mathrm{region}(\varepsilon, \delta(\varepsilon)),\quad"
        rf" P(A) \le \tfrac{{1+\delta(0)}}2 = {numbers.at_most(f.success, 6)}",
    )


ROC = Question(
    "roc",
    "Which attacks are possible?",
    roc,
    Words(headline, metrics, notes, formulas, lambda f: kinds.assumed(f.mechanism) + ATTACKS),
    asks="success",
    layout=lambda get: {"Question": (*kinds.controls(get), FALSE_POSITIVES, LOG_RATES)},
    slow=(slow_facts(region_key, region, region_soon, with_region),),
)
