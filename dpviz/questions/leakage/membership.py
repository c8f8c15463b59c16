"""The accuracy of a loss-threshold attack (Yeom et al. 2018), beside what bounds allow every attack."""

from __future__ import annotations

from html import escape

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts import look
from dpviz.charts.rows import Allowed, AllowedPlot, Reached
from dpviz.fields import numbers
from dpviz.gradients.leakage import Leakage
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.leakage.fields import NETWORK, controls
from dpviz.questions.leakage.found import Found, filed, found, rows
from dpviz.questions.leakage.words import ASSUMPTIONS, formulas, headline, metrics, notes
from dpviz.questions.networks import Limit
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.source import Source
from dpviz.training.events import NOT_COVERED


def membership(*, network: Source[Leakage]) -> Answer[Found]:
    """A bar for each bound, and the attack across them once it was measured."""
    f = found(network)
    claimed, claim = f.network.claimed, f.network.claim
    why = "it was trained without noise" if claim is None else claim.reason
    none = Allowed("nothing claimed", 1.0, "no bound", f"Nothing bounds an attack: {escape(why)}.", look.GREY)
    reached: tuple[Reached, ...] = ()
    was = "not measured yet"
    if f.attack is not None:
        reached = (Reached("measured", f.attack.accuracy, f.attack.low, f.attack.high, look.MAUVE),)
        was = f"measured {numbers.probability(f.attack.accuracy)}"
    bound = "no bound" if claimed is None else f"at most {numbers.probability(claimed.success, up=True)} allowed"
    plot = AllowedPlot(
        bounds=tuple(bar(one) for one in f.network.bounds) or (none,),
        reached=reached,
        x_title=f"right guesses of who was in the training data (measured: {NOT_COVERED})",
        alt=f"Accuracy of membership guesses: {was}, {bound}, 50 % is guessing.",
        subject=escape(f.network.title),
        rows=rows(f),
        numbers=filed(f),
    )
    return Answer(plot, f)


def bar(bound: Limit) -> Allowed:
    """What it allows, rounded up."""
    success, epsilon = numbers.probability(bound.success, up=True), numbers.epsilon(bound.epsilon, up=True)
    typical = bound.key == bayesian.NAME
    note = f"for data like these, {NOT_COVERED}" if typical else ""
    promise = f"ε = {epsilon} at {'δ_μ' if typical else 'δ'} = {numbers.delta(bound.delta)}"
    return Allowed(
        name=bound.name,
        success=bound.success,
        text=f"≤ {success} · ε = {epsilon}",
        hover=f"{bound.name}: at most <b>{success}</b><br>{promise}{'<br>' if note else ''}{note}",
        color=look.style(bound.family).color,
        note=note,
    )


def layout(get: Reader) -> Groups:
    return {"Network": controls(get), "Show": experts(IMAGE)}


MEMBERSHIP: Question[Found] = Question(
    key="membership",
    option="attack",
    title="Does an attack reach the bound?",
    settings={"network": NETWORK},
    answer=membership,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    layout=layout,
)
