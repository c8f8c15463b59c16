"""A bar for each bound, and the measured accuracy of a guess by loss: how close is an attack to the bound?"""

from html import escape

from dpviz.accounting.claims import DEMONSTRATION
from dpviz.charts import Mark, look
from dpviz.charts.rows import Allowed, AllowedPlot, reached
from dpviz.fields import numbers
from dpviz.gradients.leakage import Attack, Leakage
from dpviz.questions import Answer, Question
from dpviz.questions.leakage.facts import LeakageFacts, filed, measured, table_rows
from dpviz.questions.leakage.fields import NETWORK, controls
from dpviz.questions.leakage.shared import leakage_words
from dpviz.questions.networks import Limit
from dpviz.questions.source import Source
from dpviz.training.covered import NOT_COVERED


def membership(*, network: Source[Leakage]) -> Answer[LeakageFacts]:
    """A bar for each bound, and the attack across them once it was measured."""
    facts = measured(network)
    claimed, claim = facts.network.claimed, facts.network.claim
    why = "it was trained without noise" if claim is None else claim.reason
    none = Allowed("nothing claimed", 1.0, "no bound", f"There is no bound on attacks: {escape(why)}.", look.GREY)
    attacks: tuple[Mark, ...] = ()
    was = "not measured yet"
    if facts.attack is not None:
        attacks = (reached("measured", facts.attack.accuracy, facts.attack.low, facts.attack.high, look.BROWN),)
        was = f"measured {numbers.probability(facts.attack.accuracy)}"
    bound = "no bound" if claimed is None else f"at most {numbers.chance_up(claimed.success)} allowed"
    plot = AllowedPlot(
        bounds=tuple(bar(one) for one in facts.network.bounds) or (none,),
        reached=attacks,
        x_title=f"right guesses of who was in the training data (measured: {NOT_COVERED})",
        alt=f"Accuracy of membership guesses: {was}, {bound}, 50 % is guessing.",
        subject=escape(facts.network.title),
        rows=table_rows(facts),
        numbers=filed(facts),
    )
    return Answer(plot, facts)


def bar(bound: Limit) -> Allowed:
    """What it allows, rounded up."""
    success, epsilon = numbers.chance_up(bound.success), numbers.up(bound.epsilon)
    note = f"for data like these, {NOT_COVERED}" if bound.typical else ""
    exchanged = f"one example exchanged; {numbers.chance_up(bound.added)} if added"
    promise = f"{exchanged}<br>ε = {epsilon} at {'δ_μ' if bound.typical else 'δ'} = {numbers.delta(bound.delta)}"
    return Allowed(
        name=bound.name,
        success=bound.success,
        text=f"≤ {success} · ε = {epsilon}",
        hover=f"{bound.name}: at most <b>{success}</b><br>{promise}{'<br>' if note else ''}{note}",
        color=look.style(bound.family).color,
        note=note,
    )


def result(f: LeakageFacts, attack: Attack) -> str:
    """How often the guess is right, and how often any could be."""
    right = f"A guess by loss is right <b>{numbers.probability(attack.accuracy)}</b> of the time"
    bound, claim = f.network.claimed, f.network.claim
    if bound is None:
        return f"{right}; no ε limits better attacks{f', because {escape(claim.reason)}' if claim else ''}."
    most = f"right more than <b>{numbers.chance_up(bound.success)}</b> of the time (ε ≤ {numbers.up(bound.epsilon)})."
    if f.network.demonstration:
        return f"{right}. <b>{DEMONSTRATION}</b>, so no bound holds; with secret noise, no guess could be {most}"
    return f"{right}; no guess can be {most}"


MEMBERSHIP = Question(
    "membership",
    "How close is an attack to the bound?",
    membership,
    leakage_words(result),
    asks="attack",
    settings={"network": NETWORK},
    layout=lambda get: {"Network": controls(get)},
    option="attack",
)
