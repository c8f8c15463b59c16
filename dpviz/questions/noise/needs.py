"""What each method needs for the target, whichever number is missing: how it is compared, and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.bound import Kind
from dpviz.accounting.solve import LARGEST_STEPS
from dpviz.charts import look
from dpviz.charts.plot import Axis
from dpviz.charts.rows import Dot, DotPlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import guessing
from dpviz.questions.answer import LATER, Answer, Note, Slow
from dpviz.questions.gradients import Gradients, Law
from dpviz.questions.methods import method
from dpviz.questions.needed import SYMBOLS, Need
from dpviz.questions.noise.curves import Curve, name_of
from dpviz.questions.source import NoSample
from dpviz.questions.tight_band import TightBand

TITLES = {
    "noise_multiplier": "noise multiplier σ needed",
    "steps": "steps T allowed",
    "sample_rate": "sampling rate q allowed",
    "delta": "δ reached (δ_μ for Bayesian DP)",
}
KINDS = {"noise_multiplier": "plain", "steps": "steps", "sample_rate": "plain", "delta": "delta"}
ANY = "any"
# From red to gold around Bayesian DP's orange: the smaller the quantile, the redder. Contrast ≥ 3 on both grounds.
HUES = {
    "q01": "#b8443a",
    "q05": "#c04f36",
    "q25": "#cb6330",
    "q50": "#d57922",
    "q75": "#c27f1a",
    "q95": "#b08412",
    "q99": "#9c860c",
}


@dataclass(frozen=True, eq=False)
class Needs:
    """What each method needs, by its key: "moments", or "bayesian.q50" for Bayesian DP at a clipping quantile.

    Attributes:
        unknown: what is missing: a key of SYMBOLS.
        target: the ε to be kept.
        valid: keys of methods that are bounds here, no approximations: their accountants know. Bayesian DP is one.
        needs: the missing number by method.
        curves: ε along σ by method, where they are drawn.
        certified: whether Bayesian DP's answers are bounds: gradients are clipped, distances independent.
        size: how many distances it has; 0 for no sample, or none that can be used.
        independent: whether no two of them share a gradient.
        known: the distribution, where Bayesian DP rests on a known one and on no sample.
        problem: why Bayesian DP has no answer.
        tight: the tight interval along σ.
        accuracy: of the best attack on `mechanism`, once it is there.
    """

    unknown: str
    target: float
    valid: frozenset[str]
    needs: dict[str, Need] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    certified: bool = False
    size: int = 0
    independent: bool = True
    known: Law | None = None
    problem: tuple[Note, ...] = ()
    tight: TightBand | None = None
    accuracy: Accuracy | None = None

    def best(self, *, bayesian: bool) -> str | None:
        """The valid method with the most favourable answer; tight counts as none, for it is the reference."""
        found = {
            key: need.value
            for key, need in self.needs.items()
            if key.startswith("bayesian") is bayesian
            and key in self.valid
            and need.value is not None
            and (math.isfinite(need.value) or self.unknown == "steps")
        }
        if not found:
            return None
        pick = max if self.unknown in ("steps", "sample_rate") else min
        return pick(found, key=lambda key: found[key])

    @property
    def reference(self) -> str | None:
        """What the others are compared with: the moments accountant, as papers do, else another one with an answer."""
        answered = [key for key, need in self.needs.items() if self.bounds(key) and 0 < (need.value or 0.0) < math.inf]
        return next((key for key in ("moments", "renyi_classic", "renyi_improved", *answered) if key in answered), None)

    @property
    def compared(self) -> str | None:
        """What Bayesian DP is compared with: of a known distribution it converts moments as Rényi improved does."""
        if self.known:
            return "renyi_improved" if "renyi_improved" in self.needs else None
        return self.best(bayesian=False)

    def bounds(self, key: str) -> bool:
        """Whether a method's answer may be relied on; that of the tight accountant may."""
        return key in self.valid or key == "tight"

    def text(self, key: str) -> str:
        """The number alone."""
        return written(self.unknown, self.needs[key])

    def saving(self, key: str, against: str | None) -> str:
        """What one saves against another: "−24 % noise", "1.8 × the steps"; empty where nothing can be compared."""
        mine, other = self.needs[key].value or 0.0, self.needs[against].value or 0.0 if against else 0.0
        if not (0 < mine < math.inf and 0 < other < math.inf) or key == against:
            return ""
        ratio = mine / other
        times = f"{numbers.plain(ratio)} ×"
        if self.unknown == "noise_multiplier":
            change = 100 * (ratio - 1)
            sign = "−" if change < 0 else "+"
            return f"{sign}{abs(change):.0f} % noise" if abs(change) < 1000 else f"{times} noise"
        if self.unknown == "delta":
            return f"δ × {numbers.delta(ratio)}" if abs(ratio - 1) > 0.005 else "the same"
        return f"{times} {'the steps' if self.unknown == 'steps' else 'the rate'}"


@dataclass(frozen=True)
class NoiseAsked:
    """What both questions ask for: the keywords of their answers. Where δ_μ is None it is δ."""

    noise_multiplier: float
    sample_rate: float
    steps: int
    delta: float
    target_epsilon: float
    methods: tuple[str, ...]
    amplification: str
    quantiles: tuple[str, ...]
    clip: str
    delta_mu: float | None
    failure: float
    gradients: Gradients | None

    @property
    def weak_delta(self) -> float:
        """δ_μ of Bayesian DP."""
        return self.delta_mu or self.delta

    @property
    def dp(self) -> list[str]:
        """The methods of DP."""
        return [key for key in self.methods if key != "bayesian"]

    def facts(self, unknown: str, add: Callable[[Gradients, str], None]) -> Needs:
        """Facts without DP's answers; `add` adds those of Bayesian DP at a quantile.

        What Bayesian DP has no answer for (a sample that cannot be had) is told, not raised: the others stand.
        """
        bounds = (key for key in self.dp if method(key, self.amplification).kind is Kind.UPPER)
        valid = frozenset([*bounds, *(f"bayesian.{quantile}" for quantile in self.quantiles)])
        facts = Needs(unknown, self.target_epsilon, valid)
        if "bayesian" not in self.methods or self.gradients is None:
            return facts
        try:
            if isinstance(self.gradients, Law):
                facts = replace(facts, certified=True, known=self.gradients)
            else:
                sample = self.gradients.sample()
                certified = self.clip == "both" and sample.independent
                facts = replace(facts, certified=certified, size=sample.size, independent=sample.independent)
            for quantile in self.quantiles:
                add(self.gradients, quantile)
        except ValueError as problem:
            late = isinstance(problem, NoSample) and problem.coming
            facts = replace(facts, problem=(Note(f"Bayesian DP: {problem}", "caution" if late else "problem"),))
        return facts


def written(unknown: str, need: Need) -> str:
    """σ and δ rounded up, q and T down; "–" where there is none, "…" where it is on its way."""
    if need.waits:
        return "…"
    value = need.value
    if value is None or math.isnan(value):
        return "–"
    if unknown == "steps":
        if value >= LARGEST_STEPS:  # beyond, whole numbers are no longer told apart
            return ANY if math.isinf(value) else "9e15 or more"
        return numbers.steps(value)
    if unknown == "sample_rate":
        return numbers.plain(numbers.down(value))
    return delta_up(value) if unknown == "delta" else numbers.epsilon(value, up=True)


def delta_up(value: float) -> str:
    """δ with three significant digits, never below it."""
    if value <= 0 or not math.isfinite(value):
        return numbers.delta(value)
    exponent = math.floor(math.log10(value))
    mantissa = math.ceil(value / 10.0**exponent * 100 * (1 - 1e-12)) / 100 if exponent > -300 else 10.0
    return numbers.delta(float(f"{mantissa}e{exponent}"))


def hue(key: str) -> str:
    base, _, quantile = key.partition(".")
    return HUES[quantile] if quantile else look.style(base).color


def answers(facts: Needs) -> DotPlot:
    """The answers side by side, from the least to the most favourable, compared with one of them."""
    unknown, against = facts.unknown, facts.reference
    symbol, target = SYMBOLS[unknown], numbers.plain(facts.target)
    dots = []
    for key, need in ordered(facts):
        text, saved, called = facts.text(key), facts.saving(key, against), name_of(key)
        bound = facts.bounds(key) and (facts.certified or not key.startswith("bayesian"))
        name = "tight: the mechanism itself" if key == "tight" else called
        dots.append(
            Dot(
                name,
                need.value,
                text,
                f"{name}: {symbol} = <b>{text}</b>" + (f", {saved}" if saved else ""),
                hue(key),
                note=saved,
                label=called + ("" if bound else " (no bound)"),
                key=key,
                instead="" if need.waits or need.value is not None else "none: see below",
                why=LATER if need.waits else need.why,
            )
        )
    return DotPlot(
        Axis(TITLES[unknown], name=f"{symbol} for ε ≤ {target}", column=unknown, log=True, kind=KINDS[unknown]),
        tuple(dots),
        reference=facts.needs[against].value if against else None,
        compared=f"against {name_of(against)}" if against else "compared",
        said=f"{TITLES[unknown]} for ε ≤ {target}",
    )


def ordered(facts: Needs) -> list[tuple[str, Need]]:
    """From the least to the most favourable; without an answer first, tight on its way right after all DP methods."""
    favourable = 1.0 if facts.unknown in ("steps", "sample_rate") else -1.0

    def place(item: tuple[str, Need]) -> tuple[float, bool]:
        need = item[1]
        if need.waits:
            others = [other for other in facts.needs.items() if not (other[0].startswith("bayesian") or other[1].waits)]
            return max((place(other)[0] for other in others), default=math.inf), True
        return -math.inf if need.value is None else favourable * need.value, False

    return sorted(facts.needs.items(), key=place)


def mechanism(a: Answer[Needs]) -> tuple[float, float, int] | None:
    """(σ, q, T) with the best DP method's answer in its place; None where that leaves no noise or no number."""
    key = a.facts.best(bayesian=False)
    value = a.facts.needs[key].value if key else None
    if value is None:
        return None
    given = {name: float(a.given[name]) for name in ("noise_multiplier", "sample_rate", "steps")}
    given |= {a.facts.unknown: value} if a.facts.unknown in given else {}
    if given["noise_multiplier"] <= 0.0 or math.isinf(given["steps"]):
        return None
    return given["noise_multiplier"], given["sample_rate"], int(given["steps"])


def accuracy_key(a: Answer[Needs]) -> Hashable | None:
    """The mechanism that the best DP method's answer makes; None where there is none."""
    return mechanism(a)


def accuracy_part(a: Answer[Needs]) -> Accuracy:
    """How often the best attack on that mechanism is right."""
    return guessing.accuracy(*_attacked(a))


def accuracy_soon(a: Answer[Needs]) -> Accuracy:
    """Its upper end."""
    return guessing.accuracy_soon(*_attacked(a))


def _attacked(a: Answer[Needs]) -> tuple[SampledGaussian, int]:
    found = mechanism(a)
    assert found is not None
    return SampledGaussian(*found[:2]), found[2]


def with_accuracy(a: Answer[Needs], found: Accuracy) -> Answer[Needs]:
    return replace(a, facts=replace(a.facts, accuracy=found))


ACCURACY: Slow[Needs] = Slow(accuracy_key, accuracy_part, with_accuracy, accuracy_soon)
