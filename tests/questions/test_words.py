"""The tables of words: every template of a room is right, whichever of its branches is taken."""

import re
import tomllib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

import dpviz
import dpviz.questions
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.shown import explained, glossary, noted, strip
from dpviz.questions.words import JINJA, say
from tests.questions.asking import asked

FILES = sorted(Path(dpviz.questions.__file__).parent.glob("*/words.toml"))
KEYS = {"title", "chart", "rows", "after", "headline", "metrics", "notes", "formulas", "assumptions"}
ENTRIES = {"metrics": {"name", "value", "note"}, "notes": {"text", "kind"}, "formulas": {"name", "latex"}}


def texts(table: dict[str, Any]) -> Iterator[str]:
    for value in table.values():
        if isinstance(value, str):
            yield value
        for entry in value if isinstance(value, list) else ():
            yield from texts(entry)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_tables_hold_only_what_questions_say(path: Path) -> None:
    """A word that stands nowhere is a mistake of its key; a value that no question has would fail on the page."""
    settings = {name for question in QUESTIONS.values() for name in question.settings}
    for key, table in tomllib.loads(path.read_text("utf-8")).items():
        assert set(table) <= KEYS, key
        for name, allowed in ENTRIES.items():
            for entry in table.get(name, ()):
                texts_of = set(entry) - {"when", "each", "parts", "use"}
                assert texts_of <= allowed
                assert bool(texts_of) != bool({"parts", "use"} & set(entry)), entry
        used = set().union(*(meta.find_undeclared_variables(JINJA.parse(text)) for text in texts(table)))
        assert used <= settings | {"facts", "given", "one"}, key


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


def test_a_name_that_there_is_not_is_refused() -> None:
    with pytest.raises(Exception, match="epsilom"):
        say("{{ epsilom }}", {"epsilon": 1.0})


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
