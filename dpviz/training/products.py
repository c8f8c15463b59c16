"""Per-example gradients of one layer, kept in whichever form is smallest, and the three things asked of them.

Norms, weighted sums and inner products are all that clipping and gradient distances need; none needs the
gradient itself (Goodfellow 2015; Bu, Wang, Zha, Karypis 2022, "Differentially private optimization on large
model at small cost", §3). Shapes: b examples, t positions, k inputs and o outputs of a layer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch

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
    def squared_norms(self) -> Tensor:
        """‖g_i‖², shape (b,)."""

    @abstractmethod
    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        """Σ_i w_i g_i for `weights` (b,): a tensor with the right number of entries for each trainable parameter."""

    @abstractmethod
    def select(self, rows: Tensor) -> Self:
        """The examples `rows` alone, in double precision, for differences that cancel."""

    @abstractmethod
    def combined(self, weights: Tensor) -> Self:
        """w_1 g_1 + w_2 g_2, w_3 g_3 + w_4 g_4, …: p gradients of neighbours from `weights` (2p,), 2p ≤ b.

        Precise enough for differences of nearly equal gradients: written out they lose nothing in single precision,
        factors are multiplied in double precision.
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
    def merge(self, other: Self) -> Self:
        """The gradients when the layer was used twice: the two uses add up."""


class Factored(Products):
    """Gradients Σ_t out_t ⊗ in_t of a matrix, and Σ_t out_t of its bias, as the two factors.

    With one position the norm is a product of norms; with more it is a product of Gram matrices.
    """

    def __init__(self, inputs: Tensor, outputs: Tensor, *, weight: bool = True, bias: bool = True) -> None:
        self.inputs = inputs  # (b, t, k)
        self.outputs = outputs  # (b, t, o)
        self.weight = weight
        self.bias = bias

    def squared_norms(self) -> Tensor:
        if self.inputs.shape[1] == 1:
            squared: Tensor = torch.linalg.vector_norm(self.outputs[:, 0], dim=1).square_()
            if not self.weight:
                return squared
            return squared.mul_(torch.linalg.vector_norm(self.inputs[:, 0], dim=1).square_().add_(float(self.bias)))
        return self.inner(self).clamp_(min=0.0)

    def inner(self, other: Self) -> Tensor:
        # Adding 1 to the input's Gram matrix is the same as giving it a constant input for the bias.
        if self.inputs.shape[1] == 1 and other.inputs.shape[1] == 1:
            into = dot(self.inputs[:, 0], other.inputs[:, 0])
            out = dot(self.outputs[:, 0], other.outputs[:, 0])
            return out * (into * self.weight + self.bias)
        out = torch.bmm(self.outputs, other.outputs.transpose(1, 2))  # (b, t, t')
        if not self.weight:
            return out.sum((1, 2))
        into = torch.bmm(self.inputs, other.inputs.transpose(1, 2))
        return (into.add_(1.0) if self.bias else into).mul_(out).sum((1, 2))

    def combined(self, weights: Tensor) -> Self:
        # Two examples at t positions are one at 2t.
        pairs, inputs = weights.shape[0] // 2, self.inputs[: weights.shape[0]].double()
        outputs = self.outputs[: weights.shape[0]] * weights.double()[:, None, None]
        return type(self)(
            inputs.reshape(pairs, -1, inputs.shape[2]), outputs.reshape(pairs, -1, outputs.shape[2]),
            weight=self.weight, bias=self.bias,
        )  # fmt: skip

    def add_weighted_sum(self, weights: Tensor, into: Sequence[Tensor]) -> None:
        """`weighted_sum` added to the parameters' tensors without a copy on the way."""
        scaled = (self.outputs * weights[:, None, None]).flatten(0, 1)  # (b t, o)
        if self.weight:
            into[0].addmm_(scaled.t(), self.inputs.reshape(-1, self.inputs.shape[-1]))
        if self.bias:
            into[-1].add_(scaled.sum(0))

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        scaled = (self.outputs * weights[:, None, None]).flatten(0, 1)  # (b t, o)
        sums = []
        if self.weight:
            sums.append(scaled.t() @ self.inputs.reshape(-1, self.inputs.shape[-1]))
        if self.bias:
            sums.append(scaled.sum(0))
        return tuple(sums)

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.inputs[rows].double(), self.outputs[rows].double(), weight=self.weight, bias=self.bias)

    def entries(self) -> int:
        return self.inputs.shape[1] * (self.inputs.shape[2] + self.outputs.shape[2])

    def zero(self, rows: Tensor) -> None:
        # Not in place: the inputs may be the caller's own data.
        self.inputs = self.inputs.masked_fill(rows[:, None, None], 0.0)
        self.outputs = self.outputs.masked_fill(rows[:, None, None], 0.0)

    def merge(self, other: Self) -> Self:
        inputs = torch.cat((self.inputs, other.inputs), dim=1)
        outputs = torch.cat((self.outputs, other.outputs), dim=1)
        return type(self)(inputs, outputs, weight=self.weight, bias=self.bias)


class Dense(Products):
    """Gradients written out, one (b, entries) tensor a parameter: for small layers used at many positions."""

    def __init__(self, gradients: Sequence[Tensor]) -> None:
        self.gradients = tuple(gradients)

    def squared_norms(self) -> Tensor:
        norms = [torch.linalg.vector_norm(gradient, dim=1).square_() for gradient in self.gradients]
        return sum_of(norms)

    def inner(self, other: Self) -> Tensor:
        dots = [dot(mine, theirs) for mine, theirs in zip(self.gradients, other.gradients, strict=True)]
        return sum_of(dots)

    def combined(self, weights: Tensor) -> Self:
        size, by_pair = weights.shape[0], weights.view(-1, 1, 2)
        return type(self)(
            [torch.bmm(by_pair, gradient[:size].reshape(size // 2, 2, -1))[:, 0] for gradient in self.gradients]
        )

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        return tuple(weights @ gradient for gradient in self.gradients)

    def select(self, rows: Tensor) -> Self:
        return type(self)([gradient[rows].double() for gradient in self.gradients])

    def entries(self) -> int:
        return sum(gradient.shape[1] for gradient in self.gradients)

    def zero(self, rows: Tensor) -> None:
        self.gradients = tuple(gradient.masked_fill(rows[:, None], 0.0) for gradient in self.gradients)

    def merge(self, other: Self) -> Self:
        return type(self)([mine + theirs for mine, theirs in zip(self.gradients, other.gradients, strict=True)])


class Rows(Products):
    """Gradients of a table of which each example used t rows: Σ_t e_{index_t} ⊗ out_t."""

    def __init__(self, indices: Tensor, outputs: Tensor, *, size: int) -> None:
        self.indices = indices  # (b, t)
        self.outputs = outputs  # (b, t, o)
        self.size = size

    def squared_norms(self) -> Tensor:
        return self.inner(self).clamp_(min=0.0)

    def inner(self, other: Self) -> Tensor:
        same = self.indices[:, :, None] == other.indices[:, None, :]  # (b, t, t')
        out = torch.bmm(self.outputs, other.outputs.transpose(1, 2))
        return (out * same).sum((1, 2))

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        scaled = (self.outputs * weights[:, None, None]).flatten(0, 1)
        table = scaled.new_zeros(self.size, scaled.shape[1])
        return (table.index_add_(0, self.indices.flatten(), scaled),)

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.indices[rows], self.outputs[rows].double(), size=self.size)

    def combined(self, weights: Tensor) -> Self:
        pairs, indices = weights.shape[0] // 2, self.indices[: weights.shape[0]]
        outputs = self.outputs[: weights.shape[0]] * weights.double()[:, None, None]
        return type(self)(indices.reshape(pairs, -1), outputs.reshape(pairs, -1, outputs.shape[2]), size=self.size)

    def entries(self) -> int:
        return self.outputs.shape[1] * self.outputs.shape[2]

    def zero(self, rows: Tensor) -> None:
        self.outputs = self.outputs.masked_fill(rows[:, None, None], 0.0)

    def merge(self, other: Self) -> Self:
        indices = torch.cat((self.indices, other.indices), dim=1)
        return type(self)(indices, torch.cat((self.outputs, other.outputs), dim=1), size=self.size)
