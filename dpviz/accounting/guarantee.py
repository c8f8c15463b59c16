"""Numbers that a guarantee card states of a plan: ε at δ, the privacy profile, μ of Gaussian DP, attack accuracy.

>>> from dpviz.mechanisms import SampledGaussian
>>> losses = losses_of(((SampledGaussian(1.1, 256 / 60_000), 14_062),), 1e-5)
>>> f"{losses.epsilon:.3f}", len(losses.profile)
('2.385', 33)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpviz._remember import remembered
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.attack.trade_off import gaussian_mu
from dpviz.accounting.card import Card
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pld.bounds import FALLBACK, tight_epsilon_of_events
from dpviz.accounting.pld.grid import beyond_grids
from dpviz.accounting.tuning import Law, Search, tuned_epsilon
from dpviz.mechanisms import Event, Mechanism, SampledGaussian

PROFILE = tuple(10.0 ** (-quarter / 4) for quarter in range(8, 41))  # δ of the points of a profile, beside its own
# As accounted → as run, what shows no more (`mechanisms.shuffled`).
COVERED = {"partition": ("cyclic", "secret", "shuffled")}


@dataclass(frozen=True, kw_only=True)
class Losses:
    """The numbers of the privacy loss; None for what is not known.

    Attributes:
        epsilon: ε at δ, an upper bound; inf where there is no finite one.
        delta: δ.
        epsilon_lower: what the true ε is not below.
        epsilon_published: what its publisher states.
        rho: ρ of zero-concentrated DP.
        mu, mu_regret: of Gaussian DP (`gaussian_mu`).
        attack_accuracy: how often the best guess of membership can be right, at even odds.
        profile: points (ε, δ) of the privacy curve, ε an upper bound and rising.
        why: why there is no ε.

    Raises:
        ValueError: for a number below 0.
    """

    epsilon: float | None = None
    delta: float | None = None
    epsilon_lower: float | None = None
    epsilon_published: float | None = None
    rho: float | None = None
    mu: float | None = None
    mu_regret: float | None = None
    attack_accuracy: float | None = None
    profile: tuple[tuple[float, float], ...] = ()
    why: str = ""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float) and not value >= 0.0:
                raise ValueError(f"Expected {name}={value} >= 0, or None where it is not known.")


def covers(accounted: str, run: str) -> bool:
    """Whether the account of one way to make batches holds for another, by their keys."""
    return run in (accounted, *COVERED.get(accounted, ()))


def below_one_over(size: int, delta: float) -> bool:
    """Whether δ is below 1/N, by more than rounding."""
    return delta * size < 1.0 - 1e-12


def prover(step: Mechanism, count: int, delta: float) -> tuple[Card, str]:
    """The card of the accountant whose bound ε is, and why where the numerical one has no grid: the Rényi bound's."""
    numerical = not Tight().supports(step)
    fallback = numerical and beyond_grids(step) and tight_epsilon_of_events(((step, count),), delta).reason == FALLBACK
    card = (Tight() if numerical and not fallback else Renyi()).card
    return card, FALLBACK * fallback


@remembered
def losses_of(events: tuple[Event, ...], delta: float, runs: float = 1.0, law: Law = "geometric") -> Losses:
    """The numbers of a plan: equal steps [(mechanism, count), …] together, by the tight accountant where it knows all.

    Args:
        events: what is released.
        delta: δ in (0, 1).
        runs, law: of the search of which the best run is released; above 1 for one kind of step alone.
    """
    tight = not any(Tight().supports(mechanism) for mechanism, _ in events)
    if runs != 1.0:
        ((mechanism, steps),) = events
        search: Search = {"runs": runs, "law": law}
        curve = _profile(lambda d: tuned_epsilon(mechanism=mechanism, steps=steps, delta=d, **search), delta)
    elif tight:
        curve = _profile(lambda d: tight_epsilon_of_events(events, d).upper, delta)
    else:
        curve = _profile(lambda d: Renyi().of_events(events, d).epsilon, delta)
    losses = Losses(delta=delta, **curve)
    if runs != 1.0 or not tight:
        return losses
    losses = replace(losses, epsilon_lower=float(tight_epsilon_of_events(events, delta).lower))
    if len(events) > 1:
        return losses
    ((mechanism, steps),) = events
    mu, regret = gaussian_mu(mechanism=mechanism, steps=steps, delta=delta)
    return replace(
        losses, mu=mu, mu_regret=regret, attack_accuracy=best_accuracy(mechanism=mechanism, steps=steps).upper
    )


@remembered
def quick_losses(mechanism: Mechanism, steps: int, delta: float) -> Losses:
    """ε and profile alone, as `losses_of` has them for one run."""
    return Losses(delta=delta, **_profile(lambda d: tight_epsilon_of_events(((mechanism, steps),), d).upper, delta))


def losses_of_rho(rho: float, delta: float) -> Losses:
    """ε and profile of ρ-concentrated DP, R(α) ≤ ρα (Bun, Steinke 2016), which one Gaussian release has too."""
    equivalent = SampledGaussian((2.0 * rho) ** -0.5, 1.0)
    curve = _profile(lambda d: Renyi().epsilon_of(equivalent, steps=1, delta=d).epsilon, delta)
    return Losses(rho=rho, delta=delta, **curve)


def _profile(epsilon_at: Callable[[float], Any], delta: float) -> dict[str, Any]:
    """ε at δ, and the finite points of the profile."""
    pairs = [(float(epsilon_at(d)), d) for d in sorted({*PROFILE, delta}, reverse=True)]
    return {
        "epsilon": next(epsilon for epsilon, d in pairs if d == delta),
        "profile": tuple((epsilon, d) for epsilon, d in pairs if math.isfinite(epsilon)),
    }
