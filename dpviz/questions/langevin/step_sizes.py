"""The largest first step size against ε, N and L, by theorems of three papers: which step size is private?"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.numerical_step_size import NumericalStepSizes, numerical_step_sizes
from dpviz.charts import Axis, Guide, Line, LinePlot, Region, Ring, look
from dpviz.fields import AnyField, flag, numbers
from dpviz.questions import DELTA, Answer, Metric, Note, Reader, Words, setting
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import BATCH, CLAIM, CLIP, FIRST, SIZE, STEPS, SamplerPlan, proven, step_sizes
from dpviz.questions.langevin.facts import EPSILON_POINTS, SamplerFacts, allowed_step_sizes, epsilon_grid
from dpviz.questions.langevin.shared import controls, langevin_question, step_size_axis, with_plot

RULE = flag("lrule")
THEOREMS = {
    "theorem3": ("Theorem 3, decreasing", look.BLUE),
    "theorem4": ("Theorem 4, fixed", look.GREEN),
    "wang": ("Wang et al. 2015", look.ORANGE),
}
ABOUT = {
    "theorem3": "The largest first step for which Theorem 3 of Li et al. (2019) proves this ε, where steps decrease.",
    "theorem4": "The largest step for which Theorem 4 of Li et al. (2019) proves this ε, where all steps are equal.",
    "wang": "The largest step for which Wang, Fienberg and Smola (2015) prove this ε, for SGLD with equal steps.",
    "numerical": "The largest first step for which the PLD accountant proves this ε, kept until its next point.",
}
SHORT = {"theorem3": "Theorem 3", "theorem4": "Theorem 4"}
NOISES = {"algorithm1": "Algorithm 1's noise, η/N", "sgld": "SGLD's noise, 2η/N"}
PRINTED = (50_000.0, 10_000, 1.0, 0.1)  # N, T, L and ε of the example in Li et al. 2019, Section 3.1
PRINTED_SIZE = 0.103
QUICKLY_COMPOSED = 10**7  # steps of falling size that the PLD accountant answers for in a few seconds
SIZES = np.unique(np.round(np.geomspace(1e3, 1e6, 7)))


@dataclass(frozen=True, eq=False, kw_only=True)
class LargestStepFacts(SamplerFacts):
    """The largest first step sizes.

    Attributes:
        sizes: theorem → η₁ for the claim; NaN where none is proven.
    """

    sizes: Mapping[str, float]

    @property
    def comparable(self) -> bool:
        """Whether there is a step size of Wang et al. beside it."""
        return self.largest > 0 and math.isfinite(self.sizes.get("wang", math.nan))


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedFacts(LargestStepFacts):
    """The same beside the PLD accountant's, `numerical`: None until it is there."""

    numerical: NumericalStepSizes | None = None

    def numerical_size(self, chain: SamplerPlan) -> float:
        """The largest η₁ by the PLD accountant, with the noise of `chain`."""
        assert self.numerical is not None
        return self.numerical.at_target / chain.setting.cost


def of_claim(chain: SamplerPlan) -> LargestStepFacts:
    allowed = allowed_step_sizes(chain)
    return LargestStepFacts(chain, allowed, sizes=for_claim(chain))


def for_claim(chain: SamplerPlan) -> dict[str, float]:
    """Theorem → the largest first step size for the claim; NaN where none is proven."""
    return {theorem: float(step_sizes(chain, theorem, chain.claim)) for theorem in theorems(chain)}


def theorems(chain: SamplerPlan) -> list[str]:
    """Wang et al. bound SGLD alone."""
    return [theorem for theorem in THEOREMS if theorem != "wang" or not chain.momentum]


# --- against ε --------------------------------------------------------------------------------------------------------


def against_epsilon(chain: SamplerPlan) -> Answer[ComparedFacts]:
    """The largest step size for each ε, by theorem, and as soon as it is there by the PLD accountant."""
    allowed = allowed_step_sizes(chain, epsilon_grid(chain.claim))
    facts = ComparedFacts(chain, allowed, sizes=for_claim(chain))
    return Answer(compared(facts), facts)


def compared(f: ComparedFacts) -> LinePlot:
    chain, x = f.chain, epsilon_grid(f.chain.claim)
    own = proven(f.allowed.step_size[:-1])

    def largest(theorem: str) -> Array:
        return own if theorem == chain.theorem else step_sizes(chain, theorem, x)

    axis = Axis(
        "ε", column="epsilon", log=True, shown=(float(x[0]), float(x[-1])), hover="ε = %{x:.4~g}", write=numbers.up
    )
    place = Guide("x", chain.claim, f"ε = {chain.claim:g}", noted=False, sets=CLAIM)
    plot = with_answer(sizes(chain, x, largest, axis), f, place)
    lines, rings = list(plot.lines), list(plot.rings)
    if f.numerical is not None:
        along, inverse = within(f.numerical, chain.claim, float(x[0]), float(x[-1]))
        for one in both_noises(chain):
            key, style = ("numerical", look.NEUTRAL) if one is chain else ("numerical_other", look.DASHED)
            y, name = inverse / one.setting.cost, f"PLD, {one.variance}"
            stairs = Line(key, name, along, y, style, color=look.GREY, kept=one is chain, stairs="falling")
            lines.append(replace(stairs, about=ABOUT["numerical"]))
        if f.numerical.at_target > 0:
            rings.append(replace(ring(place, f.numerical_size(chain), look.GREY), name=""))
    return replace(plot, lines=tuple(lines), rings=tuple(rings), regions=wang_region(chain))


def within(numerical: NumericalStepSizes, target: float, low: float, high: float) -> tuple[Array, Array]:
    """The PLD accountant's points from `low` to `high`, the target's among them, each with the largest size that is
    proven there: it holds until the next point.
    """
    place = int(np.searchsorted(numerical.epsilon, target))
    points = np.insert(numerical.epsilon, place, target)
    sizes = np.maximum.accumulate(np.insert(numerical.inverse, place, numerical.at_target))
    proven = sizes > 0.0  # no point keeps the target: the curve begins behind it
    points, sizes = points[proven], sizes[proven]
    if not points.size:
        return points, sizes
    inner = points[(points > low) & (points < high)]
    along = np.unique(np.concatenate([np.clip([low, high], points[0], points[-1]), inner]))
    return along, sizes[np.searchsorted(points, along, side="right") - 1]


def ring(place: Guide, size: float, color: str) -> Ring:
    """The answer, where it is on a curve."""
    value = numbers.at_least(size)
    return Ring(place.at, size, f"η₁ ≤ {value}", color, name=f"η₁ {value}")


def both_noises(chain: SamplerPlan) -> list[SamplerPlan]:
    """The sampler, and the same with the other noise where there is one."""
    other = chain.with_other_noise
    return [chain] if other is None else [chain, other]


def wang_region(chain: SamplerPlan) -> tuple[Region, ...]:
    """The ε for which the theorem of Wang et al. does not hold."""
    return () if chain.momentum else (Region(chain.wang_limit, math.inf, "Wang et al.: T too small"),)


class NumericalPlan(NamedTuple):
    """What decides the PLD accountant's step sizes; neither the noise of a step nor L does."""

    target: float
    low: float
    high: float
    delta: float
    sample_rate: float
    exponent: float
    steps: int
    replaced: bool


def numerical_plan(answer: Answer[ComparedFacts]) -> NumericalPlan:
    chain = answer.facts.chain
    low, *_, high = epsilon_grid(chain.claim).tolist()
    q = chain.setting.sample_rate
    return NumericalPlan(chain.claim, low, high, chain.delta, q, chain.exponent, chain.steps, chain.replace_one)


def numerical_part(answer: Answer[ComparedFacts]) -> dict[str, NumericalStepSizes]:
    """Some seconds; about a minute from 10⁸ steps on, whose grids are larger."""
    return {"numerical": numerical_step_sizes(**numerical_plan(answer)._asdict())}


def headline_against_epsilon(f: ComparedFacts) -> str:
    claim = f"{for_claim_in_words(f)},"
    theorem = SHORT[f.chain.theorem]
    if not f.largest > 0:
        return f"{claim} {theorem} proves no step size private; the PLD accountant allows {numerically(f)}."
    first = f"η₁ = <b>{numbers.at_least(f.largest)}</b>"
    times = f", <b>{many(f.largest / f.sizes['wang'])}</b> times larger than Wang et al. 2015" if f.comparable else ""
    return f"{claim} {theorem} allows {first}{times}. The PLD accountant allows {numerically(f)}."


def many(times: float) -> str:
    """A ratio, rounded down: "1.45", "20 900"."""
    return numbers.steps(numbers.rounded_down(times, 3)) if times >= 1000 else numbers.at_least(times)


def numerically(f: ComparedFacts) -> str:
    """The largest step size by the PLD accountant, an ellipsis while it is not there."""
    if f.numerical is None:
        return "…"
    if not f.numerical.at_target > 0:
        return "none"
    return f"<b>{numbers.at_least(f.numerical_size(f.chain))}</b>"


def metrics_against_epsilon(f: ComparedFacts) -> Iterator[Metric]:
    """The largest first step size by each theorem, with both noises; the chosen one and the accountant's come first."""
    chain = f.chain
    chosen, *others = sorted(f.sizes, key=lambda theorem: theorem != chain.theorem)

    def tile(theorem: str) -> Metric:
        size = f.sizes[theorem]
        return of_theorem(chain, theorem, size, with_other_noise(chain, size))

    yield tile(chosen)
    value = "none found" if f.numerical is not None else "…"
    note = ""
    if f.numerical is not None and f.numerical.at_target > 0:
        size = f.numerical_size(chain)
        value, note = f"η₁ ≤ {numbers.at_least(size)}", with_other_noise(chain, size)
    yield Metric("PLD accountant", value, note)
    yield from map(tile, others)


def of_theorem(chain: SamplerPlan, theorem: str, size: float, note: str) -> Metric:
    """The largest first step size by a theorem, or what it needs."""
    name = THEOREMS[theorem][0]
    if math.isfinite(size):
        return Metric(name, f"η₁ ≤ {numbers.at_least(size)}", note)
    if theorem == "wang":
        return Metric(name, f"T ≥ {numbers.short_steps(chain.wang_steps)}", "needed for this ε")
    return Metric(name, "none proven", "of whole orders")


def with_other_noise(chain: SamplerPlan, size: float) -> str:
    """The largest step size with the noise that was not chosen: all theorems bound η₁ ÷ variance."""
    other = chain.with_other_noise
    if other is None:
        return ""
    return f"{NOISES[other.noise]}: {numbers.at_least(size * chain.setting.cost / other.setting.cost)}"


def notes_against_epsilon(f: ComparedFacts) -> Iterator[Note]:
    chain = f.chain
    yield from words.notes(chain)
    if f.numerical is None and chain.exponent and chain.steps > QUICKLY_COMPOSED:
        yield Note(
            f"The PLD accountant's step size is awaited: {numbers.steps(chain.steps)} steps of falling size take it "
            "10 s or more, because its grids grow with T. The theorems' values are complete."
        )
    if (chain.n, chain.steps, chain.clip, chain.claim) == PRINTED:
        yield Note(
            f"The paper prints η₁ < {PRINTED_SIZE} and 1.54e-6 of Wang et al. The first needs noise between that of "
            "Algorithm 1 and that of SGLD to be true; the second is their formula with ln(T/δ) instead of ln(2.5T/δ)."
        )
    if chain.exponent and f.comparable:
        last = f.largest * chain.steps**-chain.exponent
        yield Note(
            f"Steps decrease: the last of {numbers.steps(chain.steps)} is {numbers.at_least(last)}, "
            f"{many(last / f.sizes['wang'])} times that of Wang et al., which is fixed."
        )
    yield from words.wang(chain)


# --- against N and L --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class BySizeFacts(LargestStepFacts):
    """The same along N; `along` is the chosen theorem's η₁ at each of `SIZES`, NaN where none is proven."""

    along: Array

    @property
    def growth(self) -> float:
        """η₁ at the largest N ÷ η₁ at the smallest; NaN where either is not proven."""
        return float(self.along[-1] / self.along[0])


def against_size(chain: SamplerPlan, *, rule: Annotated[bool, RULE]) -> Answer[BySizeFacts]:
    """The largest step size for the claim at each N, by theorem; by Li et al.'s rule, or with all else as it is."""
    chains = [with_size(chain, float(n), rule) for n in SIZES]
    here = with_size(chain, chain.n, rule)
    each = [for_claim(one) if one.batch_size <= one.n else {} for one in chains]

    def largest(theorem: str) -> Array:
        return np.array([of_size.get(theorem, np.nan) for of_size in each])

    axis = Axis("data set N", column="n", log=True, kind="steps", hover="N = %{x:,d}", write=numbers.steps)
    facts = BySizeFacts(here, allowed_step_sizes(here), sizes=for_claim(here), along=largest(here.theorem))
    place = Guide("x", here.n, f"N = {here.n:g}", noted=False, sets=SIZE)
    return Answer(with_answer(sizes(here, SIZES, largest, axis), facts, place), facts)


def with_size(chain: SamplerPlan, n: float, rule: bool) -> SamplerPlan:
    """The same for a data set of `n`, by the rule or with all else as it is."""
    other = replace(chain, n=n)
    return replace(other, batch_size=math.sqrt(n), steps=round(n), delta=1.0 / n) if rule else other


def with_answer(plot: LinePlot, f: LargestStepFacts, place: Guide) -> LinePlot:
    """The plot with the present place along x, which has a name of its own only where no answer is marked there."""
    if not f.largest > 0:
        return replace(plot, guides=(place,))
    rings = (ring(place, f.largest, THEOREMS[f.chain.theorem][1]),)
    return replace(plot, guides=(replace(place, name=""),), rings=rings)


def against_clip(chain: SamplerPlan) -> Answer[LargestStepFacts]:
    """The largest step size for the claim at each L, by theorem."""
    x = np.geomspace(min(0.05, chain.clip / 2.0), max(20.0, 2.0 * chain.clip), EPSILON_POINTS)
    facts = of_claim(chain)

    def largest(theorem: str) -> Array:  # everything depends on L²η alone: one solution serves all L
        return np.asarray(facts.sizes[theorem] * (chain.clip / x) ** 2)

    axis = Axis("gradient norm L", column="clip", log=True, hover="gradient norm L = %{x:.4~g}")
    place = Guide("x", chain.clip, f"L = {chain.clip:g}", noted=False, sets=CLIP)
    return Answer(with_answer(sizes(chain, x, largest, axis), facts, place), facts)


def sizes(chain: SamplerPlan, x: Array, largest: Callable[[str], Array], axis: Axis) -> LinePlot:
    """Largest first step sizes by theorem.

    Wang et al. bound SGLD alone, and not for every ε.
    """
    lines = []
    for theorem in theorems(chain):
        name, color = THEOREMS[theorem]
        line = Line(theorem, name, x, largest(theorem), look.SOLID, color=color, kept=theorem == chain.theorem)
        lines.append(replace(line, about=ABOUT[theorem]))
    return LinePlot(axis, step_size_axis("largest first step size η₁"), tuple(lines), end_values=False)


def claim_in_words(f: LargestStepFacts) -> str:
    return setting(CLAIM, "ε ≤", numbers.at_most(f.chain.claim))


def for_claim_in_words(f: LargestStepFacts) -> str:
    return f"For <b>{claim_in_words(f)}</b>"


def none_proven(f: LargestStepFacts) -> str:
    return f"No step size is proven to give <b>{claim_in_words(f)}</b>."


def headline_against_size(f: BySizeFacts) -> str:
    if not f.largest > 0:
        return none_proven(f)
    growth = ""
    if math.isfinite(f.growth):
        growth = f"; from N = 1 000 to 1 000 000 it grows <b>{numbers.plain(f.growth, digits=2)}</b> times"
    return (
        f"{for_claim_in_words(f)} and {setting(SIZE, 'N =', numbers.steps(f.chain.n))}, {SHORT[f.chain.theorem]} "
        f"allows η₁ = <b>{numbers.at_least(f.largest)}</b>{growth}."
    )


def metrics_against_size(f: BySizeFacts) -> Iterator[Metric]:
    chain = f.chain
    yield from metrics_by_theorem(f)
    if math.isfinite(f.along[-1]):
        yield Metric("At N = 1 000 000", f"η₁ ≤ {numbers.at_least(float(f.along[-1]))}", SHORT[chain.theorem])


def metrics_by_theorem(f: LargestStepFacts) -> Iterator[Metric]:
    q = f"q = {numbers.plain(f.chain.setting.sample_rate)}"
    for theorem, size in f.sizes.items():
        yield of_theorem(f.chain, theorem, size, q)


def headline_against_clip(f: LargestStepFacts) -> str:
    if not f.largest > 0:
        return none_proven(f)
    return (
        f"{for_claim_in_words(f)} and {setting(CLIP, 'L =', numbers.plain(f.chain.clip))}, {SHORT[f.chain.theorem]} "
        f"allows η₁ = <b>{numbers.at_least(f.largest)}</b>; twice this L allows only "
        f"{numbers.at_least(f.largest / 4.0)}."
    )


def metrics_against_clip(f: LargestStepFacts) -> Iterator[Metric]:
    yield from metrics_by_theorem(f)
    if f.largest > 0:
        yield Metric("At half of this L", f"η₁ ≤ {numbers.at_least(4.0 * f.largest)}", SHORT[f.chain.theorem])


def notes(f: LargestStepFacts) -> Iterator[Note]:
    yield from words.notes(f.chain)
    yield from words.wang(f.chain)


def notes_against_clip(f: LargestStepFacts) -> Iterator[Note]:
    yield Note(
        "Composed exactly, the largest step size is proportional to 1/L²; Li et al. read about 1/L from their Fig. 2."
    )
    yield from notes(f)


def without_first_step(_: Reader) -> tuple[AnyField, ...]:
    return (FIRST,)


def without_what_the_rule_sets(get: Reader) -> tuple[AnyField, ...]:
    return (FIRST, BATCH, STEPS, DELTA) if get(RULE) else (FIRST,)


COMPARED = langevin_question(
    "epsilon",
    "Which step size is private?",
    against_epsilon,
    Words(
        headline_against_epsilon,
        metrics_against_epsilon,
        notes_against_epsilon,
        words.formulas,
        lambda f: words.assumptions(f.chain),
    ),
    "sgfig1",
    asks="largest",
    layout=controls(without=without_first_step),
    slow=(with_plot(numerical_plan, numerical_part, compared),),
    sampler=SamplerPlan,
)
AGAINST_SIZE = langevin_question(
    "size",
    "How does the largest step size grow with N?",
    against_size,
    Words(
        headline_against_size,
        metrics_against_size,
        notes,
        words.formulas,
        lambda f: words.assumptions(f.chain),
    ),
    "sgfig2n",
    asks="largest",
    layout=controls(RULE, without=without_what_the_rule_sets),
    sampler=SamplerPlan,
)
AGAINST_CLIP = langevin_question(
    "clip",
    "How does the largest step size fall with L?",
    against_clip,
    Words(
        headline_against_clip,
        metrics_against_clip,
        notes_against_clip,
        words.formulas,
        lambda f: words.assumptions(f.chain),
    ),
    "sgfig2l",
    asks="largest",
    layout=controls(without=without_first_step),
    sampler=SamplerPlan,
)
