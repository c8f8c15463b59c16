"""Facts of a claim check: the ε of the described training, beside the claim."""

from dataclasses import dataclass

from dpviz.questions.answer import PENDING, Pending
from dpviz.questions.check.described import LARGEST
from dpviz.questions.check.fields import CLAIM
from dpviz.questions.check.program import Program

COSTLIER = {"microbatching"}  # what is open where the form holds the costlier of both readings


@dataclass(frozen=True)
class CheckFacts:
    """What is known of the ε of such a training.

    Attributes:
        renyi: an upper bound by Rényi divergences.
        low, high: between which ε lies; `low` is PENDING while they are to come, and `high` is `renyi` until then, and
            where only that is computed.
    """

    program: Program
    renyi: float
    low: float | Pending
    high: float
    claimed: float

    @property
    def claim(self) -> float | None:
        """The claimed ε; None where a pasted text has none, and the form's own value is nobody's claim."""
        return None if CLAIM.key in self.program.unsettled else self.claimed

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
        return self.program.sampler == "unsaid"

    @property
    def adjacency_unsaid(self) -> bool:
        return self.program.adjacency == "unsaid"

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
        if unsettled := self.program.unsettled:
            certain = set(unsettled) <= COSTLIER and not unsaid and self.claimed >= self.high
            return "consistent" if certain else "unsettled"
        # Replacing one never costs less than leaving it out.
        if self.low is not PENDING and self.claimed < self.low and not self.sampler_unsaid:
            return "low"
        if unsaid:
            return "open"
        if self.claimed >= self.high:
            return "consistent"
        return "waiting" if self.coming else "between"
