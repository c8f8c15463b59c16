"""What the engine asks of a layer: its output, its input's gradient, and its per-example gradients as products."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import nn

from dpviz.training.engine.products import Products

Tensor = torch.Tensor


class Buffers:
    """Large uninitialised tensors, handed out in order; after `rewind` the same memory is handed out again.

    A fresh allocation of some megabytes makes the system map and clear pages each time, which costs as much as filling
    them: on a CPU a third of a step of a small convolutional network.

    Attributes:
        reuse: False while somebody keeps what was handed out; every tensor is then its own.
    """

    def __init__(self) -> None:
        self.reuse = False
        self._memory: list[Tensor] = []
        self._next = 0

    def rewind(self) -> None:
        self._next = 0

    def take(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """An uninitialised tensor of `shape`, of the dtype and on the device of `like`."""
        if not self.reuse:
            return like.new_empty(shape)
        size = math.prod(shape)
        if self._next == len(self._memory):
            self._memory.append(like.new_empty(size))
        memory = self._memory[self._next]
        if memory.numel() < size or memory.dtype != like.dtype or memory.device != like.device:
            memory = self._memory[self._next] = like.new_empty(size)
        self._next += 1
        return memory[:size].view(*shape)


class Parameters:
    """Trainable parameters whose per-example gradients are kept together."""

    def arrange(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Sums of the products' gradients in the order of the parameters' own entries, where products keep another."""
        return sums

    def write_weighted_sum(self, products: Products, weights: Tensor, into: Sequence[Tensor]) -> None:
        """into = Σ_i w_i g_i for the `products` of these parameters, one tensor for each of them."""
        for target, total in zip(into, self.arrange(products.weighted_sum(weights)), strict=True):
            target.copy_(total.reshape(target.shape))


class Layer(Parameters, ABC):
    """One parameterised module of a network, seen by the engine.

    Attributes:
        name: Its path in the network, "" for the network itself.
        module: The module; only read.
        parameters: Its trainable parameters, in the order of the sums of its products.
        buffers: Where it takes the memory of large products from.
    """

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name = name
        self.module = module
        self.buffers = Buffers()
        self.parameters = tuple(p for p in module.parameters() if p.requires_grad)

    @staticmethod
    def trains(parameter: Tensor | None) -> bool:
        return parameter is not None and parameter.requires_grad

    def check(self, x: Tensor) -> None:
        """Refuses a batch whose first dimension the module would take for something else than examples."""
        if x.ndim < 2:
            raise ValueError(
                f"Expected the input of layer {self.name!r} as (examples, …), found shape {tuple(x.shape)}."
            )

    def stacked(self, ndim: int) -> bool:
        """Whether the first of so many dimensions of a call's input counts inputs that are treated one by one."""
        return False

    @abstractmethod
    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The module's output for `x`, and tensors that `backward` wants back. Runs without recording gradients."""

    @abstractmethod
    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        """From the gradient towards the output: the one towards `x`, if wanted, and the per-example ones."""
