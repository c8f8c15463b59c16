"""The Rényi accountant and its ancestor, the moments accountant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.accounting import formula
from dpviz.accounting.accountant import Composition
from dpviz.accounting.bound import Bound
from dpviz.accounting.card import Card, words
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.accounting.renyi.best_epsilon import capped_bound, capped_delta
from dpviz.accounting.renyi.conversion import CONVERSIONS
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.mechanisms import Event

# Different mechanisms up to which the best order is searched for; with more, each of which needs divergences of its
# own, the grid's vectors are added up.
MOST_SEARCHED = 16


@dataclass(frozen=True)
class Converted(AdditiveAccountant):
    """Divergences that are converted at the best of some orders.

    Attributes:
        conversion: "improved" (Canonne, Kamath, Steinke 2020) or "classic" (Mironov 2017).
        order_values: the Rényi orders tried, increasing; DEFAULT_ORDERS where none are named.
    """

    options: ClassVar[Mapping[str, str]] = {"orders": "order_values", "conversion": "conversion"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"conversion": CONVERSIONS}
    conversion: str = "improved"
    order_values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        orders = self.order_values or DEFAULT_ORDERS
        if orders is not DEFAULT_ORDERS:
            orders = tuple(np.unique(_validate.orders(orders)).tolist())
        object.__setattr__(self, "order_values", DEFAULT_ORDERS if orders == DEFAULT_ORDERS else orders)

    @property
    def card(self) -> Card:
        card, more = super().card, words(self.conversion)
        about, cited = f"{card.about} {more['about']}", f"{card.cited}; {more['reference']}"
        return replace(card, about=about, cited=cited, papers=(*card.papers, *more["bibtex"]))

    @property
    def formula(self) -> str:
        return formula.CONVERSIONS[self.conversion] + self._text("formula")

    @property
    def orders(self) -> Array:
        return np.array(self.order_values)


@dataclass(frozen=True)
class Renyi(Converted):
    """Exact Rényi divergences, converted at the best order (Mironov, Talwar, Zhang 2019, §3.3).

    With the default orders the best one of FINE_ORDERS decides, and ε is 0 where δ is at least the total variation
    distance (`search`). Orders that the caller names are taken as they are.
    """

    name: ClassVar[Literal["renyi"]] = "renyi"
    aliases: ClassVar[tuple[str, ...]] = ("rdp",)
    live: ClassVar[bool] = True

    @property
    def default_orders(self) -> bool:
        """Whether the caller left the orders to the accountant."""
        return self.order_values is DEFAULT_ORDERS

    def searches(self, mechanisms: int) -> bool:
        return self.default_orders and not self.nodes and 0 < mechanisms <= MOST_SEARCHED

    def of_events(self, events: Sequence[Event], delta: float) -> Bound:
        # In an order that does not depend on who came first, so that sums do not either.
        return super().of_events(sorted(events, key=lambda event: (type(event[0]).__name__, repr(event[0]))), delta)

    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        if not (self.searches(rows.count.shape[1]) and delta.size):
            return super()._epsilon(rows, delta)
        return capped_bound(rows, delta, self.conversion)

    def _delta(self, rows: Composition, epsilon: Array) -> Array:
        if not (self.default_orders and not self.nodes and epsilon.size):
            return super()._delta(rows, epsilon)
        return capped_delta(rows, epsilon, self.conversion)


@dataclass(frozen=True)
class Moments(AdditiveAccountant):
    """The moments accountant: whole λ = α − 1 from `min_order` to `max_order`, classic tail bound.

    Abadi et al. 2016, Theorem 2.
    """

    name: ClassVar[Literal["moments"]] = "moments"
    live: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"min_order": "min_order", "max_order": "max_order"}
    max_order: int = 32
    min_order: int = 1

    def __post_init__(self) -> None:
        most = float(_validate.whole(1, max_order=self.max_order))
        if most > _validate.LARGEST_WHOLE_ORDER:
            raise ValueError(
                f"Expected max_order={most:.0f} <= {_validate.LARGEST_WHOLE_ORDER}: for larger orders, use method "
                "'renyi', which is faster."
            )
        object.__setattr__(self, "max_order", int(most))
        least = float(_validate.whole(1, min_order=self.min_order))
        if least > most:
            raise ValueError(f"Expected min_order={least:.0f} <= max_order={most:.0f}.")
        object.__setattr__(self, "min_order", int(least))

    @property
    def formula(self) -> str:
        last = self.max_order
        if self.min_order == last:
            return rf"T R({last + 1}) + \frac{{\ln(1/\delta)}}{{{last}}}"
        return rf"\min_{{\lambda \le {last}}}\ T R(\lambda+1) + \frac{{\ln(1/\delta)}}{{\lambda}}"

    @property
    def orders(self) -> Array:
        return np.arange(self.min_order + 1.0, self.max_order + 2.0)
