"""The layout of a question's controls on a page, as values."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from dpviz.fields import AnyField, Field, Number, Several

V = TypeVar("V")
Values = Mapping[str, Any]  # of settings, by keyword or by their fields' keys


class Reader(Protocol):
    """Tells the value of any field: the session's, a pinned state's, or a call's."""

    def __call__(self, field: Field[V], /) -> V: ...


def of_values(values: Values) -> Reader:
    """A reader of values by their fields' keys."""
    return lambda asked, /: values[asked.key]


def of_texts(texts: Mapping[str, str]) -> Reader:
    """A reader of texts by their fields' keys; what they do not name, or name wrongly, is at its default."""
    return lambda field, /: field.nearest(texts[field.key]) if field.key in texts else field.default


class SettingsSnapshot:
    """The values of all fields at one moment, as a reader.

    Each is asked for once, and what is made of several values is made once: the mechanism, the groups of a question.
    """

    def __init__(self, get: Reader) -> None:
        self._get = get
        self._values: dict[str, Any] = {}
        self._made: dict[Hashable, Any] = {}

    def __call__(self, field: Field[V], /) -> V:
        if field.key not in self._values:
            self._values[field.key] = self._get(field)
        value: V = self._values[field.key]
        return value

    def made(self, name: Hashable, make: Callable[[Reader], V]) -> V:
        """What `make` makes of this moment's values; `name` tells it from other things."""
        if name not in self._made:
            self._made[name] = make(self)
        made: V = self._made[name]
        return made


def made_once(get: Reader, name: Hashable, make: Callable[[Reader], V]) -> V:
    """What `make` makes of these values: once, where they are a snapshot."""
    return get.made(name, make) if isinstance(get, SettingsSnapshot) else make(get)


def moved(get: Reader, field: Field[V], value: V) -> Reader:
    """What `get` reads, but for one field's value."""
    return lambda asked, /: value if asked.key == field.key else get(asked)  # type: ignore[return-value]


@dataclass(frozen=True)
class FieldControl:
    """A control of a field, or of several side by side, where more is to be said than which field.

    Attributes:
        fields: those that it sets.
        drawn_as: the renderer's name for a control of its own ("upload", a file of distances); empty for the usual
            control of each field.
        warning: a line in amber below a number: why its value leaves a theorem's range, say.
        caption: a line in grey below it, such as a reason for the choices; None where it never has one.
        picture: a small picture between a number's slider and that line, as SVG; empty for none at these values, None
            where it never has one.
        choices: what a choice below it says → the text that it enters.
        size: the field that "N" stands for in the number's text, where there is one.
        within: the smallest and the largest value of a number that has an answer here: its slider stops at no others.
        runs: whether a button below lets its slider go through its stops by itself, until a second press.
        options: those of the field's options that mean something here, all where None; what is chosen of the others
            stays chosen, unseen.
        expert: whether only experts look for it; the others see it where it is not at its default, or was asked for.
        expert_options: the same of single options.
    """

    fields: tuple[AnyField, ...] = ()
    drawn_as: str = ""
    warning: str = ""
    caption: str | None = None
    picture: str | None = None
    choices: Mapping[str, str] | None = None
    size: Number | None = None
    within: tuple[float, float] | None = None
    runs: bool = False
    options: tuple[str, ...] | None = None
    expert: bool = False
    expert_options: tuple[str, ...] = ()

    def stops(self, field: Number) -> list[str] | None:
        """Texts at which its slider stops, both ends of `within` among them; None for all of the field's own."""
        if self.within is None:
            return None
        low, high = (min(max(end, field.ticks[0]), field.ticks[-1]) for end in self.within)
        between = [text for text, tick in zip(field.stops, field.ticks, strict=True) if low < tick < high]
        return list(dict.fromkeys([field.write(low), *between, field.write(high)]))


Item = AnyField | FieldControl
Layout = Mapping[str, Sequence[Item | str]]  # controls by the name of their group; a setting may stand by its keyword
Groups = Mapping[str, Sequence[FieldControl]]  # the same, complete


def control(item: Item) -> FieldControl:
    """The control of a field, which may be its usual one."""
    return item if isinstance(item, FieldControl) else FieldControl((item,))


def experts(*items: Item) -> tuple[FieldControl, ...]:
    """Each of them for experts."""
    return tuple(replace(control(item), expert=True) for item in items)


def fields_of(items: Iterable[Item]) -> list[AnyField]:
    """The fields among them, in their order."""
    return [field for item in items for field in control(item).fields]


def moved_of(fields: Iterable[AnyField], get: Reader) -> set[str]:
    """Names of what is not at its default: fields' keys, and options that are chosen ("curves.basic")."""
    names = set()
    for field in fields:
        if field.write(get(field)) != field.write(field.default):
            names.add(field.key)
        if isinstance(field, Several):
            names |= {f"{field.key}.{option}" for option in get(field)}
    return names


def in_sight(controls: Iterable[FieldControl], kept: Collection[str] | None) -> tuple[list[FieldControl], list[str]]:
    """The controls without what is for experts, and the names of what was left out.

    What has a name in `kept` stays (a row as a whole); all stays where that is None.
    """
    if kept is None:
        return list(controls), []
    seen: list[FieldControl] = []
    out: list[str] = []
    for one in controls:
        names = [field.key for field in one.fields]
        if one.expert and not any(name in kept for name in names):
            out += names
            continue
        options = one.options or ()
        rare = {option for option in one.expert_options if option in options and f"{names[0]}.{option}" not in kept}
        out += [f"{names[0]}.{option}" for option in one.expert_options if option in rare]
        seen.append(replace(one, options=tuple(option for option in options if option not in rare)) if rare else one)
    return seen, out
