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

import secrets
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

Name = TypeVar("Name", bound=Hashable)

# Numbers from which on a tensor is compared where it lies: to join it with others would copy it at every comparison.
LARGE = 1 << 14
# Devices whose numbers can be read without waiting.
READ_AT_ONCE = frozenset({"cpu"})

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

    def differs(self, values: Mapping[Name, Any]) -> bool | Tensor:
        """Whether `changes` has to look; of numbers on an accelerator a bool () there, which nobody has waited for."""
        kinds, groups = _grouped(values)
        if kinds != self._kinds or groups.keys() != self._kept.keys():
            return True
        return _differ((self._kept[key], _joined(tensors)) for key, tensors in groups.items())

    def changes(self, values: Mapping[Name, Any]) -> Iterator[Name]:
        """All such names. The same numbers on another device are the same."""
        if not bool(self.differs(values)):
            return
        kinds, groups = _grouped(values)
        before = {
            name: part
            for key, sizes in self._sizes.items()
            for name, part in zip(sizes, torch.split(self._kept[key], list(sizes.values())), strict=True)
        }
        after = {name: _joined({name: tensor}) for tensors in groups.values() for name, tensor in tensors.items()}
        for name in {**self._kinds, **kinds}:
            same = name in self._kinds and name in kinds and self._kinds[name] == kinds[name]
            if not same or (name in before and bool(_differ([(before[name].cpu(), after[name].cpu())]))):
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


def _differ(pairs: Iterable[tuple[Tensor, Tensor]]) -> bool | Tensor:
    """Whether any bits of these pairs differ, each of numbers (n,) of one type on one device.

    True as soon as it is known; else a bool () on the accelerator where some of the numbers lie there.
    """
    differ: list[Tensor] = []
    for one, other in pairs:
        left, right = _bits(one), _bits(other)
        if left.device.type not in READ_AT_ONCE:
            differ.append((left != right).any())
        elif not np.array_equal(left.numpy(), right.numpy()):  # twice as fast as PyTorch's
            return True
    return torch.stack([part.to(differ[0].device) for part in differ]).any() if differ else False


def _bits(numbers: Tensor) -> Tensor:
    whole = torch.view_as_real(numbers.detach().resolve_conj()) if numbers.is_complex() else numbers.detach()
    return whole.view(_WHOLE[whole.element_size()])


class Fingerprint:
    """Numbers of 32-bit words x that tell whether they are equal: Σ r_k x_k and Σ r_{k+1} x_k modulo 2⁶⁴.

    r are secret random numbers of 32 bits, so others have the same two by chance once in 2⁶⁴: r_k d takes 2³² values
    for the difference d of two words, and where k is the last place that differs, r_{k+1} is in the second sum alone.

    Args:
        like: The tensors that are told apart, for their size and their device.
    """

    def __init__(self, like: Sequence[Tensor]) -> None:
        words = sum(tensor.numel() * tensor.element_size() // 4 for tensor in like)
        factors = np.random.default_rng(secrets.randbits(128)).integers(-(2**31), 2**31, words + 1, dtype=np.int32)
        self._random = torch.from_numpy(factors).to(like[0].device)

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        """Of tensors of one type with as many numbers as `like`: int64 (2,), on its device."""
        words = torch.cat([tensor.detach().flatten() for tensor in tensors]).to(self._random.device).view(torch.int32)
        return torch.stack([_dot(words, self._random[:-1]), _dot(words, self._random[1:])])


def _dot(one: Tensor, other: Tensor) -> Tensor:
    """Σ a_k b_k of whole numbers of 32 bits modulo 2⁶⁴, ()."""
    if one.device.type != "cpu":
        return (one.long() * other).sum()
    # NumPy makes them longer piece by piece, in the processor's cache: three times as fast as PyTorch's.
    return torch.from_numpy(np.asarray(np.einsum("k,k->", one.numpy(), other.numpy(), dtype=np.int64)))


class _Itself:
    """An object that equals itself alone, kept so that no other takes its place in memory."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value


def named_leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Tensors and plain values in containers, however deep, with the way to them; arrays as tensors."""
    if isinstance(value, (dict, Mapping)):
        parts: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        yield path, torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        return
    for name, part in parts:
        if isinstance(part, _PLAIN):  # most of them: a step asks for all, twice
            yield (*path, name), part
        else:
            yield from named_leaves(part, (*path, name))
