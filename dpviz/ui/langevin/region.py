"""The three conditions over batch and step size: in which settings each of them holds at every step.

Over η₁ and τ the conditions of Li et al. 2019, Theorem 3, read
    (1) η₁ ≤ q²N/L²,   (2) η₁ T^(−1/3) > 256 q⁴ N/L²,   (3) η₁ < ε² N/(c₂² L² T^(2/3) ln(1/δ)),
for (1) is hardest to keep at the first step and (2) at the last; a fixed step size has T⁰ in (2), and Theorem 4 in the
place of (3). c₂ depends on q, so (3) is found anew for every batch: what composed moments allow there. That takes a
moment; until then it is drawn with the c₂ of the present batch, as if that served all.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpviz.accounting.langevin_bounds import step_size_limits
from dpviz.accounting.langevin_solve import largest_inverse_variance
from dpviz.ui.langevin.settings import Settings

if TYPE_CHECKING:
    from dpviz.ui.langevin.curves import Answer

Array = npt.NDArray[np.float64]

A_DECADE = 3  # rates at which (3) is looked up
_DECADES = 3  # of rates on either side of the present one
STAND_IN = "third_at_this_c"


@dataclass(frozen=True)
class Holds:
    """Which conditions the present setting keeps at every step; `third` None where no step size is proven."""

    first: bool
    second: bool
    third: bool | None


def rates(s: Settings) -> tuple[float, ...]:
    """Sampling rates of the chart, the present one among them; equal ones come back when τ moves."""
    now = s.sampler.sample_rate
    low = max(now * 10.0**-_DECADES, min(1.0 / s.n, now))
    high = min(now * 10.0**_DECADES, 1.0)
    first, last = math.floor(A_DECADE * math.log10(low)), min(math.ceil(A_DECADE * math.log10(high)), 0)
    return tuple(sorted({10.0 ** (k / A_DECADE) for k in range(first, last + 1)} | {now}))


def conditions(s: Settings, marks: Array, cost: object, largest: Array) -> tuple[Array, dict[str, Array]]:
    """Batches τ, and at each the bounds on η₁; (3) with the present constant."""
    batches = np.array(rates(s)) * s.n
    limits = [step_size_limits(_at(s, float(batch)).sampler, s.reading) for batch in batches]
    proven = float(largest[-1])
    return batches, {
        "first_condition": np.array([high for _, high in limits]),
        "second_condition": np.array([low for low, _ in limits]) * float(s.steps) ** s.exponent,
        STAND_IN: np.full(batches.size, proven if proven > 0.0 else np.nan),
    }


def _at(s: Settings, batch: float) -> Settings:
    return replace(s, batch=min(batch, s.n))


def holds(found: Answer) -> Holds:
    """The conditions at the present τ and η₁."""
    s, (low, high) = found.settings, found.limits
    third = s.first < found.largest if found.largest > 0.0 else None
    return Holds(s.first <= high, s.first * float(s.steps) ** -s.exponent > low, third)


def third(found: Answer) -> Array:
    """Condition (3) along the batches, the stand-in where that is all there is."""
    return found.curves["third_condition"] if "third_condition" in found.curves else found.curves[STAND_IN]


def open_interval(found: Answer) -> tuple[Array, Array]:
    """Between which η₁ all three conditions hold at each batch; nowhere where the first is not below the second."""
    high = np.fmin(found.curves["first_condition"], np.where(np.isnan(third(found)), 0.0, third(found)))
    return found.curves["second_condition"], high


def open_anywhere(found: Answer) -> bool:
    low, high = open_interval(found)
    return bool((high > low).any())


def boundary_key(found: Answer) -> Hashable | None:
    """What decides condition (3) along the batches; None in the other views."""
    s = found.settings
    if s.view != "region":
        return None
    return rates(s), s.claim, s.delta, s.exponent, s.steps, s.conversion


def boundary_part(found: Answer) -> Array:
    """The largest 1/σ₁² that composed moments allow at each rate; 0 where they allow none. Some tenths of a second."""
    s = found.settings
    return np.array([_allowed(rate, s.claim, s.delta, s.exponent, s.steps, s.conversion) for rate in rates(s)])


@lru_cache(maxsize=2048)
def _allowed(rate: float, epsilon: float, delta: float, exponent: float, steps: int, conversion: str) -> float:
    with np.errstate(all="ignore"):
        found, _ = largest_inverse_variance(
            epsilon=epsilon, delta=delta, sample_rate=rate, exponent=exponent, steps=steps, conversion=conversion
        )
    return float(found)


def with_boundary(found: Answer, allowed: Array) -> Answer:
    """(3) as composition gives it at each batch."""
    cost = np.array([_at(found.settings, float(batch)).sampler.cost for batch in found.x])
    third = np.where(allowed > 0.0, allowed / cost, np.nan)
    curves = {key: values for key, values in found.curves.items() if key != STAND_IN}
    return replace(found, curves=curves | {"third_condition": third})
