"""Two-dimensional convolutions: a matrix applied to every patch of the image."""

from __future__ import annotations

import math
from typing import cast

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.grad import conv2d_input

from dpviz.training.engine.layers.base import Buffers, Layer
from dpviz.training.engine.layers.linear import NARROW, gram_is_cheaper
from dpviz.training.engine.products import Dense, Factored, Products

Tensor = torch.Tensor
Pair = tuple[int, int]


def patches(
    x: Tensor, *, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, buffers: Buffers, least: int = 0
) -> Tensor:
    """The patches that a kernel sees in `x` (b, c, h, w): shape (b, positions, kh·kw·c), channels varying fastest.

    With zeros behind up to a last dimension of `least`.

    A strided view of the picture with its channels last, copied once: the runs it copies are long, which makes it 4
    to 8 times as fast on a CPU as `F.unfold`.
    """
    if padding != (0, 0):
        x = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    x = x.permute(0, 2, 3, 1).contiguous()
    b, height, width, c = x.shape
    rows = (height - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    columns = (width - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    example, down, across, _ = x.stride()
    between = (stride[0] * down, stride[1] * across)
    within = (dilation[0] * down, dilation[1] * across)
    view = x.as_strided((b, rows, columns, *kernel, c), (example, *between, *within, 1))
    entries = kernel[0] * kernel[1] * c
    if entries >= least:
        return buffers.take(view.shape, x).copy_(view).view(b, rows * columns, entries)
    wide = buffers.take((b, rows, columns, least), x)
    wide[..., :entries].view(view.shape).copy_(view)
    wide[..., entries:].zero_()
    return wide.view(b, rows * columns, least)


class Conv2dLayer(Layer):
    """`nn.Conv2d` with zero padding given in numbers; any stride, dilation and groups."""

    @staticmethod
    def covers(module: nn.Conv2d) -> bool:
        return module.padding_mode == "zeros" and not isinstance(module.padding, str)

    def check(self, x: Tensor) -> None:
        if x.ndim != 4:
            raise ValueError(f"Expected the input of {self.name} as (examples, c, h, w), found {tuple(x.shape)}.")

    def stacked(self, ndim: int) -> bool:
        return ndim == 4

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        conv = cast(nn.Conv2d, self.module)
        x, weight = _laid_out(x), _laid_out(conv.weight)
        return F.conv2d(x, weight, conv.bias, conv.stride, conv.padding, conv.dilation, conv.groups), ()

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        conv = cast(nn.Conv2d, self.module)
        to_input = None
        if wants_input:
            to_input = conv2d_input(  # type: ignore[no-untyped-call]
                x.shape, _laid_out(conv.weight), gradient, conv.stride, conv.padding, conv.dilation, conv.groups
            )
        outputs = gradient.flatten(2)  # (b, o, t)
        weight, bias = self.trains(conv.weight), self.trains(conv.bias)
        if not weight:
            return to_input, Dense(outputs.sum(2))
        windows = patches(
            x,
            kernel=cast(Pair, conv.kernel_size),
            stride=cast(Pair, conv.stride),
            padding=cast(Pair, conv.padding),
            dilation=cast(Pair, conv.dilation),
            buffers=self.buffers,
            least=NARROW if conv.groups == 1 and x.device.type == "cpu" else 0,
        )
        if conv.groups == 1 and gram_is_cheaper(windows.shape[1], windows.shape[2], conv.out_channels):
            return to_input, Factored(windows, outputs.transpose(1, 2), bias=bias)
        gradients = [_written_out(windows, outputs, conv, self.buffers)]
        if bias:
            gradients.append(outputs.sum(2))
        return to_input, Dense(*gradients)

    def arrange(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        conv = cast(nn.Conv2d, self.module)
        if not self.trains(conv.weight):
            return sums
        shape = (*conv.kernel_size, conv.in_channels // conv.groups)
        weight = sums[0].view(conv.out_channels, -1)[:, : math.prod(shape)].reshape(-1, *shape)
        return weight.permute(0, 3, 1, 2), *sums[1:]


def _laid_out(x: Tensor) -> Tensor:
    """On a CPU with channels last: pooling what comes out is then 10 times, the convolution up to 1.3 times faster."""
    return x if x.device.type != "cpu" else x.to(memory_format=torch.channels_last)


def _written_out(windows: Tensor, outputs: Tensor, conv: nn.Conv2d, buffers: Buffers) -> Tensor:
    """The kernel's gradient of each example, (b, o·kh·kw·c/groups), from patches (b, t, k) and outputs (b, o, t)."""
    b, o, t = outputs.shape
    groups = conv.groups
    if groups == 1:
        gradients = buffers.take((b, o, windows.shape[2]), windows)
        return torch.bmm(outputs, windows, out=gradients).flatten(1)
    by_group = windows.view(b, t, -1, groups, conv.in_channels // groups).permute(0, 3, 1, 2, 4)
    inputs = by_group.reshape(b * groups, t, -1)
    return torch.bmm(outputs.reshape(b * groups, o // groups, t), inputs).view(b, -1)
