"""What makes either question, with what it offers below its chart: what to do with the answer, accountants' cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dpviz.accounting.pld.accountant import Tight
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.cards import cards
from dpviz.questions.layout import Layout
from dpviz.questions.noise import words
from dpviz.questions.noise.fields import SHARED
from dpviz.questions.noise.needs import ACCURACY, Needs
from dpviz.questions.presets import Preset
from dpviz.questions.question import Block, Question, Setting
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
    return cards((*a.given["methods"], Tight.name), a.given["amplification"])


def about(
    key: str,
    title: str,
    answer: Callable[..., Answer[Needs]],
    own: Mapping[str, Setting],
    presets: tuple[Preset, ...],
    slow: Slow[Needs],
    layout: Layout,
    *,
    option: str = "",
    more: Mapping[str, Callable[[Answer[Needs]], Sequence[Block]]] = MappingProxyType({}),
) -> Question[Needs]:
    """A question about noise: its `own` settings follow those that both have."""
    return Question(
        key=key,
        option=option,
        title=title,
        settings={**SHARED, **own},
        answer=answer,
        headline=words.headline,
        metrics=words.metrics,
        notes=words.notes,
        formulas=words.formulas,
        assumptions=words.ASSUMPTIONS,
        presets=presets,
        slow=(ACCURACY, slow),
        layout=layout,
        more={**more, "Use it": use, "Accountants": accountants},
    )
