"""The main entry points of accounting: ε and δ by the name of a method."""

import itertools
from typing import Any, Literal, TypedDict, Unpack, overload

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz._other_names import says_right_names
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.adaptive.fully_adaptive import MixtureOdometer
from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.bayesian.accountant import CARD as BAYESIAN_CARD
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.composition import Basic, Strong
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.accounting.renyi.closed_form import ClosedForm
from dpviz.mechanisms import Mechanism, SampledGaussian, log_moments

# Every accountant there is: the facade, the contract that its tests keep, and pages read this list.
ACCOUNTANTS: tuple[type[Accountant], ...] = (
    *(Basic, Strong, Moments, Renyi, ClosedForm, Tight),
    *(OdometerAccountant, MixtureOdometer),
)

# Their names, for type checkers, those that stand for others at the end; a test compares the two lists.
Method = Literal["basic", "strong", "moments", "renyi", "closed_form", "tight", "odometer", "mixture", "rdp", "pld"]
_BY_NAME = {each.name: each for each in ACCOUNTANTS}
METHODS = tuple(_BY_NAME)
# Other names for them, which `method_name` alone resolves.
ALIASES = {alias: each.name for each in ACCOUNTANTS for alias in each.aliases}
# Those that a run reads after every step.
LIVE = tuple(each for each in ACCOUNTANTS if issubclass(each, AdditiveAccountant) and each.live)
# What they, and the numerical accountant, which reads a whole run, are called where runs are shown.
_READERS: tuple[type[Accountant], ...] = (*LIVE, Tight)
PROVERS = {each.name: each().short_label for each in _READERS}
FAMILIES = {each.name: each().family for each in ACCOUNTANTS}  # the colour of each with its default options
# What is read along a run: all but the odometer as if the end had been planned.
READINGS = PROVERS | {MixtureOdometer.name: "Whitehouse, any stop", BAYESIAN: BAYESIAN_CARD.name}


def method_name(method: object, among: tuple[str, ...] = METHODS) -> str:
    """The name in METHODS of what may be called otherwise ("pld", "rdp"); ValueError if it is not `among` these.

    >>> method_name("pld")
    'tight'
    """
    return _validate.choice("method", ALIASES.get(method, method) if isinstance(method, str) else method, among)


def accountant(method: str = Tight.name, **options: Any) -> Accountant:
    """The accountant called `method`, one of METHODS; an unknown option names those that exist.

    >>> accountant("renyi", conversion="classic").name
    'renyi'
    """
    chosen = _BY_NAME[method_name(method)]
    names = chosen.options
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise ValueError(
            f"Expected options of method {chosen.name!r} among {', '.join(names)}; found {', '.join(unknown)}."
        )
    fields = {names[key]: value for key, value in options.items()}
    if "order_values" in fields:
        fields["order_values"] = tuple(_validate.orders(fields["order_values"]).tolist())
    return chosen(**fields)


def check_knows(chosen: Accountant, mechanism: Mechanism) -> None:
    """Refuses a mechanism that the accountant does not know, and names the methods that do.

    Raises:
        ValueError: with the reason of `supports` and the way out.
    """
    if reason := chosen.supports(mechanism):
        others = [each.name for each in ACCOUNTANTS if not each().supports(mechanism)]
        way_out = f"Methods that know it: {', '.join(others)}." if others else "No method knows it."
        raise ValueError(
            f"Expected a mechanism that method={chosen.name!r} knows, found {mechanism.text}: {reason} {way_out}"
        )


def every_choice() -> list[tuple[str, dict[str, str]]]:
    """Each method with each combination of its closed choices, for whoever must look at all accountants.

    >>> [options for method, options in every_choice() if method == "strong"]
    [{'amplification': 'exact'}, {'amplification': 'linear'}]
    """
    return [
        (each.name, dict(zip(each.choices, values, strict=True)))
        for each in ACCOUNTANTS
        for values in itertools.product(*each.choices.values())
    ]


class Options(TypedDict, total=False):
    """What accountants can be asked beside a run: see `epsilon`."""

    orders: ArrayLike
    conversion: Literal["improved", "classic"]
    min_order: int
    max_order: int
    amplification: Literal["exact", "linear"]
    bound: Literal["upper", "lower"]
    variant: Literal["paper", "authors", "powers"]


class AnyStep(TypedDict, total=False):
    """One step in numbers, or a mechanism: see `one_mechanism`."""

    noise_multiplier: float | None
    sample_rate: float | None
    mechanism: Mechanism | None


class OneStep(Options, AnyStep):
    """The same with options."""


class ManySteps(Options, total=False):
    """The same for arrays."""

    noise_multiplier: ArrayLike | None
    sample_rate: ArrayLike | None
    mechanism: Mechanism | None


@overload
def epsilon(method: Method = ..., *, steps: float, delta: float, **step: Unpack[OneStep]) -> float: ...
@overload
def epsilon(
    method: Method = ..., *, steps: ArrayLike, delta: ArrayLike, **step: Unpack[ManySteps]
) -> float | Array: ...
@says_right_names()
def epsilon(
    method: str = Tight.name,
    *,
    noise_multiplier: ArrayLike | None = None,
    sample_rate: ArrayLike | None = None,
    steps: ArrayLike,
    delta: ArrayLike,
    mechanism: Mechanism | None = None,
    **options: Any,
) -> float | Array:
    """ε of `steps` equal steps, never too small unless an option says so.

    The steps are sampled Gaussian ones under add/remove adjacency, or those of `mechanism`.

    Args:
        method: "tight" (numerical: privacy loss distributions; also "pld"), "renyi" (also "rdp"), "moments",
            "closed_form", "strong", "basic"; for any stopping time "odometer", "mixture".
        noise_multiplier: σ > 0, noise standard deviation ÷ sensitivity.
        sample_rate: q in [0, 1], Poisson sampling.
        steps: T, whole, ≥ 0.
        delta: δ in (0, 1).
        mechanism: Laplace(scale=…), ReplaceOneGaussian(noise_multiplier=…), …, in place of σ and q, which it
            has itself. A method that does not know it says why, and which methods do.
        **options: orders=… and conversion="improved"|"classic" (renyi, closed_form), min_order=1 and
            max_order=32 (moments),
            amplification="exact"|"linear" (basic, strong; "linear" is not a valid bound),
            bound="upper"|"lower" (tight; "lower" is what the truth never falls below): `accountant(…).kind` tells;
            variant="paper"|"authors"|"powers" and orders=… (odometer; orders of mixture too).

    Returns:
        A float for numbers, an array for arrays (all broadcast); NaN where closed_form does not apply.

    >>> round(epsilon("moments", noise_multiplier=4, sample_rate=0.01, steps=10_000, delta=1e-5), 6)
    1.258575
    >>> from dpviz.mechanisms import Laplace
    >>> round(epsilon("renyi", mechanism=Laplace(scale=20.0, sample_rate=0.1), steps=1000, delta=1e-5), 4)
    0.6101
    """
    chosen = accountant(method, **options)
    _check_step(noise_multiplier, sample_rate, mechanism)
    if mechanism is not None:
        check_knows(chosen, mechanism)
        return _plain(chosen.epsilon_of(mechanism, steps=steps, delta=delta).epsilon)
    assert noise_multiplier is not None
    assert sample_rate is not None
    bound = chosen.evaluate(noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, delta=delta)
    return _plain(bound.epsilon)


@overload
def delta(method: Method = ..., *, steps: float, epsilon: float, **step: Unpack[OneStep]) -> float: ...
@overload
def delta(
    method: Method = ..., *, steps: ArrayLike, epsilon: ArrayLike, **step: Unpack[ManySteps]
) -> float | Array: ...
@says_right_names()
def delta(
    method: str = Tight.name,
    *,
    noise_multiplier: ArrayLike | None = None,
    sample_rate: ArrayLike | None = None,
    steps: ArrayLike,
    epsilon: ArrayLike,
    mechanism: Mechanism | None = None,
    **options: Any,
) -> float | Array:
    """δ at which `steps` equal steps are (ε, δ)-DP, never too small; arguments as in `epsilon`."""
    chosen = accountant(method, **options)
    _check_step(noise_multiplier, sample_rate, mechanism)
    if mechanism is not None:
        check_knows(chosen, mechanism)
        return _plain(chosen.delta_of(mechanism, steps=steps, epsilon=epsilon))
    assert noise_multiplier is not None
    assert sample_rate is not None
    return _plain(
        chosen.delta(noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, epsilon=epsilon)
    )


def _check_step(noise_multiplier: object, sample_rate: object, mechanism: Mechanism | None) -> None:
    """A step is σ and q, or a mechanism."""
    for name, value in (("noise_multiplier", noise_multiplier), ("sample_rate", sample_rate)):
        if mechanism is not None and value is not None:
            raise ValueError(f"Expected no {name}={value!r} with a mechanism, which has its own value. Leave it out.")
        if mechanism is None and value is None:
            raise ValueError(f"Expected {name} to be given. Give noise_multiplier and sample_rate, or a mechanism.")


def one_mechanism(
    noise_multiplier: Any = None, sample_rate: Any = None, mechanism: Mechanism | None = None
) -> Mechanism:
    """`mechanism`, or the sampled Gaussian one with this noise and rate; ValueError for both and for neither."""
    _check_step(noise_multiplier, sample_rate, mechanism)
    return mechanism or SampledGaussian(noise_multiplier, sample_rate)


@overload
def renyi_divergence(*, noise_multiplier: float, sample_rate: float, orders: float) -> float: ...
@overload
def renyi_divergence(*, noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> float | Array: ...
def renyi_divergence(*, noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> float | Array:
    """R(α) of one sampled Gaussian step, exact to 1e-11, for any real orders > 1; arguments broadcast."""
    return _plain(log_moments.renyi_divergence(noise_multiplier, sample_rate, orders))


def _plain(values: Array) -> float | Array:
    return float(values) if values.ndim == 0 else values
