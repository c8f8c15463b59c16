"""The structure of a row of data: the inputs of the network, one tensor or several, and the target.

>>> inputs_and_target({"left": 1, "right": 2, "label": 3})
({'left': 1, 'right': 2}, 3)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dpviz.training.engine.inputs import Inputs, tensors
from dpviz.training.words import refusal

# Under these names rows that are dictionaries hold their target.
TARGETS = ("labels", "label", "targets", "target", "y")


def inputs_and_target(rows: Any) -> tuple[Inputs, Any]:
    """Of a pair, or of a dictionary that names its target; its only other entry stands for itself.

    Raises:
        ValueError: for rows of another kind, with the way out.
    """
    if isinstance(rows, Mapping):
        named = [name for name in TARGETS if name in rows]
        if len(named) != 1 or len(rows) < 2:
            raise refusal("no_target", names=", ".join(map(repr, rows)), targets=", ".join(map(repr, TARGETS)))
        x = {name: part for name, part in rows.items() if name != named[0]}
        return (x if len(x) > 1 else next(iter(x.values()))), rows[named[0]]
    if not (isinstance(rows, (tuple, list)) and len(rows) == 2):
        kind = f"{len(rows)} parts" if isinstance(rows, (tuple, list)) else type(rows).__name__
        raise refusal("no_pair", kind=kind)
    return rows[0], rows[1]


def in_arrays(data: Any) -> bool:
    """Whether data are arrays themselves, (x, y) or ((x1, x2), y) or a dictionary of them, and not rows one by one."""
    if isinstance(data, Mapping):
        return True
    if not (isinstance(data, (tuple, list)) and len(data) == 2):
        return False
    x, y = data
    several = isinstance(x, (tuple, list, Mapping)) and len(x) > 0
    return all(hasattr(part, "__array__") for part in (*(tensors(x) if several else (x,)), y))


def rebuilt(x: Inputs) -> Callable[[Sequence[Tensor]], Inputs]:
    """Makes of a list of tensors what `x` is: one, several in order, or several by name."""
    if isinstance(x, Mapping):
        return lambda parts: dict(zip(x, parts, strict=True))
    return tuple if isinstance(x, (tuple, list)) else single


def single(parts: Sequence[Tensor]) -> Tensor:
    """The only one of them."""
    (part,) = parts
    return part


def side_by_side(x: Inputs) -> Tensor:
    """All numbers of each example, (b, …): of several inputs one behind another."""
    parts = tensors(x)
    return parts[0] if len(parts) == 1 else torch.cat([part.reshape(len(part), -1).double() for part in parts], dim=1)
