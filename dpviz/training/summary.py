"""A run's first and last numbers: what is planned, what was charged, how the accountants read it, and the one claim."""

import math
from collections.abc import Mapping
from typing import Any

from dpviz.accounting.methods import MixtureOdometer, Tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.training.accounts.claims import MOST_DIFFERENT, claim_at, planned_claim
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.accounts.origins import spent_before
from dpviz.training.accounts.stepwise import encoded_events
from dpviz.training.plan import planned_events
from dpviz.training.settings import RunSettings


def below_majority(accuracy: float | None, majority: float | None) -> str:
    """That a share of right answers on test data is at most the most frequent class's; empty where it is not, or where
    one of the two (a share, None or NaN) is not known.
    """
    if accuracy is None or majority is None or not accuracy <= majority:
        return ""
    return (
        f"Right on {100 * accuracy:.1f} % of the test examples, which is no more than always answering with their most "
        f"frequent class ({100 * majority:.1f} %)."
    )


def accuracy_of(summary: Mapping[str, Any]) -> float | None:
    """The share of right answers on test data: of averaged predictions where there are any."""
    posterior = summary.get("posterior_accuracy")
    accuracy: float | None = summary.get("test_accuracy") if posterior is None else posterior
    return accuracy


def opening(settings: RunSettings, examples: int) -> dict[str, Any]:
    """The part of "started" that follows from settings and the number of examples (see `events`)."""
    return {
        "sample_rate": settings.sample_rate(examples),
        "plan": {"steps": settings.steps, "mechanisms": encoded_events(planned_events(settings, examples))},
        "claim": planned_claim(settings, examples).to_json(),
    }


def closing(
    settings: RunSettings,
    accounts: LiveAccounts | None,
    *,
    examples: int,
    state: str,
    reason: str,
    steps: int,
    seconds: float,
) -> dict[str, Any]:
    """The accounting part of the summary (see `events`)."""
    epsilon: dict[str, float] = {}
    tail = None if accounts is None or accounts.bayesian is None else accounts.bayesian.tail_share()
    mechanisms: list[list[float]] = []
    charged = None if accounts is None else accounts.events
    if accounts is not None:
        epsilon, mechanisms = accounts.epsilons(), encoded_events(accounts.events)
        everything = (*spent_before(settings), *accounts.events)
        if everything and len(set(everything)) <= MOST_DIFFERENT:
            epsilon[Tight.name] = float(tight_epsilon_of_events(everything, settings.delta).upper)
    odometer = epsilon.get(MixtureOdometer.name, math.inf if charged else 0.0)
    claim = claim_at(settings, examples, charged=charged, odometer=odometer, step=steps, reason=reason)
    return {
        "state": state,
        "reason": reason,
        "steps": steps,
        "seconds": seconds,
        "mechanisms": mechanisms,
        "epsilon": epsilon,
        "claim": claim.to_json(),
        "tail_share": tail,
        "bayesian_text": "" if accounts is None else accounts.bayesian_text(),
    }
