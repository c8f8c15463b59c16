"""Spend by hand: blocks of steps against a filter's budget, each with what it cost and what is left after it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from dpviz import library as dpviz
from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.formula import tex
from dpviz.accounting.renyi.additive import RunningSum
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import Axis
from dpviz.fields import numbers
from dpviz.mechanisms import Event
from dpviz.questions import tight_band, units
from dpviz.questions.answer import Answer, Metric, Note, Slow
from dpviz.questions.budget.accounts import KEYS, accounts
from dpviz.questions.budget.blocks import Block
from dpviz.questions.budget.fields import BLOCKS, CONVERSION, TARGET, VARIANT
from dpviz.questions.budget.ledger import Entry, LedgerPlot
from dpviz.questions.budget.words import (
    ASSUMPTIONS,
    accountants,
    budget_range,
    epsilon,
    floors,
    odometer_formula,
    tight_figure,
    tight_notes,
)
from dpviz.questions.layout import Groups, Own, Reader, experts
from dpviz.questions.mechanism import RATE, SETTINGS, SIGMA, STEPS
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE, LOG_Y
from dpviz.questions.tight_band import TightBand

Array = npt.NDArray[np.float64]

POINTS_PER_BLOCK = 24


@dataclass(frozen=True, eq=False)
class SpendFacts:
    """What was spent.

    Attributes:
        entries: one a block.
        filled, odometer: ε after all of them.
        order: the α that decides the odometer's; NaN where nothing was spent.
        left: steps like the coming block's that still fit.
        tight: the tight interval of what was spent, once it is there.
    """

    entries: tuple[Entry, ...]
    filled: float
    odometer: float
    order: float
    left: float
    tight: TightBand | None = None

    @property
    def taken(self) -> tuple[Block, ...]:
        """The blocks that passed."""
        return tuple(entry.block for entry in self.entries if entry.passed)


def spend(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    target_epsilon: float,
    blocks: tuple[Block, ...],
    variant: str,
    conversion: str,
    log_y: bool,
) -> Answer[SpendFacts]:
    """ε along the blocks that the filter let pass, and along the coming one: σ, q and steps as they are set."""
    budget = dpviz.Filter(target_epsilon=target_epsilon, delta=delta, conversion=conversion)
    odometer = OdometerAccountant(variant)
    spent, x = RunningSum(odometer), [np.zeros(1)]
    filled, running = [np.zeros(1)], [np.zeros(1)]
    entries = []
    for block in blocks:
        fits = int(min(budget.remaining_steps(block.mechanism), block.steps))
        if fits == block.steps:
            part = within(block.steps)[1:]
            filled.append(budget.accountant.bound(budget.after(block.mechanism, part), delta).epsilon)
            running.append(odometer.bound(spent.after(block.mechanism, part), delta).epsilon)
            x.append(budget.steps + part)
            budget.spend(block.mechanism, block.steps)
            spent.add(block.mechanism, block.steps)
        entries.append(Entry(block, fits, float(filled[-1][-1]), float(running[-1][-1])))
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
            Line("filled", "filter: filled", along, np.concatenate(filled), "filter"),
            Line("odometer", "odometer", along, np.concatenate(running), "odometer", kept=False),
        ]
    if ahead_x.size > 1:
        lines.append(Line("ahead", "coming block", ahead_x, ahead, "budget", approximate=True, kept=False))
    end = max(float(ahead_x[-1]), 1.0)
    refused = left < steps
    # The hatched part is what the coming block would need beyond the budget: at least a sliver, to be seen.
    stop = max(min(float(budget.steps + steps), 1.5 * end), 1.06 * end) if refused else end
    plot = LedgerPlot(
        x=Axis("steps", kind="steps", shown=(0.0, stop), hover="%{x:,d} steps"),
        y=Axis(
            "ε",
            column="epsilon",
            log=log_y,
            shown=partial(budget_range, budget=target_epsilon, log=log_y),
            reading="attack",
        ),
        lines=tuple(lines),
        floors=floors(target_epsilon),
        regions=(Region(end if end > 1.0 or taken else 0.0, math.inf, "refused"),) if refused else (),
        entries=tuple(entries),
        said=f"The coming block, as far as it fits, fills it to {epsilon(float(ahead[-1]))}.",
    )
    order = float(odometer.bound(spent.total, delta).order)
    return Answer(plot, SpendFacts(tuple(entries), float(filled[-1][-1]), float(running[-1][-1]), order, left))


def within(steps: int) -> Array:
    """Whole numbers from 0 to `steps`, both included, closer at the start, where ε jumps."""
    early = np.geomspace(1.0, max(steps, 1), 8)
    return np.unique(np.minimum(np.round(np.r_[np.linspace(0.0, steps, POINTS_PER_BLOCK), early]), steps))


def tight_key(a: Answer[SpendFacts]) -> Hashable | None:
    """What decides the tight interval: what passed, in its order."""
    return (a.facts.taken, a.given["delta"]) if a.facts.taken else None


def events(a: Answer[SpendFacts]) -> list[Event]:
    return [(block.mechanism, block.steps) for block in a.facts.taken]


def tight(a: Answer[SpendFacts]) -> TightBand:
    return tight_band.interval(events(a), a.given["delta"])


def tight_soon(a: Answer[SpendFacts]) -> TightBand:
    return tight_band.end(events(a), a.given["delta"])


def with_tight(a: Answer[SpendFacts], found: TightBand) -> Answer[SpendFacts]:
    return replace(a, facts=replace(a.facts, tight=found))


def coming(a: Answer[SpendFacts]) -> Block:
    """The block that would be spent next."""
    g = a.given
    return Block(g["noise_multiplier"], g["sample_rate"], g["steps"])


def headline(a: Answer[SpendFacts]) -> str:
    g, f = a.given, a.facts
    budget, delta = f"a budget of <b>ε = {numbers.plain(g['target_epsilon'], digits=4)}</b>", numbers.delta(g["delta"])
    like = f"σ = {numbers.plain(g['noise_multiplier'])}, q = {numbers.plain(g['sample_rate'])}"
    left, s = numbers.steps(f.left), "" if f.left == 1 else "s"
    if not f.taken:
        if f.left == 0:
            return (
                f"A{budget[1:]} at δ = {delta} allows <b>not a single step</b> at {like}: raise the noise or the "
                "budget, or sample less."
            )
        return f"Nothing is spent of {budget} at δ = {delta}. It allows <b>{left}</b> step{s} at {like}: add a block."
    return (
        f"<b>{epsilon(f.filled)}</b> of {budget} is spent (δ = {delta}); <b>{left}</b> more step{s} at {like} fit. "
        f"Without a budget, stopping now would cost <b>ε ≤ {epsilon(f.odometer)}</b> (odometer)."
    )


def metrics(a: Answer[SpendFacts]) -> list[Metric]:
    target, f = a.given["target_epsilon"], a.facts
    share = math.ceil(1000 * min(f.filled / target, 1.0)) / 10
    return [
        Metric("Budget filled", f"{share:g} %", f"{epsilon(f.filled)} of {numbers.plain(target)}"),
        Metric("Left", numbers.steps(f.left), "steps like the coming block's"),
        Metric("Odometer", epsilon(f.odometer), "needs no budget; holds at any stop"),
        tight_figure(f.tight, wanted=bool(f.taken), off="nothing spent", held="had it been planned"),
    ]


def notes(a: Answer[SpendFacts]) -> list[Note]:
    f = a.facts
    built = [
        Note(
            f"Block {number} ({entry.block.words}) was refused: of its steps {numbers.steps(entry.fits)} "
            "would fit. It is kept in the list and counts as not taken; raise the budget or remove it.",
            "caution",
        )
        for number, entry in enumerate(f.entries, start=1)
        if not entry.passed
    ]
    if f.left < a.given["steps"]:
        fits = f"{numbers.steps(f.left)} of its steps still fit. Fewer steps, more noise or a lower q would pass."
        built.append(Note(f"The coming block ({coming(a).words}) would be refused: {fits}"))
    return [*built, *tight_notes(f.tight)]


def formulas(a: Answer[SpendFacts]) -> list[tuple[str, str]]:
    g, f = a.given, a.facts
    sums = " + ".join(rf"{b.steps}\,R_{{{i}}}(\alpha)" for i, b in enumerate(f.taken, start=1)) or "0"
    tail = r"\frac{\ln(1/\delta)}{\alpha-1}"
    if g["conversion"] == "improved":
        tail = r"\ln\frac{\alpha-1}{\alpha} - \frac{\ln\delta+\ln\alpha}{\alpha-1}"
    built = [
        (
            "filter: passes while this holds for some order (Lécuyer 2021, Eq. 4)",
            rf"{sums} + {tail} = {tex(f.filled)} \le \varepsilon = {tex(g['target_epsilon'])}",
        )
    ]
    if math.isfinite(f.order):
        odometer = OdometerAccountant(g["variant"])
        total = odometer.total((block.mechanism, block.steps) for block in f.taken)
        built.append(odometer_formula(odometer, total, delta=g["delta"], order=f.order, value=f.odometer))
    return built


def below(a: Answer[SpendFacts]) -> list[Own]:
    return [Own("ledger")] if a.facts.entries else []


def layout(get: Reader) -> Groups:
    return {
        "Budget": (TARGET, SIGMA, RATE, STEPS, Own("blocks", (BLOCKS,))),
        "Mechanism": units.controls(get),
        "Show": (LOG_Y, *experts(VARIANT, CONVERSION, IMAGE)),
    }


SPEND: Question[SpendFacts] = Question(
    key="spend",
    title="A budget, spent block by block",
    settings=SETTINGS
    | {"target_epsilon": TARGET, "blocks": BLOCKS, "variant": VARIANT, "conversion": CONVERSION, "log_y": LOG_Y},
    answer=spend,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    slow=(Slow(tight_key, tight, with_tight, tight_soon),),
    layout=layout,
    more={"Accountants": lambda a: [*accounts(a), *accountants(a.given["variant"], others=(*KEYS, "tight"))]},
    below=below,
)
