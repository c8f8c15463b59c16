"""Does a claimed ε follow from what is described? Consistent, too low, or what is missing to tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.charts import look
from dpviz.charts.plot import Axis
from dpviz.charts.rows import Dot, DotPlot
from dpviz.fields import numbers
from dpviz.fields.declared import choice, number, several
from dpviz.mechanisms import Mechanism, ReplaceOneGaussian, SampledGaussian
from dpviz.questions import units
from dpviz.questions.answer import PENDING, Answer, Pending, slow_facts
from dpviz.questions.layout import Own, Reader
from dpviz.questions.listing import Listing
from dpviz.questions.mechanism import DELTA, SIZE
from dpviz.questions.papers.reproduction import Named, reproduction
from dpviz.questions.question import Block
from dpviz.questions.words import rows

BATCH, EPOCHS, NOISE, CLAIM = number("kbatch"), number("kepochs"), number("ksigma"), number("kclaim")
SAMPLER, ADJACENCY, UNSETTLED = choice("ksampler"), choice("kadj"), several("kopen")
LARGEST = 500.0  # ε beyond which no tight interval is computed

# --- from a description to what bounds its ε from above and below -----------------------------------------------------

Steps = tuple[Mechanism, int]


@dataclass(frozen=True)
class Described:
    """What is known of a description.

    Attributes:
        above: equal steps behind the upper bound.
        below: equal steps whose ε some such training reaches on some data; None where nothing is known.
        doubled: whether `above` bounds one step's profile alone, so that its Rényi moments are taken twice.
        why: the reason, with its source.
    """

    above: Steps
    below: Steps | None
    doubled: bool
    why: str


def steps_of(size: int, batch: int, epochs: float) -> int:
    """Steps taken, rounded up: fewer would be reported as less loss."""
    return max(1, math.ceil(epochs * size / batch * (1.0 - 1e-12)))


def described(*, size: int, batch: int, epochs: float, sigma: float, sampler: str, replace: bool) -> Described:
    """What bounds a training with this sampler; "unsaid" is read as Poisson sampling.

    Poisson sampling: its own mechanism, above and below. Shuffled: whatever the order, an example is in one batch an
    epoch, and each epoch is one Gaussian release at distance C, or 2C where it is replaced. A fixed size drawn anew:
    batches that differ in one record lie up to 2C apart, and sampling amplifies each δ(ε), ε ≥ 0, as it does for the
    Gaussian of σ/2 (Balle, Barthe, Gaboardi 2018, on subsampling without replacement); below, all other gradients are
    zero, and what is seen is Poisson sampling with q = batch/N.
    """
    count, rate = steps_of(size, batch, epochs), batch / size
    exact: Steps = ((ReplaceOneGaussian if replace else SampledGaussian)(sigma, rate), count)
    if sampler == "shuffled":
        apart = 0.5 * sigma if replace else sigma
        once = "each example is used once per epoch, and the gain from sampling is not counted"
        return Described((SampledGaussian(apart, 1.0), math.ceil(epochs)), None, doubled=False, why=once)
    if sampler == "fixed":
        above = SampledGaussian(0.5 * sigma, rate), count
        source = "subsampling without replacement (Balle, Barthe, Gaboardi 2018), two batches up to 2C apart"
        return Described(above, exact, doubled=True, why=source)
    return Described(exact, exact, doubled=False, why="Poisson sampling")


def renyi_above(known: Described, delta: float) -> float:
    """The upper bound on ε by Rényi divergences.

    Where `doubled`: with h(γ) the sampled pair's δ at ln γ ≥ 0 in its worse direction, both directions of a step stay
    below h. So E(P/Q)^α ≤ 1 + α(α − 1)∫₁^∞ (γ^(α−2) + γ^(−1−α)) h(γ) dγ (Sason & Verdú 2016, on E_γ), which is at most
    1 + 2(A_α − 1) with the pair's own A_α, for γ^(−1−α) ≤ γ^(α−2).
    """
    mechanism, count = known.above
    plain = float(dpviz.epsilon(Renyi.name, mechanism=mechanism, steps=count, delta=delta))
    if not known.doubled:
        return plain
    assert isinstance(mechanism, SampledGaussian)
    orders = np.array(DEFAULT_ORDERS)
    moments = (orders - 1.0) * np.asarray(
        dpviz.renyi_divergence(
            noise_multiplier=mechanism.noise_multiplier, sample_rate=mechanism.sample_rate, orders=orders
        )
    )
    small = np.minimum(moments, 1.0)
    twice = np.where(moments < 1.0, np.log1p(2.0 * np.expm1(small)), moments + math.log(2.0))
    each = epsilon_per_order(count * twice / (orders - 1.0), orders, np.asarray(delta), "improved")
    return max(plain, 0.0, float(np.nanmin(each)))


# --- the claim beside it ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckFacts:
    """What is known of the ε of such a training.

    Attributes:
        described: the mechanisms behind the bounds.
        renyi: an upper bound by Rényi divergences.
        low, high: between which ε lies; `low` is PENDING while the tight interval is to come, and NaN where none is
            computed. `high` starts as `renyi`.
        steps: T.
    """

    described: Described
    renyi: float
    low: float | Pending
    high: float
    steps: int

    @property
    def coming(self) -> bool:
        """Whether the tight interval is still to come."""
        return self.low is PENDING

    def verdict(self, given: Mapping[str, Any]) -> str:
        """ "consistent", "low", "unsettled" (by the code), "open" (something is missing), "between" or "waiting"."""
        claimed, unsaid = given["claimed"], "unsaid" in (given["sampler"], given["adjacency"])
        if given["unsettled"]:
            return "unsettled"
        # Replacing one never costs less than leaving it out.
        if self.low is not PENDING and claimed < self.low and given["sampler"] != "unsaid":
            return "low"
        if unsaid:
            return "open"
        if claimed >= self.high:
            return "consistent"
        return "waiting" if self.coming else "between"

    def unsettled(self, keys: tuple[str, ...]) -> str:
        return UNSETTLED.show(keys)


def check(
    *,
    size: int,
    batch: int,
    epochs: float,
    noise_multiplier: float,
    delta: float,
    sampler: str,
    adjacency: str,
    claimed: float,
    unsettled: tuple[str, ...] = (),
) -> Answer[CheckFacts]:
    """Bounds of the ε of what is described, beside the claim; there is no verdict while something is `unsettled`."""
    if batch > size:
        raise ValueError(f"A batch of {batch} is more than the N = {size} examples there are: lower it, or raise N.")
    if steps_of(size, batch, epochs) > 10**12:
        raise ValueError("These are more than 1e12 steps: lower the epochs, or raise the batch.")
    known = described(
        size=size,
        batch=batch,
        epochs=epochs,
        sigma=noise_multiplier,
        sampler=sampler,
        replace=adjacency == "replace",
    )
    renyi = renyi_above(known, delta)
    low = PENDING if renyi <= LARGEST else math.nan
    facts = CheckFacts(known, renyi, low, renyi, steps_of(size, batch, epochs))
    return Answer(beside(facts, claimed), facts)


def beside(facts: CheckFacts, claimed: float) -> DotPlot:
    """The claim and the bounds on one axis: an upper end is rounded up, a lower one down."""
    most = [numbers.epsilon(value, digits=4, up=True) for value in (facts.high, facts.renyi)]
    marks = [("claimed", "claimed", claimed, numbers.plain(claimed, digits=4), look.GREY)]
    if facts.low is not PENDING and facts.low > 0.0:
        marks.append(("low", "at least", facts.low, numbers.plain(numbers.down(facts.low, 4), digits=4), look.ORANGE))
    if facts.high < facts.renyi:
        marks.append(("high", "at most", facts.high, most[0], look.GREEN))
    marks.append((Renyi.name, "at most, Rényi", facts.renyi, most[1], look.MAUVE))
    dots = tuple(Dot(name, at, text, f"{name}: ε = {at:.4g}", color, key=key) for key, name, at, text, color in marks)
    axis = Axis("ε", column="epsilon", log=True)
    return DotPlot(axis, dots, rows="bound", reference=claimed, summary="ε of the claim")


def tight_key(answer: Answer[CheckFacts]) -> tuple[object, ...] | None:
    """What decides the interval; None where it is not computed."""
    known = answer.facts.described
    return (known.above, known.below, answer.given["delta"]) if answer.facts.low is PENDING else None


def tight_ends(answer: Answer[CheckFacts]) -> dict[str, float]:
    """The least and the largest ε that what is described may have."""
    low, high = ends(answer.facts.described, answer.facts.renyi, answer.given["delta"])
    return {"low": low, "high": high}


@remembered
def ends(known: Described, renyi: float, delta: float) -> tuple[float, float]:
    """Some 10 ms, so that no other number need stand in their place."""
    low, high = 0.0, renyi
    if known.below is not None:
        low = float(np.asarray(tight_epsilon(*known.below, delta).lower))
    if not known.doubled:
        high = min(high, float(np.asarray(tight_epsilon(*known.above, delta).upper)))
    return low, high


def below(answer: Answer[CheckFacts]) -> list[Block]:
    """What a reader should find in the paper."""
    labels = {"batches": SAMPLER.options[answer.given["sampler"]], "who": ADJACENCY.options[answer.given["adjacency"]]}
    listed = [tuple(row.values()) for row in rows("papers/check", "check", {"answer": answer, **labels})]
    return [Listing(("Assumption", "As described", "Effect"), tuple(listed), (1.6, 2.2, 4.0))]


def layout(get: Reader) -> Named:
    return {
        "Claim": (CLAIM, NOISE, EPOCHS, SIZE, BATCH, units.suggested(SIZE, get)),
        "Described": (SAMPLER, ADJACENCY),
        "From code": (Own("snippet", (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM, SAMPLER, ADJACENCY)), UNSETTLED),
    }


CHECK = reproduction(
    "check",
    "check",
    check,
    layout,
    {"unsettled": UNSETTLED},
    slow=(slow_facts(tight_key, tight_ends, tight_ends, lambda answer: beside(answer.facts, answer.given["claimed"])),),
    below=below,
)
