"""Values of papers or worked out by hand: the tables are in ``values/``, a line is an expression and its value.

A value that begins with "~" is met approximately: "~ 9.34, rel=2e-3".
"""

import re
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


# What the library refuses, and in which words: the tables are in ``refusals/``.
#
# Each table of a file is a call with ``**bad``: it works where ``bad`` is empty. Each line is one change that makes it
# bad, and a pattern that its message fits.

TABLES = tables("refusals")
CALLS = [(file, call) for file, of in TABLES.items() for call in of if call != "names"]
CHANGES = [(file, call, *row) for file, call in CALLS for row in TABLES[file][call].items()]


def answer(file: str, call: str, **bad: Any) -> Any:
    return eval(call, names("refusals", file) | {"bad": bad})


@pytest.mark.parametrize(("file", "call"), CALLS)
def test_it_works_without(file: str, call: str) -> None:
    answer(file, call)


@pytest.mark.parametrize(("file", "call", "change", "words"), CHANGES, ids=lambda text: text.replace("::", ":"))
def test_it_is_refused_in_words(file: str, call: str, change: str, words: str) -> None:
    bad = eval(f"dict({change})", names("refusals", file))
    with pytest.raises(ValueError, match=r"[.…]$") as refusal:
        answer(file, call, **bad)
    message = str(refusal.value)
    assert re.search(words, f"{refusal.type.__name__}: {message}", re.DOTALL)
    assert re.match(r"[A-Z]|\S+[=.]", message)
    ((name, value), *others) = bad.items()
    if isinstance(value, (int, float, str)) and not others:
        forms = [f"={value!r}", repr(str(value)), f"found {name}", f"Expected {name} "]
        if not isinstance(value, str):
            forms += ["NaN"] if value != value else [f"={value:.12g}", f"={value:,}", f" is {value:.12g}"]
        assert any(form in message for form in forms), message
