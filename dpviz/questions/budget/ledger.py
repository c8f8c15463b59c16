"""The ledger of a budget that is spent by hand: what each block cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dpviz.charts.plot import LinePlot, alt_text
from dpviz.fields import numbers
from dpviz.questions.budget.blocks import Block
from dpviz.questions.budget.words import epsilon, in_table


@dataclass(frozen=True)
class Entry:
    """One block's line in the ledger.

    Attributes:
        block: what was asked for.
        fits: how many of its steps the filter would have let pass at that moment (at most its own).
        filled, odometer: ε after it; unchanged where it was refused.
    """

    block: Block
    fits: int
    filled: float
    odometer: float

    @property
    def passed(self) -> bool:
        return self.fits >= self.block.steps


@dataclass(frozen=True, eq=False)
class LedgerPlot(LinePlot):
    """Curves along what was spent, and ahead; the table has a row a block."""

    entries: tuple[Entry, ...] = ()

    @property
    def alt(self) -> str:
        spent = [line for line in self.lines if line.key != "ahead"]
        return f"{alt_text(spent or self.lines, x_name='steps', x_kind='steps', lower='lowest')} {self.said}".strip()

    def table(self) -> pd.DataFrame:
        names = ("block", "σ", "q", "steps", "filter", "ε filled", "ε odometer")
        rows = [
            (
                number,
                numbers.plain(e.block.sigma, digits=4),
                numbers.plain(e.block.rate, digits=4),
                numbers.steps(e.block.steps),
                "passed" if e.passed else f"refused ({numbers.steps(e.fits)} fit)",
                in_table(e.filled),
                in_table(e.odometer),
            )
            for number, e in enumerate(self.entries, start=1)
        ]
        return pd.DataFrame(rows, columns=names)


def lines_of(entries: Sequence[Entry]) -> list[str]:
    """A line a block: what it cost."""
    told, before = [], 0.0
    for number, entry in enumerate(entries, start=1):
        cost = f"refused, {numbers.steps(entry.fits)} would fit"
        if entry.passed:
            cost = f"+{epsilon(entry.filled - before)}, filled to {epsilon(entry.filled)}; odometer "
            cost += epsilon(entry.odometer)
        told.append(f"{number}. {entry.block.words}: {cost}")
        before = entry.filled
    return told
