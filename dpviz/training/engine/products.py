"""Per-example gradients of one layer, kept in whichever form is smallest, and the three things asked of them.

Norms, weighted sums and inner products are all that clipping and gradient distances need; none needs the
gradient itself (Goodfellow 2015; Bu, Wang, Zha, Karypis 2022, "Differentially private optimization on large
model at small cost", §3). Shapes: b examples, t positions, k inputs and o outputs of a layer.

Terms that cancel within an example lose their digits, and with them the bound that the example is clipped to. No form
adds such terms in single precision after its norm was taken (`rounding`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch

from dpviz.training.engine.rounding import Lengths, lengths

Tensor = torch.Tensor


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Inner products along the last dimension."""
    products: Tensor = torch.linalg.vecdot(a, b)
    return products


def sum_of(parts: Sequence[Tensor]) -> Tensor:
    """Their sum, written into the first: cheaper than stacking a few small tensors."""
    for part in parts[1:]:
        parts[0].add_(part)
    return parts[0]


class Products(ABC):
    """Gradients g_1 … g_b of one layer's trainable parameters, one for each example of a chunk."""

    @abstractmethod
    def lengths(self) -> Lengths:
        """‖g_i‖ of what `weighted_sum` adds, with an upper end."""

    @abstractmethod
    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        """Σ_i w_i g_i for `weights` (b,): a tensor with the right number of entries for each trainable parameter."""

    @abstractmethod
    def part(self, rows: slice) -> Self:
        """The consecutive examples `rows`, in the same memory."""

    @abstractmethod
    def select(self, rows: Tensor) -> Self:
        """The examples `rows` alone, in double precision, for differences that cancel."""

    @abstractmethod
    def scaled(self, weights: Tensor) -> Self:
        """w_i g_i for `weights` (b,)."""

    @abstractmethod
    def combined(self, weights: Tensor) -> Products:
        """w_1 g_1 + w_2 g_2, w_3 g_3 + w_4 g_4, …: p gradients of neighbours from `weights` (2p,), 2p ≤ b.

        Precise enough for differences of nearly equal gradients: written out they are off by 3 u of the two lengths at
        most, factors are multiplied in double precision.
        """

    @abstractmethod
    def entries(self) -> int:
        """How many numbers are kept for one example."""

    @abstractmethod
    def inner(self, other: Self) -> Tensor:
        """⟨g_i, h_i⟩ row by row with as many gradients of the same layer, shape (b,)."""

    @abstractmethod
    def zero(self, rows: Tensor) -> None:
        """Take out the examples where the mask `rows`, shape (b,), is true, whatever they hold (NaN times 0 is NaN)."""

    @abstractmethod
    def grouped(self, size: int) -> Products:
        """g_1 + … + g_size, …: sums of so many neighbours, which are views of one example."""

    @abstractmethod
    def merge(self, other: Self) -> Products:
        """The gradients when the layer was used twice: the two uses add up."""


class Dense(Products):
    """Gradients written out, one (b, entries) tensor a parameter: for small layers used at many positions."""

    def __init__(self, gradients: Sequence[Tensor]) -> None:
        self.gradients = tuple(gradients)

    def lengths(self) -> Lengths:
        first, *others = (lengths(gradient) for gradient in self.gradients)
        return first.joined(*others) if others else first

    def inner(self, other: Self) -> Tensor:
        dots = [dot(mine, theirs) for mine, theirs in zip(self.gradients, other.gradients, strict=True)]
        return sum_of(dots)

    def scaled(self, weights: Tensor) -> Self:
        return type(self)([gradient * weights[:, None] for gradient in self.gradients])

    def combined(self, weights: Tensor) -> Self:
        size, by_pair = weights.shape[0], weights.view(-1, 1, 2)
        return type(self)(
            [torch.bmm(by_pair, gradient[:size].reshape(size // 2, 2, -1))[:, 0] for gradient in self.gradients]
        )

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        return tuple(weights @ gradient for gradient in self.gradients)

    def part(self, rows: slice) -> Self:
        return type(self)([gradient[rows] for gradient in self.gradients])

    def select(self, rows: Tensor) -> Self:
        return type(self)([gradient[rows].double() for gradient in self.gradients])

    def entries(self) -> int:
        return sum(gradient.shape[1] for gradient in self.gradients)

    def zero(self, rows: Tensor) -> None:
        self.gradients = tuple(gradient.masked_fill(rows[:, None], 0.0) for gradient in self.gradients)

    def grouped(self, size: int) -> Self:
        return type(self)([gradient.reshape(-1, size, gradient.shape[1]).sum(1) for gradient in self.gradients])

    def merge(self, other: Self) -> Self:
        return type(self)([mine + theirs for mine, theirs in zip(self.gradients, other.gradients, strict=True)])


class Rows(Products):
    """Gradients of a table of which each example used t rows: Σ_t e_{index_t} ⊗ out_t.

    A row that an example used more than once is written out: its first use holds the sum, the others 0.
    """

    def __init__(self, indices: Tensor, outputs: Tensor, *, size: int) -> None:
        self.indices = indices  # (b, t)
        self.outputs = outputs  # (b, t, o), one position of each index not 0
        self.size = size

    @classmethod
    def of(cls, indices: Tensor, outputs: Tensor, *, size: int) -> Self:
        """From the gradients (b, t, o) at each position, where indices (b, t) may occur again."""
        same = indices[:, :, None] == indices[:, None, :]  # (b, t, t)
        earlier = same.tril(diagonal=-1).any(2)
        written = torch.bmm(same.to(outputs.dtype), outputs).masked_fill_(earlier[:, :, None], 0.0)
        return cls(indices, written, size=size)

    def lengths(self) -> Lengths:
        return lengths(self.outputs.flatten(1))

    def inner(self, other: Self) -> Tensor:
        same = self.indices[:, :, None] == other.indices[:, None, :]  # (b, t, t')
        out = torch.bmm(self.outputs, other.outputs.transpose(1, 2))
        return (out * same).sum((1, 2))

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        scaled = (self.outputs * weights[:, None, None]).flatten(0, 1)
        table = scaled.new_zeros(self.size, scaled.shape[1])
        return (table.index_add_(0, self.indices.flatten(), scaled),)

    def part(self, rows: slice) -> Self:
        return type(self)(self.indices[rows], self.outputs[rows], size=self.size)

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.indices[rows], self.outputs[rows].double(), size=self.size)

    def scaled(self, weights: Tensor) -> Self:
        return type(self)(self.indices, self.outputs * weights[:, None, None], size=self.size)

    def combined(self, weights: Tensor) -> Self:
        pairs, indices = weights.shape[0] // 2, self.indices[: weights.shape[0]]
        outputs = self.outputs[: weights.shape[0]] * weights.double()[:, None, None]
        return self.of(indices.reshape(pairs, -1), outputs.reshape(pairs, -1, outputs.shape[2]), size=self.size)

    def entries(self) -> int:
        return self.outputs.shape[1] * self.outputs.shape[2]

    def zero(self, rows: Tensor) -> None:
        self.outputs = self.outputs.masked_fill(rows[:, None, None], 0.0)

    def grouped(self, size: int) -> Self:
        indices = self.indices.reshape(-1, size * self.indices.shape[1])
        return self.of(indices, self.outputs.reshape(*indices.shape, self.outputs.shape[2]), size=self.size)

    def merge(self, other: Self) -> Self:
        indices = torch.cat((self.indices, other.indices), dim=1)
        return self.of(indices, torch.cat((self.outputs, other.outputs), dim=1), size=self.size)
