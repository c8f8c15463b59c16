"""Every argument check of the library, in one place and one style of message.

Each check returns the value in the type that the computation wants (float, int or array) and raises
``ValueError`` otherwise. A message names the argument, the value found and what would do:
"Expected sample_rate=1.4 in [0, 1]."
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from dpviz._arrays import Array, Bools


def _numbers(name: str, value: object, wanted: str) -> Array:
    """`value` as a float array; text, None, booleans and NaN are refused."""
    wanted = wanted.removeprefix("to be ")
    if isinstance(value, (str, bytes, bool)) or value is None:
        raise ValueError(f"Expected {name}={value!r} to be {wanted}, not {type(value).__name__}.")
    try:
        array = np.asarray(value)
        # numpy would read ["0.5"] and [True] as numbers, dates as days, and drop imaginary parts.
        if array.dtype.kind not in "iufO":
            raise TypeError
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"Expected {name}={value!r} to be {wanted}.") from None
    if np.isnan(numbers).any():
        raise ValueError(f"Expected {name} to be {wanted}, found NaN.")
    return numbers


def _checked(name: str, value: object, wanted: str, holds: Callable[[Array], Bools]) -> Array:
    if type(value) is float and holds(array := np.asarray(value)):  # most are; NaN holds nothing
        return array
    numbers = _numbers(name, value, wanted)
    good = holds(numbers)
    if not good.all():
        first = numbers[~good].flat[0] if numbers.ndim else numbers[()]
        raise ValueError(f"Expected {name}={first:.12g} {wanted}.")
    return numbers


# Below, doubles lose their digits one by one (they are "subnormal") and their inverses are infinite.
LEAST = float(np.finfo(np.float64).tiny)


def any_number(name: str, value: object) -> Array:
    """Numbers, whichever."""
    return _numbers(name, value, "a number")


def noise_multiplier(value: object, name: str = "noise_multiplier") -> Array:
    """Noise standard deviation ÷ sensitivity; 0 and below give no privacy and are refused."""
    return positive(name, value)


def positive(name: str, value: object) -> Array:
    """Positive numbers that have all their digits."""
    finite = _checked(name, value, "> 0 and finite", lambda x: (x > 0) & np.isfinite(x))
    return _checked(name, finite, f">= {LEAST:.3g}", lambda x: x >= LEAST)


def non_negative(name: str, value: object) -> Array:
    return _checked(name, value, ">= 0 and finite", lambda x: (x >= 0) & np.isfinite(x))


def probability(name: str, value: object) -> Array:
    return _checked(name, value, "in [0, 1]", lambda x: (x >= 0) & (x <= 1))


def open_probability(name: str, value: object) -> Array:
    return _checked(name, value, "in (0, 1)", lambda x: (x > 0) & (x < 1))


def decay(value: object, name: str = "decay") -> Array:
    return _checked(name, value, "in [0, 1)", lambda x: (x >= 0) & (x < 1))


def sample_rate(value: object) -> Array:
    """Probabilities; none so small that it has lost digits, except 0."""
    rate = probability("sample_rate", value)
    return _checked("sample_rate", rate, f"to be 0 or >= {LEAST:.3g}", lambda x: (x == 0.0) | (x >= LEAST))


def delta(value: object, name: str = "delta") -> Array:
    return open_probability(name, value)


def epsilon(value: object, name: str = "epsilon") -> Array:
    return non_negative(name, value)


def steps(value: object, name: str = "steps", minimum: int = 0) -> Array:
    """Whole numbers of steps, as floats (2^53 of them are exact)."""
    return _checked(
        name,
        value,
        f"to be a whole number >= {minimum} (and at most 2^53)",
        lambda x: (x >= minimum) & (x == np.floor(x)) & (x <= 2.0**53),
    )


def dimension(value: object) -> Array:
    """Whole numbers of coordinates, as floats."""
    return _checked(
        "dimension",
        value,
        "to be a whole number >= 1",
        lambda x: (x >= 1) & (x == np.floor(x)) & np.isfinite(x),
    )


# Beyond, divergences take memory and time without end, and prove nothing that lower orders do not.
LARGEST_ORDER = 1e12
LARGEST_WHOLE_ORDER = 100_000  # of moments, which are summed term by term


def orders(value: object) -> Array:
    """Rényi orders, real and > 1, one dimension, at least one."""
    numbers = np.atleast_1d(orders_of_any_shape(value))
    if numbers.ndim != 1:
        raise ValueError(f"Expected orders as a non-empty list, found shape {numbers.shape}.")
    return numbers


def orders_of_any_shape(value: object) -> Array:
    """Rényi orders, real and > 1, at least one, in whatever shape the caller wants to broadcast."""
    array = _checked("orders", value, f"> 1 and <= {LARGEST_ORDER:g}", lambda x: (x > 1) & (x <= LARGEST_ORDER))
    if array.size == 0:
        raise ValueError(f"Expected orders as a non-empty list, found shape {array.shape}.")
    return array


def whole_orders(value: object, name: str = "orders") -> Array:
    """Moment orders λ, whole and >= 1, one dimension, at least one."""
    numbers = np.atleast_1d(whole_orders_of_any_shape(list(value) if isinstance(value, range) else value, name))
    if numbers.ndim != 1:
        raise ValueError(f"Expected {name} as a non-empty list, found shape {numbers.shape}.")
    return numbers


def all_but_one(unknown: str, given: Mapping[str, object], fewest_steps: int = 0) -> dict[str, float]:
    """The numbers that are `given` beside the unknown, which is left out, each checked for what its name means."""
    if given[unknown] is not None:
        raise ValueError(
            f"Expected {unknown}={given[unknown]!r} to be left out, because it is the unknown. Give the other three."
        )
    missing = [name for name, value in given.items() if value is None and name != unknown]
    if missing:
        raise ValueError(f"Expected {', '.join(missing)} to be given: only {unknown} may be left out.")
    return {
        name: float(whole(fewest_steps, steps=value)) if name == "steps" else number(**{name: value})
        for name, value in given.items()
        if name != unknown
    }


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"Expected {name}={value!r} to be one of {', '.join(allowed)}.")
    return str(value)


def scalar(name: str, numbers: Array) -> float:
    if numbers.ndim:
        raise ValueError(f"Expected {name} to be one number, found an array of shape {numbers.shape}. Give one value.")
    return float(numbers)


def number(**value: object) -> float:
    """One argument as one number, checked for what its name means: `number(delta=1e-5)`."""
    ((name, given),) = value.items()
    if type(given) is float and name not in MEANINGS and LEAST <= given < math.inf:
        return given  # a live run asks at every step
    (only,) = numbers(**value)
    return only


def numbers(**values: object) -> tuple[float, ...]:
    """Each argument as one number, checked for what its name means; what has no entry in MEANINGS is positive."""
    return tuple(
        scalar(name, MEANINGS[name](value) if name in MEANINGS else positive(name, value))
        for name, value in values.items()
    )


def whole(minimum: int, /, **value: object) -> int:
    """One argument as one whole number of at least `minimum`: `whole(1, steps=100)`."""
    ((name, given),) = value.items()
    if type(given) is int and minimum <= given <= 2**53:
        return given  # a live run asks at every step
    return int(scalar(name, steps(given, name, minimum)))


# What numbers are that need not be just positive, by the arguments' names.
MEANINGS: dict[str, Callable[[object], Array]] = {
    "sample_rate": sample_rate,
    **{name: partial(open_probability, name) for name in ("delta", "delta_mu", "prior", "fpr", "confidence", "chance")},
    **{name: partial(probability, name) for name in ("share", "quantile")},
    **{name: partial(non_negative, name) for name in ("epsilon", "target_epsilon", "epsilon_mu", "exponent")},
    "gradient_variance": partial(non_negative, "gradient_variance"),
}


def distances(value: object, name: str = "distances") -> Array:
    """Gradient distances or norms: one dimension, at least 2, finite, >= 0."""
    array = _checked(name, value, ">= 0 and finite", lambda x: (x >= 0) & np.isfinite(x))
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"Expected {name} as a list of at least 2 numbers, found shape {array.shape}.")
    return array


def estimator_failure(value: object) -> float:
    """γ: the estimate may be too low with this probability; above ½ the margin would turn negative."""
    wanted = f"in [{LEAST:.3g}, 0.5]"
    return scalar(
        "estimator_failure", _checked("estimator_failure", value, wanted, lambda x: (x >= LEAST) & (x <= 0.5))
    )


def delta_beyond_failure(delta_mu: object, failure: float, estimates: float) -> Array:
    """δ_μ as an array, checked to exceed Γ = estimator_failure · estimates: what Γ takes is no longer there for ε."""
    numbers = delta(delta_mu, "delta_mu")
    total = failure * estimates
    if (numbers <= total).any():
        raise ValueError(
            f"Expected delta_mu={float(numbers.min()):.12g} > {total:.12g}, the probability that an estimate "
            f"is too low (estimator_failure={failure:.12g} × estimates={estimates:.12g}): raise delta_mu or "
            "lower estimator_failure."
        )
    return numbers


def epsilon_or_infinite(value: object, name: str = "epsilon") -> Array:
    """ε that may be inf: an accountant's answer where it proves nothing."""
    return _checked(name, value, ">= 0", lambda x: x >= 0)


def whole_orders_of_any_shape(value: object, name: str = "orders") -> Array:
    """Moment orders λ, whole and >= 1, at least one, in whatever shape the caller wants to broadcast."""
    array = _checked(
        name,
        value,
        f"to be a whole number from 1 to {LARGEST_WHOLE_ORDER}",
        lambda x: (x >= 1) & (x == np.floor(x)) & (x <= LARGEST_WHOLE_ORDER),
    )
    if array.size == 0:
        raise ValueError(f"Expected {name} as a non-empty list, found shape {array.shape}.")
    return array


def losses(value: object, name: str = "losses") -> Array:
    """Losses of examples: one dimension, inf allowed, NaN refused."""
    array = _numbers(name, value, "a list of losses")
    if array.ndim != 1:
        raise ValueError(f"Expected {name} as a list of numbers, found shape {array.shape}.")
    return array
