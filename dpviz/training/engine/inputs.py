"""Inputs of a network: one tensor (b, …), or several in a tuple or a dictionary, row by row together."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

Inputs = (
    Any  # a tensor; a tuple of tensors, for arguments in this order; a dictionary of tensors, for arguments by name
)


def each(function: Callable[[Tensor], Tensor], x: Inputs) -> Inputs:
    """The same inputs with `function` of each tensor."""
    if isinstance(x, Mapping):
        return {name: function(part) for name, part in x.items()}
    return tuple(function(part) for part in x) if isinstance(x, (tuple, list)) else function(x)


def tensors(x: Inputs) -> list[Tensor]:
    """Its tensors; what is not yet one, an array for instance, stands for itself."""
    if isinstance(x, Mapping):
        return list(x.values())
    return list(x) if isinstance(x, (tuple, list)) else [x]


def arguments(x: Inputs) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
    """How a network is called with them: by place and by name."""
    return ((), dict(x)) if isinstance(x, Mapping) else (tuple(tensors(x)), {})
