"""Values of papers or worked out by hand: the tables are in ``values/``, a line is an expression and its value.

A value that begins with "~" is met approximately: "~ 9.34, rel=2e-3".
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.tables import names, tables

ROWS = [
    (file, expression, value)
    for file, of in tables("values").items()
    for part, rows in of.items()
    if part != "names"
    for expression, value in rows.items()
]


@pytest.mark.parametrize(("file", "expression", "value"), ROWS)
def test_it_is_its_value(file: str, expression: str, value: Any) -> None:
    if isinstance(value, str) and value.startswith("~"):
        value = eval(f"approx({value[1:]})", names("values", file) | {"approx": pytest.approx})
    assert eval(expression, dict(names("values", file))) == value
