"""Samples that are drawn, measured or read on demand, as values that stand in keys by their names.

A question takes such a value among its settings and asks it for its sample. A program gets the sample made on the
spot; whoever cannot wait for it hands the question what is there: the sample held already, or why it is missing.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import Field, asdict, astuple, dataclass
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, TypeVar

from dpviz._extras import extra
from dpviz._remember import MEMORY, Memory, Named, remembered

T = TypeVar("T")


class NoSample(ValueError):
    """There is no sample; the message says why. `coming`: there will be one soon."""

    def __init__(self, words: str, *, coming: bool = False) -> None:
        super().__init__(words)
        self.coming = coming


class Source(Named, ABC, Generic[T]):
    """Where a sample comes from. In keys it stands by its name, which holds no sample."""

    memory: Memory = MEMORY
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # kinds are dataclasses

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        return type(self).__name__, *astuple(self)

    def sample(self) -> T:
        """The sample, made once.

        Raises:
            ValueError: there is none; the message says why.
        """
        sample: T = _made(self)
        return sample

    @abstractmethod
    def make(self) -> T:
        """Make the sample."""


@remembered
def _made(source: Source[Any]) -> Any:
    return source.make()


class Measurable(Source[T]):
    """Takes PyTorch, and time: an app has it measured by workers.

    Attributes:
        target: the function that measures, "module:function".
    """

    target: ClassVar[str]

    @property
    def measured(self) -> Hashable:
        """What is measured, in keys, where `key` also has what is only said of it."""
        return self.key

    @property
    def arguments(self) -> dict[str, Any]:
        """What the target is called with: JSON values, and files as `Path`."""
        return asdict(self)

    @property
    def recorded(self) -> T | None:
        """What the package has a record of; None where it has to be measured."""
        return None

    def make(self) -> T:
        if (kept := self.recorded) is not None:
            return kept
        with extra("train"):
            sample: T = resolve_name(self.target)(**self.arguments)
        return sample


@dataclass(frozen=True, eq=False)
class Held(Source[T]):
    """A sample that somebody holds already.

    Attributes:
        of: what it was made from.
        held: the sample.
        mark: tells it from others of that name.
        memory: keeps what is computed from it, and goes with it.
    """

    of: Source[T]
    held: T
    mark: str = ""
    memory: Memory = MEMORY

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        return "held", self.of.key, self.mark

    def sample(self) -> T:
        return self.held

    make = sample


@dataclass(frozen=True)
class Missing(Source[T]):
    """A sample that cannot be had now: what it would be made from, and why; `coming`: it is on its way."""

    of: Source[T]
    why: str
    coming: bool = False

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        return "missing", self.of.key, self.why, self.coming

    def sample(self) -> T:
        raise NoSample(self.why, coming=self.coming)

    make = sample


def origin(source: Source[T]) -> Source[T]:
    """What a sample is made from, whether or not it is there."""
    return source.of if isinstance(source, Held | Missing) else source
