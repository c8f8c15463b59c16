"""The settings of the project, each declared once in this folder's TOML files, by its key in links.

An entry holds the attributes of a `Field`; `like` names another entry, whose attributes it takes where it has none of
its own, and `group` the controls that its own stands among. Where a page starts a setting at another value, or says
more of it, its own entry names the shared one as its `key`: the value is one for all pages, and so are the legal range
and the options.

Settings that look alike and are not one: those of a run to be trained (`t_…`) are a plan of their own, which what is
explored elsewhere must not move; δ_μ on Papers (`gdmu`) has no δ that it could be;
`oc1` … and `psig1` … are several of a kind on one chart; PATE's noise (`pasigma`) counts votes.

Those of a claim to be checked (`k…`) are readings of the shared ones on every page (`dpviz/questions/readings.py`); in
a call they stand alone, with defaults of their own.

A slider's stops are a list, or described: {log = [low, high, per decade]}, {whole_log = …} for rounded ones,
{complement = …} for 1 minus such stops, {even = [low, high, step]}, and {also = […]} beside them; those of a setting in
whole numbers are rounded. What other code lists, such as methods, is given where a field is named.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from dpviz.accounting import meanings
from dpviz.fields.field import AnyField, Choice, Flag, Number, Several, even_ticks, log_ticks
from dpviz.fields.tables import made

F = TypeVar("F", bound=AnyField)
HERE = Path(__file__).parent
MEANINGS = {"delta": meanings.DELTA, "delta_mu": meanings.DELTA_MU}  # what {delta} in a text stands for


def number(key: str, **given: Any) -> Number:
    """The number with this key; `given` are attributes from other code."""
    return field(Number, key, **given)


def choice(key: str, **given: Any) -> Choice:
    """The choice with this key; `given` are attributes from other code, such as its options."""
    return field(Choice, key, **given)


def several(key: str, **given: Any) -> Several:
    """The choice of several with this key; `given` are attributes from other code, such as its options."""
    return field(Several, key, **given)


def flag(key: str, **given: Any) -> Flag:
    """The yes or no with this key."""
    return field(Flag, key, **given)


def any_kind(key: str, **given: Any) -> AnyField:
    """The field with this key, of the kind that its attributes have."""
    declared = attributes(key) | given
    kind = Choice if "options" in declared else Flag if isinstance(declared["default"], bool) else Number
    return field(kind, key, **given)


def field(kind: type[F], key: str, **given: Any) -> F:
    """The field of this kind and key, as its entry declares it.

    Raises:
        ValueError: it has no entry, or the entry something that this kind of field does not have; the entry is named.
    """
    entry, named = attributes(key), entries()[key].get("key", key)
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in entry.items()}
    if issubclass(kind, Number):
        values |= {name: float(values[name]) for name in ("default", "low", "high") if name in values}
        if "ticks" in values:
            values["ticks"] = ticks(values["ticks"], whole=values.get("whole", False))
    values |= {"key": named, "entry": key}
    return made(kind, values | given, f"Field “{key}”", MEANINGS)


@cache
def entries() -> dict[str, dict[str, Any]]:
    """All entries by their keys.

    Raises:
        ValueError: two entries have the same key.
    """
    declared: dict[str, dict[str, Any]] = {}
    for path in sorted(HERE.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        if twice := declared.keys() & table.keys():
            raise ValueError(f"{path.name}: {sorted(twice)} are declared in another file too.")
        declared |= table
    return declared


def attributes(key: str) -> dict[str, Any]:
    """What the entry says, and what it takes from the one that it is `like`, or whose `key` it has."""
    if key not in entries():
        raise ValueError(f"Field “{key}” has no entry in {HERE.name}/*.toml.")
    own = {name: value for name, value in entries()[key].items() if name != "group"}
    of = own.pop("like", None) or own.pop("key", None)
    return attributes(of) | own if of else own


def ticks(described: Any, *, whole: bool) -> tuple[float, ...]:
    """The slider's stops that a list or a description gives, increasing.

    >>> ticks({"log": [1, 10, 3], "also": [100]}, whole=True)
    (1.0, 2.0, 5.0, 10.0, 100.0)
    """
    if not isinstance(described, dict):
        return tuple(map(float, described))
    stops: set[float] = set()
    for kind, values in described.items():
        stops.update(STOPS[kind](*values))
    return tuple(sorted({float(round(stop)) if whole and stop < 1e15 else stop for stop in stops}))


STOPS: dict[str, Any] = {
    "log": log_ticks,
    "whole_log": lambda *described: (float(round(stop)) for stop in log_ticks(*described)),
    "even": even_ticks,
    "complement": lambda *described: (round(1.0 - stop, 12) for stop in log_ticks(*described)),
    "also": lambda *stops: map(float, stops),
}
