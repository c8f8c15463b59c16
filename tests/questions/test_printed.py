"""What papers print: every row is computed anew, and its verdict follows from the numbers."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from dpviz.questions import presets
from dpviz.questions.catalogue import PAGES
from dpviz.questions.links import PRESETS, VERSION
from dpviz.questions.printed import BY_KEY, CLAIMS, FIGURES, PAPERS, Printed, Recomputed
from dpviz.questions.printed.claim import TRAINED, read
from dpviz.ui.registry import FIELDS
from tests.questions.asking import table

EXPECTED = table("printed")


# Each takes seconds; the fourth panel of Figure 1, and the other step size, are computed in the same way.
ALIKE = {"bdp-fig1a", "bdp-fig1b", "bdp-fig1c", "sg-3.1-step-sgld"}


def each(keys: Iterable[str]) -> list[Any]:
    """Keys of claims as a test's parameters."""
    return [pytest.param(key, marks=pytest.mark.sweep if key in ALIKE else ()) for key in keys]


@cache
def recomputed(key: str) -> Recomputed:
    recompute = BY_KEY[key].recompute
    assert recompute is not None
    return recompute()


def near(claim: Printed, value: float) -> bool:
    """Equal to the last printed digit, cut or rounded."""
    return abs(value - claim.number) <= 1.0001 * claim.unit


@pytest.mark.parametrize("key", each(claim.key for claim in CLAIMS))
def test_a_verdict_follows_from_the_numbers(key: str) -> None:
    claim = BY_KEY[key]
    assert claim.why.endswith(".")
    if claim.recompute is None:
        assert claim.verdict in ("open", "misprint") or "read, not computed anew" in claim.why
        return
    got = recomputed(key)
    assert not (math.isnan(got.value) and math.isnan(got.lower) and not got.note)
    if math.isnan(claim.number) or claim.verdict == "open" or math.isnan(got.value):
        return
    least = got.value if math.isnan(got.lower) else got.lower
    if claim.verdict == "holds":
        assert near(claim, got.value) or (claim.kind == "epsilon" and got.value < claim.number)
    elif claim.key == "sg-3.1-step":  # a step size: too large is what fails
        assert got.value < claim.number - claim.unit
    elif claim.verdict == "fails" and claim.kind == "epsilon":
        assert least > claim.number
    elif claim.verdict != "under":  # which may agree where the condition holds
        assert not near(claim, got.value)


@pytest.mark.parametrize("key", each(EXPECTED["known"]))
def test_what_comes_out_is_what_other_means_give(key: str) -> None:
    assert recomputed(key).value == pytest.approx(EXPECTED["known"][key], rel=1e-3)


def test_bounds_hold_what_is_known() -> None:
    """Tight ε after one epoch of Table 1's MNIST is 0.215, by inverting the loss's Laplace transform."""
    mnist = recomputed("sg-table1-mnist-dp-sgld")
    assert mnist.lower <= 0.215 <= mnist.upper
    assert recomputed("bdp-table1-bdp-mnist").lower == pytest.approx(0.7196, abs=1e-4)
    assert recomputed("sgm-theorem11").lower >= 1
    assert recomputed("sgm-theorem5").value <= 0


@pytest.mark.parametrize("key", each(EXPECTED["inside"]))
def test_an_interval_holds_what_is_known_and_is_narrow(key: str) -> None:
    got = recomputed(key)
    assert got.lower <= EXPECTED["inside"][key] <= got.upper < 1.04 * got.lower


@pytest.mark.parametrize("key", each(EXPECTED["between"]))
def test_what_comes_out_lies_between_known_values(key: str) -> None:
    low, high = EXPECTED["between"][key]
    assert low < recomputed(key).value < high


@pytest.mark.parametrize("key", each(EXPECTED["notes"]))
def test_a_note_says_what_else_came_out(key: str) -> None:
    assert EXPECTED["notes"][key] in recomputed(key).note


def test_a_verdict_says_no_more_than_is_known() -> None:
    for verdict, keys in EXPECTED["verdicts"].items():
        assert {BY_KEY[key].verdict for key in keys} == {verdict}
    assert {claim.key for claim in CLAIMS if claim.verdict == "misprint"} == set(EXPECTED["verdicts"]["misprint"])
    assert {claim.paper for claim in CLAIMS if "slide" in claim.where} == {"slides"}
    assert all(claim.recompute is not None for claim in CLAIMS if claim.verdict == "differs")


def test_an_epsilon_before_rounding_explains_a_probability_off_its_curve() -> None:
    off = [row for row in CLAIMS if "-guess-" in row.key and row.verdict == "under"]
    assert {row.printed for row in off} == {"0.898", "0.649"}
    for row in off:
        epsilon = row.what.split("= ")[1].split(" ")[0]
        before = math.log(row.number / (1 - row.number))
        assert round(before, len(epsilon.partition(".")[2])) == float(epsilon)
        assert f"on it at ε = {before:.4f}:" in row.why


def test_every_table_is_complete() -> None:
    """Table 1 of two papers: 8 ε, 8 P(A), 8 accuracies; 8 ε and 10 accuracies."""
    rows = Counter(claim.paper for claim in CLAIMS if claim.where == "Table 1")
    assert rows == {"bdp": 24, "sgmcmc": 18}
    assert len(BY_KEY) == len(CLAIMS)
    assert {claim.paper for claim in CLAIMS} == {figure.paper for figure in FIGURES} == set(PAPERS)


DOCS = (Path(__file__).parents[2] / "docs" / "work" / "papers.md").read_text()
LINKS = {one.link for one in (*CLAIMS, *FIGURES) if one.link} | set(re.findall(r"`([a-z]+\?[^`]+)`", DOCS))


@pytest.mark.parametrize("link", sorted(LINKS))
def test_every_link_leads_to_a_page_and_says_legal_values(link: str) -> None:
    parts = urlsplit(link)
    if parts.path == "train":
        return
    page = next(page for page in PAGES if page.key == parts.path)
    fields = {field.key: field for field in (*page.fields, *FIELDS)}
    for key, text in parse_qsl(parts.query):
        if key == "preset":
            assert text in {preset.key for preset in page.presets}, "a preset of that page"
            assert text in PRESETS
        elif key != VERSION:
            fields[key].parse(text)


@pytest.mark.parametrize("what", ["claims", "presets"])
def test_a_file_is_checked(what: str, tmp_path: Path) -> None:
    table, reader = EXPECTED[what], {"claims": read, "presets": presets.read}[what]
    (file := tmp_path / "x.toml").write_text(table["file"], encoding="utf-8")
    reader(file)
    for before, after, words in table["wrong"]:
        assert before in table["file"]
        file.write_text(table["file"].replace(before, after, 1), encoding="utf-8")
        with pytest.raises(ValueError, match=words):
            reader(file)


def test_every_preset_is_offered_by_a_question() -> None:
    assert presets.PRESETS | TRAINED == PRESETS
