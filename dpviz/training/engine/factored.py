"""Gradients of a matrix as the factors that they are products of: a layer's inputs and output gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch

from dpviz.training.engine.products import Products, dot
from dpviz.training.engine.rounding import Lengths, gamma, lengths

Tensor = torch.Tensor


class Outer(Products):
    """Gradients out ⊗ in of a matrix, and out of its bias: one position, so the norm is a product of norms."""

    def __init__(self, inputs: Tensor, outputs: Tensor, *, bias: bool = True) -> None:
        self.inputs = inputs  # (b, k)
        self.outputs = outputs  # (b, o)
        self.bias = bias

    def lengths(self) -> Lengths:
        into, out = lengths(self.inputs), lengths(self.outputs)
        if self.bias:
            into.norms.square_().add_(1.0).sqrt_()  # as if the input had one more entry, 1
        relative = (1.0 + into.relative) * (1.0 + out.relative) * (1.0 + gamma(4, self.inputs.dtype)) - 1.0
        return Lengths(out.norms.mul_(into.norms), relative)

    def inner(self, other: Self) -> Tensor:
        return dot(self.outputs, other.outputs) * (dot(self.inputs, other.inputs) + self.bias)

    def scaled(self, weights: Tensor) -> Self:
        return type(self)(self.inputs, self.outputs * weights[:, None], bias=self.bias)

    def combined(self, weights: Tensor) -> Products:
        return self._at_positions().combined(weights)

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        scaled = self.outputs * weights[:, None]
        weight = scaled.t() @ self.inputs
        return (weight, scaled.sum(0)) if self.bias else (weight,)

    def write_weighted_sum(self, weights: Tensor, into: Sequence[Tensor]) -> None:
        """`weighted_sum` written into tensors of the parameters' shapes, without a copy on the way."""
        scaled = self.outputs * weights[:, None]
        torch.mm(scaled.t(), self.inputs, out=into[0])
        if self.bias:
            torch.sum(scaled, 0, out=into[1])

    def part(self, rows: slice) -> Self:
        return type(self)(self.inputs[rows], self.outputs[rows], bias=self.bias)

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.inputs[rows].double(), self.outputs[rows].double(), bias=self.bias)

    def entries(self) -> int:
        return self.inputs.shape[1] + self.outputs.shape[1]

    def zero(self, rows: Tensor) -> None:
        # Not in place: the inputs may be the caller's own data.
        self.inputs = self.inputs.masked_fill(rows[:, None], 0.0)
        self.outputs = self.outputs.masked_fill(rows[:, None], 0.0)

    def grouped(self, size: int) -> Products:
        return self._at_positions().grouped(size)

    def merge(self, other: Products) -> Products:
        return self._at_positions().merge(other)

    def _at_positions(self) -> Factored:
        return Factored(self.inputs[:, None], self.outputs[:, None], bias=self.bias)


class Factored(Products):
    """Gradients Σ_t out_t ⊗ in_t of a matrix, and Σ_t out_t of its bias: norms are products of Gram matrices.

    Their terms cancel as far as the positions' contributions do; factors are kept, and summed, in double precision.
    """

    def __init__(self, inputs: Tensor, outputs: Tensor, *, bias: bool = True) -> None:
        self.inputs = inputs.double()  # (b, t, k)
        self.outputs = outputs.double()  # (b, t, o)
        self.bias = bias

    def lengths(self) -> Lengths:
        into, out = self._grams(self)
        # |⟨in_t, in_s⟩| ≤ ‖in_t‖ ‖in_s‖: all terms together are at most the square of Σ_t ‖in_t‖ ‖out_t‖.
        terms = (into.diagonal(dim1=1, dim2=2) * out.diagonal(dim1=1, dim2=2)).clamp_(min=0.0).sqrt_()
        t, k, o = into.shape[1], self.inputs.shape[2], self.outputs.shape[2]
        error = terms.sum(1).square_().mul_(gamma(k + o + t * t + 16, terms.dtype))
        squared = into.mul_(out).sum((1, 2)).clamp_(min=0.0)
        return Lengths(squared.add_(error).sqrt_(), gamma(4, terms.dtype))

    def _grams(self, other: Self) -> tuple[Tensor, Tensor]:
        """⟨in_t, in'_s⟩ and ⟨out_t, out'_s⟩, both (b, t, t')."""
        into = torch.bmm(self.inputs, other.inputs.transpose(1, 2))
        # Adding 1 to the input's Gram matrix is the same as giving it a constant input for the bias.
        return into.add_(1.0) if self.bias else into, torch.bmm(self.outputs, other.outputs.transpose(1, 2))

    def inner(self, other: Self) -> Tensor:
        into, out = self._grams(other)
        return into.mul_(out).sum((1, 2))

    def scaled(self, weights: Tensor) -> Self:
        return type(self)(self.inputs, self.outputs * weights[:, None, None], bias=self.bias)

    def combined(self, weights: Tensor) -> Products:
        # Two examples at t positions are one at 2t.
        pairs, inputs = weights.shape[0] // 2, self.inputs[: weights.shape[0]]
        outputs = self.outputs[: weights.shape[0]] * weights[:, None, None]
        return type(self)(
            inputs.reshape(pairs, -1, inputs.shape[2]), outputs.reshape(pairs, -1, outputs.shape[2]), bias=self.bias
        )

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        scaled = (self.outputs * weights[:, None, None]).flatten(0, 1)  # (b t, o)
        weight = scaled.t() @ self.inputs.reshape(-1, self.inputs.shape[-1])
        return (weight, scaled.sum(0)) if self.bias else (weight,)

    def part(self, rows: slice) -> Self:
        return type(self)(self.inputs[rows], self.outputs[rows], bias=self.bias)

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.inputs[rows], self.outputs[rows], bias=self.bias)

    def entries(self) -> int:
        return self.inputs.shape[1] * (self.inputs.shape[2] + self.outputs.shape[2])

    def zero(self, rows: Tensor) -> None:
        self.inputs = self.inputs.masked_fill(rows[:, None, None], 0.0)
        self.outputs = self.outputs.masked_fill(rows[:, None, None], 0.0)

    def grouped(self, size: int) -> Products:
        # One example at t positions in each of its views is one at as many times t.
        at = size * self.inputs.shape[1]
        inputs, outputs = (part.reshape(-1, at, part.shape[2]) for part in (self.inputs, self.outputs))
        return type(self)(inputs, outputs, bias=self.bias)

    def merge(self, other: Products) -> Products:
        if isinstance(other, Outer):
            other = other._at_positions()
        assert isinstance(other, Factored)
        inputs = torch.cat((self.inputs, other.inputs), dim=1)
        outputs = torch.cat((self.outputs, other.outputs), dim=1)
        return type(self)(inputs, outputs, bias=self.bias)
