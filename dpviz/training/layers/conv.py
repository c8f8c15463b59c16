"""Two-dimensional convolutions: a matrix applied to every patch of the image."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.grad import conv2d_input

from dpviz.training.layers.base import Layer
from dpviz.training.layers.linear import gram_is_cheaper
from dpviz.training.products import Dense, Factored, Products

Tensor = torch.Tensor
Pair = tuple[int, int]


def patches(x: Tensor, *, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Tensor:
    """The patches that a kernel sees in `x` (b, c, h, w): shape (b, c·kh·kw, positions).

    A strided view copied once; 1.4 to 2 times as fast on a CPU as `F.unfold`.
    """
    if padding != (0, 0):
        x = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    b, c, height, width = x.shape
    rows = (height - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    columns = (width - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    steps = x.stride()
    within = (dilation[0] * steps[2], dilation[1] * steps[3])
    between = (stride[0] * steps[2], stride[1] * steps[3])
    view = x.as_strided((b, c, *kernel, rows, columns), (*steps[:2], *within, *between), x.storage_offset())
    return view.reshape(b, c * kernel[0] * kernel[1], rows * columns)


class Conv2dLayer(Layer):
    """`nn.Conv2d` with zero padding given in numbers; any stride, dilation and groups."""

    @staticmethod
    def covers(module: nn.Conv2d) -> bool:
        return module.padding_mode == "zeros" and not isinstance(module.padding, str)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        conv = cast(nn.Conv2d, self.module)
        if x.ndim != 4:
            raise ValueError(f"Expected the input of {self.name} as (examples, c, h, w), found {tuple(x.shape)}.")
        return F.conv2d(x, conv.weight, conv.bias, conv.stride, conv.padding, conv.dilation, conv.groups), ()

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        conv = cast(nn.Conv2d, self.module)
        to_input = None
        if wants_input:
            to_input = conv2d_input(  # type: ignore[no-untyped-call]
                x.shape, conv.weight, gradient, conv.stride, conv.padding, conv.dilation, conv.groups
            )
        return to_input, self._products(conv, x, gradient.flatten(2))

    def _products(self, conv: nn.Conv2d, x: Tensor, outputs: Tensor) -> Products:
        """From x (b, c, h, w) and output gradients (b, o, t)."""
        weight, bias = self.trains(conv.weight), self.trains(conv.bias)
        if not weight:
            return Dense([outputs.sum(2)])
        found = patches(
            x,
            kernel=cast(Pair, conv.kernel_size),
            stride=cast(Pair, conv.stride),
            padding=cast(Pair, conv.padding),
            dilation=cast(Pair, conv.dilation),
        )
        b, k, t = found.shape
        groups, o = conv.groups, outputs.shape[1]
        if groups == 1 and gram_is_cheaper(t, k, o):
            return Factored(found.transpose(1, 2), outputs.transpose(1, 2), weight=True, bias=bias)
        by_group = outputs.reshape(b * groups, o // groups, t)
        gradients = [torch.bmm(by_group, found.view(b * groups, k // groups, t).transpose(1, 2)).view(b, -1)]
        if bias:
            gradients.append(outputs.sum(2))
        return Dense(gradients)
