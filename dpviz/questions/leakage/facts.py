"""A network's gradient distances and losses, what they say, and what both plots hold beside their charts.

Distances between gradients of training and of test examples are those of Triastcyn & Faltings 2020, Fig. 2; the attack
by a threshold of the loss is that of Yeom et al. 2018.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts import Numbers
from dpviz.fields import numbers
from dpviz.gradients.leakage import Attack, Comparison, Leakage, compare_distances, threshold_attack
from dpviz.questions.networks import Limit, Network, StandIn
from dpviz.questions.source import NoSample, Source, origin
from dpviz.training.covered import NOT_COVERED

LEVEL = 0.05  # of the tests
Row = tuple[str, str, str]


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

    @property
    def told_apart(self) -> bool:
        """Whether a test tells training from test examples."""
        both = self.comparison
        return both is not None and (both.welch_p < LEVEL or both.levene_p < LEVEL)

    @property
    def stands_in(self) -> bool:
        """Whether the network is here only because there is no run."""
        return isinstance(self.network, StandIn)

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


def table_rows(f: LeakageFacts) -> tuple[Row, ...]:
    """The table: the attack, the distances and their tests, the bounds."""
    rows: list[Row] = []
    if f.sample is not None and f.attack is not None:
        rows += attack_rows(f.attack, f.sample)
    if f.comparison is not None:
        rows += distance_rows(f.comparison)
    return *rows, *map(bound_row, f.network.bounds)


def attack_rows(attack: Attack, sample: Leakage) -> Iterator[Row]:
    """How often its guesses are right, and the network's predictions."""
    accuracy = numbers.probability(attack.accuracy)
    yield f"attack by loss, right guesses, {NOT_COVERED}", accuracy, attack_interval(attack)
    yield f"right predictions, train, {NOT_COVERED}", numbers.probability(sample.train_accuracy), ""
    yield "right predictions, test", numbers.probability(sample.test_accuracy), ""


def attack_interval(attack: Attack) -> str:
    """Where its accuracy lies: "48.1 % to 56.9 %"."""
    return f"{numbers.probability(attack.low)} to {numbers.probability(attack.high)}"


def distance_rows(both: Comparison) -> Iterator[Row]:
    """Means and both tests."""
    interval = f"{numbers.epsilon(both.low)} to {numbers.epsilon(both.high)}"
    welch, levene = numbers.epsilon(both.welch_t), numbers.epsilon(both.levene_w)
    yield f"mean distance, train, {NOT_COVERED}", numbers.epsilon(both.train_mean, digits=4), ""
    yield "mean distance, test", numbers.epsilon(both.test_mean, digits=4), ""
    yield f"difference of means, {NOT_COVERED}", numbers.epsilon(both.difference), interval
    yield f"equal means (Welch), {NOT_COVERED}", f"p {numbers.p_value(both.welch_p)}", f"t = {welch}"
    yield f"equal variances (Levene), {NOT_COVERED}", f"p {numbers.p_value(both.levene_p)}", f"W = {levene}"


def bound_row(bound: Limit) -> Row:
    """What it allows, rounded up."""
    name = f"bound, {bound.name}, {NOT_COVERED}" if bound.typical else f"bound, {bound.name}"
    promise = f"ε = {numbers.up(bound.epsilon, 4)} at {numbers.delta(bound.delta)}"
    return name, numbers.chance_up(bound.success), f"{promise}; if added {numbers.chance_up(bound.added)}"


def filed(f: LeakageFacts) -> dict[str, Numbers]:
    """The file: distances, losses, the attack and its interval, bounds."""
    built: dict[str, Numbers] = {}
    if f.sample is not None and f.attack is not None:
        built = {
            f"train_distance [{NOT_COVERED}]": f.sample.train_distances,
            "test_distance": f.sample.test_distances,
            f"train_loss [{NOT_COVERED}]": f.sample.train_losses,
            "test_loss": f.sample.test_losses,
            f"attack_accuracy [{NOT_COVERED}]": [f.attack.accuracy],
            f"attack_low [{NOT_COVERED}]": [f.attack.low],
            f"attack_high [{NOT_COVERED}]": [f.attack.high],
        }
    marks = {bayesian.NAME: f" [{NOT_COVERED}]"}
    return built | {f"bound_{bound.key}{marks.get(bound.key, '')}": [bound.success] for bound in f.network.bounds}
