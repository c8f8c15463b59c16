"""Both questions about a trained network: its gradient distances, and a membership attack beside its bounds.

Distances between gradients of training and of test examples are those of Triastcyn & Faltings 2020, Fig. 2; the attack
by a threshold of the loss is that of Yeom et al. 2018.
"""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts import Histogram, Mark, Numbers, OverlaidPlot, look
from dpviz.charts.rows import Allowed, AllowedPlot, reached
from dpviz.fields import numbers
from dpviz.gradients.leakage import CONFIDENCE, Attack, Comparison, Leakage, compare_distances, threshold_attack
from dpviz.questions import Answer, make_question, rows
from dpviz.questions.guessing import alone
from dpviz.questions.leakage.fields import LOG_X, NETWORK, controls
from dpviz.questions.networks import Limit, Network, StandIn
from dpviz.questions.source import NoSample, Source, origin
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


def common(facts: LeakageFacts) -> dict[str, Any]:
    """What both plots have: whose they are, a table of what was measured, and the file."""
    table = ((row["name"], row["value"], row["more"]) for row in rows("leakage", "table", facts))
    return {"subject": escape(facts.network.title), "rows": tuple(table), "numbers": filed(facts)}


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


def distances(*, network: Source[Leakage], log_distance: bool) -> Answer[LeakageFacts]:
    """Both histograms; an empty plot while they are measured."""
    facts = measured(network)
    samples: tuple[Histogram, ...] = ()
    empty = "nothing to draw" if facts.problem or facts.sample is not None else "measuring …"
    alt = f"Gradient distances: {empty}."
    if facts.sample is not None and (both := facts.comparison) is not None:
        samples = (
            Histogram("train", facts.sample.train_distances, look.BLUE),
            Histogram("test", facts.sample.test_distances, look.ORANGE),
        )
        alt = (
            f"Histograms of gradient distances: mean {numbers.epsilon(both.train_mean)} between training examples, "
            f"{numbers.epsilon(both.test_mean)} between test examples; p {numbers.p_value(both.welch_p)} for equal "
            f"means, {numbers.p_value(both.levene_p)} for equal variances."
        )
    plot = OverlaidPlot(
        samples=samples,
        x_title=f"distance of two examples' gradients ‖g − g′‖, share of pairs in each bin (train: {NOT_COVERED})",
        log_x=None if log_distance else False,
        empty=empty,
        alt=alt,
        **common(facts),
    )
    return Answer(plot, facts)


def membership(*, network: Source[Leakage]) -> Answer[LeakageFacts]:
    """A bar for each bound, and the attack across them once it was measured."""
    facts = measured(network)
    claimed, claim = facts.network.claimed, facts.network.claim
    why = "it was trained without noise" if claim is None else claim.reason
    none = Allowed("nothing claimed", 1.0, "no bound", f"There is no bound on attacks: {escape(why)}.", look.GREY)
    attacks: tuple[Mark, ...] = ()
    was = "not measured yet"
    if facts.attack is not None:
        attacks = (reached("measured", facts.attack.accuracy, facts.attack.low, facts.attack.high, look.MAUVE),)
        was = f"measured {numbers.probability(facts.attack.accuracy)}"
    bound = "no bound" if claimed is None else f"at most {numbers.probability(claimed.success, up=True)} allowed"
    plot = AllowedPlot(
        bounds=tuple(bar(one) for one in facts.network.bounds) or (none,),
        reached=attacks,
        x_title=f"right guesses of who was in the training data (measured: {NOT_COVERED})",
        alt=f"Accuracy of membership guesses: {was}, {bound}, 50 % is guessing.",
        **common(facts),
    )
    return Answer(plot, facts)


def bar(bound: Limit) -> Allowed:
    """What it allows, rounded up."""
    success, epsilon = numbers.probability(bound.success, up=True), numbers.epsilon(bound.epsilon, up=True)
    note = f"for data like these, {NOT_COVERED}" if bound.typical else ""
    promise = f"ε = {epsilon} at {'δ_μ' if bound.typical else 'δ'} = {numbers.delta(bound.delta)}"
    return Allowed(
        name=bound.name,
        success=bound.success,
        text=f"≤ {success} · ε = {epsilon}",
        hover=f"{bound.name}: at most <b>{success}</b><br>{promise}{'<br>' if note else ''}{note}",
        color=look.style(bound.family).color,
        note=note,
    )


DISTANCES = make_question(
    "leakage/distances",
    distances,
    lambda get: {"Network": controls(get), "Show": (LOG_X,)},
    {"network": NETWORK, "log_distance": LOG_X},
    key="leakage",
    option="distances",
    presets=("bdp2", "leakuntrained", "leakheart"),
)
MEMBERSHIP = make_question(
    "leakage/membership", membership, lambda get: {"Network": controls(get)}, {"network": NETWORK}, option="attack"
)
