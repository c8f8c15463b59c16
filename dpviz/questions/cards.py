"""The cards of accountants, as a detail of a page: each name opens what it is and whom to cite."""

from __future__ import annotations

from collections.abc import Iterable

from dpviz.accounting import bayesian
from dpviz.accounting.card import Card
from dpviz.accounting.methods import accountant
from dpviz.questions.answer import Folded
from dpviz.questions.methods import NAMES, method
from dpviz.questions.question import Block


def card_of(key: str, amplification: str) -> Card:
    """The card behind a curve's key."""
    if key == "bayesian":
        return bayesian.CARD
    return accountant("tight").card if key == "tight" else method(key, amplification).card


def cards(curves: Iterable[str], amplification: str) -> list[Block]:
    """One for each curve, in their order."""
    return [folded(NAMES.get(key, key), card_of(key, amplification)) for key in curves]


def folded(name: str, card: Card) -> Folded:
    """A card as its name shows it."""
    text = f"{card.about}\n\n**What its number is:** {card.kind}\n\n**Cite it** {_lowered(card.when)}\n\n{card.cited}"
    return Folded(name, text, "\n\n".join(card.bibtex), "bibtex")


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]
