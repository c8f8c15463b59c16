"""Every accountant has a card: what it is, what its number is worth, whom to cite, in BibTeX that parses."""

import re

import pytest

from dpviz.accounting.adaptive import filter as rdp_filter
from dpviz.accounting.adaptive import rogers
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.bound import Kind
from dpviz.accounting.card import Card, bibliography
from dpviz.accounting.methods import accountant, every_choice

CHOICES = [accountant(name, **options) for name, options in every_choice()]
CARDS = {str(one): one.card for one in CHOICES} | {
    "bayesian": bayesian.CARD,
    "filter": rdp_filter.CARD,
    "rogers": rogers.CARD,
}
PAPERS = bibliography()


def parsed(entry):
    """Kind, key and fields of one BibTeX entry; an AssertionError where it is none."""
    head = re.match(r"@(\w+)\{([\w:-]+),\s*", entry)
    assert head, entry
    assert entry.endswith("}")
    fields, at = {}, head.end()
    while match := re.compile(r"(\w+)\s*=\s*\{").match(entry, at):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(entry[end], 0)
            end += 1
        assert match[1] not in fields
        fields[match[1]] = " ".join(entry[match.end() : end - 1].split())
        at = re.compile(r",?\s*").match(entry, end).end()
    assert entry[at:] == "}", f"left over: {entry[at:]}"
    return head[1], head[2], fields


def test_options_that_change_the_bound_change_the_card() -> None:
    assert len(set(CARDS.values())) == len(CARDS)


@pytest.mark.parametrize("name", CARDS, ids=range(len(CARDS)))
class TestCard:
    def test_says_all(self, name: str) -> None:
        card: Card = CARDS[name]
        for said in (card.title, card.about, card.kind, card.cite, card.cited):
            assert said.strip() == said != ""
        assert len(re.findall(r"[.!?](?:\s|$)", card.about)) in (2, 3), "two or three sentences"
        assert card.bibtex

    def test_whoever_is_cited_is_in_the_bibliography(self, name: str) -> None:
        card = CARDS[name]
        years = {parsed(entry)[2]["year"] for entry in card.bibtex}
        assert set(re.findall(r"\b(?:19|20)\d\d\b", card.cited)) <= years
        authors = " ".join(parsed(entry)[2]["author"] for entry in card.bibtex)
        for family in re.findall(
            r"[A-ZÀ-Ž][\wÀ-ž-]+", re.sub(r"(Theorem|Propositions?) \w+|conversion", "", card.cited)
        ):
            assert family in authors


def test_the_kind_is_told() -> None:
    for one in CHOICES:
        word = {Kind.UPPER: "Upper bound", Kind.LOWER: "Lower bound", Kind.APPROXIMATION: "Approximation"}[one.kind]
        assert one.card.kind.startswith(word)
        assert one.kind_reason in one.card.kind


@pytest.mark.parametrize("name", PAPERS)
def test_each_paper_parses(name: str) -> None:
    kind, key, fields = parsed(PAPERS[name])
    assert kind in ("article", "inproceedings")
    assert {"author", "title", "year"} <= fields.keys()
    assert fields["journal" if kind == "article" else "booktitle"]
    assert all(", " in author for author in fields["author"].split(" and ")), "Family, Given"
    assert key == name
    assert key[-4:] == fields["year"]


def test_every_paper_is_cited_by_an_accountant() -> None:
    """And each key that a card names is in the bibliography; a class may bring an entry of its own instead."""
    assert set(PAPERS) == {paper for card in CARDS.values() for paper in card.papers if not paper.startswith("@")}


def test_only_an_upper_bound_is_recommended_as_a_claim() -> None:
    for one in CHOICES:
        assert one.card.cite.startswith("Never as a claim") == (one.kind is not Kind.UPPER)
