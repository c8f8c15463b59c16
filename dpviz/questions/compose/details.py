"""What to do with the present setting, and the cards of the curves that are drawn."""

from __future__ import annotations

from dpviz.accounting.accountant import needs_sampled_gaussian
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import Answer
from dpviz.questions.cards import cards
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.question import Block
from dpviz.questions.use.blocks import use_it
from dpviz.questions.use.plan import Plan, checked


def use(a: Answer[ComposeFacts]) -> list[Block]:
    """What to set, the paragraph and the code, by the tightest valid bound that is drawn."""
    return use_it(lambda: plan_of(a))


def plan_of(a: Answer[ComposeFacts]) -> Plan:
    """The present setting.

    Raises:
        ValueError: there is none to train with; says why.
    """
    mechanism, key = a.given["mechanism"], a.facts.tightest()
    if not isinstance(mechanism, SampledGaussian):
        raise ValueError(f"Text and code are {needs_sampled_gaussian(mechanism)}")
    if key is None:
        raise ValueError("No accountant that is switched on bounds ε here: switch one on under Show, or add noise.")
    return checked(
        Plan(
            mechanism.noise_multiplier, mechanism.sample_rate, a.given["steps"], a.given["delta"], key,
            a.given["amplification"], moment=a.given["order"] or 0,
        )
    )  # fmt: skip


def accountants(a: Answer[ComposeFacts]) -> list[Block]:
    """A card for each curve that is switched on."""
    return cards(a.given["curves"], a.given["amplification"])
