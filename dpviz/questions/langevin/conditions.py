"""Where does Theorem 3 speak? Its three conditions along the steps, as printed and as re-derived, and over η and τ.

Over η₁ and τ the conditions of Li et al. 2019, Theorem 3, read
    (1) η₁ ≤ q²N/L²,   (2) η₁ T^(−1/3) > 256 q⁴ N/L²,   (3) η₁ < ε² N/(c₂² L² T^(2/3) ln(1/δ)),
for (1) is hardest to keep at the first step and (2) at the last; a fixed step size has T⁰ in (2), and Theorem 4 in the
place of (3). c₂ depends on q, so (3) is found anew for every batch: what composed moments allow there. That takes a
moment; until then it is drawn with the c₂ of the present batch, as if that served all.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.langevin.step_sizes import largest_inverse_variance
from dpviz.charts import Area, Band, Column, LinePlot, Region, Ring, look
from dpviz.fields import choice, numbers
from dpviz.questions import Answer, chart
from dpviz.questions.langevin.chain import Chain, ChainFacts, about, finite, proven, step_marks

READING = choice("lread")
A_DECADE = 3  # rates at which (3) is looked up
DECADES = 3  # of rates on either side of the present one
TINT = 0.09
WORDS = {True: "holds", False: "fails", None: "no step size is proven"}


def conditions(facts: ChainFacts, *, reading: str) -> LinePlot:
    """The step sizes, and between which the three conditions hold at each step."""
    chain = facts.chain
    x = step_marks(chain.steps)
    low, high = chain.limits(reading)
    third = proven(facts.largest * x**-chain.exponent)
    bounds = {"first": np.full(x.size, high), "second": np.full(x.size, low), "third": third}
    curves = {"step": chain.schedule.at(x), **{f"{name}_condition": bound for name, bound in bounds.items()}}
    top = np.minimum(high, third)
    private = top > low
    band = Band("private", x, np.where(private, low, np.nan), np.where(private, top, np.nan))
    noise = chain.setting.noise_multiplier(chain.schedule.at(x))
    return chart(
        "langevin",
        "conditions",
        x,
        curves,
        y_axis={"shown": room(finite([*curves.values()]))},
        bands=(band,) if private.any() else (),
        regions=tuple(regions(chain, reading)),
        columns=(Column("σ of that step", noise, key="noise_multiplier"),),
    )


def room(values: list[float]) -> tuple[float, float] | None:
    """The range of all curves, with room for words above them."""
    low, high = min(values), max(values)
    return (low / 2.0, high * 4.0 * (high / low) ** 0.08) if low > 1e-290 and high < 1e290 else None


def regions(chain: Chain, reading: str) -> list[Region]:
    """Steps at which condition (1) or (2) fails."""
    (start, stop), last = chain.speaks(reading), float(chain.steps)
    if start > stop:
        return [Region(1.0, last, "(1) or (2) fails")]
    built = []
    if start > 1.0:
        built.append(Region(1.0, min(start, last), "(1) fails: σ < 1"))
    if stop < last:
        built.append(Region(stop, last, "(2) fails: q ≥ 1/(16σ)"))
    return built


@dataclass(frozen=True, eq=False, kw_only=True)
class Kept(ChainFacts):
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


def with_conditions(facts: ChainFacts, *, reading: str) -> Kept:
    """The conditions' bounds on η₁ at each batch."""
    chain = facts.chain
    batches = np.array(rates(chain)) * chain.n
    limits = np.array([with_batch(chain, batch).limits(reading) for batch in batches.tolist()])
    low, high = chain.limits(reading)
    last = float(chain.steps) ** chain.exponent
    private = chain.step_size < facts.largest if facts.largest > 0.0 else None
    return Kept(
        **vars(facts),
        state=(chain.step_size <= high, chain.step_size / last > low, private),
        batches=batches,
        first=limits[:, 1],
        second=limits[:, 0] * last,
    )


def rates(chain: Chain) -> tuple[float, ...]:
    """Sampling rates of the chart, the present one among them; equal ones come back when τ moves."""
    now = chain.setting.sample_rate
    low = max(now * 10.0**-DECADES, min(1.0 / chain.n, now))
    high = min(now * 10.0**DECADES, 1.0)
    first, last = math.floor(A_DECADE * math.log10(low)), min(math.ceil(A_DECADE * math.log10(high)), 0)
    return tuple(sorted({10.0 ** (k / A_DECADE) for k in range(first, last + 1)} | {now}))


def with_batch(chain: Chain, batch: float) -> Chain:
    return replace(chain, batch_size=min(batch, chain.n))


def region(facts: Kept, **_: Any) -> LinePlot:
    """Boundaries named on themselves, the side of each that keeps its condition tinted, the present state as a ring."""
    x, chain, third = facts.batches, facts.chain, facts.third
    nothing, all_ = np.zeros(x.size), np.full(x.size, np.inf)
    name = "third_condition" if facts.exact else "third_at_this_c"
    return chart(
        "langevin",
        "region",
        x,
        {"first_condition": facts.first, "second_condition": facts.second, name: third},
        {"shown": (float(x[0]), float(x[-1]))},
        {"shown": shown(facts)},
        areas=(
            Area(x, nothing, facts.first, look.BROWN, TINT),
            Area(x, facts.second, all_, look.MAUVE, TINT),
            Area(x, nothing, np.nan_to_num(third), look.ORANGE, TINT),
            Area(x, facts.second, facts.top, look.GREEN, 0.22, "all three hold"),
        ),
        rings=(Ring(chain.batch_size, chain.step_size, here(facts), look.BLUE, name="yours", kept=True),),
        columns=(Column("q", x / chain.n),),
        summary=in_words(facts),
    )


def shown(facts: Kept) -> tuple[float, float] | None:
    """Around the present step size, the largest one for the claim, and where (1) meets (2)."""
    now = facts.chain.step_size
    with np.errstate(divide="ignore"):
        apex = float(facts.first[np.abs(np.log(facts.first / facts.second)).argmin()])
    seen = [now, facts.largest, float(np.interp(facts.chain.batch_size, facts.batches, facts.first)), apex]
    near = [v for v in seen if 1e-6 * now < v < 1e6 * now]
    low, high = min(near) / 300.0, max(near) * 100.0
    return (low, high) if low > 1e-290 and high < 1e290 else None


def here(facts: Kept) -> str:
    """The present state in words."""
    holds = ", ".join(f"({i}) {WORDS[kept]}" for i, kept in enumerate(facts.state, start=1))
    return f"τ = {numbers.plain(facts.chain.batch_size)}, η₁ = {numbers.plain(facts.chain.step_size)}: {holds}"


def in_words(facts: Kept) -> str:
    """The takeaway for those who do not see it."""
    lead = f"Step size η₁ against batch τ with the boundaries of three conditions; your {here(facts)}."
    if not facts.open.size:
        return f"{lead} All three hold at no point of this chart."
    first, last = numbers.plain(facts.open[0]), numbers.plain(facts.open[-1])
    return f"{lead} All three hold for some η₁ where τ is from {first} to {last}."


def boundary_key(answer: Answer[Kept]) -> tuple[Any, ...]:
    """What decides condition (3) along the batches."""
    chain = answer.facts.chain
    return rates(chain), chain.claim, chain.delta, chain.exponent, chain.steps, chain.conversion, chain.replace_one


def boundary(answer: Answer[Kept]) -> dict[str, Array]:
    """Condition (3) as composition gives it at each rate. Some tenths of a second."""
    every, *others = boundary_key(answer)
    return {"inverse": np.array([allowed(rate, *others) for rate in every])}


@lru_cache(maxsize=2048)
def allowed(
    rate: float, epsilon: float, delta: float, exponent: float, steps: int, conversion: str, replaced: bool
) -> float:
    with np.errstate(all="ignore"):
        largest, _ = largest_inverse_variance(
            epsilon=epsilon, delta=delta, sample_rate=rate, exponent=exponent, steps=steps, conversion=conversion,
            replaced=replaced,
        )  # fmt: skip
    return float(largest)


CONDITIONS = about("conditions", conditions, "sgconditions", reading=READING)
REGION = about("region", region, extended=with_conditions, more_slow=((boundary_key, boundary),), reading=READING)
