"""What papers print: every row is computed anew, and its verdict follows from the numbers."""

import math
import re
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from dpviz.questions import presets
from dpviz.questions.catalogue import PAGES
from dpviz.questions.links import PRESETS, VERSION
from dpviz.questions.printed import BY_KEY, CLAIMS, FIGURES, PAPERS, Printed, Recomputed
from dpviz.questions.printed.claim import TRAINED, read
from dpviz.questions.shared import IMAGE
from dpviz.ui.registry import FIELDS
from tests.questions.asking import table

EXPECTED = table("printed")


@pytest.fixture(scope="module")
def results() -> dict[str, Recomputed]:
    return {claim.key: claim.recompute() for claim in CLAIMS if claim.recompute is not None}


def near(claim: Printed, value: float) -> bool:
    """Equal to the last printed digit, cut or rounded."""
    return abs(value - claim.number) <= 1.0001 * claim.unit


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_a_verdict_follows_from_the_numbers(claim: Printed, results: dict[str, Recomputed]) -> None:
    assert claim.why.endswith(".")
    if claim.key not in results:
        assert claim.verdict in ("open", "misprint") or "read, not computed anew" in claim.why
        return
    got = results[claim.key]
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


@pytest.mark.parametrize(("key", "value"), EXPECTED["known"].items())
def test_what_comes_out_is_what_other_means_give(key: str, value: float, results: dict[str, Recomputed]) -> None:
    assert results[key].value == pytest.approx(value, rel=1e-3)


def test_intervals_hold_what_is_known(results: dict[str, Recomputed]) -> None:
    """Tight ε after one epoch of Table 1's MNIST is 0.215, by inverting the loss's Laplace transform."""
    assert results["sg-table1-mnist-dp-sgld"].lower <= 0.215 <= results["sg-table1-mnist-dp-sgld"].upper
    assert results["bdp-table1-bdp-mnist"].lower == pytest.approx(0.7196, abs=1e-4)
    assert results["sgm-theorem11"].lower >= 1
    assert results["sgm-theorem5"].value <= 0
    ends = {key: (results[key].lower, results[key].upper) for key in results if key.startswith("sg-3.1")}
    for key, value in EXPECTED["inside"].items():
        assert ends[key][0] <= value <= ends[key][1] < 1.04 * ends[key][0], key
    for key, (low, high) in EXPECTED["between"].items():
        assert low < results[key].value < high, key


def test_a_verdict_says_no_more_than_is_known(results: dict[str, Recomputed]) -> None:
    for verdict, keys in EXPECTED["verdicts"].items():
        assert {BY_KEY[key].verdict for key in keys} == {verdict}
    assert {claim.key for claim in CLAIMS if claim.verdict == "misprint"} == set(EXPECTED["verdicts"]["misprint"])
    assert {claim.paper for claim in CLAIMS if "slide" in claim.where} == {"slides"}
    assert {key: text for key, text in EXPECTED["notes"].items() if text not in results[key].note} == {}
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


DOCS = (Path(__file__).parents[2] / "docs" / "papers.md").read_text()
LINKS = {one.link for one in (*CLAIMS, *FIGURES) if one.link} | set(re.findall(r"`([a-z]+\?[^`]+)`", DOCS))


@pytest.mark.parametrize("link", sorted(LINKS))
def test_every_link_leads_to_a_page_and_says_legal_values(link: str) -> None:
    parts = urlsplit(link)
    if parts.path == "train":
        return
    page = next(page for page in PAGES if page.key == parts.path)
    fields = {field.key: field for field in (*page.fields, *FIELDS) if field is not IMAGE}
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
