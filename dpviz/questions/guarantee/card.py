"""A guarantee card as a value: the numbers, what is stated, and the answers to pitfalls; as Markdown and as JSON."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpviz import _validate
from dpviz.accounting.claims import rounded_up
from dpviz.accounting.guarantee import PROFILE, Losses
from dpviz.questions.guarantee.words import (
    ANSWERS,
    DIGITS,
    ENTRIES,
    GROUPS,
    LOSSES,
    NO_EPSILON,
    PITFALLS,
    SOURCES,
    UNKNOWN,
    entered_up,
    short,
)

Statements = Mapping[str, Mapping[str, str]]  # group → entry → text, as in ENTRIES


class Reply(NamedTuple):
    """The answer to a pitfall, one of ANSWERS, and what shows it."""

    answer: str = UNKNOWN
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """One guarantee card; every entry and pitfall that nobody answers is “not known”.

    Attributes:
        losses: the numbers.
        statements: group → entry → text, as in ENTRIES.
        replies: pitfall → reply, as in PITFALLS.

    Raises:
        ValueError: for an entry, a pitfall or an answer that does not exist.
    """

    losses: Losses
    statements: Statements = field(default_factory=dict)
    replies: Mapping[str, Reply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for group, entries in self.statements.items():
            _validate.choice("group", group, tuple(GROUPS))
            for name in entries:
                _validate.choice(f"entry of {group}", name, tuple(ENTRIES[group]))
        for name, reply in self.replies.items():
            _validate.choice("pitfall", name, tuple(PITFALLS))
            _validate.choice(f"the answer to {name!r}", reply.answer, ANSWERS)
        whole = {
            group: {name: self.statements.get(group, {}).get(name) or UNKNOWN for name in entries}
            for group, entries in ENTRIES.items()
        }
        object.__setattr__(self, "statements", whole)
        object.__setattr__(self, "replies", {name: self.replies.get(name, Reply()) for name in PITFALLS})

    def count(self, answer: str) -> int:
        """How many pitfalls have this answer."""
        return sum(reply.answer == answer for reply in self.replies.values())

    @property
    def headline(self) -> str:
        """ε, δ and the unit in a sentence of plain text."""
        unit = f"for {self.statements['privacy_loss']['privacy_unit']}"
        if self.losses.epsilon is None or math.isinf(self.losses.epsilon):
            return f"No ε {unit}: {self.losses.why or NO_EPSILON}"
        return f"ε {self.loss('epsilon')} at δ = {self.loss('delta')}, {unit}"

    def loss(self, name: str) -> str:
        """A number of the privacy loss as text, rounded to the side on which a bound stays one."""
        value = getattr(self.losses, name)
        if value is None:
            return UNKNOWN
        return f"none: {self.losses.why or NO_EPSILON}" if math.isinf(value) else LOSSES[name].written(value)

    def tables(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Each group's title, and its entries by their names."""
        for group, title in GROUPS.items():
            table = {ENTRIES[group][name]: text for name, text in self.statements[group].items()}
            if group == "privacy_loss":
                table |= {words.name: self.loss(name) for name, words in LOSSES.items()}
            yield title, table

    def points(self) -> list[tuple[str, str]]:
        """(δ, ε at most) of the profile as texts, at whole powers of ten and the card's δ."""
        rows = [(e, d) for e, d in self.losses.profile if d == self.losses.delta or d in PROFILE[::4]]
        return [(short(entered_up(delta, DIGITS)), short(rounded_up(epsilon, DIGITS))) for epsilon, delta in rows]

    def asked(self) -> list[tuple[str, str, str]]:
        """Question, answer and what shows it, of each pitfall."""
        return [(PITFALLS[name].question, *reply) for name, reply in self.replies.items()]

    def registry(self) -> dict[str, dict[str, Any]]:
        """JSON values by the groups of the registry of deployments; numbers that are bounds stay bounds."""
        groups: dict[str, dict[str, Any]] = {name: dict(entries) for name, entries in self.statements.items()}
        groups["privacy_loss"] |= {
            "privacy_parameters": {name: self._number(name) for name in LOSSES},
            "profile": [{"epsilon": rounded_up(e, DIGITS), "delta": d} for e, d in self.losses.profile] or UNKNOWN,
        }
        groups["implementation"]["pitfalls"] = {
            name: {"question": PITFALLS[name].question} | reply._asdict() for name, reply in self.replies.items()
        }
        return groups

    def _number(self, name: str) -> float | str:
        value = getattr(self.losses, name)
        return self.loss(name) if value is None or math.isinf(value) else LOSSES[name].rounded(value)

    def json(self) -> str:
        """`registry` as a text."""
        return json.dumps(self.registry(), ensure_ascii=False, indent=2, allow_nan=False)

    def markdown(self) -> str:
        """The whole card as Markdown, which prints."""
        parts = [f"# Guarantee card: {_flat(self.statements['deployment']['name'])}", f"**{_flat(self.headline)}.**"]
        parts += [f"## {title}\n\n{_table(('', ''), table.items())}" for title, table in self.tables()]
        profile = _table(("δ", "ε at most"), self.points()) if self.losses.profile else UNKNOWN
        parts += [f"## Privacy profile ε(δ)\n\n{profile}"]
        parts += [f"## Pitfalls\n\n{_table(('Question', 'Answer', 'Shown by'), self.asked())}", SOURCES]
        return "\n\n".join(parts) + "\n"


def _flat(text: str) -> str:
    """A text that no table or mark of Markdown breaks: names of runs are anybody's."""
    return " ".join(re.sub(r"([\\|`*_\[\]<])", r"\\\1", text).split())


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_flat, row))} |" for row in lines)
