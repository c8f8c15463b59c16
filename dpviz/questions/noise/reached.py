"""A point of accuracy on test data against ε, as one method reached it."""

from dataclasses import dataclass
from html import escape

from dpviz.fields import numbers


@dataclass(frozen=True)
class Reached:
    """What one method reached on test data, and at which ε.

    Attributes:
        method: in words, with the number of training examples where a data set has several.
        source: who measured it.
        epsilon, delta: of adding or removing one example.
        accountant: whose ε it is.
        accuracy: the mean over the runs.
        low, high: the lowest and the highest of them.
        runs: how many; 0 where that was not published.
        note: what else has to be known of the ε.
    """

    method: str
    source: str
    epsilon: float
    delta: float
    accountant: str
    accuracy: float
    low: float
    high: float
    runs: int
    note: str = ""

    @property
    def span(self) -> str:
        """The lowest and the highest run; empty where there is one."""
        return f"{numbers.tenths(self.low)} to {numbers.tenths(self.high)}" if self.low < self.high else ""

    @property
    def counted(self) -> str:
        """How many runs it is a mean of."""
        return {0: "runs not stated", 1: "one run"}.get(self.runs, f"mean of {self.runs} runs")

    @property
    def bound(self) -> str:
        """Its ε and δ; ε is rounded up, but for what was printed."""
        return f"ε = {numbers.epsilon(self.epsilon, up=self.runs > 0)} at δ = {numbers.delta(self.delta)}"

    @property
    def text(self) -> str:
        """All of it, as a hover's HTML."""
        bound = f"{self.bound} ({self.accountant})"
        spread = f" ({self.span})" * bool(self.span)
        reached = f"{self.method}: {numbers.tenths(self.accuracy)}{spread}"
        parts = (reached, bound, f"{self.source}, {self.counted}", self.note)
        return "<br>".join(map(escape, filter(None, parts)))
