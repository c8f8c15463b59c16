"""Matrices and tables: fully connected layers at one position or many (sequences), and vectors looked up by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import nn

from dpviz.training.engine.layers.base import Layer
from dpviz.training.engine.products import Dense, Factored, Outer, Products, Rows

Tensor = torch.Tensor

# One number written to memory and read back costs about as much as this many multiplications in a matrix product.
_MEMORY_COST = 10

# Narrower products on a CPU run in kernels that round a row by where it stands; zeros are added up to this width.
NARROW = 16


def gram_is_cheaper(positions: int, inputs: int, outputs: int) -> bool:
    """Whether t × t Gram matrices cost less than the k × o gradient of each example (Bu et al. 2022, §3.3).

    Both forms need t·k·o multiplications for the gradient or its weighted sum; beyond those the Gram form needs
    t²(k + o) for the norm and all of it in double precision, at twice the cost; the written-out form the traffic
    of k·o numbers.
    """
    t, k, o = positions, inputs, outputs
    return t * k * o + 2 * t * t * (k + o) <= _MEMORY_COST * k * o


def matrix_products(inputs: Tensor, outputs: Tensor, *, weight: bool, bias: bool) -> Products:
    """Products of a matrix from its inputs (b, t, k) and output gradients (b, t, o), in the cheaper form."""
    if not weight:
        return Dense(outputs.sum(1))
    if inputs.shape[1] == 1:
        return Outer(inputs[:, 0], outputs[:, 0], bias=bias)
    if gram_is_cheaper(inputs.shape[1], inputs.shape[2], outputs.shape[2]):
        return Factored(inputs, outputs, bias=bias)
    gradients = [torch.bmm(outputs.transpose(1, 2), inputs).flatten(1)]
    if bias:
        gradients.append(outputs.sum(1))
    return Dense(*gradients)


class LinearLayer(Layer):
    """`nn.Linear` on inputs of shape (b, …, k)."""

    def write_weighted_sum(self, products: Products, weights: Tensor, into: Sequence[Tensor]) -> None:
        if isinstance(products, Outer):
            products.write_weighted_sum(weights, into)
        else:
            super().write_weighted_sum(products, weights, into)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        linear = cast(nn.Linear, self.module)
        if linear.out_features >= NARROW or x.device.type != "cpu":
            return F.linear(x, linear.weight, linear.bias), ()
        missing = NARROW - linear.out_features
        own: Tensor | None = linear.bias
        bias = None if own is None else F.pad(own, (0, missing))
        return F.linear(x, F.pad(linear.weight, (0, 0, 0, missing)), bias)[..., : linear.out_features].contiguous(), ()

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        linear = cast(nn.Linear, self.module)
        to_input = _to_input(gradient, linear.weight) if wants_input else None
        inputs = x.reshape(x.shape[0], -1, x.shape[-1])
        outputs = gradient.reshape(x.shape[0], -1, gradient.shape[-1])
        weight, bias = self.trains(linear.weight), self.trains(linear.bias)
        return to_input, matrix_products(inputs, outputs, weight=weight, bias=bias)


def _to_input(gradient: Tensor, weight: Tensor) -> Tensor:
    missing = NARROW - weight.shape[1]
    if missing <= 0 or weight.device.type != "cpu":
        return gradient @ weight
    return (gradient @ F.pad(weight, (0, missing)))[..., : weight.shape[1]]


class EmbeddingLayer(Layer):
    """`nn.Embedding` on indices of shape (b, …)."""

    @staticmethod
    def covers(module: nn.Embedding) -> bool:
        # max_norm rewrites the table during the forward pass, scale_grad_by_freq counts over the whole batch.
        return module.max_norm is None and not module.scale_grad_by_freq and not module.sparse

    def check(self, x: Tensor) -> None:
        """Any shape."""

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        table = cast(nn.Embedding, self.module)
        return F.embedding(x, table.weight), ()

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        table = cast(nn.Embedding, self.module)
        indices = x.reshape(x.shape[0], -1)
        outputs = gradient.reshape(x.shape[0], -1, table.embedding_dim)
        if table.padding_idx is not None:
            outputs = outputs.masked_fill((indices == table.padding_idx)[:, :, None], 0.0)
        return None, Rows.of(indices, outputs, size=table.num_embeddings)
