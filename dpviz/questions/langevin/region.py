"""The three conditions of Theorem 3 over batch and first step size: which η and τ satisfy them?

Over η₁ and τ the conditions of Li et al. 2019, Theorem 3, read
    (1) η₁ ≤ q²N/L²,   (2) η₁ T^(−1/3) > 256 q⁴ N/L²,   (3) η₁ < ε² N/(c₂² L² T^(2/3) ln(1/δ)),
for (1) is hardest to keep at the first step and (2) at the last; a fixed step size has T⁰ in (2), and Theorem 4 in the
place of (3). c₂ depends on q, so (3) is found anew for every batch: what composed moments allow there. That takes a
moment; until then it is drawn with the c₂ of the present batch, as if that served all.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.step_sizes import largest_inverse_variance
from dpviz.charts import Area, Axis, Column, Line, LinePlot, Ring, look
from dpviz.fields import numbers
from dpviz.questions import LATER, Answer, Note, Words
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import BATCH, FIRST, Chain, proven
from dpviz.questions.langevin.conditions import READING, ConditionsFacts, formulas, lacking_factor, metrics
from dpviz.questions.langevin.facts import allowed_step_sizes
from dpviz.questions.langevin.shared import controls, langevin_question, step_size_axis, with_plot

A_DECADE = 3  # rates at which (3) is looked up
DECADES = 3  # of rates on either side of the present one
TINT = 0.09
HOLDS = {True: "holds", False: "fails", None: "no step size is proven"}


@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionsRegionFacts(ConditionsFacts):
    """Beside the steps' cost, where the conditions hold.

    Attributes:
        state: which of them the present setting keeps at every step; the third None where no step size is proven.
        batches: τ along the chart, the present one among them; shape (n,), as the bounds on η₁.
        first, second: η₁ must not exceed the first bound, and must exceed the second.
        inverse: the largest 1/σ₁² that composed moments allow at each batch, 0 where they allow none; None until it is
            there.
    """

    state: tuple[bool, bool, bool | None]
    batches: Array
    first: Array
    second: Array
    inverse: Array | None = None

    @property
    def exact(self) -> bool:
        """Whether `third` is each batch's own, or has the constant of the present batch."""
        return self.inverse is not None

    @property
    def third(self) -> Array:
        """η₁ must be below it; NaN where no step size is proven."""
        if self.inverse is None:
            return proven(np.full(self.batches.size, self.largest))
        cost = np.array([with_batch(self.chain, batch).setting.cost for batch in self.batches.tolist()])
        return proven(self.inverse / cost)

    @property
    def top(self) -> Array:
        """Above `second` and below this, all three conditions hold; nowhere where it is not above `second`."""
        return np.asarray(np.fmin(self.first, np.nan_to_num(self.third)))

    @property
    def kept(self) -> list[str]:
        """The conditions that the present setting keeps at every step."""
        return [f"({i})" for i, holds in enumerate(self.state, start=1) if holds]

    @property
    def failing(self) -> list[str]:
        return [f"({i})" for i, holds in enumerate(self.state, start=1) if not holds]

    @property
    def open(self) -> Array:
        """The batches at which some step size keeps all three."""
        return self.batches[self.top > self.second]


def region(chain: Chain, *, reading: Annotated[str, READING]) -> Answer[ConditionsRegionFacts]:
    """The conditions' bounds on η₁ at each batch."""
    allowed = allowed_step_sizes(chain)
    batches = np.array(rates(chain)) * chain.n
    limits = np.array([with_batch(chain, batch).limits(reading) for batch in batches.tolist()])
    (low, high), last = chain.limits(reading), float(chain.steps) ** chain.exponent
    largest = float(allowed.step_size[-1])
    facts = ConditionsRegionFacts(
        chain,
        allowed,
        reading=reading,
        state=(
            chain.step_size <= high,
            chain.step_size / last > low,
            chain.step_size < largest if largest > 0.0 else None,
        ),
        batches=batches,
        first=limits[:, 1],
        second=limits[:, 0] * last,
    )
    return Answer(plot(facts), facts)


def rates(chain: Chain) -> tuple[float, ...]:
    """Sampling rates of the chart, the present one among them; equal ones come back when τ moves."""
    now = chain.setting.sample_rate
    low = max(now * 10.0**-DECADES, min(1.0 / chain.n, now))
    high = min(now * 10.0**DECADES, 1.0)
    first, last = math.floor(A_DECADE * math.log10(low)), min(math.ceil(A_DECADE * math.log10(high)), 0)
    return tuple(sorted({10.0 ** (k / A_DECADE) for k in range(first, last + 1)} | {now}))


def with_batch(chain: Chain, batch: float) -> Chain:
    return replace(chain, batch_size=min(batch, chain.n))


def plot(f: ConditionsRegionFacts) -> LinePlot:
    """Boundaries named on themselves, the side of each that keeps its condition tinted, the present state as a ring."""
    x, chain, third = f.batches, f.chain, f.third
    nothing, everything = np.zeros(x.size), np.full(x.size, np.inf)
    if f.exact:
        third_line = boundary("third_condition", "(3) less than", x, third, look.ORANGE, "(3) holds below")
    else:
        third_line = replace(boundary("third_at_this_c", "(3) with your c²", x, third, look.ORANGE), approximate=True)
    return LinePlot(
        Axis(
            "batch τ (q = τ/N)",
            name="batch τ",
            column="batch_size",
            log=True,
            shown=(float(x[0]), float(x[-1])),
            hover="τ = %{x:.4~g}",
        ),
        step_size_axis("first step size η₁", shown(f)),
        (
            boundary("first_condition", "(1) at most", x, f.first, look.BROWN, "(1) holds below"),
            boundary("second_condition", "(2) more than", x, f.second, look.MAUVE, "(2) holds above"),
            third_line,
        ),
        rings=(
            Ring(chain.batch_size, chain.step_size, here(f), look.BLUE, name="yours", kept=True, sets=(BATCH, FIRST)),
        ),
        areas=(
            Area(x, nothing, f.first, look.BROWN, TINT),
            Area(x, f.second, everything, look.MAUVE, TINT),
            Area(x, nothing, np.nan_to_num(third), look.ORANGE, TINT),
            Area(x, f.second, f.top, look.GREEN, 0.22, "all three hold"),
        ),
        end_values=False,
        names_on_lines=True,
        columns=(Column("q", x / chain.n),),
        summary=in_words(f),
    )


def boundary(key: str, name: str, x: Array, y: Array, color: str, end: str | None = None) -> Line:
    return Line(key, name, x, y, look.SOLID, color=color, end=end, kept=False)


def shown(f: ConditionsRegionFacts) -> tuple[float, float] | None:
    """Around the present step size, the largest one for the claim, and where (1) meets (2)."""
    now = f.chain.step_size
    with np.errstate(divide="ignore"):
        apex = float(f.first[np.abs(np.log(f.first / f.second)).argmin()])
    seen = [now, f.largest, float(np.interp(f.chain.batch_size, f.batches, f.first)), apex]
    near = [v for v in seen if 1e-6 * now < v < 1e6 * now]
    low, high = min(near) / 300.0, max(near) * 100.0
    return (low, high) if low > 1e-290 and high < 1e290 else None


def here(f: ConditionsRegionFacts) -> str:
    """The present state in words."""
    holds = ", ".join(f"({i}) {HOLDS[kept]}" for i, kept in enumerate(f.state, start=1))
    return f"τ = {numbers.plain(f.chain.batch_size)}, η₁ = {numbers.plain(f.chain.step_size)}: {holds}"


def in_words(f: ConditionsRegionFacts) -> str:
    """The takeaway for those who do not see it."""
    lead = f"Step size η₁ against batch τ with the boundaries of three conditions; your {here(f)}."
    if not f.open.size:
        return f"{lead} All three hold at no point of this chart."
    first, last = numbers.plain(f.open[0]), numbers.plain(f.open[-1])
    return f"{lead} All three hold for some η₁ where τ is from {first} to {last}."


class Conditioned(NamedTuple):
    """What decides condition (3) along the batches."""

    rates: tuple[float, ...]
    epsilon: float
    delta: float
    exponent: float
    steps: int
    conversion: str
    replaced: bool


def conditioned(answer: Answer[ConditionsRegionFacts]) -> Conditioned:
    chain = answer.facts.chain
    return Conditioned(
        rates(chain), chain.claim, chain.delta, chain.exponent, chain.steps, chain.conversion, chain.replace_one
    )


def third_condition(answer: Answer[ConditionsRegionFacts]) -> dict[str, Array]:
    """Condition (3) as composition gives it at each rate. Some tenths of a second."""
    every, *others = conditioned(answer)
    return {"inverse": np.array([largest_inverse(rate, *others) for rate in every])}


@lru_cache(maxsize=2048)
def largest_inverse(
    rate: float, epsilon: float, delta: float, exponent: float, steps: int, conversion: str, replaced: bool
) -> float:
    with np.errstate(all="ignore"):
        largest, _ = largest_inverse_variance(
            epsilon=epsilon,
            delta=delta,
            sample_rate=rate,
            exponent=exponent,
            steps=steps,
            conversion=conversion,
            replaced=replaced,
        )
    return float(largest)


def headline(f: ConditionsRegionFacts) -> str:
    if not f.failing:
        return "With your τ and η₁, <b>all three conditions</b> hold at every step."
    if not f.kept:
        return "With your τ and η₁, <b>none of the three conditions</b> holds at every step."
    condition, fails = several(f.failing, "condition", "conditions"), several(f.failing, "fails", "fail")
    return (
        f"With your τ and η₁, {condition} <b>{' and '.join(f.failing)}</b> {fails} at some step; "
        f"{' and '.join(f.kept)} {several(f.kept, 'holds', 'hold')} at every step."
    )


def several(things: Sequence[str], one: str, more: str) -> str:
    return one if len(things) == 1 else more


def notes(f: ConditionsRegionFacts) -> Iterator[Note]:
    yield from words.notes(f.chain)
    if not f.exact:
        yield Note(
            f"Dashed: condition (3) with the constant of your batch size; the one for each batch size is {LATER}."
        )
    else:
        hardest = "Theorem 4, drawn as (3),"
        if f.chain.exponent:
            hardest = (
                "Step sizes decrease: condition (1) is hardest to satisfy at the first step, (2) at the last. "
                "Condition (3)"
            )
        claim = numbers.entered(f.chain.claim)
        yield Note(f"{hardest} is what composed moments allow at each batch size for ε = {claim}.")
        if not f.open.size:
            nowhere = "No batch size and step size on this chart satisfy all three conditions at every step."
            yield Note(nowhere, "caution")
    yield from lacking_factor(f)


REGION = langevin_question(
    "region",
    "Which η and τ satisfy the conditions?",
    region,
    Words(headline, metrics, notes, formulas, lambda f: words.assumptions(f.chain)),
    asks="state",
    layout=controls(READING),
    slow=(with_plot(conditioned, third_condition, plot),),
)
