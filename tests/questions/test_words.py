"""Sentences of questions: terms that are explained, numbers on the safe side, and one definition of each quantity."""

import math
import re
from html import unescape
from pathlib import Path

import pytest

import dpviz
import dpviz.questions
from dpviz.accounting import meanings
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.fields import number
from dpviz.fields.declared import entries
from dpviz.questions.answer import whole
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.mechanism import STEPS
from dpviz.questions.rendered import explained, glossary, noted, strip, two_levels
from tests.questions.asking import answer_to, asked


@pytest.mark.parametrize("key", ["compose", "noise", "orders", "stop", "langevin_cost", "success"])
def test_terms_are_explained_where_they_first_stand_and_no_word_or_number_changes(key: str) -> None:
    question = QUESTIONS[key]
    answer = asked(question)
    texts = question.headline(answer), strip(question.metrics(answer)), "".join(map(noted, question.notes(answer)))
    shown = explained(*texts)
    plain = [[re.sub("<[^>]*>", "", text).replace("_μ", "μ") for text in one] for one in (shown, texts)]
    assert plain[0] == plain[1]
    meanings = re.findall(r'<dfn tabindex="-1" data-means="(.+?)">', "".join(shown))
    assert len(meanings) == len(set(meanings)) > 0
    assert {unescape(one) for one in meanings} <= set(glossary().values())
    assert not any(re.search(r"\d", term) for term in re.findall("<dfn.*?>(.*?)</dfn>", "".join(shown)))


@pytest.mark.parametrize(
    "key", ["compose", "orders", "langevin_cost", "roc", "noise", "solve", "risk", "stop", "spend"]
)
def test_the_first_assumptions_say_whom_sampling_noise_and_what_is_public(key: str) -> None:
    question = QUESTIONS[key]
    whole_text = question.assumed(asked(question))
    first, rest = two_levels(whole_text)
    for subject in ("add(ed|ing) or remov(ed|ing)", "Poisson|independently", "[Nn]oise", "N, the number of .* public"):
        assert re.search(subject, first), subject
    assert rest
    assert (first + rest).replace("\n", "") == whole_text.strip().replace("\n", "")


WITH_STEPS = [key for key, question in QUESTIONS.items() if STEPS in question.fields]


@pytest.mark.parametrize("key", WITH_STEPS)
def test_one_step_is_no_steps(key: str) -> None:
    question = QUESTIONS[key]
    answer = asked(question, steps="1")
    texts = question.headline(answer), strip(question.metrics(answer)), "".join(map(noted, question.notes(answer)))
    words = re.sub("<[^>]*>", "", " | ".join(texts))
    assert not re.search(r"(?<![\d.,/\u202f\u2009–-])1[ \u00a0\u202f]steps", words), words


def test_symbols_with_an_index_are_terms_of_their_own() -> None:
    epsilon, both = explained("<b>ε ≤ 1</b> ε<sub>μ</sub>, at ε_μ", "ε, Rényi DP, σ-algebra, best attack accuracy")
    assert re.findall("<dfn.*?>(.*?)</dfn>", epsilon) == ["ε<sub>μ</sub>"]
    assert re.findall("<dfn.*?>(.*?)</dfn>", both) == ["ε", "Rényi DP", "σ", "best attack accuracy"]


def test_a_line_break_divides_no_number_from_its_name_unit_or_exponent() -> None:
    (text,) = explained("at δ = 1e-5, <b>ε ≤ 1</b> (chance: 50 %), p &lt; 0.001, 3 steps of 2e-7")
    assert [re.sub("<[^>]*>", "", one) for one in re.findall("<span>(.*?)</span>", text)] == [
        "δ = 1e-5",
        "50 %",
        "p &lt; 0.001",
        "2e-7",
    ]


@pytest.mark.parametrize(
    ("question", "settings", "words"),
    [
        ("noise", {"target_epsilon": 1.2342, "methods": "renyi_improved"}, "ε ≤ 1.24"),
        ("solve", {"target_epsilon": 1.2342, "methods": "renyi_improved"}, "ε ≤ 1.24"),
        ("expected", {"target_epsilon": 1.2342}, "ε ≤ 1.24"),
        ("stop", {"target_epsilon": 1.23421}, "ε = 1.235 allows"),
        ("tail", {"epsilon": 0.5, "steps": 10_000}, "δ ≤ 0.186"),
        ("residents", {"epsilon": 1.2342, "noise": "laplace"}, "guarantees ε = 1.24"),
        ("langevin_size", {"claim": 1.2342}, "ε ≤ 1.24"),
        ("success", {"delta": 1.2341e-3, "prior": 0.3}, "1.24e-3"),
    ],
)
def test_a_guarantee_is_never_written_smaller_than_it_is(question: str, settings: dict, words: str) -> None:
    answer = dpviz.ask(question, **settings)
    assert words in answer.headline, answer.headline


DELTA_AS_FAILURE = re.compile(
    r"(bound ε|ε) may fail|[Ff]ailure probability (δ|of (the )?Bayesian)|except with a small probability"
)


def test_delta_is_defined_in_one_place_and_never_as_the_probability_that_epsilon_fails() -> None:
    assert "It is not the probability that ε fails" in meanings.DELTA
    for key in ("delta", "t_delta"):
        assert number(key).help.startswith(meanings.DELTA)
        assert number(key).label == "δ"
    for key in ("dmu", "gdmu"):
        assert number(key).help.startswith(meanings.DELTA_MU)
    assert (glossary()["δ"], glossary()["δ_μ"]) == (meanings.DELTA, meanings.DELTA_MU)
    compose = QUESTIONS["compose"]
    assert f"**δ:** {meanings.DELTA}" in compose.assumed(asked(compose))
    root = Path(dpviz.__file__).parents[1]
    files = [path for kind in ("toml", "py") for path in (root / "dpviz").rglob(f"*.{kind}")]
    wrong = [path for path in (*files, *(root / "docs").rglob("*.md"), root / "README.md")
             if DELTA_AS_FAILURE.search(path.read_text("utf-8"))]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize(
    "link",
    [
        "compose", "compose?source=weibull", "compose?m=1000", "noise", "noise?noiseq=q01.q50.q99",
        "residents?anoise=gaussian", "bdp_figure1", "bdp_figure3", "bdp_table1", "inference",
    ],
)  # fmt: skip
def test_a_curve_of_bayesian_dp_says_in_its_name_that_it_promises_less(link: str) -> None:
    """So it is not taken for the strongest of the bounds beside it; an estimate says that it is as printed."""
    question = QUESTIONS[link.partition("?")[0]]
    plot = whole(answer_to(link), question.slow).plot
    named = [line.label or line.name for line in plot.lines if line.family == BAYESIAN or "Bayesian" in line.name]
    assert named
    assert [name for name in named if "weaker" not in name and "printed" not in name] == []


@pytest.mark.parametrize("key", ["curves", "noisecurves"])
def test_no_help_calls_bayesian_dp_the_strongest_bound(key: str) -> None:
    assert "Of those for DP, the" in entries()[key]["help"]
    assert "Bayesian DP promises less" in entries()[key]["help"]


def test_three_deviations_of_one_count_are_not_rare_between_two() -> None:
    """What Policies says of the rule of Lécuyer 2021, §5.1, computed: the difference of two counts has noise √2 σ."""
    false_rise = math.erfc(3.0 / math.sqrt(2.0) / math.sqrt(2.0)) / 2.0
    some = 1.0 - (1.0 - false_rise) ** 29
    words = " ".join(QUESTIONS["policy"].assumed(asked(QUESTIONS["policy"])).split())
    assert f"{100 * false_rise:.1f} % of checks look like one, and {100 * some:.0f} % of runs with 29 checks" in words


@pytest.mark.parametrize("mechanism", ["gaussian", "replace", "fixed"])
def test_sigma_is_the_noise_divided_by_c_whatever_the_neighbours(mechanism: str) -> None:
    """Replacing one example moves the sum by 2C, and σ still counts C."""
    assert "σ × C" in asked(QUESTIONS["compose"], mech=mechanism).given["mechanism"].assumes
    for text in (number("sigma").help, glossary()["σ"], glossary()["noise multiplier"]):
        assert "divided by the clipping threshold C" in text
        assert "divided by the sensitivity" not in text
    axis = asked(QUESTIONS["noise"], mech=mechanism).plot.x.title
    assert axis.endswith("(noise ÷ C)")


def test_the_noise_of_measured_pairs_is_a_multiple_of_2c() -> None:
    assert asked(QUESTIONS["noise"], source="vectors").plot.x.title.endswith("(noise ÷ 2C)")


def test_the_noise_that_is_enough_is_not_called_needed() -> None:
    """Rényi's 2.28 is an upper end: the numerical accountant finds that 2.13 does."""
    found = whole(asked(QUESTIONS["solve"]), QUESTIONS["solve"].slow)
    words = QUESTIONS["solve"].headline(found)
    assert "noise <b>σ = 2.28</b> is enough (Rényi improved); the PLD accountant needs 2.13." in words
    assert "you need" not in words
