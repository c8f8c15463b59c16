"""How a question is made of the function that answers it and of a table that has the rest, `[TABLE]` of a room's words.

The table has its title and words, its chart (`chart_tables`) where that is made of a table, and settings:
keyword → key of a field. Elsewhere a function's keywords are annotated with fields, which layouts and other functions
name too; most fields of a view of the Papers page serve it alone, and each would be one more name of its module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dpviz.fields import any_kind
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Expert, Groups, Item, Reader
from dpviz.questions.presets import PRESETS
from dpviz.questions.question import Question, Setting, annotated
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import tables_of, words

F = TypeVar("F")
Named = Mapping[str, Sequence[Item | str]]  # groups of controls, in which a setting may stand by its keyword


def make_question(
    table: str,
    answer: Callable[..., Answer[F]],
    layout: Callable[[Reader], Named] | Named | None = None,
    settings: Mapping[str, Setting] = {},
    *,
    key: str = "",
    presets: Iterable[str] = (),
    **more: Any,
) -> Question[F]:
    """The question.

    Args:
        table: room and name of the table with its words (`dpviz.questions.words`), "budget/stop".
        answer: its function.
        layout: the controls in groups, without the file format, which every question shows; all settings in one group
            where None.
        settings: keyword → field, before those that are annotated, of what neither the table nor `answer` names.
        key: its name; the table's where empty.
        presets: keys of published settings.
        more: further attributes of the question.
    """
    room, _, name = table.rpartition("/")
    declared = {keyword: any_kind(field) for keyword, field in tables_of(room)[name].get("settings", {}).items()}
    fields = {**declared, **settings, **annotated(answer)}

    def groups(get: Reader) -> Groups:
        named = {"Question": tuple(fields)} if layout is None else layout(get) if callable(layout) else layout
        items = {name: [fields[one] if isinstance(one, str) else one for one in of] for name, of in named.items()}
        return items | {"Show": [*items.get("Show", ()), Expert(IMAGE)]}

    published = tuple(PRESETS[preset] for preset in presets)
    more |= {"presets": published, "layout": groups, **words(room, name)}
    return Question(key=key or name, settings=fields, answer=answer, **more)
