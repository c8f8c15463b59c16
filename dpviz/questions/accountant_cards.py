"""The cards of accountants, as a detail of a page: each name opens what it is and whom to cite."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from dpviz.accounting.adaptive import filter, rogers
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.card import Card
from dpviz.accounting.methods import OdometerAccountant
from dpviz.charts import LinePlot, Plot
from dpviz.questions.answer import Folded
from dpviz.questions.methods import NAMES, method
from dpviz.questions.question import Block

# Cards of what the library has no accountant for: a sample decides, or what was seen does.
_OTHERS = {bayesian.NAME: bayesian.CARD, filter.NAME: filter.CARD, "rogers": rogers.CARD}


def card_of(key: str, amplification: str) -> Card:
    """The card behind a curve's key; "odometer_authors" is the odometer of the authors' plots."""
    if key in _OTHERS:
        return _OTHERS[key]
    if key.startswith(OdometerAccountant.name):
        return OdometerAccountant(key.partition("_")[2] or "paper").card
    return method(key, amplification).card


def cards(curves: Iterable[str], amplification: str = "exact", names: Mapping[str, str] = NAMES) -> list[Block]:
    """One for each curve, in their order; `names` is what the page calls them, where that is not the card's own name.

    What has several names has them on one card.
    """
    by_card: dict[Card, list[str]] = {}
    for key in curves:
        card = card_of(key, amplification)
        by_card.setdefault(card, []).append(names.get(key, card.name))
    return [folded(", ".join(dict.fromkeys(called)), card) for card, called in by_card.items()]


def with_abouts(plot: Plot) -> Plot:
    """The plot with what its accountants' curves and bands are, where it does not say so itself."""
    if not isinstance(plot, LinePlot):
        return plot
    lines = tuple(one if one.about else replace(one, about=_about(one.key)) for one in plot.lines)
    bands = tuple(one if one.about else replace(one, about=_about(one.family)) for one in plot.bands)
    return replace(plot, lines=lines, bands=bands)


@lru_cache(maxsize=64)
def _about(key: str) -> str:
    """The accountant's own words; empty for what is none."""
    try:
        return card_of(key.partition(".")[0], "exact").about
    except (KeyError, ValueError):
        return ""


def folded(name: str, card: Card) -> Folded:
    """A card as its name shows it."""
    text = f"{card.about}\n\n**What its number is:** {card.kind}\n\n**Cite it** {_lowered(card.cite)}\n\n{card.cited}"
    return Folded(name, text, "\n\n".join(card.bibtex), "bibtex")


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]
