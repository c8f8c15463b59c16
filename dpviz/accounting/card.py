"""An accountant's card: what it is, what its number is worth, when to cite it, and its BibTeX."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.accounting.bound import Kind

KINDS = {
    Kind.UPPER: "Upper bound: never less privacy loss than there was.",
    Kind.LOWER: "Lower bound: the truth is at least this.",
    Kind.APPROXIMATION: "Approximation: it may lie below the truth.",
}


@dataclass(frozen=True)
class Card:
    """Plain words; no number of today's.

    Attributes:
        name: what pages call the accountant.
        title: in a sentence: "the moments accountant".
        about: what it is, in two sentences.
        kind: what its number is worth.
        when: when to cite it.
        cited: whom, as one cites them.
        bibtex: the same for a bibliography, an entry each.
    """

    name: str
    title: str
    about: str
    kind: str
    when: str
    cited: str
    bibtex: tuple[str, ...]
