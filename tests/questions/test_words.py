"""The tables of words: every template of a room is right, whichever of its branches is taken."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

import dpviz.questions
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.words import JINJA, say

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


def test_a_name_that_there_is_not_is_refused() -> None:
    with pytest.raises(Exception, match="epsilom"):
        say("{{ epsilom }}", {"epsilon": 1.0})
