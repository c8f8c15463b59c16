"""Each setting is declared once, and a mistake in its entry is named."""

import doctest
from dataclasses import fields
from typing import Any

import pytest

from dpviz.fields import declared
from dpviz.questions.catalogue import PAGES
from dpviz.questions.kinds import T
from dpviz.questions.page import Page
from dpviz.questions.units import BATCH
from dpviz.ui.registry import FIELDS
from dpviz.ui.runs.fields import FIELDS as RUNS
from dpviz.ui.runs.fields import TRAIN


def test_every_entry_is_a_setting_of_a_page() -> None:
    shown = (
        *FIELDS,
        BATCH,
        *T.values(),
        *RUNS,
        *TRAIN,
        *(field for page in PAGES for question in page.questions for field in question.fields),
    )
    assert declared.entries().keys() <= {name for field in shown for name in (field.key, field.entry)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.key)
def test_a_setting_of_all_pages_has_one_range_and_one_default_a_page(page: Page) -> None:
    asked = [field for question in page.questions for field in question.fields]
    assert len({(field.key, field.write(field.default)) for field in asked}) == len(page.fields) - bool(page.choice)
    for field in (field for field in asked if field.entry not in ("", field.key)):
        shared = declared.any_kind(field.key, **({"options": field.options} if field.key == "model" else {}))
        changed = {part.name for part in fields(field) if getattr(field, part.name) != getattr(shared, part.name)}
        assert changed <= {
            "label",
            "default",
            "help",
            "symbol",
            "entry",
            "ticks",
            "ends",
            "example",
            "names",
            "options",
        }
        assert [*getattr(field, "options", ())] == [*getattr(shared, "options", ())]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"lable": "σ", "default": 1}, r"Field “new”: \['label', 'lable'\] is unknown or missing"),
        ({"label": "σ"}, r"Field “new”: \['default'\] is unknown or missing"),
        ({"label": 3, "default": 1}, "Field “new”: expected label=3 to be of type str"),
        ({"label": "σ", "default": 1, "whole": 1}, "Field “new”: expected whole=1 to be of type bool"),
        ({"like": "sigmund"}, "Field “sigmund” has no entry"),
    ],
)
def test_a_mistake_in_an_entry_is_named(entry: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared, "entries", lambda: {"new": entry})
    with pytest.raises(ValueError, match=message):
        declared.number("new")


def test_examples() -> None:
    assert doctest.testmod(declared).failed == 0
