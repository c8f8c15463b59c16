"""Write accountants.md, from their cards, and glossary.md to docs/use: ``python -m tools.cards [FOLDER]``."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dpviz.accounting.adaptive import filter, rogers
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.bound import Kind
from dpviz.accounting.card import KINDS, Card
from dpviz.accounting.methods import accountant, every_choice
from dpviz.questions.rendered import glossary

OPENING = (
    "# Accountants\n\nWhat each is, what its number is worth, and whom to cite for it. "
    "The BibTeX entries are in `dpviz/accounting/papers.bib`, and under *Use it* on each page."
)
TARGET = Path(__file__).resolve().parents[1] / "docs" / "use"


def page() -> str:
    """Markdown: a section for each accountant, with its choices; none for lower bounds, which nobody claims."""
    choices: dict[str, list[tuple[str, Card]]] = {}
    for name, options in every_choice():
        card = accountant(name, **options).card
        if not card.kind.startswith(KINDS[Kind.LOWER]):
            written = ", ".join(f'{key}="{value}"' for key, value in options.items())
            choices.setdefault(name, []).append((written, card))
    sections = [section(f'`method="{name}"`', cards) for name, cards in choices.items()]
    others = [section("", [("", card)]) for card in (bayesian.CARD, filter.CARD, rogers.CARD)]
    return "\n\n".join([OPENING, *sections, *others]) + "\n"


def section(method: str, cards: list[tuple[str, Card]]) -> str:
    """The first card whole; of the others what they say otherwise."""
    (_, card), *others = cards
    keys = ", ".join(f"`{entry[entry.index('{') + 1 : entry.index(',')]}`" for entry in card.bibtex)
    lines = [
        f"**What its number is:** {card.kind}",
        f"**When to cite it:** {card.cite}",
        f"**Papers:** {card.cited} ({keys})",
        *(f"**With `{written}`:** {' '.join((f'{other.name}.', *news(card, other)))}" for written, other in others),
    ]
    head = f"{card.name} · {method}" if method else card.name
    return f"## {head}\n\n{card.about}\n\n" + "\n".join(f"- {line}" for line in lines)


def news(card: Card, other: Card) -> Iterator[str]:
    """What another choice of the same accountant is, where it differs."""
    yield from (sentence for sentence in re.findall(r"\S.+?\.(?= |$)", other.about) if sentence not in card.about)
    if other.kind != card.kind:
        yield other.kind
    if other.cite != card.cite:
        yield f"When to cite it: {other.cite}"
    if other.cited != card.cited:
        yield f"{other.cited}."


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    (folder / "accountants.md").write_text(page())
    terms = "".join(f"- **{term}**: {means}\n" for term, means in glossary().items())
    (folder / "glossary.md").write_text(f"# Glossary\n\n{terms}")
