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
from copy import copy
from typing import Self

import torch
from torch import Tensor

from dpviz.training.engine.rounding import Lengths, gamma, lengths


class Products(ABC):
    """Gradients g_1 … g_b of one layer's trainable parameters, one for each example of a chunk.

    Attributes:
        factors: What they are made of, each (b, …).
    """

    def __init__(self, *factors: Tensor) -> None:
        self.factors = factors

    def like(self, *factors: Tensor) -> Self:
        """Gradients of the same parameters, made of other factors."""
        other = copy(self)
        other.factors = factors
        return other

    @abstractmethod
    def lengths(self) -> Lengths:
        """‖g_i‖ of what `weighted_sum` adds, with an upper end."""

    @abstractmethod
    def weighted_sum(self, weights: Tensor, into: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        """Σ_i w_i g_i for `weights` (b,): a tensor with the right number of entries for each trainable parameter.

        Args:
            into: Memory of the parameters' shapes, which those of a large matrix are computed in.
        """

    def scaled(self, weights: Tensor) -> Products:
        """w_i g_i for `weights` (b,)."""
        *others, outputs = self.factors
        return self.like(*others, outputs * _along(weights, outputs))

    @abstractmethod
    def grouped(self, size: int) -> Products:
        """g_1 + … + g_size, …: sums of so many neighbours, which are views of one example."""

    @abstractmethod
    def merge(self, other: Self) -> Products:
        """The gradients when the layer was used twice: the two uses add up."""

    def part(self, rows: slice) -> Self:
        """The consecutive examples `rows`, in the same memory."""
        return self.like(*(factor[rows] for factor in self.factors))

    def combined(self, weights: Tensor) -> Products:
        """w_1 g_1 + w_2 g_2, w_3 g_3 + w_4 g_4, …: p gradients of neighbours from `weights` (2p,), 2p ≤ b.

        Precise enough for differences of nearly equal gradients: written out they are off by 3 u of the two lengths at
        most, in the precision of `weights`; factors are multiplied in double precision.
        """
        return self.part(slice(0, len(weights))).scaled(weights.double()).grouped(2)

    def zero(self, rows: Tensor) -> None:
        """Take out the examples where the mask `rows`, shape (b,), is true, whatever they hold (NaN times 0 is NaN)."""
        # Not in place: the inputs may be the caller's own data.
        self.factors = tuple(
            factor.masked_fill(_along(rows, factor), 0) if factor.is_floating_point() else factor
            for factor in self.factors
        )


class Dense(Products):
    """Gradients written out, one (b, entries) tensor a parameter: for small layers used at many positions."""

    def lengths(self) -> Lengths:
        first, *others = map(lengths, self.factors)
        return first.joined(*others) if others else first

    def scaled(self, weights: Tensor) -> Self:
        return self.like(*(gradient * weights[:, None] for gradient in self.factors))

    def combined(self, weights: Tensor) -> Self:
        by_pair, shape = weights.view(-1, 1, 2), (len(weights) // 2, 2)
        rows = (gradient[: len(weights)].to(weights.dtype) for gradient in self.factors)
        return self.like(*(torch.bmm(by_pair, row.reshape(*shape, row.shape[1]))[:, 0] for row in rows))

    def weighted_sum(self, weights: Tensor, into: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        return tuple(weights @ gradient for gradient in self.factors)

    def grouped(self, size: int) -> Self:
        return self.like(*(gradient.reshape(-1, size, gradient.shape[1]).sum(1) for gradient in self.factors))

    def merge(self, other: Self) -> Self:
        return self.like(*(mine + theirs for mine, theirs in zip(self.factors, other.factors, strict=True)))


class Rows(Products):
    """Gradients of a table of which each example used t rows: Σ_t e_{index_t} ⊗ out_t.

    A row that an example used more than once is written out: its first use holds the sum, the others 0.

    Args:
        indices: (b, t).
        outputs: (b, t, o), one position of each index not 0.
        size: Rows of the table.
    """

    def __init__(self, indices: Tensor, outputs: Tensor, *, size: int) -> None:
        super().__init__(indices, outputs)
        self.size = size

    @classmethod
    def of(cls, indices: Tensor, outputs: Tensor, *, size: int) -> Self:
        """From the gradients (b, t, o) at each position, where indices (b, t) may occur again."""
        same = indices[:, :, None] == indices[:, None, :]  # (b, t, t)
        earlier = same.tril(diagonal=-1).any(2)
        written = torch.bmm(same.to(outputs.dtype), outputs).masked_fill_(earlier[:, :, None], 0.0)
        return cls(indices, written, size=size)

    def lengths(self) -> Lengths:
        return lengths(self.factors[1].flatten(1))

    def weighted_sum(self, weights: Tensor, into: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        indices, outputs = self.scaled(weights).factors
        table = outputs.new_zeros(self.size, outputs.shape[2])
        return (table.index_add_(0, indices.flatten(), outputs.flatten(0, 1)),)

    def grouped(self, size: int) -> Self:
        indices, outputs = self.factors
        indices = indices.reshape(-1, size * indices.shape[1])
        return self.of(indices, outputs.reshape(*indices.shape, outputs.shape[2]), size=self.size)

    def merge(self, other: Self) -> Self:
        indices, outputs = (torch.cat(both, dim=1) for both in zip(self.factors, other.factors, strict=True))
        return self.of(indices, outputs, size=self.size)


class Outer(Products):
    """Gradients out ⊗ in of a matrix, and out of its bias: one position, so the norm is a product of norms.

    Args:
        inputs, outputs: (b, k) and (b, o).
        bias: Whether it has one.
    """

    def __init__(self, inputs: Tensor, outputs: Tensor, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs)
        self.bias = bias

    def lengths(self) -> Lengths:
        into, out = map(lengths, self.factors)
        if self.bias:
            into.norms.square_().add_(1.0).sqrt_()  # as if the input had one more entry, 1
        relative = (1.0 + into.relative) * (1.0 + out.relative) * (1.0 + gamma(4, self.factors[0].dtype)) - 1.0
        return Lengths(out.norms.mul_(into.norms), relative)

    def weighted_sum(self, weights: Tensor, into: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        inputs, outputs = self.factors
        outputs = (outputs * _along(weights, outputs)).flatten(0, -2)  # (b, o) or (b t, o)
        fits = into and into[0].ndim == 2 and into[0].dtype == outputs.dtype  # a convolution arranges its own
        weight = torch.mm(outputs.t(), inputs.flatten(0, -2), out=into[0] if fits else None)
        return (weight, outputs.sum(0)) if self.bias else (weight,)

    def scaled(self, weights: Tensor) -> Factored:
        whole = self.at_positions()
        inputs, outputs = whole.factors
        return whole.like(inputs, outputs * _along(weights, outputs))

    def grouped(self, size: int) -> Factored:
        # One example at t positions in each of its views is one at as many times t.
        whole = self.at_positions()
        return whole.like(*(factor.reshape(-1, size * factor.shape[1], factor.shape[2]) for factor in whole.factors))

    def merge(self, other: Outer) -> Factored:
        whole, theirs = self.at_positions(), other.at_positions()
        return whole.like(*(torch.cat(both, dim=1) for both in zip(whole.factors, theirs.factors, strict=True)))

    def at_positions(self) -> Factored:
        inputs, outputs = self.factors
        return Factored(inputs[:, None], outputs[:, None], bias=self.bias)


class Factored(Outer):
    """Gradients Σ_t out_t ⊗ in_t of a matrix, and Σ_t out_t of its bias: norms are products of Gram matrices.

    Their terms cancel as far as the positions' contributions do; factors are kept, and summed, in double precision.

    Args:
        inputs, outputs: A layer's inputs (b, t, k) and the gradients (b, t, o) towards its outputs.
        bias: Whether it has one.
    """

    def __init__(self, inputs: Tensor, outputs: Tensor, *, bias: bool = True) -> None:
        super().__init__(inputs.double(), outputs.double(), bias=bias)

    def at_positions(self) -> Self:
        return self

    def lengths(self) -> Lengths:
        into, out = (torch.bmm(factor, factor.transpose(1, 2)) for factor in self.factors)  # both (b, t, t)
        if self.bias:
            into.add_(1.0)  # as a constant input for the bias
        # |⟨in_t, in_s⟩| ≤ ‖in_t‖ ‖in_s‖: all terms together are at most the square of Σ_t ‖in_t‖ ‖out_t‖.
        terms = (into.diagonal(dim1=1, dim2=2) * out.diagonal(dim1=1, dim2=2)).clamp_(min=0.0).sqrt_()
        t, (k, o) = into.shape[1], (factor.shape[2] for factor in self.factors)
        error = terms.sum(1).square_().mul_(gamma(k + o + t * t + 16, terms.dtype))
        squared = into.mul_(out).sum((1, 2)).clamp_(min=0.0)
        return Lengths(squared.add_(error).sqrt_(), gamma(4, terms.dtype))


def _along(weights: Tensor, factor: Tensor) -> Tensor:
    """`weights` (b,), or a mask, as (b, 1, …) beside `factor` (b, …)."""
    return weights.view(-1, *[1] * (factor.ndim - 1))
