"""Each method's answer for a target ε, whichever number is missing: the facts of both questions about it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.bound import Kind
from dpviz.accounting.calibration import LARGEST_STEPS
from dpviz.accounting.methods import BAYESIAN, Moments, Renyi, Tight
from dpviz.fields import numbers
from dpviz.gradients.clipped_law import threshold_over_median
from dpviz.mechanisms import Event
from dpviz.questions import DELTA, STEPS, Note, guessing, kinds, setting
from dpviz.questions.gradients import Gradients, Law, no_bayesian
from dpviz.questions.methods import method
from dpviz.questions.needed import SYMBOLS, Need
from dpviz.questions.noise.curves import BayesianAsk, Curve, NoiseAxis, dp_at, name_of, share_of
from dpviz.questions.noise.settings import NoiseAsked
from dpviz.questions.tight_band import TightBand

ANY = "any"
TITLES = {  # of what is missing; a mechanism names its noise
    "steps": "steps T allowed",
    "sample_rate": "sampling rate q allowed",
    "delta": "δ reached (δ_μ for Bayesian DP)",
}


@dataclass(frozen=True, eq=False)
class Needs:
    """What each method needs, by its key: "moments", or "bayesian.q50" for Bayesian DP at a clipping quantile.

    Attributes:
        unknown: what is missing: a key of SYMBOLS.
        ask: what is asked.
        valid: keys of methods that are bounds here, no approximations: their accountants know. Bayesian DP is one, and
            where no formula bounds this mechanism the tight accountant.
        needs: the missing number by method.
        curves: ε along the noise by method, where they are drawn.
        axis: the axis of the noise, where they are.
        certified: whether Bayesian DP's answers are bounds: gradients are clipped, distances independent.
        size: how many distances it has; 0 for no sample, or none that can be used.
        independent: whether no two of them share a gradient.
        unit: what σ divides the noise by: "2C" for pairs of gradients.
        known: the distribution, where Bayesian DP rests on a known one and on no sample.
        problem: why Bayesian DP has no answer.
        tight: the tight interval along the noise.
        accuracy: of the best attack on `attacked`, once it is there.
        tuned: the missing number where only the best of several runs is released, once it is there.
    """

    unknown: str
    ask: NoiseAsked
    valid: frozenset[str]
    needs: dict[str, Need] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    axis: NoiseAxis | None = None
    certified: bool = False
    size: int = 0
    independent: bool = True
    unit: str = "C"
    known: Law | None = None
    problem: tuple[Note, ...] = ()
    tight: TightBand | None = None
    accuracy: Accuracy | None = None
    tuned: Need = field(default_factory=lambda: Need(None, waits=True))

    @property
    def target(self) -> float:
        return self.ask.target_epsilon

    @property
    def symbol(self) -> str:
        """Of what is missing."""
        return self.ask.mechanism.symbol if self.unknown == "noise_multiplier" else SYMBOLS[self.unknown]

    @property
    def noise(self) -> float:
        """That was chosen."""
        noise: float = getattr(self.ask.mechanism, self.ask.mechanism.noise)
        return noise

    @property
    def title(self) -> str:
        """What is missing, in words."""
        return TITLES.get(self.unknown, f"{kinds.noise_label(self.ask.mechanism)} needed")

    @property
    def given(self) -> list[str]:
        """What is given, in a headline's words."""
        mechanism, steps = self.ask.mechanism, self.ask.steps
        noise = mechanism.noise if self.unknown == "noise_multiplier" else self.unknown
        given = [(kinds.T[mechanism.step], f"{numbers.steps(steps)} {mechanism.step}{'s' * (steps > 1)}")]
        given += kinds.named(mechanism, without=noise)
        given += [(DELTA, f"δ = {numbers.delta(self.ask.delta)}")]
        looked_for = {"steps": STEPS.key, "delta": DELTA.key}.get(self.unknown)
        return [setting(field, text) for field, text in given if field.key != looked_for]

    def best(self, *, bayesian: bool) -> str | None:
        """The valid method with the most favourable answer; tight counts as none where it is but the reference."""
        values = {
            key: need.value
            for key, need in self.needs.items()
            if key.startswith(BAYESIAN) is bayesian
            and key in self.valid
            and need.value is not None
            and (math.isfinite(need.value) or self.unknown == "steps")
        }
        if not values:
            return None
        pick = max if self.unknown in ("steps", "sample_rate") else min
        return pick(values, key=lambda key: values[key])

    @property
    def dp(self) -> str | None:
        return self.best(bayesian=False)

    @property
    def bayesian(self) -> str | None:
        return self.best(bayesian=True)

    @property
    def reference(self) -> str | None:
        """What the others are compared with: the moments accountant, as papers do, else another one with an answer."""
        answered = [key for key, need in self.needs.items() if self.bounds(key) and 0 < (need.value or 0.0) < math.inf]
        return next(
            (key for key in (Moments.name, Renyi("classic").family, Renyi().family, *answered) if key in answered), None
        )

    @property
    def compared(self) -> str | None:
        """What Bayesian DP is compared with: of a known distribution it converts moments as Rényi improved does."""
        if self.known:
            return Renyi().family if Renyi().family in self.needs else None
        return self.dp

    def bounds(self, key: str) -> bool:
        """Whether a method's answer may be relied on; that of the tight accountant may."""
        return key in self.valid or key == Tight.name

    def quantile(self, key: str) -> str:
        """Of a Bayesian answer, as it is said: "0.50"."""
        return name_of(key).rpartition(" ")[2]

    def text(self, key: str) -> str:
        """The number alone."""
        return written(self.unknown, self.needs[key])

    @property
    def exactly(self) -> str:
        """The noise that the numerical accountant needs, beside another's answer: "…" until it is there."""
        need = self.needs.get(Tight.name)
        answered = need is not None and (need.waits or 0 < (need.value or 0.0) < math.inf)
        if not answered or self.unknown != "noise_multiplier" or self.dp in (None, Tight.name):
            return ""
        return self.text(Tight.name)

    @property
    def tunable(self) -> bool:
        """Whether the best of several runs may have an answer."""
        return self.unknown != "delta" and Tight.name not in self.ask.left

    @property
    def tuned_text(self) -> str:
        """The number of the best of several runs alone."""
        return written(self.unknown, self.tuned)

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

    @property
    def saved(self) -> str:
        """What the best Bayesian answer saves."""
        return self.saving(self.bayesian, self.compared) if self.bayesian else ""

    @property
    def attacked(self) -> Event | None:
        """The steps with the best DP method's answer in its place; None where that leaves no noise or no number."""
        value = self.needs[self.dp].value if self.dp else None
        if value is None or math.isinf(value) or (self.unknown == "noise_multiplier" and value <= 0.0):
            return None
        composed = self.ask.composed.put(self.unknown, value)
        return composed.mechanism, int(composed.steps)

    @cached_property
    def chance(self) -> guessing.Guess:
        """How often the best attack is right at the target, on `attacked`, at the δ of the answer."""
        delta, known = self.ask.delta, self.accuracy
        if self.unknown == "delta":
            value = self.needs[self.dp].value if self.dp else None
            delta = 1.0 if value is None else min(value, 1.0)
        if self.attacked is None or Tight.name in self.ask.left:
            known = Accuracy(0.5, 1.0)
        return guessing.guess(self.target, delta, known)

    @cached_property
    def here(self) -> tuple[str, float] | None:
        """DP's best bound at the chosen noise and its ε, where curves are drawn."""
        if self.axis is None:
            return None
        bounds = {}
        for key in self.ask.dp:
            if key in self.valid:
                epsilon = float(dp_at(key, self.ask.amplification, self.axis, self.ask.delta, (self.noise,))[0][0])
                bounds[key] = math.inf if math.isnan(epsilon) else epsilon
        return min(bounds.items(), key=lambda item: item[1]) if bounds else None

    @property
    def dotted(self) -> list[str] | None:
        """Crossings that one distance's large share decides, by name; None where none carries so much."""
        doubtful = [curve for curve in self.curves.values() if curve.dotted]
        if not doubtful or self.axis is None:
            return None
        sigma = self.axis.sigma
        return [curve.name for curve in doubtful if curve.needs <= sigma[curve.dotted - 1]]

    @property
    def unseen(self) -> str:
        """Bayesian curves where large distances that the sample cannot exclude decide the crossing."""
        names = []
        for key, curve in self.curves.items():
            if key in self.needs and curve.bayesian is not None and math.isfinite(curve.needs) and self.axis:
                at = int(np.abs(self.axis.sigma - curve.needs).argmin())
                names += [curve.name] if bool(curve.bayesian.tail_dominated[at]) else []
        return joined(names) if names else ""

    @property
    def over_median(self) -> tuple[float, float] | None:
        """C and the noise σC of the known distribution's best answer, ÷ the median norm."""
        key = self.bayesian
        value = self.needs[key].value if key else None
        sigma = value if self.unknown == "noise_multiplier" else getattr(self.ask.mechanism, "noise_multiplier", None)
        if self.known is None or key is None or not sigma:
            return None
        over = threshold_over_median(self.known.family, self.known.shape, share_of(key.partition(".")[2]))
        return over, sigma * over


def facts_without_dp(ask: NoiseAsked, unknown: str, add: Callable[[Gradients, BayesianAsk], None]) -> Needs:
    """The facts, but for DP's answers; `add` adds those of Bayesian DP at a quantile.

    What Bayesian DP has no answer for (a sample that cannot be had) is told, not raised: the others stand.
    """
    bounds = [key for key in ask.dp if method(key, ask.amplification).kind is Kind.UPPER]
    if not ask.dp and ask.left and Tight.name not in ask.left:
        bounds = [Tight.name]
    facts = Needs(unknown, ask, frozenset([*bounds, *(f"bayesian.{quantile}" for quantile in ask.quantiles)]))
    if BAYESIAN not in ask.methods or BAYESIAN in ask.left or ask.gradients is None:
        return facts
    try:
        if isinstance(ask.gradients, Law):
            facts = replace(facts, certified=True, known=ask.gradients)
        else:
            sample = ask.gradients.sample()
            certified = ask.clip == "both" and sample.independent
            facts = replace(facts, certified=certified, size=sample.size, independent=sample.independent)
            facts = replace(facts, unit="C" if sample.pairs is None else "2C")
        for quantile in ask.quantiles:
            add(ask.gradients, BayesianAsk(quantile, ask.clip, ask.failure, ask.weak_delta))
    except ValueError as problem:
        facts = replace(facts, problem=no_bayesian(problem))
    return facts


def joined(names: list[str]) -> str:
    """ "Bayesian (weaker) 0.01, 0.50": the words before the last once, where all have the same."""
    first = names[0].rpartition(" ")[0]
    if first and len(names) > 1 and all(name.rpartition(" ")[0] == first for name in names):
        return f"{first} {', '.join(name.rpartition(' ')[2] for name in names)}"
    return ", ".join(names)


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
        return numbers.plain(numbers.rounded_down(value))
    return numbers.delta(value) if unknown == "delta" else numbers.epsilon(value, up=True)
