"""The settings that a pasted program trains with, as dpviz has them, and its ε along the steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.methods import Renyi
from dpviz.accounting.renyi.additive import RunningSum
from dpviz.charts import Line, LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import (
    Answer,
    Formula,
    Layout,
    Metric,
    Note,
    Onward,
    Question,
    Reader,
    Words,
    annotated,
    question,
    slow_facts,
)
from dpviz.questions.budget.blocks import BLOCKS, MOST_BLOCKS, Block, enough_for
from dpviz.questions.budget.shared import CONVERSION, ORDERS, TARGET, missing_interval
from dpviz.questions.check.described import Events, ends
from dpviz.questions.check.fields import ADJACENCY, CLAIM, KINDS, SAMPLER, UNSETTLED
from dpviz.questions.check.program import Program
from dpviz.questions.check.question import FILLED, as_described, from_code, planned
from dpviz.questions.check.words import ASSUMPTIONS, assumption_table
from dpviz.questions.methods import NAMES, epsilon_axis, step_grid, steps_axis
from dpviz.questions.pasted.form import read_code
from dpviz.questions.tight_band import TightBand, along_steps, end, interval, with_tight

RENYI = Renyi()
CLIP = "clip"  # of `UNSETTLED`


@dataclass(frozen=True, eq=False)
class ProgramFacts:
    """ε of a program.

    Attributes:
        epsilon: the smallest upper bound after all steps: that of *Check a program*.
        tight: the PLD interval of one run along its steps, or after all; None until it is there.
    """

    program: Program
    epsilon: float
    tight: TightBand | None = None

    @property
    def open(self) -> tuple[str, ...]:
        """What the text leaves open of ε, in words: neither a claim nor C, in which noise is counted."""
        return tuple(UNSETTLED.options[key] for key in self.program.unsettled if key not in (CLAIM.key, CLIP))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is not said, and how it is read."""
        readings = {
            "batches as Poisson samples": self.program.sampler == "unsaid",
            "one example added or removed": self.program.adjacency == "unsaid",
            "each example's gradient clipped to one C": CLIP in self.program.unsettled,
        }
        return tuple(words for words, unsaid in readings.items() if unsaid)


def translation(**described: Any) -> Answer[ProgramFacts]:
    """ε along the steps by Rényi divergences; keywords as in `Program`."""
    program = Program(**described)
    x, epsilon = renyi_along(program.training.loose, program.delta)
    step = program.training.above[0][0].step
    line = Line(RENYI.family, NAMES[RENYI.family], x, epsilon, RENYI.family)
    plot = LinePlot(steps_axis(f"{step}s", log=False, marked=int(x[-1])), epsilon_axis(), (line,))
    return Answer(plot, ProgramFacts(program, program.renyi))


def renyi_along(events: Events, delta: float) -> tuple[Array, Array]:
    """Steps, and ε after each by Rényi divergences; shapes (n,)."""
    if len(events) == 1:
        ((mechanism, count),) = events
        x = step_grid(count, log=False)
        return x, RENYI.epsilon_of(mechanism, steps=x, delta=delta).epsilon
    total, steps = RunningSum(RENYI), 0
    along, epsilon = [], []
    for mechanism, count in events:
        taken = step_grid(count, log=False)
        epsilon.append(RENYI.bound(total.after(mechanism, taken), delta).epsilon)
        along.append(steps + taken)
        total.add(mechanism, count)
        steps += count
    return np.concatenate(along), np.concatenate(epsilon)


def tight_along(events: Events, delta: float) -> TightBand:
    """The PLD interval along the first steps that are equal, then after each further kind."""
    first = along_steps(*events[0], delta, log=False)
    further = (interval(events[:count], delta) for count in range(2, len(events) + 1))
    return reduce(lambda before, now: now.after(before), further, first)


def later(answer: Answer[ProgramFacts]) -> dict[str, object]:
    """The PLD interval along the steps, and the smallest ε."""
    training, delta = answer.facts.program.training, answer.facts.program.delta
    return {"tight": tight_along(training.above, delta), "epsilon": smallest(answer.facts.program)}


def soon(answer: Answer[ProgramFacts]) -> dict[str, object]:
    """The same after all steps."""
    training, delta = answer.facts.program.training, answer.facts.program.delta
    return {"tight": end(training.above, delta), "epsilon": smallest(answer.facts.program)}


def smallest(program: Program) -> float:
    """The upper end of what ε may be."""
    return ends(program.training, program.renyi, program.delta)[1]


def key(answer: Answer[ProgramFacts]) -> tuple[object, ...]:
    """What decides the interval."""
    training = answer.facts.program.training
    return training.above, training.below, training.runs, training.law, answer.facts.program.delta


def headline(f: ProgramFacts) -> str:
    program = f.program
    cost = f"<b>ε ≤ {numbers.up(f.epsilon)}</b> at δ = {numbers.delta(program.delta)} for {program.protected}"
    runs = f", {program.runs} runs" if program.runs else ""
    if f.open:
        missing = f"The text does not settle {_listed(f.open)}"
        return f"{missing}. With the form's values it trains with {used(f)}{runs}: {cost}."
    reading = f" (read: {', '.join(f.assumed)})" if f.assumed else ""
    return f"As described, the program trains with {used(f)}{runs}: {cost}{reading}."


def used(f: ProgramFacts) -> str:
    """Noise, batch and length."""
    program = f.program
    if program.counted:
        kinds = "; ".join(block.words for block in program.counted[:2])
        more = len(program.counted) - 2
        return f"<b>{kinds}</b>" + (f" and {more} more" if more > 0 else "")
    sigma, size = numbers.entered(program.noise_multiplier), numbers.steps(program.size)
    length = f"{numbers.entered(program.epochs)} epoch{'s' * (program.epochs != 1)}"
    return f"<b>σ = {sigma}</b>, batches of <b>{numbers.steps(program.batch)} of {size}</b>, <b>{length}</b>"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def metrics(f: ProgramFacts) -> Iterator[Metric]:
    program = f.program
    accountant = f"PLD; Rényi: {numbers.up(program.renyi)}" if f.epsilon < program.renyi else "Rényi"
    yield Metric("ε", f"≤ {numbers.up(f.epsilon)}", accountant)
    yield Metric("Steps", program.length.text, program.length.rate)
    yield Metric("Batches", batches(program.sampler), ADJACENCY.options[program.adjacency])
    if f.open:
        yield Metric("Not settled", str(len(f.open)), ", ".join(f.open))


def batches(sampler: str) -> str:
    """How batches are made, in a word or a few."""
    if (kind := KINDS.get(sampler)) is None:
        return SAMPLER.options[sampler]
    how = "Poisson" if kind.sampler == "poisson" else kind.title.partition(", ")[2]
    return f"{how[:1].upper()}{how[1:]}"


def notes(f: ProgramFacts) -> Iterator[Note]:
    if f.open:
        yield Note(
            "Chart and numbers use the form's values for what the text does not settle: they are no bound for the "
            "program until each is entered, or unticked in “From code”.",
            "caution",
        )
    if f.program.training.has_random_runs:
        yield Note("All curves are those of one run.")
    yield from missing_interval(f.tight)
    yield Note("The text is read for names and numbers. It is never run, so a library's own code is not checked.")


def formulas(f: ProgramFacts) -> tuple[Formula, ...]:
    return f.program.length.formulas


def onward(answer: Answer[ProgramFacts]) -> list[question.Block]:
    """The same training on other pages."""
    ways: list[question.Block] = [
        Onward("Check its claimed ε", "check", {"kview": "check"}),
        Onward("Its ε by every accountant", "compose", {}),
        Onward("What if N is not public?", "check", {"kview": "public_size"}),
    ]
    return [*ways, *spending(answer.facts.program)]


def spending(program: Program) -> list[Onward]:
    """The way to the budget that these steps spend; none where they are no blocks of Poisson samples."""
    events = program.training.above
    blocks = [Block(m.noise_multiplier, m.sample_rate, n) for m, n in events if isinstance(m, SampledGaussian)]
    if len(blocks) < len(events) or len(blocks) > MOST_BLOCKS:
        return []
    orders, conversion = ORDERS.means[ORDERS.default], CONVERSION.default
    least = enough_for(blocks, TARGET.default, orders, delta=program.delta, conversion=conversion)
    if not least <= TARGET.high:
        return []
    texts = {"bview": "spend", BLOCKS.key: BLOCKS.write(tuple(blocks)), TARGET.key: TARGET.write(least)}
    return [Onward("Spend these steps block by block", "budget", texts)]


def layout(get: Reader) -> Layout:
    fills = tuple(field for field in FILLED if field != CLAIM)
    return {"From code": from_code(get, fills), "Plan": planned(get), "Described": as_described(get)}


TRANSLATION = Question(
    "translate",
    "What does this program train with?",
    translation,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="epsilon",
    settings=annotated(Program),
    slow=(slow_facts(key, later, soon, with_tight),),
    layout=layout,
    below=lambda answer: [assumption_table(answer.facts.program)],
    reads={"code": read_code},
    more={"Use it": onward},
)
