"""Parameters and sums of their gradients as one vector, which also has the parameters' shapes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from dpviz.training.engine.rounding import MOST_ROWS

Tensor = torch.Tensor


def flatten_parameters(network: nn.Module) -> Tensor:
    """The trainable parameters, moved into one vector (p,); writing into it changes the network.

    In the order of `network.parameters()`, which is the order of the per-example engine's sums.
    """
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    vector = torch.cat([parameter.detach().flatten() for parameter in trained])
    start = 0
    for parameter in trained:
        parameter.data = vector[start : start + parameter.numel()].view_as(parameter)
        start += parameter.numel()
    return vector


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """One vector of tensors in order."""
    return torch.cat([tensor.flatten() for tensor in tensors])


def shaped(vector: Tensor, parameters: Sequence[nn.Parameter]) -> tuple[Tensor, ...]:
    """The memory of a vector (p,) shaped as the parameters."""
    pieces = torch.split(vector, [p.numel() for p in parameters])
    return tuple(piece.view(p.shape) for piece, p in zip(pieces, parameters, strict=True))


class _Vector:
    """A vector (p,) with anything in it, also shaped as the parameters."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.whole = parameters[0].detach().new_empty(sum(p.numel() for p in parameters))
        self.shaped = shaped(self.whole, parameters)


class BlockSums:
    """Σ of the vectors that `next` hands out to be written; blocks are added in double precision (`rounding`).

    Args:
        parameters: Their shapes, dtype and device are those of the sum.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters
        self._sum: _Vector | None = None  # what is handed over in the end, and until then the first block
        self._other: _Vector | None = None  # all other blocks, one after the other
        self._wide: Tensor | None = None  # the sum in double precision, once there are three blocks
        self._blocks = 0

    def clear(self) -> None:
        """Forget the blocks of a sum that was not taken."""
        self._sum, self._blocks = None, 0

    def next(self) -> tuple[Tensor, ...]:
        """Tensors of the parameters' shapes, with anything in them: the next block, all of which is to be written."""
        self._blocks += 1
        if self._sum is None:
            self._sum = _Vector(self._parameters)
            return self._sum.shaped
        if self._other is None:
            self._other = _Vector(self._parameters)
        elif self._blocks > 2:
            self._widened().add_(self._other.whole)
        return self._other.shaped

    def _widened(self) -> Tensor:
        assert self._sum is not None
        if self._wide is None:
            self._wide = torch.empty_like(self._sum.whole, dtype=torch.float64)
        return self._wide.copy_(self._sum.whole) if self._blocks == 3 else self._wide

    def take(self, rows: int) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The sum (p,) over `rows` examples, also shaped as the parameters; the next block starts another sum.

        In double precision for more than `MOST_ROWS` examples.
        """
        total, blocks = self._sum or _Vector(self._parameters), self._blocks
        self.clear()
        if blocks == 0:
            total.whole.zero_()
        elif blocks == 2 and self._other is not None:
            total.whole.add_(self._other.whole)  # rounded once, as from double precision
        elif blocks > 2 and self._other is not None and self._wide is not None:
            self._wide.add_(self._other.whole)
            if rows > MOST_ROWS:
                wide = self._wide.clone()
                return wide, shaped(wide, self._parameters)
            total.whole.copy_(self._wide)
        return total.whole, total.shaped
