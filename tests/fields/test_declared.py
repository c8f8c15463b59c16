"""Each setting is declared once, and a mistake in its entry is named."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from dpviz.fields import declared
from dpviz.questions import links
from dpviz.questions.links import RENAMED
from dpviz.ui.registry import ENTERED
from dpviz.ui.runs.fields import FIELDS as RUNS
from dpviz.ui.runs.fields import TRAIN


def test_every_entry_is_a_setting_of_a_page() -> None:
    assert declared.entries().keys() <= {field.key for field in (*ENTERED, *RUNS, *TRAIN)}


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


def test_a_key_of_before_is_of_no_field_of_today() -> None:
    """Else a link of today would be read as one of before."""
    assert not RENAMED.keys() & declared.entries().keys()
    assert links.read({"pview": "rare", "rgamma": "0.1", "v": "2"}, "papers") == {"pview": "rare", "gamma": "0.1"}
