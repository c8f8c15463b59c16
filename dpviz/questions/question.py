"""A question as a value: its settings, one pure function from their values to an answer, and its words."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar, get_type_hints

import pandas as pd

from dpviz.charts import Plot
from dpviz.fields import AnyField, Choice, Number
from dpviz.mechanisms import Mechanism
from dpviz.questions.answer import Answer, Folded, Onward, Rerun, Slow
from dpviz.questions.layout import FieldControl, Groups, Item, Layout, Reader, Values, control, experts, made_once
from dpviz.questions.listing import Listing
from dpviz.questions.presets import Preset
from dpviz.questions.units import UNITS
from dpviz.questions.words import Formula, Metric, Note, Words, extremes

F = TypeVar("F")
Block = Note | Folded | Onward | Rerun | Plot | pd.DataFrame | FieldControl | Listing


@dataclass(frozen=True)
class Compound:
    """A setting made of several fields: a gradient sample, say.

    Attributes:
        fields: what decides it, each by the name that a call gives it.
        read: its value from theirs; ValueError says why there is none.
        texts: theirs from its value, by their keys in links: only those that differ from a default are needed.
        of_runs: whether its value is read from the runs of this machine.
    """

    fields: Mapping[str, AnyField]
    read: Callable[[Reader], Any]
    texts: Callable[[Any], Mapping[str, str]] = lambda _: {}
    of_runs: bool = False


Setting = AnyField | Compound


@dataclass(frozen=True)
class TextReading:
    """What a text says of a question's settings.

    Attributes:
        texts: field's key → its value, as the field writes it.
        sentences: what was understood, a quantity each.
    """

    texts: Mapping[str, str]
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question(Generic[F]):
    """Everything that follows from a question follows from this: page, link, script, table, file, shell, notebook.

    Attributes:
        key: its name in links, files, the shell and `dpviz.ask`.
        title: the question itself.
        answer: a pure function of the settings' values, by keyword; numpy and dpviz's public names alone. ValueError
            says why these values have no answer.
        words: what is said of an answer.
        asks: the fact that it asks for, which its headline says.
        settings: keyword of `answer` → the field (or the fields) behind it; those that are annotated need not be named.
        presets: published settings.
        opens: the one of them at which it opens where a menu, a link or a call names it and no setting; None for the
            defaults.
        slow: what is added as soon as it is computed.
        layout: the controls in groups, or the function that tells them from the values of fields; a setting may stand
            by its keyword. All in one group where None. The file format, which every question shows, is added.
        more: further details: name → blocks of text, plots, tables, runs to make again, and controls of its own.
        below: blocks below the notes and the doors to the details.
        printed: whether this chart has the axes on which a preset's printed values lie.
        option: its name in the page's choice, in links, where that is not the key.
        reads: name of a text that a call may give → what it says of the settings, beside the fields (by their keys)
            that the call gives itself.
    """

    key: str
    title: str
    answer: Callable[..., Answer[F]]
    words: Words[F]
    asks: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    presets: tuple[Preset, ...] = ()
    opens: Preset | None = None
    slow: tuple[Slow[F], ...] = ()
    layout: Callable[[Reader], Layout] | Layout | None = None
    more: Mapping[str, Callable[[Answer[F]], Sequence[Block]]] = field(default_factory=dict)
    below: Callable[[Answer[F]], Sequence[Block]] = lambda _: ()
    printed: Callable[[Answer[F]], bool] = lambda _: True
    option: str = ""
    reads: Mapping[str, Callable[[str, Collection[str]], TextReading]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", dict(self.settings) | annotated(self.answer))

    @property
    def asked_as(self) -> str:
        """Its name in the page's choice."""
        return self.option or self.key

    @cached_property
    def fields(self) -> tuple[AnyField, ...]:
        """All fields behind the settings, each once."""
        return tuple({one.key: one for setting in self.settings.values() for one in _fields(setting)}.values())

    @cached_property
    def _keys(self) -> Mapping[str, frozenset[str]]:
        return {keyword: frozenset(one.key for one in _fields(one)) for keyword, one in self.settings.items()}

    def keys_of(self, keyword: str) -> frozenset[str]:
        """Keys of the fields behind one setting."""
        return self._keys[keyword]

    def named(self) -> dict[str, AnyField]:
        """Every field by the name that a call gives it: the setting's keyword, or its own name within several."""
        by_name: dict[str, AnyField] = {}
        for keyword, setting in self.settings.items():
            if isinstance(setting, Compound):
                by_name |= setting.fields
            else:
                by_name[keyword] = setting
        return by_name

    def texts(self, values: Values) -> dict[str, str]:
        """What fields say of these settings' values, by their keys; what is at its default is left out.

        Raises:
            ValueError: no field can say a value.
        """
        defaults = {field.key: field.write(field.default) for field in self.fields}
        texts: dict[str, str] = {}
        for keyword, value in values.items():
            setting = self.settings[keyword]
            written = setting.texts(value) if isinstance(setting, Compound) else {setting.key: _written(setting, value)}
            texts |= {key: text for key, text in written.items() if text != defaults[key]}
        return texts

    def groups(self, get: Reader) -> Groups:
        """The controls in groups."""
        return made_once(get, (self.key, "groups"), self._groups)

    def _groups(self, get: Reader) -> Groups:
        layout = self.layout(get) if callable(self.layout) else self.layout
        named = {"Question": tuple(self.settings)} if layout is None else layout
        groups = {name: [one for item in items for one in self._controls(item)] for name, items in named.items()}
        in_units = any(one.drawn_as == UNITS.key for several in groups.values() for one in several)
        show = [*groups.get("Show", ()), *experts(*(UNITS,) * in_units)]
        return (groups | ({"Show": show} if show else {})) or {"Question": []}  # the choice of another stands there

    def _controls(self, item: Item | str) -> Iterable[FieldControl]:
        return map(control, _fields(self.settings[item]) if isinstance(item, str) else (item,))

    def headline(self, answer: Answer[F]) -> str:
        """The result in plain words, as HTML."""
        return self.words.headline(answer.facts)

    def metrics(self, answer: Answer[F]) -> list[Metric]:
        """At most four numbers below the chart."""
        return list(self.words.metrics(answer.facts))

    def notes(self, answer: Answer[F]) -> list[Note]:
        """What must be said beside it, and beside its headline."""
        return [*self.words.notes(answer.facts), *extremes(self.headline(answer))]

    def formulas(self, answer: Answer[F]) -> list[Formula]:
        """With today's numbers, in LaTeX."""
        return list(self.words.formulas(answer.facts))

    def assumed(self, answer: Answer[F]) -> str:
        """What the answer takes for granted, as Markdown."""
        assumptions = self.words.assumptions
        return assumptions if isinstance(assumptions, str) else assumptions(answer.facts)

    def read(self, get: Reader) -> Values:
        """The values of all settings, by keyword."""
        return made_once(get, (self.key, "values"), self._read)

    def _read(self, get: Reader) -> Values:
        return {keyword: value_of(setting, get) for keyword, setting in self.settings.items()}

    def asked(self, values: Values) -> Answer[F]:
        """The answer without its slow parts; ValueError for steps that the mechanism refuses (`Mechanism.counted`)."""
        if isinstance(mechanism := values.get("mechanism"), Mechanism) and values.get("steps") is not None:
            mechanism.counted(values["steps"])
        return replace(self.answer(**values), given=values)


AnyQuestion = Question[Any]  # a question of any facts


def _fields(setting: Setting) -> Iterable[AnyField]:
    return setting.fields.values() if isinstance(setting, Compound) else (setting,)


def _written(field: AnyField, value: Any) -> str:
    return field.write(field.accept(value) if isinstance(field, Choice) else value)


def annotated(keywords: Callable[..., Any]) -> dict[str, Setting]:
    """The setting behind every keyword of a function or a dataclass that is annotated with one.

    >>> from typing import Annotated
    >>> from dpviz.questions.mechanism import STEPS
    >>> def answer(*, steps: Annotated[int, STEPS]) -> None: ...
    >>> list(annotated(answer))
    ['steps']
    """
    hints = get_type_hints(keywords, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


def value_of(setting: Setting, get: Reader) -> Any:
    """The value that the question's function takes; whole numbers as int, what lies beyond the largest as None."""
    if isinstance(setting, Compound):
        return setting.read(get)
    value = get(setting)
    if isinstance(setting, Choice):
        return setting.means.get(value, value)
    if isinstance(setting, Number) and setting.top and value == math.inf:
        return None
    return int(value) if isinstance(setting, Number) and setting.whole else value
