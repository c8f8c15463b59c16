"""Does a claimed ε follow from what is described? Consistent, too low, or what is missing to tell."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz._version import __version__
from dpviz.accounting.guarantee import NO, SAMPLERS, UNKNOWN, YES, Guarantee, Losses, Reply
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.charts import look
from dpviz.charts.plot import Axis
from dpviz.charts.rows import Dot, DotPlot
from dpviz.fields import numbers
from dpviz.fields.declared import choice, number, several
from dpviz.mechanisms import (
    FixedPartition,
    FixedSize,
    Mechanism,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    SecretPartition,
    Shuffled,
)
from dpviz.questions import units
from dpviz.questions.answer import PENDING, Answer, Pending, slow_facts
from dpviz.questions.layout import Own, Reader
from dpviz.questions.listing import Listing
from dpviz.questions.mechanism import DELTA, SIZE
from dpviz.questions.papers.guarantee import files_of
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
        below: equal steps whose ε some such training reaches on some data.
        loose: equal steps that show no less than `above`, and have Rényi divergences.
        why: the reason, with its source.
    """

    above: Steps
    below: Steps
    loose: Steps
    why: str


def steps_of(size: int, batch: int, epochs: float) -> int:
    """Steps taken, rounded up: fewer would be reported as less loss."""
    return max(1, math.ceil(epochs * size / batch * (1.0 - 1e-12)))


def described(*, size: int, batch: int, epochs: float, sigma: float, sampler: str, replace: bool) -> Described:
    """What bounds a training with this sampler; "unsaid" is read as Poisson sampling.

    The mechanisms say why. A record that is replaced may be replaced by one whose gradient is 0, so that what a missing
    one shows bounds it from below; from above it moves a sum by 2C. Where whole epochs count, a part of one counts from
    above, and batches are N ÷ batch, rounded to the side that the bound allows.
    """
    count, rate = steps_of(size, batch, epochs), batch / size
    exact: Steps = ((ReplaceOneGaussian if replace else SampledGaussian)(sigma, rate), count)
    if sampler in ("poisson", "unsaid"):
        return Described(exact, exact, exact, "Poisson sampling")
    if sampler == "fixed":
        step = FixedSize(sigma, size, batch)
        source = "subsampling without replacement (Balle, Barthe, Gaboardi 2018), two batches up to 2C apart"
        return Described((step, count), (step.least, count) if replace else exact, (step, count), source)
    most, least, more, fewer = math.ceil(epochs), math.floor(epochs), math.ceil(size / batch), size // batch
    once: Steps = FixedPartition(0.5 * sigma if replace else sigma), most
    if sampler == "shuffled":
        why = "each example is used once per epoch; from above, the gain from shuffling is not counted"
        return Described(once, (Shuffled(sigma, more).least, least), once, why)
    if sampler == "same":
        return Described(once, (once[0], least), once, "each example is used once per epoch, in a known batch")
    ways: tuple[Steps, Steps] = (RandomAllocation(sigma, fewer), most), (RandomAllocation(sigma, more).least, least)
    why = "each example joins one of t batches in every epoch (Chua et al. 2025)"
    if sampler == "secret":
        ways = (
            (SecretPartition(sigma, fewer, most), 1),
            (SecretPartition(sigma, more, max(least, 1)).least, min(least, 1)),
        )
        why = "each example joins one of t batches, whose noise averages over the epochs"
    return Described(once if replace else ways[0], ways[1], once, why)


def renyi_above(known: Described, delta: float) -> float:
    """The upper bound on ε by Rényi divergences."""
    mechanism, count = known.loose
    return float(dpviz.epsilon(Renyi.name, mechanism=mechanism, steps=count, delta=delta))


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
    """Some 10 ms, a second for random allocation, so that no other number need stand in their place."""
    low = float(np.asarray(tight_epsilon(*known.below, delta).lower))
    return low, min(renyi, float(np.asarray(tight_epsilon(*known.above, delta).upper)))


def below(answer: Answer[CheckFacts]) -> list[Block]:
    """What a reader should find in the paper."""
    labels = {"batches": SAMPLER.options[answer.given["sampler"]], "who": ADJACENCY.options[answer.given["adjacency"]]}
    listed = [tuple(row.values()) for row in rows("papers/check", "check", {"answer": answer, **labels})]
    return [Listing(("Assumption", "As described", "Effect"), tuple(listed), (1.6, 2.2, 4.0))]


RUN_AS = {"same": "partition", "unsaid": UNKNOWN}  # how batches are made, as a card names it; other names are the same


def card(answer: Answer[CheckFacts]) -> Guarantee:
    """What the description says and leaves open; no ε where it does not decide one."""
    given, facts = answer.given, answer.facts
    sampler, adjacency = RUN_AS.get(given["sampler"], given["sampler"]), ADJACENCY.options[given["adjacency"]]
    decided = not given["unsettled"] and "unsaid" not in (given["sampler"], given["adjacency"])
    low = facts.low if isinstance(facts.low, float) and not math.isnan(facts.low) else None
    below = given["delta"] * given["size"] < 1.0 - 1e-12
    stated = Reply(NO, "not stated") if given["adjacency"] == "unsaid" else Reply(YES, f"one example: {adjacency}")
    return Guarantee(
        losses=Losses(
            epsilon=facts.high if decided else None,
            delta=given["delta"],
            epsilon_lower=low if decided else None,
            epsilon_published=None if CLAIM.key in given["unsettled"] else given["claimed"],
            why="the description does not decide it",
        ),
        statements={
            "privacy_loss": {"privacy_unit": "one example", "privacy_unit_description": adjacency},
            "accounting": {"composition": f"{facts.steps:,} steps", "version": f"bounds by dpviz {__version__}"},
            "implementation": {
                "mechanisms": f"Gaussian noise, σ = {given['noise_multiplier']:.6g}, on a sum of clipped gradients",
                "sampler_as_run": SAMPLERS.get(sampler, sampler),
                "size": f"{given['size']:,}",
            },
        },
        replies={"adjacency": stated, "delta": Reply(YES if below else NO, f"N = {given['size']:,}")},
    )


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
    more={"Use it": lambda answer: files_of(card(answer))},
)
