"""A ledger of the cost of each block of steps: lines of text, and a plot whose table has a row a block."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dpviz.charts.plot import LinePlot, alt_text
from dpviz.fields import numbers
from dpviz.questions.budget.blocks import Block

COLUMNS = ("block", "σ", "q", "steps", "filter", "ε filled", "ε odometer")


@dataclass(frozen=True)
class Entry:
    """One block's line in the ledger.

    Attributes:
        number: from 1.
        block: what was asked for.
        fits: how many of its steps the filter would have let pass at that moment (at most its own).
        filled, odometer: ε after it; unchanged where it was refused.
    """

    number: int
    block: Block
    fits: int
    filled: float
    odometer: float

    @property
    def passed(self) -> bool:
        return self.fits >= self.block.steps

    def cells(self) -> dict[str, object]:
        """The table's row."""
        return {
            "block": self.number,
            "σ": numbers.plain(self.block.sigma, digits=4),
            "q": numbers.plain(self.block.rate, digits=4),
            "steps": numbers.steps(self.block.steps),
            "filter": "passed" if self.passed else f"refused ({numbers.steps(self.fits)} fit)",
            "ε filled": numbers.up(self.filled, 4),
            "ε odometer": numbers.up(self.odometer, 4),
        }


@dataclass(frozen=True, eq=False)
class LedgerPlot(LinePlot):
    """Curves along what was spent, and ahead; the table has a row a block."""

    entries: tuple[Entry, ...] = ()

    @property
    def alt(self) -> str:
        spent = [line for line in self.lines if line.key != "ahead"]
        return f"{alt_text(spent or self.lines, x_name='steps', x_kind='steps', lower='lowest')} {self.summary}".strip()

    def table(self) -> pd.DataFrame:
        rows = [entry.cells() for entry in self.entries]
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"block": int})


def lines_of(entries: Sequence[Entry]) -> list[str]:
    """A line a block: what it cost."""
    lines, before = [], 0.0
    for entry in entries:
        cost = f"refused, {numbers.steps(entry.fits)} would fit"
        if entry.passed:
            added, filled = numbers.up(entry.filled - before), numbers.up(entry.filled)
            cost = f"+{added}, filled to {filled}; odometer {numbers.up(entry.odometer)}"
        lines.append(f"{entry.number}. {entry.block.words}: {cost}")
        before = entry.filled
    return lines
