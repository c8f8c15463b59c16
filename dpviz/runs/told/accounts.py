"""Accountants of a run whose steps a program tells: what each reads, the budget, and the summary at its end."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dpviz.accounting.methods import LIVE, Renyi, Tight
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import Mechanism, merge_events
from dpviz.runs.told.claims import claim_at
from dpviz.runs.told.settings import ToldSettings
from dpviz.training.accounts.bayesian import BayesianAccount
from dpviz.training.accounts.stepwise import CEILING, MOST_DIFFERENT, StepAccounts, Trajectory, encoded_events


class ToldAccounts(StepAccounts):
    """What was spent after each told step.

    Args:
        told: The settings.
    """

    def __init__(self, terms: ToldSettings) -> None:
        self.terms = terms
        trajectories = {each.name: Trajectory(each(), terms.delta) for each in LIVE}
        account, ceiling = None, ""
        if terms.max_grad_norm is not None and terms.steps is not None:
            account = BayesianAccount(
                total_steps=terms.steps,
                delta_mu=terms.bayesian_delta,
                failure=terms.failure,
                max_grad_norm=terms.max_grad_norm,
                farthest=1.0,
            )
            ceiling = Renyi.name if terms.bayesian_delta == terms.delta else CEILING
            trajectories.setdefault(ceiling, Trajectory(Renyi(), terms.bayesian_delta))
        super().__init__(trajectories, bayesian=account, ceiling=ceiling, before=terms.charged_before)

    def check(self, mechanism: Mechanism) -> None:
        """Refuse a step that cannot follow those before it.

        Raises:
            ValueError: naming what differs, and the way out.
        """
        events = (*self.terms.charged_before, *self.events)
        if self.terms.by_epoch and events and events[0][0] != mechanism:
            raise ValueError(
                f"Expected every step of a shuffled run to be one of {events[0][0].text}, found {mechanism.text}: keep "
                "noise_multiplier and sample_rate as they are, or watch another run."
            )
        if self.bayesian is not None and self.taken >= self.bayesian.total_steps:
            raise ValueError(
                f"Expected at most steps={self.bayesian.total_steps:,}: its Bayesian costs hold for so many steps, "
                "fixed in advance. Watch with more steps, or without max_grad_norm."
            )

    def step(self, mechanism: Mechanism, distances: npt.ArrayLike | None) -> bool:
        self.check(mechanism)
        return super().step(mechanism, distances)

    def summary(self) -> dict[str, Any]:
        """What was charged, how the accountants read it, and the claim: the accounting part of the last event."""
        events, epsilon = self.events, self.epsilons()
        everything = merge_events((*self.terms.charged_before, *events))
        if everything and len(everything) <= MOST_DIFFERENT:
            epsilon[Tight.name] = float(tight_epsilon_of_events(everything, self.terms.delta).upper)
        return {
            "mechanisms": encoded_events(events),
            "epsilon": epsilon,
            "claim": claim_at(self.terms, events, self.taken).to_json(),
            "tail_share": None if self.bayesian is None else self.bayesian.tail_share(),
            "bayesian_text": "",
        }
