"""Blocks of equal steps as one setting, short enough for a link: "1x0.01024x980~2x0.01x500"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dpviz.fields import numbers
from dpviz.fields.field import Field
from dpviz.mechanisms import SampledGaussian
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
        return f"{count} at σ = {numbers.plain(self.sigma)}, q = {numbers.plain(self.rate)}"


@dataclass(frozen=True)
class Blocks(Field[tuple[Block, ...]]):
    """Blocks in the order in which they were spent."""

    def parse(self, text: str) -> tuple[Block, ...]:
        blocks = tuple(self._block(part) for part in text.split("~") if part)
        if len(blocks) > MOST_BLOCKS:
            raise ValueError(f"{self.label}: {len(blocks)} are too many; at most {MOST_BLOCKS} fit a link.")
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
            raise ValueError(f"{self.label}: {value!r:.40} is no list like [(1, 0.01, 500)], σ, q, steps.") from None

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
