"""The Rényi accountant and its ancestor, the moments accountant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting.accountant import AdditiveAccountant
from dpviz.accounting.conversion import CONVERSIONS
from dpviz.accounting.log_moments import renyi_divergence
from dpviz.accounting.orders import DEFAULT_ORDERS

Array = npt.NDArray[np.float64]


@lru_cache(maxsize=4096)
def _cached_divergence(sigma: float, rate: float, orders: tuple[float, ...]) -> Array:
    found = renyi_divergence(sigma, rate, np.array(orders))
    found.setflags(write=False)
    return found


def exact_divergence(noise_multiplier: npt.ArrayLike, sample_rate: npt.ArrayLike, orders: tuple[float, ...]) -> Array:
    """R(α) for the broadcast shape of σ and q, then (orders,); one setting at a time is remembered by value."""
    sigma, rate = np.asarray(noise_multiplier, dtype=np.float64), np.asarray(sample_rate, dtype=np.float64)
    if sigma.size == 1 and rate.size == 1:
        shape = np.broadcast_shapes(sigma.shape, rate.shape)
        one = _cached_divergence(float(sigma.reshape(())), float(rate.reshape(())), orders)
        return one.reshape(shape + one.shape)
    return renyi_divergence(sigma[..., None], rate[..., None], np.array(orders))


@dataclass(frozen=True)
class Renyi(AdditiveAccountant):
    """Exact Rényi divergences, converted at the best order (Mironov, Talwar, Zhang 2019, §3.3).

    Attributes:
        conversion: "improved" (Canonne, Kamath, Steinke 2020) or "classic" (Mironov 2017).
        order_values: the Rényi orders tried, increasing.
    """

    name: ClassVar[str] = "renyi"
    conversion: str = "improved"
    order_values: tuple[float, ...] = DEFAULT_ORDERS

    def __post_init__(self) -> None:
        _validate.choice("conversion", self.conversion, CONVERSIONS)
        checked = np.unique(_validate.orders(self.order_values))
        object.__setattr__(self, "order_values", tuple(checked.tolist()))

    @property
    def orders(self) -> Array:
        return np.array(self.order_values)

    def step_divergence(self, noise_multiplier: npt.ArrayLike, sample_rate: npt.ArrayLike) -> Array:
        return exact_divergence(noise_multiplier, sample_rate, self.order_values)


@dataclass(frozen=True)
class Moments(AdditiveAccountant):
    """The moments accountant: whole λ = α − 1 from 1 to `max_order`, classic tail bound (Abadi et al. 2016, Thm 2)."""

    name: ClassVar[str] = "moments"
    max_order: int = 32

    def __post_init__(self) -> None:
        found = _validate.scalar("max_order", _validate.steps(self.max_order, "max_order", minimum=1))
        if found > 100_000:
            raise ValueError(f"Expected max_order={found:.0f} <= 100000: method 'renyi' reaches further at less cost.")
        object.__setattr__(self, "max_order", int(found))

    @property
    def orders(self) -> Array:
        return np.arange(2.0, self.max_order + 2.0)

    @property
    def conversion(self) -> str:
        return "classic"

    def step_divergence(self, noise_multiplier: npt.ArrayLike, sample_rate: npt.ArrayLike) -> Array:
        return exact_divergence(noise_multiplier, sample_rate, tuple(self.orders.tolist()))
