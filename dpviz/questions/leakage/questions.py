"""Both questions about a trained network: its gradient distances, and a membership attack beside its bounds.

Distances between gradients of training and of test examples are those of Triastcyn & Faltings 2020, Fig. 2; the attack
by a threshold of the loss is that of Yeom et al. 2018.
"""

from __future__ import annotations

from html import escape

from dpviz.charts import look
from dpviz.charts.histogram import Histogram, OverlaidPlot
from dpviz.charts.labels import Mark
from dpviz.charts.rows import Allowed, AllowedPlot, reached
from dpviz.fields import numbers
from dpviz.gradients.leakage import Leakage
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Expert, experts
from dpviz.questions.leakage.facts import LeakageFacts, filed, measured, table
from dpviz.questions.leakage.fields import LOG_X, NETWORK, controls
from dpviz.questions.networks import Limit
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.source import Source
from dpviz.questions.words import words
from dpviz.training.events import NOT_COVERED


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
        subject=escape(facts.network.title),
        rows=table(facts),
        numbers=filed(facts),
    )
    return Answer(plot, facts)


def membership(*, network: Source[Leakage]) -> Answer[LeakageFacts]:
    """A bar for each bound, and the attack across them once it was measured."""
    facts = measured(network)
    claimed, claim = facts.network.claimed, facts.network.claim
    why = "it was trained without noise" if claim is None else claim.reason
    none = Allowed("nothing claimed", 1.0, "no bound", f"Nothing bounds an attack: {escape(why)}.", look.GREY)
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
        subject=escape(facts.network.title),
        rows=table(facts),
        numbers=filed(facts),
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


DISTANCES: Question[LeakageFacts] = Question(
    key="leakage",
    option="distances",
    settings={"network": NETWORK, "log_distance": LOG_X},
    answer=distances,
    **words("leakage", "distances"),
    presets=presets("bdp2", "leakuntrained", "leakheart"),
    layout=lambda get: {"Network": controls(get), "Show": (LOG_X, Expert(IMAGE))},
)
MEMBERSHIP: Question[LeakageFacts] = Question(
    key="membership",
    option="attack",
    settings={"network": NETWORK},
    answer=membership,
    **words("leakage", "membership"),
    layout=lambda get: {"Network": controls(get), "Show": experts(IMAGE)},
)
