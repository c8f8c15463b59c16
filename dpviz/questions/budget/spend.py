"""Spend by hand: blocks of steps against a filter's budget, each with what it cost and what is left after it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import Basic, Moments, OdometerAccountant, Renyi, Strong, Tight
from dpviz.accounting.renyi.additive import RunningSum
from dpviz.charts import Line, Region
from dpviz.charts.plot import LinePlot, alt_text
from dpviz.fields import Field, numbers
from dpviz.fields.declared import field
from dpviz.mechanisms import Event, SampledGaussian
from dpviz.questions import LOG_Y, Answer, Groups, Note, Own, Reader, experts, make_question, question, table, units
from dpviz.questions.budget import shared
from dpviz.questions.budget.shared import ODOMETER, accountants, budget_range, epsilon, floors, odometer_formula
from dpviz.questions.mechanism import RATE, SETTINGS, SIGMA, STEPS
from dpviz.questions.methods import NAMES, epsilon_axis, method, steps_axis
from dpviz.questions.tight_band import TightBand, tight_part

MOST_BLOCKS = 24
POINTS_PER_BLOCK = 24
ADDED = {
    Basic.name: "Σε_i",
    Strong.name: "√(2 ln(1/δ′) Σε_i²) + Σε_i(e^ε_i − 1)",
    Moments.name: "Σα_i(λ), best λ ≤ 32",
    Renyi("classic").family: "ΣR_i(α), best α",
    Renyi("improved").family: "ΣR_i(α), best α",
}


class Block(NamedTuple):
    """σ, q, and how many such steps."""

    sigma: float
    rate: float
    steps: int

    @property
    def mechanism(self) -> SampledGaussian:
        return SampledGaussian(self.sigma, self.rate)

    @property
    def words(self) -> str:
        count = f"{numbers.steps(self.steps)} step{'' if self.steps == 1 else 's'}"
        return f"{count} at σ = {numbers.plain(self.sigma)}, q = {numbers.plain(self.rate)}"


@dataclass(frozen=True)
class Blocks(Field[tuple[Block, ...]]):
    """Blocks in the order in which they were spent."""

    def parse(self, text: str) -> tuple[Block, ...]:
        blocks = tuple(self._block(part) for part in text.split("~") if part)
        if len(blocks) > MOST_BLOCKS:
            raise ValueError(f"{self.label}: {len(blocks)} blocks are too many; a link holds at most {MOST_BLOCKS}.")
        return blocks

    def _block(self, text: str) -> Block:
        parts = text.split("x")
        if len(parts) != 3:
            raise ValueError(f"{self.label}: “{text[:40]}” is not σ x q x steps; try 1x0.01x500.")
        return Block(SIGMA.parse(parts[0]), RATE.parse(parts[1]), int(STEPS.parse(parts[2])))

    def write(self, value: tuple[Block, ...]) -> str:
        return "~".join(f"{SIGMA.write(b.sigma)}x{RATE.write(b.rate)}x{STEPS.write(b.steps)}" for b in value)

    def accept(self, value: object) -> tuple[Block, ...]:
        if isinstance(value, str):
            return self.parse(value)
        try:
            return self.parse(self.write(tuple(Block(*block) for block in value)))  # type: ignore[attr-defined]
        except TypeError:
            raise ValueError(
                f"{self.label}: {value!r:.40} is not a list of blocks (σ, q, steps) like [(1, 0.01, 500)]."
            ) from None

    def show(self, value: tuple[Block, ...]) -> str:
        return f"{len(value)} block{'' if len(value) == 1 else 's'}"

    def nearest(self, text: str) -> tuple[Block, ...]:
        """The blocks that can be read, in order, as many as are allowed."""
        blocks = []
        for part in text.split("~"):
            try:
                blocks.append(self._block(part))
            except ValueError:
                continue
        return tuple(blocks[:MOST_BLOCKS])


BLOCKS = field(Blocks, "bblocks")


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


@dataclass(frozen=True, eq=False)
class LedgerPlot(LinePlot):
    """Curves along what was spent, and ahead; the table has a row a block."""

    entries: tuple[Entry, ...] = ()

    @property
    def alt(self) -> str:
        spent = [line for line in self.lines if line.key != "ahead"]
        return f"{alt_text(spent or self.lines, x_name='steps', x_kind='steps', lower='lowest')} {self.summary}".strip()

    def table(self) -> pd.DataFrame:
        return table("budget", "blocks", self.entries, "block")


def lines_of(entries: Sequence[Entry]) -> list[str]:
    """A line a block: what it cost."""
    lines, before = [], 0.0
    for entry in entries:
        cost = f"refused, {numbers.steps(entry.fits)} would fit"
        if entry.passed:
            cost = f"+{epsilon(entry.filled - before)}, filled to {epsilon(entry.filled)}; odometer "
            cost += epsilon(entry.odometer)
        lines.append(f"{entry.number}. {entry.block.words}: {cost}")
        before = entry.filled
    return lines


@dataclass(frozen=True, eq=False)
class SpendFacts:
    """What was spent.

    Attributes:
        entries: one a block.
        filled, odometer: ε after all of them.
        order: the α that decides the odometer's; NaN where nothing was spent.
        left: steps like the coming block's that still fit.
        coming: the block that would be spent next.
        tight: the tight interval of what was spent, once it is there.
    """

    entries: tuple[Entry, ...]
    filled: float
    odometer: float
    order: float
    left: float
    coming: Block
    tight: TightBand | None = None

    @property
    def taken(self) -> tuple[Block, ...]:
        """The blocks that passed."""
        return tuple(entry.block for entry in self.entries if entry.passed)

    def share(self, target: float) -> float:
        """How full the budget is, in per cent, rounded up."""
        return math.ceil(1000 * min(self.filled / target, 1.0)) / 10

    def formulas(self, given: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The odometer's, where something was spent."""
        return odometer_formula(given, spent(self.taken), self.order, self.odometer)


def spend(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    target_epsilon: Annotated[float, shared.TARGET],
    blocks: Annotated[tuple[Block, ...], BLOCKS],
    variant: Annotated[str, shared.VARIANT],
    conversion: Annotated[str, shared.CONVERSION],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[SpendFacts]:
    """ε along the blocks that the filter let pass, and along the coming one: σ, q and steps as they are set."""
    budget = dpviz.Filter(target_epsilon=target_epsilon, delta=delta, conversion=conversion)
    odometer = OdometerAccountant(variant)
    total, x = RunningSum(odometer), [np.zeros(1)]
    filled, running = [np.zeros(1)], [np.zeros(1)]
    entries: list[Entry] = []
    for block in blocks:
        fits = int(min(budget.remaining_steps(block.mechanism), block.steps))
        if fits == block.steps:
            part = within(block.steps)[1:]
            filled.append(budget.accountant.bound(budget.after(block.mechanism, part), delta).epsilon)
            running.append(odometer.bound(total.after(block.mechanism, part), delta).epsilon)
            x.append(budget.steps + part)
            budget.spend(block.mechanism, block.steps)
            total.add(block.mechanism, block.steps)
        entries.append(Entry(len(entries) + 1, block, fits, float(filled[-1][-1]), float(running[-1][-1])))
    coming = Block(noise_multiplier, sample_rate, steps)
    left = budget.remaining_steps(coming.mechanism)
    part = within(int(min(left, steps)))
    ahead_x = budget.steps + part
    ahead = budget.accountant.bound(budget.after(coming.mechanism, part), delta).epsilon
    taken = budget.steps > 0
    lines = []
    if taken:
        along = np.concatenate(x)
        lines += [
            Line("filled", "filter: filled", along, np.concatenate(filled), FILTER),
            Line(ODOMETER, OdometerAccountant().label, along, np.concatenate(running), ODOMETER, kept=False),
        ]
    if ahead_x.size > 1:
        lines.append(Line("ahead", "coming block", ahead_x, ahead, "budget", approximate=True, kept=False))
    end = max(float(ahead_x[-1]), 1.0)
    refused = left < steps
    # The hatched part is what the coming block would need beyond the budget: at least a sliver, to be seen.
    stop = max(min(float(budget.steps + steps), 1.5 * end), 1.06 * end) if refused else end
    plot = LedgerPlot(
        x=steps_axis(log=False, shown=(0.0, stop)),
        y=epsilon_axis(log=log_y, shown=partial(budget_range, budget=target_epsilon, log=log_y)),
        lines=tuple(lines),
        floors=floors(target_epsilon),
        regions=(Region(end if end > 1.0 or taken else 0.0, math.inf, "refused"),) if refused else (),
        entries=tuple(entries),
        summary=f"The next block, as far as it fits, fills it to {epsilon(float(ahead[-1]))}.",
    )
    order = float(odometer.bound(total.total, delta).order)
    facts = SpendFacts(tuple(entries), float(filled[-1][-1]), float(running[-1][-1]), order, left, coming)
    return Answer(plot, facts)


def within(steps: int) -> Array:
    """Whole numbers from 0 to `steps`, both included, closer at the start, where ε jumps."""
    early = np.geomspace(1.0, max(steps, 1), 8)
    return np.unique(np.minimum(np.round(np.r_[np.linspace(0.0, steps, POINTS_PER_BLOCK), early]), steps))


def spent(blocks: Sequence[Block]) -> list[Event]:
    return [(block.mechanism, block.steps) for block in blocks]


def accounts(answer: Answer[SpendFacts]) -> list[question.Block]:
    """A row for each accountant, the tight interval where it is there; and their cards."""
    cards_of = accountants(answer.given["variant"], others=(*ADDED, Tight.name))
    if not answer.facts.taken:
        nothing = Note("Nothing is spent yet: add a block to see its cost by each accountant.")
        return [nothing, *cards_of]
    rows = []
    for key, added in ADDED.items():
        ledger = Ledger(method(key, "exact"))
        for block in answer.facts.taken:
            ledger.spend(block.mechanism, block.steps)
        value = float(ledger.bound(answer.given["delta"]).epsilon)
        rows.append({"accountant": NAMES[key], "adds up": added, "ε": numbers.epsilon(value, digits=4, up=True)})
    if (tight := answer.facts.tight) is not None and not tight.soon:
        rows.append({"accountant": NAMES[Tight.name], "adds up": "losses themselves", "ε": tight.last})
    return [
        Note(
            "Each holds for these blocks had they been planned before the first step. Basic and strong composition "
            "see of a step only its ε_i and δ_i; steps may be unequal in both (Lécuyer 2021, §2.1)."
        ),
        pd.DataFrame(rows),
        *cards_of,
    ]


def layout(get: Reader) -> Groups:
    return {
        "Budget": (shared.TARGET, SIGMA, RATE, STEPS, Own("blocks", (BLOCKS,))),
        "Mechanism": units.controls(get),
        "Paste": (Own("pasted"),),
        "Show": (LOG_Y, *experts(shared.VARIANT, shared.CONVERSION)),
    }


SPEND = make_question(
    "budget/spend",
    spend,
    layout,
    SETTINGS,
    slow=(tight_part(lambda answer: spent(answer.facts.taken), drawn=attrgetter("plot")),),
    more={"Accountants": accounts},
    below=lambda answer: [Own("ledger")] if answer.facts.entries else [],
)
