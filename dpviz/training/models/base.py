"""A network's description, known before PyTorch is loaded, and how to build it: pages read these files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape = tuple[int, ...]


class FeatureModule(Protocol):
    """A module that computes fixed features of images, (n, c, h, w)."""

    def features(self, images: Tensor, *, keep: bool = True) -> Tensor:
        """Theirs; those that are kept are on disk for the next run."""

    def kept(self, images: Tensor) -> bool:
        """Whether those of these images are on disk."""


class Features(NamedTuple):
    """Fixed features that a model reads instead of the examples, each example's from that example alone.

    Attributes:
        words: What they are called.
        load: Loads PyTorch and what computes them.
        shape: Theirs, from that of an example.
    """

    words: str
    load: Callable[[], FeatureModule]
    shape: Callable[[Shape], Shape]


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """A network that can be asked for by name.

    Attributes:
        key, title, short: In settings and links; on pages; where there is little room.
        make: From the shape of what it reads and the number of classes, with weights from the global generator.
        read_parameters: Number of trainable parameters for the shape of what it reads and a number of classes.
        last_inputs: Inputs of the last layer; None where that is all.
        wants, suits: Which examples it reads, in words and by their shape.
        features: What it reads instead of the examples; None for themselves.
        learnt_from: Public data that these features were learnt from, in words; empty where no data were.
        reads: Settings that act with it, of those that do not always.
        most_plain_steps: Steps of plain training that a page waits for; None for as many as it asks.
        usual: Settings with which it trains well under DP-SGD.
        large, low_epsilon, tables: Others with 50,000 examples and more; else with ε below 2; of shipped tables.
    """

    key: str
    title: str
    short: str
    make: Callable[[Shape, int], nn.Module]
    read_parameters: Callable[[Shape, int], int]
    last_inputs: int | None = None
    wants: str = "any examples"
    suits: Callable[[Shape], bool] = field(default=lambda shape: True)
    features: Features | None = None
    learnt_from: str = ""
    reads: frozenset[str] = frozenset()
    most_plain_steps: int | None = None
    usual: Mapping[str, Any] = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)
    low_epsilon: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)

    def unfit(self, shape: Shape) -> str:
        """What it reads instead of such examples, in words; empty where it reads these."""
        return "" if self.suits(shape) else self.wants

    def transformed(self, shape: Shape) -> Shape:
        """Of what it reads, from that of an example."""
        return shape if self.features is None else self.features.shape(shape)

    def parameters(self, shape: Shape, classes: int) -> int:
        """Number of trainable parameters for the shape of an example and a number of classes."""
        return self.read_parameters(self.transformed(shape), classes)

    def last(self, classes: int) -> int:
        """Those in the last layer."""
        return linear(self.last_inputs or 0, classes)


def image(shape: Shape) -> bool:
    return len(shape) == 3


def linear(inputs: int, outputs: int) -> int:
    """Parameters of a linear layer, or of a convolution's with so many numbers under its window."""
    return (inputs + 1) * outputs
