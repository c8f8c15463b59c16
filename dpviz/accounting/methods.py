"""The library's front door: ε and δ by the name of a method."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting import log_moments
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.closed_form import ClosedForm
from dpviz.accounting.composition import AMPLIFICATIONS, Basic, Strong
from dpviz.accounting.conversion import CONVERSIONS
from dpviz.accounting.odometer import VARIANTS, OdometerAccountant
from dpviz.accounting.renyi import Moments, Renyi
from dpviz.accounting.tight_accountant import BOUNDS, Tight

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """What the facade knows of one method.

    Attributes:
        build: the accountant's class.
        fields: option of the facade → the class's field.
        choices: options with a closed list of values, the first one the default.
    """

    build: Callable[..., Accountant]
    fields: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]


_ORDERS = {"orders": "order_values"}
_METHODS: dict[str, Method] = {
    "basic": Method(Basic, {"amplification": "amplification"}, {"amplification": AMPLIFICATIONS}),
    "strong": Method(Strong, {"amplification": "amplification"}, {"amplification": AMPLIFICATIONS}),
    "moments": Method(Moments, {"max_order": "max_order"}, {}),
    "renyi": Method(Renyi, _ORDERS | {"conversion": "conversion"}, {"conversion": CONVERSIONS}),
    "closed_form": Method(ClosedForm, _ORDERS | {"conversion": "conversion"}, {"conversion": CONVERSIONS}),
    "tight": Method(Tight, {"bound": "bound"}, {"bound": BOUNDS}),
    "odometer": Method(OdometerAccountant, _ORDERS | {"variant": "variant"}, {"variant": tuple(VARIANTS)}),
}
METHODS = tuple(_METHODS)


def accountant(method: str, **options: Any) -> Accountant:
    """The accountant called `method`, one of METHODS; an unknown option names those that exist.

    >>> accountant("renyi", conversion="classic").name
    'renyi'
    """
    chosen = _METHODS[_validate.choice("method", method, METHODS)]
    names = chosen.fields
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise ValueError(f"Expected options of method {method!r} among {', '.join(names)}; found {', '.join(unknown)}.")
    fields = {names[key]: value for key, value in options.items()}
    if "order_values" in fields:
        fields["order_values"] = tuple(_validate.orders(fields["order_values"]).tolist())
    return chosen.build(**fields)


def every_choice() -> list[tuple[str, dict[str, str]]]:
    """Each method with each combination of its closed choices, for whoever must look at all accountants.

    >>> [options for method, options in every_choice() if method == "strong"]
    [{'amplification': 'exact'}, {'amplification': 'linear'}]
    """
    return [
        (name, dict(zip(method.choices, values, strict=True)))
        for name, method in _METHODS.items()
        for values in itertools.product(*method.choices.values())
    ]


def epsilon(
    method: str,
    *,
    noise_multiplier: npt.ArrayLike,
    sample_rate: npt.ArrayLike,
    steps: npt.ArrayLike,
    delta: npt.ArrayLike,
    **options: Any,
) -> float | Array:
    """ε of `steps` sampled Gaussian steps under add/remove adjacency, never too small unless an option says so.

    Args:
        method: "basic", "strong", "moments", "renyi", "closed_form", "tight" or "odometer" (any stopping time).
        noise_multiplier: σ > 0, noise standard deviation ÷ sensitivity.
        sample_rate: q in [0, 1], Poisson sampling.
        steps: T, whole, ≥ 0.
        delta: δ in (0, 1).
        **options: orders=… and conversion="improved"|"classic" (renyi, closed_form), max_order=32 (moments),
            amplification="exact"|"linear" (basic, strong; "linear" is not a valid bound),
            bound="upper"|"lower" (tight; "lower" is what the truth never falls below): `accountant(…).kind` tells;
            variant="paper"|"authors" and orders=… (odometer).

    Returns:
        A float for numbers, an array for arrays (all broadcast); NaN where closed_form does not apply.

    >>> round(epsilon("moments", noise_multiplier=4, sample_rate=0.01, steps=10_000, delta=1e-5), 6)
    1.258575
    """
    bound = accountant(method, **options).evaluate(
        noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, delta=delta
    )
    return _plain(bound.epsilon)


def delta(
    method: str,
    *,
    noise_multiplier: npt.ArrayLike,
    sample_rate: npt.ArrayLike,
    steps: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    **options: Any,
) -> float | Array:
    """δ at which `steps` sampled Gaussian steps are (ε, δ)-DP, never too small; arguments as in `epsilon`."""
    found = accountant(method, **options).delta(
        noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, epsilon=epsilon
    )
    return _plain(found)


def renyi_divergence(
    *, noise_multiplier: npt.ArrayLike, sample_rate: npt.ArrayLike, orders: npt.ArrayLike
) -> float | Array:
    """R(α) of one sampled Gaussian step, exact to 1e-11, for any real orders > 1; arguments broadcast."""
    return _plain(log_moments.renyi_divergence(noise_multiplier, sample_rate, orders))


def _plain(values: Array) -> float | Array:
    return float(values) if values.ndim == 0 else values
