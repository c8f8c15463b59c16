"""Parameters and sums of their gradients as one vector, which also has the parameters' shapes."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch._utils import _unflatten_dense_tensors

from dpviz.training.engine.rounding import MOST_ROWS

_in_pieces: Callable[..., Sequence[Tensor]] = _unflatten_dense_tensors  # PyTorch gives it no types


def flatten_parameters(network: nn.Module) -> Tensor:
    """The trainable parameters, moved into one vector (p,); writing into it changes the network.

    In the order of `network.parameters()`, which is the order of the per-example engine's sums.
    """
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    vector = torch.cat([parameter.detach().flatten() for parameter in trained])
    for parameter, part in zip(trained, shaped(vector, trained), strict=True):
        parameter.data = part
    return vector


def shaped(vector: Tensor, parameters: Sequence[nn.Parameter]) -> tuple[Tensor, ...]:
    """The memory of a vector (p,) shaped as the parameters."""
    return tuple(_in_pieces(vector, parameters))


class BlockSums:
    """Σ of the vectors that `next` hands out to be written; blocks are added in double precision (`rounding`).

    Args:
        parameters: Their shapes, dtype and device are those of the sum.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters
        self._block, self._shaped = self._empty()
        self._sum = torch.empty_like(self._block, dtype=torch.float64)  # of all blocks but the last
        self._blocks = 0

    def _empty(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        block = self._parameters[0].detach().new_empty(sum(p.numel() for p in self._parameters))
        return block, shaped(block, self._parameters)

    def clear(self) -> None:
        """Forget the blocks of a sum that was not taken."""
        self._blocks = 0

    def next(self) -> tuple[Tensor, ...]:
        """Tensors of the parameters' shapes, with anything in them: the next block, all of which is to be written."""
        if self._blocks == 1:
            self._sum.copy_(self._block)
        elif self._blocks:
            self._sum.add_(self._block)
        self._blocks += 1
        return self._shaped

    def take(self, rows: int) -> Tensor:
        """The sum (p,) over `rows` examples, in memory of its own; the next block starts another sum.

        In double precision for more than `MOST_ROWS` examples.
        """
        total = self._block
        if not self._blocks:
            total.zero_()
        elif self._blocks > 1:
            whole = self._sum.add_(total)
            total = whole.clone() if rows > MOST_ROWS else total.copy_(whole)
        self._block, self._shaped = self._empty()
        self.clear()
        return total
