"""A question as a value: its settings, one pure function from their values to an answer, and its words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, get_type_hints

import pandas as pd

from dpviz.charts import Plot
from dpviz.fields import Choice, Field, Number
from dpviz.questions.answer import Answer, Folded, Metric, Note, Onward, Rerun, Slow
from dpviz.questions.layout import Groups, Layout, Own, Reader
from dpviz.questions.listing import Listing
from dpviz.questions.presets import Preset

F = TypeVar("F")
Block = Note | Folded | Onward | Rerun | Plot | pd.DataFrame | Own | Listing


@dataclass(frozen=True)
class Compound:
    """A setting made of several fields: a gradient sample, say.

    Attributes:
        fields: what decides it.
        read: its value from theirs; ValueError says why there is none.
        texts: theirs from its value, by their keys in links: only those that differ from a default are needed.
        names: key of a field → what a call names it, where that is not its key.
    """

    fields: tuple[Field[Any], ...]
    read: Callable[[Reader], Any]
    texts: Callable[[Any], Mapping[str, str]] = lambda _: {}
    names: Mapping[str, str] = field(default_factory=dict)


Setting = Field[Any] | Compound


@dataclass(frozen=True)
class Question(Generic[F]):
    """Everything that follows from a question follows from this: page, link, script, table, file, shell, notebook.

    Attributes:
        key: its name in links, files, the shell and `dpviz.ask`.
        title: the question itself.
        settings: keyword of `answer` → the field (or the fields) behind it.
        answer: a pure function of the settings' values, by keyword; numpy and dpviz's public names alone. ValueError
            says why these values have no answer.
        headline: the result in plain words, as HTML.
        metrics: at most four numbers below the chart.
        notes: what must be said beside it.
        formulas: (name, LaTeX with today's numbers).
        assumptions: Markdown, or what writes it for an answer.
        presets: published settings.
        slow: what is added as soon as it is computed.
        layout: the controls in groups, from the values of fields; all in one group where None.
        more: further details: name → blocks of text, plots, tables, runs to make again, and controls of its own.
        below: blocks below the notes and the doors to the details.
        printed: whether this chart has the axes on which a preset's printed values lie.
        option: its name in the page's choice, in links, where that is not the key.
    """

    key: str
    title: str
    settings: Mapping[str, Setting]
    answer: Callable[..., Answer[F]]
    headline: Callable[[Answer[F]], str]
    metrics: Callable[[Answer[F]], Sequence[Metric]] = lambda _: ()
    notes: Callable[[Answer[F]], Sequence[Note]] = lambda _: ()
    formulas: Callable[[Answer[F]], Sequence[tuple[str, str]]] = lambda _: ()
    assumptions: str | Callable[[Answer[F]], str] = ""
    presets: tuple[Preset, ...] = ()
    slow: tuple[Slow[F], ...] = ()
    layout: Layout | None = None
    more: Mapping[str, Callable[[Answer[F]], Sequence[Block]]] = field(default_factory=dict)
    below: Callable[[Answer[F]], Sequence[Block]] = lambda _: ()
    printed: Callable[[Answer[F]], bool] = lambda _: True
    option: str = ""

    @property
    def asked_as(self) -> str:
        """Its name in the page's choice."""
        return self.option or self.key

    @property
    def fields(self) -> tuple[Field[Any], ...]:
        """All fields behind the settings, each once."""
        by_key: dict[str, Field[Any]] = {}
        for setting in self.settings.values():
            for one in setting.fields if isinstance(setting, Compound) else (setting,):
                by_key[one.key] = one
        return tuple(by_key.values())

    def keys_of(self, keyword: str) -> set[str]:
        """Keys of the fields behind one setting."""
        setting = self.settings[keyword]
        return {one.key for one in (setting.fields if isinstance(setting, Compound) else (setting,))}

    def named(self) -> dict[str, Field[Any]]:
        """Every field by the name that a call gives it: the setting's keyword, or its own name within several."""
        by_name: dict[str, Field[Any]] = {}
        for keyword, setting in self.settings.items():
            if isinstance(setting, Compound):
                by_name |= {setting.names.get(one.key, one.key): one for one in setting.fields}
            else:
                by_name[keyword] = setting
        return by_name

    def texts(self, values: Mapping[str, Any]) -> dict[str, str]:
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
        return self.layout(get) if self.layout is not None else {"Settings": self.fields}

    def assumed(self, answer: Answer[F]) -> str:
        """What the answer takes for granted, as Markdown."""
        return self.assumptions if isinstance(self.assumptions, str) else self.assumptions(answer)

    def read(self, get: Reader) -> dict[str, Any]:
        """The values of all settings, by keyword."""
        return {keyword: value_of(setting, get) for keyword, setting in self.settings.items()}

    def asked(self, values: Mapping[str, Any]) -> Answer[F]:
        """The answer without its slow parts."""
        return replace(self.answer(**values), given=values)


def _written(field: Field[Any], value: Any) -> str:
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
