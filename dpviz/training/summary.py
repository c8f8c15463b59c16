"""A run's last numbers: what was charged, what it comes to, and which of it may be claimed."""

from __future__ import annotations

import math
from typing import Any

from dpviz.accounting.tight import tight_epsilon_of_runs
from dpviz.training.accounting import LiveAccounts, adaptive, encoded_runs
from dpviz.training.settings import RunSettings

# The tight reference composes every different mechanism on its own: some milliseconds each.
_MOST_DIFFERENT = 64

PLANNED = "Everything was planned ahead: each ε holds, and the smallest may be claimed."


def closing(
    settings: RunSettings,
    accounts: LiveAccounts | None,
    *,
    state: str,
    reason: str,
    steps: int,
    seconds: float,
) -> dict[str, Any]:
    """The accounting part of the summary (see `events`)."""
    epsilon: dict[str, float] = {}
    tail = None if accounts is None or accounts.bayesian is None else accounts.bayesian.tail_share()
    mechanisms: list[list[float]] = []
    if accounts is not None:
        epsilon, mechanisms = accounts.epsilons(), encoded_runs(accounts.runs)
        if accounts.runs and len(set(accounts.runs)) <= _MOST_DIFFERENT:
            epsilon["tight"] = float(tight_epsilon_of_runs(accounts.runs, settings.delta).upper)
    return {
        "state": state,
        "reason": reason,
        "steps": steps,
        "seconds": seconds,
        "mechanisms": mechanisms,
        "epsilon": epsilon,
        "holds": _holds(settings, reason) + _unseen(accounts, tail),
        "tail_share": tail,
    }


def _holds(settings: RunSettings, reason: str) -> str:
    """Which number may be claimed: mechanisms or an end that depend on what was seen need an adaptive bound."""
    if not settings.private:
        return "Nothing is claimed: this training was not private."
    if reason == "plan" and not adaptive(settings) and settings.past_plan == "stop":
        return PLANNED
    if settings.policy == "fixed" and settings.past_plan == "replan":
        most = settings.last_step
        budget = "" if settings.filter_epsilon is None else f"the filter's budget ε = {settings.filter_epsilon:.6g}, "
        return (
            f"It re-planned by itself, up to {most} steps that were set ahead: {budget}what all {most} would cost, and "
            "the odometer's ε hold; the others read the run as if its end had been planned."
        )
    if settings.filter_epsilon is not None:
        return (
            f"Steps or the end depended on what was seen: the filter's budget ε = {settings.filter_epsilon:.6g} holds, "
            "and the odometer's ε; the others read the run as if it had been planned."
        )
    if not adaptive(settings) and settings.past_plan == "stop":
        return (
            f"The end depended on what was seen: the odometer's ε holds, or what all {settings.steps} planned steps "
            "would have cost; the others read the run as if its end had been planned."
        )
    return (
        "Steps or the end depended on what was seen: the odometer's ε holds; the others read the run as if it had been "
        "planned."
    )


def _unseen(accounts: LiveAccounts | None, share: float | None) -> str:
    """What must be said where the Bayesian bound stands mostly for distances nobody saw (`tail_share`)."""
    if accounts is None or accounts.bayesian is None or share is None or share <= 0.5:
        return ""
    half = accounts.bayesian.worst_epsilon() / 2.0
    times = accounts.bayesian.times_needed(half)
    if times <= 1.0:
        return ""
    more = (
        f"some {times:.2g} times as many distances would halve it"
        if math.isfinite(times)
        else "no number of distances like these would halve it"
    )
    return (
        f" The Bayesian ε is a bound that holds at γ, and {share:.0%} of its mean stands for large distances that "
        f"those measured cannot exclude: it stays near what the largest distance throughout costs, ε = {2 * half:.3g}; "
        f"{more}."
    )
