"""A cache of results for the process, keyed by value and bounded in bytes; the least recently used go first.

    @remembered
    def curve(sigma: float, steps: int) -> Curve: ...

Equal arguments are computed once, also when several threads ask at the same time: the others wait for the first. An
argument that holds much is a `Named`: it stands in keys by its name, so that no key keeps it alive, and it may bring a
memory of its own, which then keeps what is computed from it and goes when it goes.
"""

import gc
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import wraps
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

MOST = 64 * 2**20  # bytes of all that the process remembers
_ENTRY = 400  # bytes of bookkeeping an entry
_PLAIN = (int, float, complex, bool, str, bytes, type(None))


class _Key:
    """A function and its arguments, hashed once."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: Hashable) -> None:
        self.parts, self._hash = parts, hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._hash == other._hash and self.parts == other.parts


class _Entry(Generic[T]):
    __slots__ = ("size", "value")

    def __init__(self, value: T, size: int) -> None:
        self.value, self.size = value, size


class Memory:
    """Results by key, at most `most` bytes of them; safe to use from many threads.

    One result that takes more than three quarters of it is not kept at all. A result that goes on growing has an
    attribute `nbytes`, which is asked again whenever something is added.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: OrderedDict[Hashable, _Entry[Any]] = OrderedDict()
        self._growing: dict[Hashable, Any] = {}
        self._fixed = 0
        self._under_way: dict[Hashable, Future[Any]] = {}
        self._lock = threading.RLock()

    @property
    def held(self) -> int:
        """Bytes that are held now."""
        with self._lock:
            return self._fixed + int(sum(map(attrgetter("nbytes"), self._growing.values())))

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._growing.clear()
            self._fixed = 0

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._drop(key)

    def get(self, key: Hashable) -> Any | None:
        """What is kept under `key`; None where nothing is."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry.value

    def put(self, key: Hashable, value: object) -> None:
        """Keep `value`, unless it is too large; what was not used for longest goes to make room."""
        grows = not isinstance(value, np.ndarray | np.generic) and isinstance(getattr(value, "nbytes", None), int)
        size = _ENTRY + weight(key) + (0 if grows else weight(value))
        with self._lock:
            self._drop(key)
            if size + (getattr(value, "nbytes", 0) if grows else 0) > 0.75 * self.most:
                return
            self._entries[key] = _Entry(value, size)
            self._fixed += size
            if grows:
                self._growing[key] = value
            excess = self.held - self.most
            while excess > 0:
                excess -= self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> int:
        """Forget one; the bytes that it held."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return 0
        self._fixed -= entry.size
        grown = self._growing.pop(key, None)
        return entry.size + (0 if grown is None else int(grown.nbytes))

    def recall(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under `key`, else what `make` makes; whoever asks meanwhile waits for it.

        What `make` raises is raised where it was called; those who waited then try for themselves.
        """
        while True:
            with self._lock:
                entry: _Entry[T] | None = self._entries.get(key)
                if entry is not None:
                    self._entries.move_to_end(key)
                    return entry.value
                job = self._under_way.get(key)
                if job is None:
                    mine: Future[T] = Future()
                    self._under_way[key] = mine
                    break
            with suppress(CancelledError):
                shared: T = job.result()
                return shared
        try:
            value = make()
            self.put(key, value)
            mine.set_result(value)
            return value
        finally:  # a script that is stopped in the middle raises, too
            with self._lock:
                del self._under_way[key]
            if not mine.done():
                mine.cancel()


MEMORY = Memory(MOST)


class Named:
    """An argument that stands in keys by its name.

    Attributes:
        key: equal for equal arguments.
        memory: what keeps the results that are computed from it.
    """

    key: Hashable
    memory: Memory


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """The function with a memory; results are shared and not to be changed."""

    @wraps(function)
    def recalled(*args: P.args, **kwargs: P.kwargs) -> T:
        memory, parts = MEMORY, []
        for value in (*args, *kwargs.values()):
            if isinstance(value, Named):
                memory = memory if value.memory is MEMORY else value.memory
                parts.append(value.key)
            else:
                parts.append(value)
        key = _Key((function, tuple(parts), tuple(kwargs)))
        return memory.recall(key, lambda: function(*args, **kwargs))

    return recalled


def weight(value: object) -> int:
    """Bytes that `value` keeps alive: arrays with what they are views of, and all that is reached from it.

    Classes, modules and functions count nothing (what a function encloses does).
    """
    total, seen, ahead = 0, set[int](), [value]
    while ahead:
        one = ahead.pop()
        if isinstance(one, _PLAIN):
            total += sys.getsizeof(one)
            continue
        if id(one) in seen or isinstance(one, type | ModuleType | BuiltinFunctionType | Memory):
            continue
        seen.add(id(one))
        if isinstance(one, _Key):
            ahead.append(one.parts)
        elif isinstance(one, FunctionType):
            ahead += [cell.cell_contents for cell in one.__closure__ or ()]
        elif isinstance(one, np.ndarray):
            if isinstance(one.base, np.ndarray):
                ahead.append(one.base)
                total += 112
            else:
                total += 112 + one.nbytes
        elif isinstance(size := getattr(one, "nbytes", None), int):
            total += size
        else:
            total += sys.getsizeof(one)
            ahead += gc.get_referents(one)
    return total
