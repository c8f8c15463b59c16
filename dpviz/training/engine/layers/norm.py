"""Normalisation within one example: group and layer norm. Their gradients are small, so they are written out."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import nn

from dpviz.training.engine.layers.base import Layer
from dpviz.training.engine.products import Dense, Products

Tensor = torch.Tensor


class GroupNormLayer(Layer):
    """`nn.GroupNorm` on inputs of shape (b, channels, …)."""

    def stacked(self, ndim: int) -> bool:
        return True

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        norm = cast(nn.GroupNorm, self.module)
        b, channels, positions = x.shape[0], x.shape[1], math.prod(x.shape[2:])
        y, mean, rstd = torch.native_group_norm(
            _dense(x), norm.weight, norm.bias, b, channels, positions, norm.num_groups, norm.eps
        )
        return y, (mean, rstd)  # both (b, groups)

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        norm = cast(nn.GroupNorm, self.module)
        mean, rstd = kept
        b, channels, positions = x.shape[0], x.shape[1], math.prod(x.shape[2:])
        to_input = None
        if wants_input:
            to_input, _, _ = torch.ops.aten.native_group_norm_backward(
                *_alike(gradient, x), mean, rstd, norm.weight, b, channels, positions,
                norm.num_groups, [True, False, False],
            )  # fmt: skip
        out = gradient.flatten(2) if x.ndim > 2 else gradient[:, :, None]  # (b, channels, positions)
        gradients = []
        if self.trains(norm.weight):
            within = channels // norm.num_groups
            centre, scale = (moment.repeat_interleave(within, dim=1)[:, :, None] for moment in (mean, rstd))
            gradients.append(((x.reshape(out.shape) - centre).mul_(out).sum(2)).mul_(scale[:, :, 0]))
        if self.trains(norm.bias):
            gradients.append(out.sum(2))
        return to_input, Dense(*gradients)


def _dense(x: Tensor) -> Tensor:
    """Channels first or last, as it comes: both are read without a copy."""
    last = x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last)
    return x if last else x.contiguous()


def _alike(gradient: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the layout of `x`."""
    x = _dense(x)
    last = x.ndim == 4 and not x.is_contiguous()
    return gradient.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format), x


class LayerNormLayer(Layer):
    """`nn.LayerNorm` on inputs of shape (b, …, *normalized_shape)."""

    def check(self, x: Tensor) -> None:
        shape = cast(nn.LayerNorm, self.module).normalized_shape
        if x.ndim <= len(shape):
            raise ValueError(
                f"Expected the input of {self.name} to have an examples dimension before {shape}, "
                f"found shape {tuple(x.shape)}: normalising over examples mixes them."
            )

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        norm = cast(nn.LayerNorm, self.module)
        y, mean, rstd = torch.native_layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return y, (mean, rstd)

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        norm = cast(nn.LayerNorm, self.module)
        mean, rstd = kept  # (b, …, 1, …, 1)
        to_input = None
        if wants_input:
            to_input, _, _ = torch.ops.aten.native_layer_norm_backward(
                gradient.contiguous(), x.contiguous(), norm.normalized_shape, mean, rstd, norm.weight, norm.bias,
                [True, False, False],
            )  # fmt: skip
        size = math.prod(norm.normalized_shape)
        gradients = []
        if self.trains(norm.weight):
            scaled = (x - mean) * rstd * gradient
            gradients.append(scaled.reshape(x.shape[0], -1, size).sum(1))
        if self.trains(norm.bias):
            gradients.append(gradient.reshape(x.shape[0], -1, size).sum(1))
        return to_input, Dense(*gradients)
