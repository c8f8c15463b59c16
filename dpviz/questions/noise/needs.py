"""What each method needs for the target, whichever number is missing: how it is compared, and written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.bound import Kind
from dpviz.accounting.methods import BAYESIAN, Moments, Renyi, Tight
from dpviz.accounting.solve import LARGEST_STEPS
from dpviz.charts import Axis, Dot, DotPlot, look
from dpviz.fields import number, numbers, several
from dpviz.gradients.law_bound import threshold_over_median
from dpviz.mechanisms import Event, Mechanism
from dpviz.questions import DELTA, LATER, STEPS, Note, Reader, guessing, kinds, rows, tables_of
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.gradients import Gradients, Law, no_bayesian
from dpviz.questions.methods import OFFERED, left_out, method, offered
from dpviz.questions.needed import SYMBOLS, Composed, Need
from dpviz.questions.noise.curves import QUANTILES, BayesianAsk, Curve, NoiseAxis, dp_at, name_of, share_of
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, TRIED
from dpviz.questions.tight_band import TightBand

TARGET = number("target")
METHODS = several("noisecurves", options=OFFERED)


def asks(get: Reader, key: str) -> bool:
    """Whether a method is switched on, and offered."""
    return key in get(METHODS) and key in offered(METHODS, kinds.read(get))


def weak(get: Reader) -> bool:
    """Whether Bayesian DP is asked at all."""
    return asks(get, BAYESIAN) and bool(get(QUANTILES))


GRADIENTS = gradients_where(weak, laws=True)
WRITTEN_AS = {"noise_multiplier": "plain", "steps": "steps", "sample_rate": "plain", "delta": "delta"}
ANY = "any"
TITLES: dict[str, str] = tables_of("noise/needs")["titles"]
HUES: dict[str, str] = tables_of("noise/needs")["hues"]


@dataclass(frozen=True)
class NoiseAsked:
    """What both questions ask for: the keywords of their answers. Where δ_μ is None it is δ."""

    mechanism: Annotated[Mechanism, kinds.MECHANISM]
    steps: Annotated[int, STEPS]
    delta: Annotated[float, DELTA]
    target_epsilon: Annotated[float, TARGET]
    methods: Annotated[tuple[str, ...], METHODS]
    amplification: Annotated[str, AMPLIFICATION]
    quantiles: Annotated[tuple[str, ...], QUANTILES]
    clip: Annotated[str, CLIP]
    delta_mu: Annotated[float | None, DELTA_MU]
    failure: Annotated[float, FAILURE]
    gradients: Annotated[Gradients | None, GRADIENTS]
    tried: Annotated[int, TRIED]
    law: Annotated[str, LAW]

    @property
    def weak_delta(self) -> float:
        """δ_μ of Bayesian DP."""
        return self.delta_mu or self.delta

    @property
    def composed(self) -> Composed:
        return Composed(self.mechanism, self.steps, self.delta)

    @cached_property
    def left(self) -> dict[str, str]:
        """Methods that there are none of under this mechanism, the tight one among them, and why."""
        return left_out((*self.methods, Tight.name), self.mechanism)

    @property
    def dp(self) -> list[str]:
        """The methods of DP."""
        return [key for key in self.methods if key != BAYESIAN and key not in self.left]

    def facts(self, unknown: str, add: Callable[[Gradients, BayesianAsk], None]) -> Needs:
        """Facts without DP's answers; `add` adds those of Bayesian DP at a quantile.

        What Bayesian DP has no answer for (a sample that cannot be had) is told, not raised: the others stand.
        """
        bounds = [key for key in self.dp if method(key, self.amplification).kind is Kind.UPPER]
        if not self.dp and self.left and Tight.name not in self.left:
            bounds = [Tight.name]
        facts = Needs(unknown, self, frozenset([*bounds, *(f"bayesian.{quantile}" for quantile in self.quantiles)]))
        if BAYESIAN not in self.methods or BAYESIAN in self.left or self.gradients is None:
            return facts
        try:
            if isinstance(self.gradients, Law):
                facts = replace(facts, certified=True, known=self.gradients)
            else:
                sample = self.gradients.sample()
                certified = self.clip == "both" and sample.independent
                facts = replace(facts, certified=certified, size=sample.size, independent=sample.independent)
            for quantile in self.quantiles:
                add(self.gradients, BayesianAsk(quantile, self.clip, self.failure, self.weak_delta))
        except ValueError as problem:
            facts = replace(facts, problem=no_bayesian(problem))
        return facts


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
    known: Law | None = None
    problem: tuple[Note, ...] = ()
    tight: TightBand | None = None
    accuracy: Accuracy | None = None
    tuned: Need = field(default_factory=lambda: Need(None, waits=True))
    name = staticmethod(name_of)
    laws = LAW.options

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

    def latex(self, symbol: str) -> str:
        return {"σ": r"\sigma", "δ": r"\delta"}.get(symbol, symbol)

    @property
    def proofs(self) -> list[tuple[str, str]]:
        """DP's methods and their formulas."""
        keys = (key for key in self.needs if key in self.ask.dp)
        return [(key, method(key, self.ask.amplification).formula) for key in keys]

    @property
    def title(self) -> str:
        """What is missing, in words."""
        return TITLES.get(self.unknown, f"{kinds.noise_label(self.ask.mechanism)} needed")

    @property
    def setting(self) -> list[str]:
        """What is given, in words."""
        mechanism, steps = self.ask.mechanism, self.ask.steps
        noise = mechanism.noise if self.unknown == "noise_multiplier" else self.unknown
        given = [] if self.unknown == "steps" else [f"{numbers.steps(steps)} {mechanism.step}{'s' * (steps > 1)}"]
        given += kinds.in_words(mechanism, without=noise)
        return given + ([] if self.unknown == "delta" else [f"δ = {numbers.delta(self.ask.delta)}"])

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
        bounds, noise = {}, np.array([self.noise])
        for key in self.ask.dp:
            if key in self.valid:
                order = self.curves[key].order
                epsilon = float(dp_at(key, self.ask.amplification, self.axis, self.ask.delta, noise, order)[0][0])
                bounds[key] = math.inf if math.isnan(epsilon) else epsilon
        return min(bounds.items(), key=lambda item: item[1]) if bounds else None

    @cached_property
    def missing(self) -> list[tuple[str, str]]:
        """Names of methods without an answer, or with one that is limited, and why; those with one reason together."""
        alike: dict[str, list[str]] = {}
        for key, need in self.needs.items():
            curve, bayesian = self.curves.get(key), key.startswith(BAYESIAN)
            excluded = "" if self.bounds(key) else method(key, self.ask.amplification).kind_reason
            failing = self.unknown == "delta" and bayesian and (need.value or 1.0) < 1.01 * self.ask.failure
            limited = excluded or failing or (curve is not None and curve.reason) or need.value in (None, 0.0)
            if need.waits or not limited:
                continue
            last = math.nan if curve is None else float(curve.epsilon[-1])
            lowest = 0.0  # what the largest order charges for doing nothing, where that is what keeps a curve up
            if key == Moments.name:
                lowest = math.log(1 / self.ask.delta) / 32
            elif curve is not None and curve.bayesian is not None:
                lowest = float(curve.bayesian.floor[-1])
            reasons = {"excluded": excluded, "failing": failing, "last": last, "lowest": lowest}
            whys = rows("noise", "why", reasons | {"need": need, "curve": curve, "needs": self})
            if whys:
                alike.setdefault(whys[0]["why"], []).append(name_of(key))
        return [(_joined(names), why) for why, names in alike.items()]

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
        return _joined(names) if names else ""

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


def _joined(names: list[str]) -> str:
    """ "Bayesian 0.01, 0.50": the common first word once."""
    first = names[0].partition(" ")[0]
    if len(names) > 1 and all(name.startswith(f"{first} ") for name in names):
        return f"{first} {', '.join(name.partition(' ')[2] for name in names)}"
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
        return numbers.plain(numbers.down(value))
    return numbers.delta(value) if unknown == "delta" else numbers.epsilon(value, up=True)


def hue(key: str) -> str:
    base, _, quantile = key.partition(".")
    return HUES[quantile] if quantile else look.style(base).color


def answers(facts: Needs) -> DotPlot:
    """The answers side by side, from the least to the most favourable, compared with one of them."""
    unknown, against = facts.unknown, facts.reference
    symbol, target = facts.symbol, numbers.plain(facts.target)
    dots = []
    for key, need in ordered(facts):
        text, saved, called = facts.text(key), facts.saving(key, against), name_of(key)
        bound = facts.bounds(key) and (facts.certified or not key.startswith(BAYESIAN))
        name = f"{called}: the mechanism itself" if key == Tight.name else called
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
        Axis(facts.title, name=f"{symbol} for ε ≤ {target}", column=unknown, log=True, kind=WRITTEN_AS[unknown]),
        tuple(dots),
        reference=facts.needs[against].value if against else None,
        compared=f"against {name_of(against)}" if against else "compared",
        summary=f"{facts.title} for ε ≤ {target}",
    )


def ordered(facts: Needs) -> list[tuple[str, Need]]:
    """From the least to the most favourable; without an answer first, tight on its way right after all DP methods."""
    favourable = 1.0 if facts.unknown in ("steps", "sample_rate") else -1.0

    def place(item: tuple[str, Need]) -> tuple[float, bool]:
        need = item[1]
        if need.waits:
            others = [other for other in facts.needs.items() if not (other[0].startswith(BAYESIAN) or other[1].waits)]
            return max((place(other)[0] for other in others), default=math.inf), True
        return -math.inf if need.value is None else favourable * need.value, False

    return sorted(facts.needs.items(), key=place)
