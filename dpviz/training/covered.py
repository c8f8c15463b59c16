"""Marks of what ε covers: every number that an event of a run holds is covered or not (`events` says what each is).

>>> heading("step", "loss"), heading("step", "epsilon.renyi")
('loss [not covered by ε]', 'epsilon.renyi')
"""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from dpviz.accounting.methods import PROVERS

_TABLES = tomllib.loads((resources.files("dpviz.training") / "covered.toml").read_text(encoding="utf-8"))
_PROVEN = {f"epsilon.{name}" for name in PROVERS}

# Kind of event → what it holds that ε covers.
COVERED: Mapping[str, list[str]] = {kind: names.split() for kind, names in _TABLES["covered"].items()}

NOT_COVERED = "not covered by ε"
UNPROTECTED: str = _TABLES["words"]["unprotected"]
DECLARED: str = _TABLES["words"]["declared"]
UNDECLARED: str = _TABLES["words"]["undeclared"]
PUBLIC_SIZE: str = _TABLES["words"]["public_size"]
PUBLIC_PERSONS: str = _TABLES["words"]["public_persons"]


def covered(kind: str, name: str) -> bool:
    """Whether the number `name` of an event of this kind is covered by ε; "epsilon.bayesian" is a reading's name."""
    names = COVERED.get(kind, ())
    return name in ("kind", "step") or name in names or (name in _PROVEN and "epsilon.*" in names)


def heading(kind: str, name: str) -> str:
    """The name of a number in tables and files, with its mark."""
    return name if covered(kind, name) else f"{name} [{NOT_COVERED}]"


def titled(title: str, labels: Mapping[tuple[str, str], str]) -> str:
    """The title of a chart with its mark. `labels`: (kind, name) of what is drawn → what the chart calls it.

    >>> titled("mean loss", {("step", "loss"): "batch", ("evaluation", "test_loss"): "test"})
    'mean loss (batch: not covered by ε)'
    """
    measured = [label for number, label in labels.items() if not covered(*number)]
    if len(measured) == len(labels):
        return f"{title}, {NOT_COVERED}" if measured else title
    return f"{title} ({', '.join(measured)}: {NOT_COVERED})" if measured else title


def not_covered(event: Mapping[str, Any]) -> list[str]:
    """Names of what one event holds that is not covered by ε."""
    kind, names = str(event["kind"]), list(event)
    if isinstance(event.get("epsilon"), Mapping):
        names.remove("epsilon")
        names += [f"epsilon.{reading}" for reading in event["epsilon"]]
    return [name for name in names if not covered(kind, name)]


def covered_part(event: Mapping[str, Any]) -> dict[str, Any]:
    """One event without what is not covered by ε."""
    kind = str(event.get("kind", ""))
    part = {name: value for name, value in event.items() if covered(kind, name)}
    if isinstance(readings := event.get("epsilon"), Mapping):
        part["epsilon"] = {name: value for name, value in readings.items() if covered(kind, f"epsilon.{name}")}
    return part
