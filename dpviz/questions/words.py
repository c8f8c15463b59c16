"""What questions say, read from `words.toml` of their room: Jinja templates, in which filters write the numbers.

A table holds a question's title, headline, metrics, notes, formulas and assumptions. What the table that it names as
`after` says, `[all]` where it names none, stands before them. A template sees the given values by their keywords, and
`facts`. An entry of a list may have `when`, a condition without which it is left out, and `each`, an expression whose
items, as `one`, make an entry each. In the place of texts it may have `use`, another table whose entries stand here, or
`parts`, an expression for one or several metrics, notes or formulas.
"""

import math
import re
import tomllib
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from dpviz._extras import extra
from dpviz.accounting.claims import DEMONSTRATION, rounded_up
from dpviz.accounting.formula import tex
from dpviz.fields import numbers
from dpviz.questions.answer import LATER, Answer, Metric, Note
from dpviz.questions.guessing import alone
from dpviz.questions.kinds import assumed
from dpviz.questions.methods import NAMES, WITH_ORDERS, without
from dpviz.questions.tight_band import tight_figure
from dpviz.training.events import DECLARED, NOT_COVERED, PUBLIC_SIZE

with extra("ask"):
    from jinja2 import Environment, StrictUndefined, Template

Values = Mapping[str, Any]


JINJA = Environment(undefined=StrictUndefined)
JINJA.tests |= {"nan": math.isnan, "infinite": math.isinf}
JINJA.filters |= {
    "up": lambda value, digits=3: numbers.epsilon(float(value), digits=digits, up=True),  # ε of a bound
    "near": lambda value, digits=3: numbers.epsilon(float(value), digits=digits),
    "down": numbers.down,
    "plain": lambda value, digits=3: numbers.plain(float(value), digits=digits),
    "steps": numbers.steps,
    "short_steps": numbers.short_steps,
    "delta": numbers.delta,
    "chance": lambda value: numbers.probability(float(value)),
    "chance_up": lambda value: numbers.probability(float(value), up=True),
    # Up, but for what floating point adds.
    "rounded": lambda value, digits=3: numbers.plain(numbers.up(value * (1.0 - 1e-12), digits), digits=digits),
    "one_place": lambda percent: f"{percent:.1f}\u00a0%",
    "percent": lambda share, digits=3: f"{numbers.plain(100.0 * share, digits=digits)} %",
    "tenths": numbers.tenths,
    "p_value": numbers.p_value,
    "p_sign": lambda value: f"{'= ' * (not value < 0.001)}{numbers.p_value(value)}",
    "rounded_up": lambda value: rounded_up(value, 4),
    "tex": lambda value: tex(float(value)),
    "ln": math.log,
}
JINJA.globals |= {
    "DEMONSTRATION": DEMONSTRATION, "LATER": LATER, "NAMES": NAMES, "DECLARED": DECLARED, "NOT_COVERED": NOT_COVERED,
    "PUBLIC_SIZE": PUBLIC_SIZE, "WITH_ORDERS": WITH_ORDERS, "assumed": assumed,
    "without": without, "tight_figure": tight_figure, "alone": alone,
}  # fmt: skip

_template: Callable[[str], Template] = lru_cache(maxsize=None)(JINJA.from_string)
expression: Callable[[str], Callable[..., Any]] = lru_cache(maxsize=None)(
    partial(JINJA.compile_expression, undefined_to_none=False)
)


@lru_cache(maxsize=64)
def tables_of(room: str) -> dict[str, Any]:
    path = Path(__file__).parent / room
    return tomllib.loads((path / "words.toml" if path.is_dir() else path.with_suffix(".toml")).read_text("utf-8"))


def say(text: str, values: Values) -> str:
    """A template's text in one line; thin and fixed spaces stay."""
    return re.sub(r"[ \n]+", " ", _template(text).render(values)).strip()


def words(room: str, key: str) -> dict[str, Any]:
    """What a question says, as arguments of `Question`; `room` is a folder, or the file itself without its suffix."""
    tables = tables_of(room)
    layers = [tables[key]]
    while (name := layers[0].get("after", "all")) in tables and layers[0] is not tables[name]:
        layers.insert(0, tables[name])

    def text(name: str, answer: Answer[Any]) -> str:
        values = _values(answer)
        return " ".join(filter(None, (say(layer.get(name, ""), values) for layer in layers)))

    def entries(name: str, make: Callable[..., Any], answer: Answer[Any]) -> list[Any]:
        listed = [entry for layer in layers for entry in layer.get(name, ())]
        used = [part for entry in listed for part in (tables[entry["use"]][name] if "use" in entry else [entry])]
        values = _values(answer)
        return [part for entry in used for part in _made(entry, make, values)]

    def assumed(answer: Answer[Any]) -> str:
        return _template(ChainMap(*layers[::-1]).get("assumptions", "")).render(_values(answer))

    return {
        "title": layers[-1]["title"],
        "headline": partial(text, "headline"),
        "metrics": partial(entries, "metrics", Metric),
        "notes": partial(entries, "notes", Note),
        "formulas": partial(entries, "formulas", lambda name, latex: (name, latex)),
        "assumptions": assumed,
    }


def rows(room: str, key: str, facts: object) -> list[dict[str, str]]:
    """The rows of a table of words about facts, by their columns' names."""
    return [row for entry in tables_of(room)[key]["rows"] for row in _made(entry, dict, {"facts": facts})]


def table(room: str, key: str, facts: object, *whole: str) -> pd.DataFrame:
    """The same as a table, with the columns that the first entry of its rows names; those `whole` hold numbers."""
    columns = [name for name in tables_of(room)[key]["rows"][0] if name not in ("each", "when")]
    return pd.DataFrame(rows(room, key, facts), columns=columns).astype(dict.fromkeys(whole, int))


def _values(answer: Answer[Any]) -> Values:
    return {**answer.given, "given": answer.given, "facts": answer.facts}


def _made(entry: Mapping[str, str], make: Callable[..., Any], values: Values) -> Iterator[Any]:
    texts = dict(entry)
    each, when, parts = (texts.pop(name, "") for name in ("each", "when", "parts"))
    for one in expression(each)(**values) if each else (None,):
        here = {**values, "one": one}
        if when and not expression(when)(**here):
            continue
        if parts:
            several = expression(parts)(**here)
            yield from several if isinstance(several, list) else (several,)
        else:
            yield make(**{name: say(text, here) for name, text in texts.items()})
