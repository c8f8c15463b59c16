"""All trainable parameters of a network as one vector that the network itself reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

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
