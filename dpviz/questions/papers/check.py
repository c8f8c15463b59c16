"""Does a claimed ε follow from what is described? Consistent, too low, or what is missing to tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.charts import look
from dpviz.charts.plot import Axis
from dpviz.charts.rows import Dot, DotPlot
from dpviz.fields import numbers
from dpviz.questions import units
from dpviz.questions.answer import PENDING, Answer, Pending, Slow
from dpviz.questions.layout import Groups, Own, Reader
from dpviz.questions.listing import Listing
from dpviz.questions.mechanism import DELTA, SIZE
from dpviz.questions.papers.check_fields import ADJACENCY, BATCH, CLAIM, EPOCHS, NOISE, SAMPLER, UNSETTLED
from dpviz.questions.papers.described import Described, described, renyi_above, steps_of
from dpviz.questions.papers.reproduction import reproduction
from dpviz.questions.question import Block

LARGEST = 500.0  # ε beyond which no tight interval is computed


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
        raise ValueError("These are more than 10¹² steps, which nobody takes: lower the epochs, or raise the batch.")
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
    return beside(CheckFacts(known, renyi, low, renyi, steps_of(size, batch, epochs)), claimed)


def beside(facts: CheckFacts, claimed: float) -> Answer[CheckFacts]:
    """The claim and the bounds on one axis."""
    rows = [("claimed", "claimed", claimed, look.GREY)]
    if facts.low is not PENDING and facts.low > 0.0:
        rows.append(("low", "at least", facts.low, look.ORANGE))
    if facts.high < facts.renyi:
        rows.append(("high", "at most", facts.high, look.GREEN))
    rows.append(("renyi", "at most, Rényi", facts.renyi, look.MAUVE))
    dots = tuple(
        Dot(name, value, written(key, value), f"{name}: ε = {value:.4g}", color, key=key)
        for key, name, value, color in rows
    )
    plot = DotPlot(
        Axis("ε", column="epsilon", log=True), dots, rows="bound", reference=claimed, summary="ε of the claim"
    )
    return Answer(plot, facts)


def written(key: str, value: float) -> str:
    """A claim as it is, an upper end rounded up, a lower one down."""
    if key == "high" or key == "renyi":
        return most(value)
    return numbers.plain(numbers.down(value, 4) if key == "low" else value, digits=4)


def tight_key(answer: Answer[CheckFacts]) -> tuple[object, ...] | None:
    """What decides the interval; None where it is not computed."""
    known = answer.facts.described
    return (known.above, known.below, answer.given["delta"]) if answer.facts.low is PENDING else None


def tight_ends(answer: Answer[CheckFacts]) -> tuple[float, float]:
    """The least and the largest ε that what is described may have."""
    return ends(answer.facts.described, answer.facts.renyi, answer.given["delta"])


@remembered
def ends(known: Described, renyi: float, delta: float) -> tuple[float, float]:
    """Some 10 ms, so that no other number need stand in their place."""
    low, high = 0.0, renyi
    if known.below is not None:
        low = float(np.asarray(tight_epsilon(*known.below, delta).lower))
    if not known.doubled:
        high = min(high, float(np.asarray(tight_epsilon(*known.above, delta).upper)))
    return low, high


def with_ends(answer: Answer[CheckFacts], interval: tuple[float, float]) -> Answer[CheckFacts]:
    """The interval in chart and facts."""
    low, high = interval
    facts = replace(answer.facts, low=low, high=high)
    return replace(beside(facts, answer.given["claimed"]), given=answer.given)


def most(value: float) -> str:
    return numbers.epsilon(value, digits=4, up=True)


def below(answer: Answer[CheckFacts]) -> list[Block]:
    return [Listing(("Assumption", "As described", "What hangs on it"), checklist(answer), (1.6, 2.2, 4.0))]


def checklist(answer: Answer[CheckFacts]) -> tuple[tuple[str, str, str], ...]:
    """What a reader should find in the paper."""
    given, facts = answer.given, answer.facts
    return (
        ("Batches", SAMPLER.options[given["sampler"]], f"Here: {facts.described.why}."),
        ("Neighbours", ADJACENCY.options[given["adjacency"]], "Replacing one moves the sum by up to 2C, not C."),
        ("Clipping", "not asked here", "Each example's own gradient to C, before the sum; not a batch's mean."),
        ("Noise", f"σ = {numbers.plain(given['noise_multiplier'], digits=4)}",
         "Std σC on the sum (σC/batch on the mean), fresh at every step, from a secure generator."),
        ("Steps", numbers.steps(facts.steps), "All that were taken, restarts and the last partial epoch too."),
        ("N and batch", f"{numbers.steps(given['size'])}, {numbers.steps(given['batch'])}",
         "N counts as public. Sums are divided by the expected batch, not by the one drawn."),
        ("δ", numbers.delta(given["delta"]), "Fixed in advance, well below 1/N."),
        ("Other looks at the data", "not asked here",
         "Tuning, early stopping, normalisation and pre-training on the same data cost too."),
        ("Who is protected", "one example", "A person with k examples has far less: a promise for groups of k."),
    )  # fmt: skip


def layout(get: Reader) -> Groups:
    return {
        "Claim": (CLAIM, NOISE, EPOCHS, SIZE, BATCH, units.suggested(SIZE, get)),
        "Described": (SAMPLER, ADJACENCY),
        "From code": (Own("snippet", (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM, SAMPLER, ADJACENCY)), UNSETTLED),
    }


CHECK = reproduction(
    "check",
    "check",
    check,
    {
        "size": SIZE,
        "batch": BATCH,
        "epochs": EPOCHS,
        "noise_multiplier": NOISE,
        "delta": DELTA,
        "sampler": SAMPLER,
        "adjacency": ADJACENCY,
        "claimed": CLAIM,
        "unsettled": UNSETTLED,
    },
    layout,
    slow=(Slow(tight_key, tight_ends, with_ends, tight_ends),),
    below=below,
)
