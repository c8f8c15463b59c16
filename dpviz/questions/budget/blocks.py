"""Blocks of steps that are spent one after the other: a field of them, and the budget that lets them all pass."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from dpviz import library as dpviz
from dpviz.fields import Field, numbers
from dpviz.fields.declared import field
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.budget import shared
from dpviz.questions.mechanism import RATE, SIGMA, STEPS

MOST_BLOCKS = 24


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
        return f"{count} at σ = {numbers.entered(self.sigma)}, q = {numbers.at_least(self.rate, 4)}"


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
        with suppress(TypeError):
            if isinstance(value, Iterable):
                return self.parse(self.write(tuple(Block(*block) for block in value)))
        raise ValueError(f"{self.label}: {value!r:.40} is not a list of blocks (σ, q, steps) like [(1, 0.01, 500)].")

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


def enough_for(blocks: Sequence[Block], now: float, orders: str, *, delta: float, conversion: str) -> float:
    """The budget `now` where it lets all blocks pass, else hardly more than the least that does; infinite for none."""

    def holds(target: float) -> bool:
        first = blocks[0].mechanism
        budget = shared.filter_of(first, orders, target_epsilon=target, delta=delta, conversion=conversion)
        try:
            for block in blocks:
                budget.spend(block.mechanism, block.steps)
        except dpviz.BudgetExceeded:
            return False
        return True

    low, high = now, shared.TARGET.high
    if holds(now):
        return now
    if not holds(high):
        return math.inf
    while high > 1.0001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    target = numbers.rounded_up(high, 3)
    while not holds(target):  # rounding up moves the order too
        target = numbers.rounded_up(1.001 * target, 3)
    return target
