"""Numbers of many tensors as they were at one moment, to find out later which of them were changed.

>>> import torch
>>> weights = {"weight": torch.tensor([1.0, float("nan")]), "bias": torch.zeros(3)}
>>> left = Snapshot(weights)
>>> left.changed(weights)
>>> _ = weights["bias"].numpy().fill(1.0)
>>> left.changed(weights)
'bias'
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

Name = TypeVar("Name", bound=Hashable)

# Numbers from which on a tensor is compared where it lies: to join it with others would copy it at every comparison.
LARGE = 1 << 14

_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_PLAIN = (Tensor, int, float, str, type(None))
# Tensors by name, joined where they are small; by type and device, and by name where they are large.
_Groups = dict[tuple[Any, ...], dict[Any, Tensor]]


class Snapshot(Generic[Name]):
    """Tensors, and plain values beside them, as they were.

    Bits are compared, so that NaN equals itself and a write is seen however it was done. Small tensors are joined: one
    copy for each type and device, and a comparison is one operation instead of one for each tensor.

    Args:
        values: By name. Tensors are compared by their bits, numbers and text by value, all else by identity.
    """

    def __init__(self, values: Mapping[Name, Any]) -> None:
        self._kinds, groups = _grouped(values)
        with torch.no_grad():
            self._kept = {key: torch.cat(_flat(tensors)) for key, tensors in groups.items()}
        self._sizes = _sizes(groups)

    def renewed(self, values: Mapping[Name, Any]) -> Snapshot[Name]:
        """One of these values, in the memory of this one where it fits."""
        kinds, groups = _grouped(values)
        if kinds != self._kinds or _sizes(groups) != self._sizes:
            return Snapshot(values)
        with torch.no_grad():
            for key, tensors in groups.items():
                torch.cat(_flat(tensors), out=self._kept[key])
        return self

    def changed(self, values: Mapping[Name, Any]) -> Name | None:
        """The first name whose value is another one now, was added or is gone; None where there is none."""
        return next(self.changes(values), None)

    def changes(self, values: Mapping[Name, Any]) -> Iterator[Name]:
        """All such names. The same numbers on another device are the same."""
        kinds, groups = _grouped(values)
        same_kinds = kinds == self._kinds and groups.keys() == self._kept.keys()
        if same_kinds and _equal((self._kept[key], _joined(tensors)) for key, tensors in groups.items()):
            return
        before = {
            name: part
            for key, sizes in self._sizes.items()
            for name, part in zip(sizes, torch.split(self._kept[key], list(sizes.values())), strict=True)
        }
        after = {name: _joined({name: tensor}) for tensors in groups.values() for name, tensor in tensors.items()}
        for name in {**self._kinds, **kinds}:
            same = name in self._kinds and name in kinds and self._kinds[name] == kinds[name]
            if not same or (name in before and not _equal([(before[name].cpu(), after[name].cpu())])):
                yield name


def _grouped(values: Mapping[Any, Any]) -> tuple[dict[Any, Any], _Groups]:
    """What each value is beside its bits, and the tensors."""
    kinds: dict[Any, Any] = {}
    groups: _Groups = {}
    for name, value in values.items():
        if isinstance(value, Tensor):
            kinds[name] = value.shape, value.dtype
            whole = value if value.layout is torch.strided else value.to_dense()
            own = (name,) if whole.numel() >= LARGE else ()
            groups.setdefault((whole.dtype, whole.device, *own), {})[name] = whole
        else:
            plain = isinstance(value, (int, float, complex, str)) and value == value
            kinds[name] = value if plain else repr(value) if isinstance(value, (float, complex)) else _Itself(value)
    return kinds, groups


def _sizes(groups: _Groups) -> dict[Any, dict[Any, int]]:
    """How many numbers each has, in the order in which they are joined."""
    return {key: {name: part.numel() for name, part in tensors.items()} for key, tensors in groups.items()}


def _flat(tensors: Mapping[Any, Tensor]) -> list[Tensor]:
    return [tensor.reshape(-1) for tensor in tensors.values()]


def _joined(tensors: Mapping[Any, Tensor]) -> Tensor:
    """Numbers of one type, one tensor behind another, (n,); no copy of a single one."""
    with torch.no_grad():
        parts = _flat(tensors)
        return torch.cat(parts) if len(parts) > 1 else parts[0]


def _equal(pairs: Iterable[tuple[Tensor, Tensor]]) -> bool:
    """Whether all bits of these pairs are equal, each of numbers (n,) of one type on one device.

    An accelerator is waited for once, whatever the number of pairs.
    """
    differ: list[Tensor] = []
    for one, other in pairs:
        left, right = _bits(one), _bits(other)
        if left.device.type != "cpu":
            differ.append((left != right).any())
        elif not np.array_equal(left.numpy(), right.numpy()):  # twice as fast as PyTorch's
            return False
    return not differ or not bool(torch.stack([part.to(differ[0].device) for part in differ]).any())


def _bits(numbers: Tensor) -> Tensor:
    whole = torch.view_as_real(numbers.detach().resolve_conj()) if numbers.is_complex() else numbers.detach()
    return whole.view(_WHOLE[whole.element_size()])


def digest(tensors: Mapping[str, Tensor]) -> int:
    """A number of 64 bits for names, shapes, types and numbers, in this process alone: Python's own hash, SipHash.

    Others get the same by chance once in 2⁶⁴, for its key is drawn with the process. SHA-256 takes 2.4 times as long.
    """
    described = tuple((name, tensor.shape, tensor.dtype) for name, tensor in tensors.items())
    numbers = (part.contiguous().flatten() for part in _on_cpu([tensor.detach() for tensor in tensors.values()]))
    return hash((described, *(part.view(torch.uint8).numpy().tobytes() for part in numbers)))


def _on_cpu(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Their numbers in the CPU's memory; another device is waited for once where all are of one type on it."""
    if len({(tensor.dtype, tensor.device) for tensor in tensors}) > 1 or tensors[0].device.type == "cpu":
        return [tensor.cpu() for tensor in tensors]
    return [torch.cat([tensor.flatten() for tensor in tensors]).cpu()]


class _Itself:
    """An object that equals itself alone, kept so that no other takes its place in memory."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value


def named_leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Tensors and plain values in containers, however deep, with the way to them; arrays as tensors."""
    if isinstance(value, _PLAIN):  # most of them, and the quickest to ask
        yield path, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from named_leaves(part, (*path, name))
    elif isinstance(value, (list, tuple)):
        for at, part in enumerate(value):
            yield from named_leaves(part, (*path, at))
    else:
        yield path, torch.from_numpy(value) if isinstance(value, np.ndarray) else value
