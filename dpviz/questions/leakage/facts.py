"""What was measured on one network, as both questions use it: in words, in a table, in a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts.marks import Numbers
from dpviz.gradients.leakage import CONFIDENCE, Attack, Comparison, Leakage, compare_distances, threshold_attack
from dpviz.questions.guessing import alone
from dpviz.questions.networks import Network, StandIn
from dpviz.questions.source import NoSample, Source, origin
from dpviz.questions.words import rows
from dpviz.training.events import NOT_COVERED

LEVEL = 0.05  # of the tests


@dataclass(frozen=True, eq=False)
class LeakageFacts:
    """A network, and what its distances and losses say.

    Attributes:
        network: whose they are, with its bounds.
        sample: None until it was measured.
        attack: as it was measured on the losses; None without a sample.
        comparison: of the distances; None where too few are finite.
        problem: why nothing can be measured; empty if nothing is wrong.
    """

    network: Network
    sample: Leakage | None = None
    attack: Attack | None = None
    comparison: Comparison | None = None
    problem: str = ""
    confidence = round(100 * CONFIDENCE)

    @property
    def told_apart(self) -> bool:
        """Whether a test tells training from test examples."""
        both = self.comparison
        return both is not None and (both.welch_p < LEVEL or both.levene_p < LEVEL)

    @property
    def stands_in(self) -> bool:
        return isinstance(self.network, StandIn)

    @property
    def alone(self) -> str:
        """What the claim's pair alone would allow; continues a sentence."""
        return alone(self.network.claim)

    @property
    def unmeasured(self) -> str:
        """Why a number is not there."""
        if self.attack is not None:
            return "too few finite gradients"
        return "not measured" if self.problem else "measuring …"


def measured(network: Source[Leakage]) -> LeakageFacts:
    """What is known at once, and the statistics if the network was measured."""
    of = origin(network)
    assert isinstance(of, Network)
    try:
        sample = network.sample()
    except NoSample as why:
        return LeakageFacts(of, problem="" if why.coming else str(why))
    attack = threshold_attack(sample.train_losses, sample.test_losses, random=np.random.default_rng(of.seed))
    train, test = sample.train_distances, sample.test_distances
    return LeakageFacts(of, sample, attack, compare_distances(train, test) if min(train.size, test.size) >= 3 else None)


def table(facts: LeakageFacts) -> tuple[tuple[str, str, str], ...]:
    """What was measured, then every bound: name, value, and how sure it is."""
    return tuple((row["name"], row["value"], row["more"]) for row in rows("leakage", "table", facts))


def filed(facts: LeakageFacts) -> dict[str, Numbers]:
    """The file: distances, losses, the attack and its interval, bounds."""
    built: dict[str, Numbers] = {}
    if facts.sample is not None and facts.attack is not None:
        built = {
            f"train_distance [{NOT_COVERED}]": facts.sample.train_distances,
            "test_distance": facts.sample.test_distances,
            f"train_loss [{NOT_COVERED}]": facts.sample.train_losses,
            "test_loss": facts.sample.test_losses,
            f"attack_accuracy [{NOT_COVERED}]": [facts.attack.accuracy],
            f"attack_low [{NOT_COVERED}]": [facts.attack.low],
            f"attack_high [{NOT_COVERED}]": [facts.attack.high],
        }
    marks = {bayesian.NAME: f" [{NOT_COVERED}]"}
    return built | {f"bound_{bound.key}{marks.get(bound.key, '')}": [bound.success] for bound in facts.network.bounds}
