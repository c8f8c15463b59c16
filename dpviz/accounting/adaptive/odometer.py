"""Privacy odometers: a running bound on ε that holds whenever one stops (Lécuyer 2021, §4).

At each order α a ladder of RDP filters of sizes ε^f(α) = 2^{f−1} · w · ln(2|Λ|/δ)/(α − 1), f = 1, 2, …, is fixed before
the first step. After each step the smallest filter that holds what was spent gives

    ε = min over α of  ε^f(α) + ln(2|Λ|f²/δ)/(α − 1),

valid for all orders, filters and stopping times at once (a union bound over α ∈ Λ and f). w = 1 in the paper; the
authors' own plots used a first filter of a quarter of that size (w = 1/4) and no orders below 2.25.

Doubling filters make ε a staircase. It never falls with more steps or less noise, but it may fall when δ is lowered: a
lower δ starts with larger filters, and what was spent may then fit one filter fewer.

>>> from dpviz.mechanisms import SampledGaussian
>>> odometer = Odometer(delta=1e-6)
>>> odometer.spend(SampledGaussian(noise_multiplier=1.0, sample_rate=0.01024), 98)
>>> round(odometer.epsilon(), 7)
4.1477129
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypedDict, Unpack, overload

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Whole
from dpviz._other_names import says_right_names
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Bound
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.additive import AdditiveAccountant

PAPER_ORDERS: tuple[float, ...] = (*np.arange(1.25, 10.01, 0.25).tolist(), 16.0, 32.0)
AUTHORS_ORDERS: tuple[float, ...] = tuple(a for a in PAPER_ORDERS if a >= 2.25)
# 2^i up to n², for n up to 65 536 examples (§4.4): the best rate in n, and few orders among those that decide.
POWERS: tuple[float, ...] = tuple(2.0**i for i in range(1, 33))
# Orders Λ, and the first filter's share w of ln(2|Λ|/δ)/(α − 1).
VARIANTS: dict[str, tuple[tuple[float, ...], float]] = {
    "paper": (PAPER_ORDERS, 1.0),
    "authors": (AUTHORS_ORDERS, 0.25),
    "powers": (POWERS, 1.0),
}
_FILTERS_TRIED = 64
_NO_FILTER = 4000  # beyond any double


@dataclass(frozen=True)
class OdometerAccountant(AdditiveAccountant):
    """Exact Rényi divergences read through an odometer.

    Attributes:
        variant: key of VARIANTS: the first filter's size, and the orders where none are named.
        order_values: Λ, increasing; empty takes the variant's. Each further order costs all of them: ln|Λ|.
    """

    name: ClassVar[str] = "odometer"
    options: ClassVar[Mapping[str, str]] = {"orders": "order_values", "variant": "variant"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"variant": tuple(VARIANTS)}
    variant: str = "paper"
    order_values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        orders, _ = VARIANTS[self.variant]
        if self.order_values:
            orders = tuple(np.unique(_validate.orders(self.order_values)).tolist())
        object.__setattr__(self, "order_values", orders)

    latex = Accountant.latex

    @property
    def orders(self) -> Array:
        return np.array(self.order_values)

    @property
    def first_filter(self) -> float:
        """w, the first filter's size in units of ln(2|Λ|/δ)/(α − 1)."""
        return VARIANTS[self.variant][1]

    def _log_odds(self, delta: Array) -> Array:
        """ln(2|Λ|/δ), the nats that the union over orders and filters costs."""
        return np.asarray(math.log(2.0 * len(self.order_values)) - np.log(delta))

    def filters(self, total: Array, delta: ArrayLike) -> Whole:
        """f of each order: the smallest filter that holds `total` (…, orders); _NO_FILTER where none does."""
        unit = self.first_filter * self._log_odds(np.asarray(delta, dtype=np.float64))[..., None] / (self.orders - 1.0)
        with np.errstate(over="ignore"):
            mantissa, power = np.frexp(total / unit)
            # ratio ≤ 2^k from k = power on, and for k = power − 1 where the ratio is exactly that power of two.
            k = np.maximum(np.where(mantissa == 0.5, power - 1, power), 0)
            # The ratio was rounded: what was spent may exceed the filter by a last digit.
            k = np.where(total > np.ldexp(unit, k), k + 1, k)
        k = np.where(total == 0.0, 0, k)
        return np.where(np.isinf(total), _NO_FILTER, k + 1).astype(np.int64)

    def bound(self, total: Array, delta: ArrayLike, reason: str = "") -> Bound:
        """ε by the odometer for divergences (…, orders) spent so far."""
        given = np.asarray(delta, dtype=np.float64)
        shape = np.broadcast_shapes(total.shape[:-1], given.shape)
        given, total = np.broadcast_to(given, shape), np.broadcast_to(total, (*shape, self.orders.size))
        log_odds, s = self._log_odds(given)[..., None], self.orders - 1.0
        f = self.filters(total, given)
        with np.errstate(over="ignore"):
            filled = np.ldexp(self.first_filter * log_odds / s, (f - 1).astype(np.int32))
        values = np.where(np.isinf(total), np.inf, filled + (log_odds + 2.0 * np.log(f)) / s)
        best = values.argmin(axis=-1)
        spent = total.max(axis=-1) > 0.0
        epsilon = np.where(spent, np.take_along_axis(values, best[..., None], axis=-1)[..., 0], 0.0)
        decided = spent & np.isfinite(epsilon)
        return Bound(
            epsilon=epsilon,
            order=np.where(decided, self.orders[best], np.nan),
            at_grid_end=decided & ((best == 0) | (best == self.orders.size - 1)),
            floor=(1.0 + self.first_filter) * log_odds[..., 0] / s[-1],
            reason=reason,
        )

    def _least_delta(self, total: Array, epsilon: Array) -> Array:
        """The smallest δ that could have been fixed in advance so that the odometer reads at most ε now.

        With L = ln(2|Λ|/δ), filter f at order α asks w·2^{f−1}·L ≥ spent·(α − 1) and
        (w·2^{f−1} + 1)·L + 2 ln f ≤ ε·(α − 1): the largest L over α and f is wanted.
        """
        shape = np.broadcast_shapes(total.shape[:-1], epsilon.shape)
        total = np.broadcast_to(total, (*shape, self.orders.size))[..., None]
        target = np.broadcast_to(epsilon, shape)[..., None, None]
        f = np.arange(1.0, _FILTERS_TRIED + 1.0)
        size, s = self.first_filter * 2.0 ** (f - 1.0), (self.orders - 1.0)[:, None]
        with np.errstate(over="ignore"):
            log_odds = (target * s - 2.0 * np.log(f)) / (size + 1.0) * (1.0 - 1e-14)
            holds = size * log_odds >= total * s
        best = np.where(holds, log_odds, -np.inf).max(axis=(-2, -1))
        delta = np.exp(np.minimum(math.log(2.0 * self.orders.size) - best, 0.0))
        spent = total.max(axis=(-2, -1)) > 0.0
        return np.where(spent, np.maximum(delta, np.finfo(np.float64).tiny), 0.0)


class Odometer(Ledger):
    """What a run has spent so far, at any time: stop when you like, what it reads then is what it cost.

    Mechanisms and counts may depend on everything seen so far.

    Attributes:
        accountant: orders and filter sizes, fixed before the first step.
        delta: δ, fixed before the first step.
    """

    def __init__(self, *, delta: float, orders: ArrayLike | None = None, variant: str = "paper") -> None:
        """Orders default to the variant's: from 1.25 ("paper") or 2.25 ("authors") to 10, 16, 32; "powers" of two."""
        self.delta = _validate.number(delta=delta)
        super().__init__(_odometer(variant, orders))

    def bound(self) -> Bound:  # type: ignore[override]  # at no other δ
        """ε of everything spent so far with the order that decided; arrays of shape ()."""
        return super().bound(self.delta)

    def epsilon(self) -> float:
        """ε of everything spent so far at δ."""
        return float(self.bound().epsilon)


def _odometer(variant: str, orders: ArrayLike | None) -> OdometerAccountant:
    return OdometerAccountant(variant, () if orders is None else tuple(_validate.orders(orders).tolist()))


class OdometerOptions(TypedDict, total=False):
    """Which odometer: see `odometer_epsilon`."""

    variant: Literal["paper", "authors", "powers"]
    orders: ArrayLike | None


@overload
def odometer_epsilon(
    *, noise_multiplier: float, sample_rate: float, steps: float, delta: float, **options: Unpack[OdometerOptions]
) -> float: ...
@overload
def odometer_epsilon(
    *,
    noise_multiplier: ArrayLike,
    sample_rate: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    **options: Unpack[OdometerOptions],
) -> float | Array: ...
@says_right_names()
def odometer_epsilon(
    *,
    noise_multiplier: ArrayLike,
    sample_rate: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    variant: str = "paper",
    orders: ArrayLike | None = None,
) -> float | Array:
    """What an odometer reads after `steps` equal steps (Lécuyer 2021, §4.4–4.5).

    Args:
        noise_multiplier: σ > 0.
        sample_rate: q in [0, 1].
        steps: T, whole, ≥ 0; the cost does not depend on it. All four broadcast.
        delta: δ in (0, 1).
        variant: "paper", "authors" for a first filter of a quarter of the size, "powers" for orders 2, 4, …, 2^32.
        orders: Λ; the variant's where None.

    >>> round(odometer_epsilon(noise_multiplier=1, sample_rate=512 / 50_000, steps=9800, delta=1e-6), 7)
    9.6779967
    """
    asked = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps, "delta": delta}
    epsilon = _odometer(variant, orders).evaluate(**asked).epsilon
    return float(epsilon) if epsilon.ndim == 0 else epsilon
