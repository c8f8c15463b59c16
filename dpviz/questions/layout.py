"""How a question's controls lie on a page, as values."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from dpviz.fields import Field, Number, Several

V = TypeVar("V")


class Reader(Protocol):
    """Tells the value of any field: the session's, a pinned state's, or a call's."""

    def __call__(self, field: Field[V], /) -> V: ...


def of_values(values: Mapping[str, Any]) -> Reader:
    """A reader of values by their fields' keys."""
    return lambda asked, /: values[asked.key]


def of_texts(texts: Mapping[str, str]) -> Reader:
    """A reader of texts by their fields' keys; what they do not name, or name wrongly, is at its default."""
    return lambda field, /: field.nearest(texts[field.key]) if field.key in texts else field.default


def moved(get: Reader, field: Field[V], value: V) -> Reader:
    """What `get` reads, but for one field's value."""
    return lambda asked, /: value if asked.key == field.key else get(asked)  # type: ignore[return-value]


@dataclass(frozen=True)
class Row:
    """Fields side by side; `shares` of the width, equal ones where empty."""

    fields: tuple[Field[Any], ...]
    shares: tuple[float, ...] = ()


@dataclass(frozen=True)
class Noted:
    """A number with lines and small choices below it.

    Attributes:
        field: the number.
        note: a line in amber, empty for none: why its value leaves a theorem's range, say.
        why: a line in grey, of the choices' reason or its own.
        choices: what a choice says → the text that it enters.
        size: the field that "N" stands for in the number's text, where there is one.
    """

    field: Number
    note: str = ""
    why: str = ""
    choices: Mapping[str, str] | None = None
    size: Number | None = None


@dataclass(frozen=True)
class InUnits:
    """q and T, or one of them, as a person knows them (N, batch, epochs) or as they are.

    `fields` are those that are asked for, N among them.
    """

    fields: tuple[Number, ...]


@dataclass(frozen=True)
class Offered:
    """Those options of a field that mean something here; what is chosen of the others stays chosen, unseen.

    Those of `rare` are for experts, unless they are chosen.
    """

    field: Several
    options: tuple[str, ...]
    rare: tuple[str, ...] = ()


@dataclass(frozen=True)
class Own:
    """A control that the renderer knows by name: "upload" (a file of distances), …

    `fields` are those that it sets.
    """

    name: str
    fields: tuple[Field[Any], ...] = ()


@dataclass(frozen=True)
class Expert:
    """A control that only experts look for: the others see it where it is not at its default, or was asked for."""

    item: Field[Any] | Row | Own


Control = Field[Any] | Row | Noted | InUnits | Offered | Own
Item = Control | Expert
Groups = Mapping[str, Sequence[Item]]
Layout = Callable[[Reader], Groups]


def fields_of(items: Sequence[Item]) -> list[Field[Any]]:
    """The fields among them, in their order."""
    fields: list[Field[Any]] = []
    for item in items:
        if isinstance(item, Row | InUnits | Own):
            fields += item.fields
        elif isinstance(item, Noted | Offered):
            fields.append(item.field)
        elif isinstance(item, Expert):
            fields += fields_of((item.item,))
        elif isinstance(item, Field):
            fields.append(item)
    return fields


def experts(*items: Field[Any] | Row | Own) -> tuple[Expert, ...]:
    """Each of them for experts."""
    return tuple(Expert(item) for item in items)


def moved_of(fields: Iterable[Field[Any]], get: Reader) -> set[str]:
    """Names of what is not at its default: fields' keys, and options that are chosen ("curves.basic")."""
    names = set()
    for field in fields:
        if field.write(get(field)) != field.write(field.default):
            names.add(field.key)
        if isinstance(field, Several):
            names |= {f"{field.key}.{option}" for option in get(field)}
    return names


def in_sight(items: Sequence[Item], kept: Collection[str] | None) -> tuple[list[Control], list[str]]:
    """The controls without what is for experts, and the names of what was left out.

    What has a name in `kept` stays (a row as a whole); all stays where that is None.
    """
    seen: list[Control] = []
    out: list[str] = []
    for item in items:
        if isinstance(item, Expert):
            names = [field.key for field in fields_of((item,))]
            if kept is None or any(name in kept for name in names):
                seen.append(item.item)
            else:
                out += names
        elif isinstance(item, Offered) and kept is not None:
            rare = [one for one in item.rare if one in item.options and f"{item.field.key}.{one}" not in kept]
            out += [f"{item.field.key}.{one}" for one in rare]
            seen.append(replace(item, options=tuple(one for one in item.options if one not in rare)))
        else:
            seen.append(item)
    return seen, out
