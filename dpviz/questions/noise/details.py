"""What either question offers below its chart: what to do with the answer, and the accountants' cards."""

from __future__ import annotations

from dpviz.questions.answer import Answer
from dpviz.questions.cards import cards
from dpviz.questions.noise.needs import Needs
from dpviz.questions.question import Block
from dpviz.questions.use.blocks import use_it
from dpviz.questions.use.plan import Plan, solved


def use(a: Answer[Needs]) -> list[Block]:
    """What to set, the paragraph and the code, by DP's best answer."""
    return use_it(lambda: plan_of(a))


def plan_of(a: Answer[Needs]) -> Plan:
    """The plan with the best DP method's answer in it.

    Raises:
        ValueError: there is none; says why.
    """
    key = a.facts.best(bayesian=False)
    value = a.facts.needs[key].value if key else None
    if key is None or value is None:
        raise ValueError("No DP method that is switched on has an answer here: the notes say why.")
    return solved(dict(a.given), key, a.given["amplification"], a.facts.unknown, value, a.facts.target)


def accountants(a: Answer[Needs]) -> list[Block]:
    """The cards of the methods that are asked, and of the tight one."""
    return cards((*a.given["methods"], "tight"), a.given["amplification"])
