"""Facts of a claim check: the ε of the described training, beside the claim."""

from dataclasses import dataclass
from typing import NamedTuple

from dpviz.accounting.tuning import Law
from dpviz.fields import numbers
from dpviz.questions import Formula
from dpviz.questions.answer import PENDING, Pending
from dpviz.questions.budget.blocks import Block
from dpviz.questions.check.described import LARGEST, Described
from dpviz.questions.check.fields import CLAIM

COSTLIER = {"microbatching"}  # what is open where the form holds the costlier of both readings


class StepsAndRate(NamedTuple):
    """T and q.

    Attributes:
        most, fewest: T of the longer and of the shorter length; equal where there is one.
        rate: q in words.
        formulas: of T and q.
    """

    most: int
    fewest: int
    rate: str
    formulas: tuple[Formula, Formula]

    @property
    def text(self) -> str:
        """T; both, where there are two lengths."""
        most = numbers.steps(self.most)
        return most if self.fewest == self.most else f"{numbers.steps(self.fewest)} or {most}"


@dataclass(frozen=True)
class CheckFacts:
    """What is known of the ε of such a training.

    Attributes:
        described: the mechanisms behind the bounds.
        length: T and q.
        renyi: an upper bound by Rényi divergences.
        low, high: between which ε lies; `low` is PENDING while they are to come, and `high` is `renyi` until then, and
            where only that is computed.
        counted, unsettled: what a text has: steps of an accountant, and what it leaves open.
    """

    described: Described
    length: StepsAndRate
    renyi: float
    low: float | Pending
    high: float
    claimed: float
    size: int
    batch: int
    noise_multiplier: float
    delta: float
    sampler: str
    adjacency: str
    rows: int
    largest_batch: int
    decay: float
    band: int
    tried: int
    law: Law
    counted: tuple[Block, ...]
    unsettled: tuple[str, ...]

    @property
    def claim(self) -> float | None:
        """The claimed ε; None where a pasted text has none, and the form's own value is nobody's claim."""
        return None if CLAIM.key in self.unsettled else self.claimed

    @property
    def huge(self) -> bool:
        """Whether ε is so large that the bound by Rényi divergences is the upper end."""
        return self.high == self.renyi > LARGEST

    @property
    def coming(self) -> bool:
        """Whether the tight interval is still to come."""
        return self.low is PENDING

    @property
    def sampler_unsaid(self) -> bool:
        return self.sampler == "unsaid"

    @property
    def adjacency_unsaid(self) -> bool:
        return self.adjacency == "unsaid"

    @property
    def least(self) -> float:
        """The lower end, which is there."""
        assert self.low is not PENDING
        return self.low

    @property
    def too_low(self) -> float:
        """By what factor the claim is below the lower end."""
        return self.least / self.claimed

    @property
    def verdict(self) -> str:
        """ "consistent", "low", "unsettled" (by the code), "open" (something is missing), "between" or "waiting"."""
        unsaid = self.sampler_unsaid or self.adjacency_unsaid
        if self.unsettled:
            certain = set(self.unsettled) <= COSTLIER and not unsaid and self.claimed >= self.high
            return "consistent" if certain else "unsettled"
        # Replacing one never costs less than leaving it out.
        if self.low is not PENDING and self.claimed < self.low and not self.sampler_unsaid:
            return "low"
        if unsaid:
            return "open"
        if self.claimed >= self.high:
            return "consistent"
        return "waiting" if self.coming else "between"
