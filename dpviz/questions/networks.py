"""Trained networks as values: whose they are and what bounds an attack on them; what they give away is measured."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.attack.membership import attack_success
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.claims import SHORT, Claim
from dpviz.accounting.methods import FAMILIES, Basic
from dpviz.experiments.record import recorded
from dpviz.gradients.leakage import Leakage
from dpviz.questions.source import Measurable
from dpviz.training import models
from dpviz.training.accounts.origins import conditions_of_start
from dpviz.training.settings import RunSettings


@dataclass(frozen=True)
class Limit:
    """What limits an attack on a run.

    Attributes:
        key: "claim": for every example; "bayesian": for examples drawn like the data.
        name, family: what it is called here, and whose colour it has.
        epsilon, delta: the promise, for one example added or removed; ε may be inf.
        added: the highest accuracy of any guess whether one example was added.
    """

    key: str
    name: str
    family: str
    epsilon: float
    delta: float
    added: float

    @property
    def typical(self) -> bool:
        """Whether it holds for examples drawn like the data alone."""
        return self.key == bayesian.NAME

    @property
    def pair(self) -> float:
        """What ε and δ alone allow; `added` may be less where the whole privacy curve is known."""
        return float(attack_success(self.epsilon, delta=self.delta))

    @property
    def success(self) -> float:
        """The highest accuracy of any guess that tells members from others.

        That is an exchange of one example for another: one removed and one added. As a group of two it has 2ε and
        δ(1 + e^ε); by the triangle inequality its total variation is at most twice that of one added example, so that
        the accuracy exceeds ½ by at most twice as much.
        """
        slack = self.delta * (1.0 + math.exp(min(self.epsilon, 700.0)))
        group = float(attack_success(2.0 * self.epsilon, delta=min(slack, 1.0)))
        return min(group, 2.0 * self.added - 0.5, 1.0)


class Network(Measurable[Leakage]):
    """A trained network.

    Attributes:
        title: what the page calls it.
        examples: how many training and how many test examples are looked at, even.
        seed: decides which, how they are paired, and which half chooses the attack's threshold.
        claim: what may be said of a run's ε; None for a network without noise.
        bayesian: ε_μ and δ_μ of a run, None where it has none.
        started: what must be true of the parameters that it started from for its claim, in words.
    """

    title: str
    examples: int
    seed: int
    claim: Claim | None = None
    bayesian: tuple[float, float] | None = None
    started: tuple[str, ...] = ()

    @property
    def demonstration(self) -> bool:
        """Whether its noise can be replayed: bounds are those of the same run with secret noise then."""
        return self.claim is not None and self.claim.demonstration

    @property
    def claimed(self) -> Limit | None:
        """The claim as a bound on attacks; None where nothing is claimed."""
        if self.claim is None or not self.claim.shown.holds:
            return None
        claim = self.claim.shown
        name = f"{claim.name}, {SHORT[claim.covers]}" + ", with secret noise" * self.demonstration
        family = FAMILIES.get(claim.accountant or Basic.name, claim.accountant)
        return Limit("claim", name, family, claim.epsilon, claim.delta, claim.guess)

    @property
    def bounds(self) -> tuple[Limit, ...]:
        """What is drawn: the claim, and Bayesian DP, which promises less."""
        limits = [] if self.claimed is None else [self.claimed]
        if self.bayesian is not None:
            epsilon, delta = self.bayesian
            success = float(attack_success(epsilon, delta=delta))
            limits.append(Limit(bayesian.NAME, bayesian.CARD.name, bayesian.NAME, epsilon, delta, success))
        return tuple(limits)


@dataclass(frozen=True)
class SmallNetwork(Network):
    """Trained when it is asked for, on the shipped digits, plainly: no clipping, no noise, no ε."""

    target = "dpviz.training.leakage:leakage_of_small_network"
    model: str
    training_step: int
    examples: int
    seed: int

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"{models.SMALL[self.model].title}, {self.training_step} plain steps"

    @property
    def measured(self) -> Hashable:
        return tuple(self.arguments.values())

    @property
    def recorded(self) -> Leakage | None:
        return _recorded_leakage(self.model, self.training_step, self.examples, self.seed)


@remembered
def _recorded_leakage(model: str, training_step: int, examples: int, seed: int) -> Leakage | None:
    """What the record `leakage` has of such a network; None where it has another alone."""
    asked = {"model": model, "training_step": training_step, "examples": examples}
    if (result := recorded("leakage").result(asked, seed)) is None:
        return None
    arrays = {name: np.array(value) for name, value in result.items() if isinstance(value, list)}
    for array in arrays.values():
        array.setflags(write=False)
    return Leakage(**(dict(result) | arrays))


class StandIn(SmallNetwork):
    """It is here only because there is no run."""


@dataclass(frozen=True, eq=False)
class RunNetwork(Network):
    """What a recorded run left behind.

    Attributes:
        run, attempt: of the store.
        settings: the run's, as its record holds them.
        weights: the file with its parameters.
    """

    target = "dpviz.training.leakage:leakage_of_run"
    title: str
    run: str
    attempt: int
    settings: Mapping[str, Any]
    weights: str
    examples: int
    seed: int
    claim: Claim | None = None
    bayesian: tuple[float, float] | None = None

    @property
    def started(self) -> tuple[str, ...]:  # type: ignore[override]
        try:
            return conditions_of_start(RunSettings.from_json(dict(self.settings)))
        except (ValueError, TypeError):  # of another version: such a run claims nothing
            return ()

    @property
    def measured(self) -> Hashable:
        return self.run, self.attempt, self.examples, self.seed

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        return self.measured, self.title, self.claim, self.bayesian

    @property
    def arguments(self) -> dict[str, Any]:
        asked = {name: getattr(self, name) for name in ("settings", "examples", "seed")}
        return asked | {"weights": Path(self.weights)}
