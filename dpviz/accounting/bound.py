"""An accountant's result: ε (or δ), the order that decided it, and why there may be none."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np

from dpviz._arrays import Array, Bools


class Kind(StrEnum):
    """What an accountant's number is, compared with the truth. Only an upper bound may be promised to anyone.

    Attributes:
        UPPER: never below the truth, under the accountant's stated assumptions.
        LOWER: never above the truth.
        APPROXIMATION: on either side of it.
    """

    UPPER = "upper"
    LOWER = "lower"
    APPROXIMATION = "approximation"


@dataclass(frozen=True, slots=True)
class Bound:
    """ε by an accountant (an upper bound where its `kind` says so) and what explains it; arrays of one shared shape.

    Attributes:
        epsilon: the bound; inf where the accountant proves nothing, NaN where it does not apply.
        order: the Rényi order α (= λ + 1) that decided, NaN for accountants without orders.
        at_grid_end: True where the order is the first or last one tried: finer or further orders might do better.
        floor: the ε that the largest order charges for doing nothing, ln(1/δ)/(α_max − 1) by the classic conversion,
            below which this accountant cannot answer; 0 for accountants without orders.
        reason: why the accountant does not apply (each failed condition) or is no upper bound, empty when it is one.
    """

    epsilon: Array
    order: Array
    at_grid_end: Bools
    floor: Array
    reason: str = ""

    def reshape(self, shape: tuple[int, ...]) -> Self:
        """The same numbers in another shape."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        arrays: dict[str, Any] = {name: value.reshape(shape) for name, value in values if hasattr(value, "reshape")}
        return replace(self, **arrays)


def bound_without_orders(epsilon: Array, reason: str = "") -> Bound:
    """The answer of an accountant that has no orders to choose from."""
    return Bound(
        epsilon=epsilon,
        order=np.full(epsilon.shape, np.nan),
        at_grid_end=np.zeros(epsilon.shape, dtype=np.bool_),
        floor=np.zeros(epsilon.shape),
        reason=reason,
    )
