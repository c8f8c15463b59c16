"""Dominating pairs (P, Q) on the real line, as the tight accountant asks for them.

The likelihood ratio P/Q does not fall in the output z, so a cell of losses is a cell of outputs, and cumulative
distributions say all there is to know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from dpviz._arrays import Array

UNIT = 2.0**-53  # rounding unit of a float
ULPS = 8.0  # generous: scipy's ndtr is right to a few units in the last place


class Cells(NamedTuple):
    """Probabilities of the cells between consecutive outputs, and bounds on their rounding errors.

    Attributes:
        mass: under Q.
        gain: under P less under Q.
        mass_error, gain_error: what they err by at most.
    """

    mass: Array
    gain: Array
    mass_error: Array
    gain_error: Array


class LossSplit(NamedTuple):
    """What one learns from "the loss is at most / above l": ln(P/Q) of either, and the Q mass of the first."""

    left: float
    right: float
    below: float


class DominatingPair(ABC):
    """P and Q, whose outputs are at least as easy to tell apart as those of any two neighbouring data sets."""

    __slots__ = ()

    @property
    @abstractmethod
    def scale(self) -> float:
        """Scale of the noise, in units of the sensitivity; it steers, it proves nothing."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether (Q, P) is the same pair: then one direction is enough."""

    @property
    @abstractmethod
    def largest_losses(self) -> tuple[float, float]:
        """The suprema of ln(P/Q) and of ln(Q/P); inf where there are none."""

    @abstractmethod
    def loss(self, z: Array | float) -> Array:
        """ln(P/Q) at the output z."""

    @abstractmethod
    def output(self, loss: Array | float) -> Array:
        """The output with this loss; ∓∞ below and above the losses that there are."""

    @abstractmethod
    def cells(self, z: Array) -> Cells:
        """The cells between consecutive outputs z, shape (n + 1,), ascending."""

    @abstractmethod
    def split(self, loss: float) -> LossSplit: ...

    @abstractmethod
    def below(self, z: float) -> tuple[float, float]:
        """Probabilities under Q and P of an output of at most z."""

    @abstractmethod
    def above(self, z: float) -> tuple[float, float]:
        """Probabilities under Q and P of an output above z."""

    @abstractmethod
    def reach(self, tail: float) -> tuple[float, float]:
        """The outputs between which losses are told apart: beyond lies what `tail` deviations of a Gaussian leave."""

    @abstractmethod
    def rough(self, tail: float) -> tuple[Array, Array]:
        """Losses and ln of their Q probabilities, roughly: they steer, they prove nothing."""

    @abstractmethod
    def log_delta(self, epsilon: float) -> float:
        """ln δ(ε) of one step, the worse of both directions; −∞ where δ = 0. Right to 1e-9, relatively."""
