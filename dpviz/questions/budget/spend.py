"""Spend by hand: blocks of steps against a filter's budget, each with what it cost and what is left after it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Annotated

import numpy as np
import pandas as pd

from dpviz._arrays import Array
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import Basic, Moments, OdometerAccountant, Renyi, Strong, Tight
from dpviz.accounting.renyi.additive import RunningSum
from dpviz.charts import Line, Region
from dpviz.fields import numbers
from dpviz.mechanisms import Event
from dpviz.questions import (
    Answer,
    Formula,
    Metric,
    Note,
    Onward,
    Question,
    Words,
    experts,
    question,
    setting,
    units,
)
from dpviz.questions.budget import shared
from dpviz.questions.budget.blocks import BLOCKS, Block
from dpviz.questions.budget.ledger import Entry, LedgerPlot
from dpviz.questions.budget.shared import ASSUMPTIONS, ODOMETER, budget_range, floors
from dpviz.questions.layout import FieldControl, Layout, Reader
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, STEPS, shown_delta
from dpviz.questions.methods import NAMES, epsilon_axis, method, steps_axis
from dpviz.questions.shared import LOG_Y
from dpviz.questions.tight_band import TightBand, tight_figures, tight_part

POINTS_PER_BLOCK = 24
ADDED = {
    Basic.name: "Σε_i",
    Strong.name: "√(2 ln(1/δ′) Σε_i²) + Σε_i(e^ε_i − 1)",
    Moments.name: "ΣR_i(α), best whole α ≤ 33",
    Renyi("classic").family: "ΣR_i(α), best α",
    Renyi("improved").family: "ΣR_i(α), best α",
}


@dataclass(frozen=True, eq=False)
class SpendFacts:
    """What was spent.

    Attributes:
        left: steps like the coming block's that still fit.
        ahead: ε filled after the coming block, or after as much of it as fits.
        entries: one a block.
        filled, odometer: ε after all of them.
        order: the α that decides the odometer's; NaN where nothing was spent.
        coming: the block that would be spent next: σ, q and steps as they are set.
        orders: of the filter.
        tight: the tight interval of what was spent, once it is there.
    """

    left: float
    ahead: float
    entries: tuple[Entry, ...]
    filled: float
    odometer: float
    order: float
    coming: Block
    orders: Array
    delta: float
    target_epsilon: float
    variant: str
    conversion: str
    filter_orders: str
    tight: TightBand | None = None

    @property
    def taken(self) -> tuple[Block, ...]:
        """The blocks that passed."""
        return tuple(entry.block for entry in self.entries if entry.passed)

    @property
    def events(self) -> list[Event]:
        """Their steps."""
        return [(block.mechanism, block.steps) for block in self.taken]

    @property
    def percent(self) -> float:
        """How full the budget is after the coming block, rounded up."""
        return math.ceil(1000 * min(self.ahead / self.target_epsilon, 1.0)) / 10


def spend(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    target_epsilon: Annotated[float, shared.TARGET],
    blocks: Annotated[tuple[Block, ...], BLOCKS],
    variant: Annotated[str, shared.VARIANT],
    conversion: Annotated[str, shared.CONVERSION],
    filter_orders: Annotated[str, shared.ORDERS],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[SpendFacts]:
    """ε along the blocks that the filter let pass, and along the coming one: σ, q and steps as they are set."""
    coming = Block(noise_multiplier, sample_rate, steps)
    first = (*blocks, coming)[0].mechanism
    budget = shared.filter_of(first, filter_orders, target_epsilon=target_epsilon, delta=delta, conversion=conversion)
    odometer = OdometerAccountant(variant)
    total, x = RunningSum(odometer), [np.zeros(1)]
    filled, running = [np.zeros(1)], [np.zeros(1)]
    entries: list[Entry] = []
    for block in blocks:
        fits = int(min(budget.remaining_steps(block.mechanism), block.steps))
        if fits == block.steps:
            part = within(block.steps)[1:]
            filled.append(budget.accountant.bound(budget.after(block.mechanism, part), budget.delta_of_each).epsilon)
            running.append(odometer.bound(total.after(block.mechanism, part), delta).epsilon)
            x.append(budget.steps + part)
            budget.spend(block.mechanism, block.steps)
            total.add(block.mechanism, block.steps)
        entries.append(Entry(len(entries) + 1, block, fits, float(filled[-1][-1]), float(running[-1][-1])))
    left = budget.remaining_steps(coming.mechanism)
    part = within(int(min(left, steps)))
    ahead_x = budget.steps + part
    ahead = budget.accountant.bound(budget.after(coming.mechanism, part), budget.delta_of_each).epsilon
    taken = budget.steps > 0
    lines = []
    if taken:
        along = np.concatenate(x)
        lines += [
            Line("filled", "filter: filled", along, np.concatenate(filled), FILTER),
            Line(
                ODOMETER,
                OdometerAccountant().label,
                along,
                np.concatenate(running),
                ODOMETER,
                kept=False,
                stairs="rising",
            ),
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
        summary=f"The next block, as far as it fits, fills it to {numbers.up(float(ahead[-1]))}.",
    )
    facts = SpendFacts(
        left=left,
        ahead=float(ahead[-1]),
        entries=tuple(entries),
        filled=float(filled[-1][-1]),
        odometer=float(running[-1][-1]),
        order=float(odometer.bound(total.total, delta).order),
        coming=coming,
        orders=budget.accountant.orders,
        delta=delta,
        target_epsilon=target_epsilon,
        variant=variant,
        conversion=conversion,
        filter_orders=filter_orders,
    )
    return Answer(plot, facts)


def within(steps: int) -> Array:
    """Whole numbers from 0 to `steps`, both included, closer at the start, where ε jumps."""
    early = np.geomspace(1.0, max(steps, 1), 8)
    return np.unique(np.minimum(np.round(np.r_[np.linspace(0.0, steps, POINTS_PER_BLOCK), early]), steps))


def headline(f: SpendFacts) -> str:
    delta = shown_delta(f.delta)
    budget = f"budget <b>{setting(shared.TARGET, 'ε =', numbers.at_most(f.target_epsilon, 4))}</b> ({delta})"
    like = f"at σ = {numbers.plain(f.coming.sigma)}, q = {numbers.plain(f.coming.rate)}"
    if f.taken:
        more = "one more step" if f.left == 1 else f"<b>{numbers.steps(f.left)}</b> more steps"
        return f"<b>{numbers.up(f.filled)}</b> of the {budget} is spent; it allows {more} {like}."
    if f.left == 0:
        way_out = "raise the noise or the budget, or sample less"
        return f"The {budget} allows <b>not a single step</b> {like}: {way_out}."
    steps = "one step" if f.left == 1 else f"<b>{numbers.steps(f.left)}</b> steps"
    return f"The {budget} is not spent yet and allows {steps} {like}."


def metrics(f: SpendFacts) -> Iterator[Metric]:
    yield Metric("Steps left", numbers.steps(f.left), "like those of the next block")
    fits = "" if f.left >= f.coming.steps else f"; only {numbers.steps(f.left)} of its steps fit"
    share = f"{f.percent:g} % of {numbers.at_most(f.target_epsilon)}{fits}"
    yield Metric("ε after the next block", f"≤ {numbers.up(f.ahead)}", share)
    if f.taken:
        yield Metric("Lécuyer odometer", numbers.up(f.odometer), "needs no budget, holds at any stop")
        yield from tight_figures(f.tight, "if planned")


def notes(f: SpendFacts) -> Iterator[Note]:
    yield orders_note(f)
    for entry in f.entries:
        if not entry.passed:
            yield Note(
                f"Block {entry.number} ({entry.block.words}) was refused: only {numbers.steps(entry.fits)} of its "
                "steps would fit. It stays in the list but is not counted. Raise the budget or remove the block.",
                "caution",
            )
    if f.left < f.coming.steps:
        yield Note(
            f"The next block ({f.coming.words}) would be refused: only {numbers.steps(f.left)} of its steps still fit. "
            "Fewer steps, more noise or a smaller q would pass."
        )
    yield from shared.missing_interval(f.tight)


def orders_note(f: SpendFacts) -> Note:
    """Whether results may choose the blocks, which the orders of the filter decide."""
    count = f.orders.size
    if f.filter_orders == "paper":
        return Note(
            f"The filter uses {count} orders with the whole δ each, as in the paper. The budget is proved for blocks "
            "planned in advance, or stopped early; if results choose the blocks, take one order fixed in advance.",
            "caution",
        )
    if f.filter_orders == "union":
        orders = f"the {count} orders of the filter share δ, so none has to be fixed in advance"
    else:
        orders = f"the filter uses one order, α = {numbers.plain(f.orders[0])}, which the first block fixes in advance"
    return Note(f"Each block may be chosen because of earlier results: {orders}.")


def formulas(f: SpendFacts) -> Iterator[Formula]:
    terms = [rf"{block.steps}\,R_{{{number}}}(\alpha)" for number, block in enumerate(f.taken, start=1)]
    tail = r"\frac{\ln(1/\delta')}{\alpha-1}"
    if f.conversion == "improved":
        tail = r"\ln\frac{\alpha-1}{\alpha} - \frac{\ln\delta'+\ln\alpha}{\alpha-1}"
    yield Formula(
        "filter: passes while this holds for some order of the filter (Lécuyer 2021, Eq. 4)",
        rf"{' + '.join(terms) or '0'} + {tail} = {numbers.tex_up(f.filled)}"
        rf" \le \varepsilon = {numbers.tex(f.target_epsilon)},"
        rf" \qquad \delta' = {shared.share_of_delta(f.filter_orders, f.orders.size)}",
    )
    yield from shared.odometer_formula(f.variant, f.delta, f.events, order=f.order, epsilon=f.odometer)


def accounts(answer: Answer[SpendFacts]) -> list[question.Block]:
    """A row for each accountant, the tight interval where it is there; and their cards."""
    f = answer.facts
    cards = shared.accountants(f.variant, others=(*ADDED, Tight.name))
    if not f.taken:
        return [Note("Nothing is spent yet: add a block to see its cost by each accountant."), *cards]
    rows = []
    for key, added in ADDED.items():
        ledger = Ledger(method(key, "exact"))
        for mechanism, steps in f.events:
            ledger.spend(mechanism, steps)
        epsilon = float(ledger.bound(f.delta).epsilon)
        rows.append({"accountant": NAMES[key], "adds up": added, "ε": numbers.up(epsilon, 4)})
    if f.tight is not None and not f.tight.soon:
        rows.append({"accountant": NAMES[Tight.name], "adds up": "losses themselves", "ε": f.tight.last})
    return [
        Note(
            "Each holds for these blocks had they been planned before the first step. Basic and strong composition "
            "see of a step only its ε_i and δ_i; steps may be unequal in both (Lécuyer 2021, §2.1)."
        ),
        pd.DataFrame(rows),
        *cards,
    ]


def layout(get: Reader) -> Layout:
    return {
        "Budget": (shared.TARGET, SIGMA, RATE, STEPS, FieldControl((BLOCKS,), drawn_as="blocks")),
        "Mechanism": units.controls(get),
        "Show": (LOG_Y, *experts(shared.ORDERS, shared.VARIANT, shared.CONVERSION)),
    }


SPEND = Question(
    "spend",
    "How is a budget spent block by block?",
    spend,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="left",
    slow=(tight_part(lambda answer: answer.facts.events, drawn=attrgetter("plot")),),
    layout=layout,
    more={
        "Use it": lambda _: [Onward("Read the blocks from a program or a history", "check", {"kview": "translate"})],
        "Accountants": accounts,
    },
    below=lambda answer: [FieldControl(drawn_as="ledger")] if answer.facts.entries else [],
)
