"""What attempts of a run leave to the next one: what they were charged, and where checkpoints come from and go to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dpviz.mechanisms import Event, merge_events
from dpviz.training.accounts.claims import everything_planned
from dpviz.training.accounts.origins import as_planned
from dpviz.training.accounts.stepwise import encoded_events
from dpviz.training.samplers import read
from dpviz.training.words import refusal

if TYPE_CHECKING:
    from dpviz.training.settings import RunSettings


class Charged(NamedTuple):
    """What a run is known to have been charged by all its attempts together.

    Attributes:
        through: The last step that any of them was charged for.
        mechanisms: Everything charged, private counts included, in any order: steps that were taken twice are in it
            twice.
        unread: Attempts beside these of which not all is known: each may have been charged its whole plan.
    """

    through: int = 0
    mechanisms: Sequence[Event] = ()
    unread: int = 0

    def with_plans(self, settings: RunSettings, examples: int) -> Charged:
        """The same with the whole plan of each attempt that was not read.

        Raises:
            ValueError: where a policy chose the steps: no plan bounds what it charged.
        """
        if not self.unread or not settings.private:
            return self
        if settings.adaptive:
            raise refusal("unread_attempt", policy=settings.policy)
        plan = everything_planned(as_planned(settings), examples)  # before anything was lost
        plans = ((mechanism, self.unread * count) for mechanism, count in plan)
        return Charged(self.through, merge_events((*self.mechanisms, *plans)))

    def then(self, later: Charged) -> Charged:
        """What these attempts and the later ones were charged."""
        everything = merge_events((*self.mechanisms, *later.mechanisms))
        return Charged(max(self.through, later.through), everything, self.unread + later.unread)

    def to_json(self) -> dict[str, Any]:
        """JSON values; `from_json` gives the same back."""
        return self._asdict() | {"mechanisms": encoded_events(self.mechanisms)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Charged:
        return cls(stored["through"], tuple(read(one) for one in stored["mechanisms"]), stored["unread"])


class Checkpoints(NamedTuple):
    """Where a run's checkpoints come from and go to.

    Attributes:
        keep: Takes each new one; it may be read once this is called. OSError where it cannot be kept.
        every: Seconds between two.
        run: As of `checkpoint.save`.
        latest: From which the run goes on; None for a run that begins, and where none was kept.
        charged: What the run's earlier attempts were charged in all; None for its first one.
    """

    keep: Callable[[bytes], None]
    every: float = 10.0
    run: str = ""
    latest: bytes | None = None
    charged: Charged | None = None
