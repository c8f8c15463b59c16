"""An accountant's card: what it is, what its number is worth, when to cite it, and its BibTeX."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpviz.accounting.bound import Kind

KINDS = {
    Kind.UPPER: "Upper bound: never less privacy loss than there was.",
    Kind.LOWER: "Lower bound: the truth is at least this.",
    Kind.APPROXIMATION: "Approximation: it may be below the true ε.",
}


@dataclass(frozen=True)
class Card:
    """Plain words; no number of today's.

    Attributes:
        name: what pages call the accountant.
        title: in a sentence: "the moments accountant".
        about: what it is, in two or three sentences.
        kind: what its number is worth.
        cite: when to cite it.
        cited: whom, as one cites them.
        papers: the same for a bibliography: keys in papers.bib, or entries of one's own.
    """

    name: str
    title: str
    about: str
    kind: str
    cite: str
    cited: str
    papers: tuple[str, ...]

    @property
    def bibtex(self) -> tuple[str, ...]:
        """BibTeX, an entry each."""
        return tuple(paper if paper.startswith("@") else bibliography()[paper] for paper in self.papers)


@cache
def bibliography() -> dict[str, str]:
    """papers.bib, key → entry: what accountants rest on, each once; read when first asked for."""
    entries = Path(__file__).with_name("papers.bib").read_text("utf-8").strip().split("\n\n")
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in entries}


@cache
def _cards() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("cards.toml").read_text("utf-8"))


def words(name: str) -> dict[str, Any]:
    """The words of cards.toml about an accountant, its BibTeX keys a tuple; none where it has no entry."""
    return {key: tuple(value) if key == "bibtex" else value for key, value in _cards().get(name, {}).items()}


def card(name: str) -> Card:
    """The card of what is no `Accountant` and bounds the truth from above, but where cards.toml says otherwise."""
    entry = {"worth": KINDS[Kind.UPPER]} | words(name)
    keys = ("label", "title", "about", "worth", "cite", "reference", "bibtex")
    return Card(*(entry[key] for key in keys))
