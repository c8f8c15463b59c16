"""Large tensors used again from chunk to chunk.

A fresh allocation of some megabytes makes the system map and clear pages each time, which costs as much as filling
them: on a CPU a third of a step of a small convolutional network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

Tensor = torch.Tensor


class Buffers:
    """Uninitialised tensors, handed out in order; after `rewind` the same memory is handed out again.

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
