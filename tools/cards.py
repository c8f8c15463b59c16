"""Write accountants.md, from their cards, and glossary.md to docs/use: ``python -m tools.cards [FOLDER]``."""

import sys
from pathlib import Path

from dpviz.accounting.adaptive import filter, rogers
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import accountant, every_choice
from dpviz.questions.rendered import glossary

TARGET = Path(__file__).resolve().parents[1] / "docs" / "use"


def page() -> str:
    """Markdown: a section for each card."""
    cards = [accountant(name, **options).card for name, options in every_choice()]
    shown = {card.name: card for card in reversed((*cards, bayesian.CARD, filter.CARD, rogers.CARD))}
    built = ["# Accountants\n\nWhat each is, what its number is worth, and whom to cite for it."]
    for name, card in reversed(shown.items()):
        bibtex = "\n\n".join(card.bibtex)
        built.append(
            f"## {name}\n\n{card.about}\n\n**What its number is:** {card.kind}\n\n**When to cite it:** {card.cite}\n\n"
            f"{card.cited}\n\n```bibtex\n{bibtex}\n```"
        )
    return "\n\n".join(built) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    (folder / "accountants.md").write_text(page())
    terms = "".join(f"- **{term}**: {means}\n" for term, means in glossary().items())
    (folder / "glossary.md").write_text(f"# Glossary\n\n{terms}")
