"""A run's last numbers: what was charged, how the accountants read it, and the one claim that holds."""

from __future__ import annotations

from typing import Any

from dpviz.accounting.tight import tight_epsilon_of_runs
from dpviz.training.accounting import LiveAccounts, encoded_runs
from dpviz.training.claims import MOST_DIFFERENT, claim_at
from dpviz.training.settings import RunSettings


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
    charged = None if accounts is None else accounts.runs
    if accounts is not None:
        epsilon, mechanisms = accounts.epsilons(), encoded_runs(accounts.runs)
        if accounts.runs and len(set(accounts.runs)) <= MOST_DIFFERENT:
            epsilon["tight"] = float(tight_epsilon_of_runs(accounts.runs, settings.delta).upper)
    claim = claim_at(settings, examples, charged=charged, odometer=epsilon.get("odometer", 0.0), step=steps)
    return {
        "state": state,
        "reason": reason,
        "steps": steps,
        "seconds": seconds,
        "mechanisms": mechanisms,
        "epsilon": epsilon,
        "claim": claim.to_json(),
        "tail_share": tail,
    }
