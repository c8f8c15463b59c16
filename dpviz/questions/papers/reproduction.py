"""A view of the Papers page: what computes a figure, theorem or example anew, and what its paper's table says of it.

The table has its words, its chart (`dpviz.questions.chart`), and its settings: keyword → key of a field. Elsewhere a
function's keywords are annotated with fields, which layouts and other functions name too; most fields of a view serve
it alone, and each would be one more name of its module.
"""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from dpviz.fields.declared import any_kind
from dpviz.fields.field import Field
from dpviz.questions.answer import Answer
from dpviz.questions.layout import Expert, Groups, Item, Reader
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import tables_of, words

Facts = SimpleNamespace  # the numbers that a view's words name


Named = Mapping[str, Sequence[Item | str]]  # groups of controls, in which a setting stands by its keyword


def reproduction(
    paper: str,
    key: str,
    recompute: Callable[..., Answer[Any]],
    layout: Callable[[Reader], Named] | Named | None = None,
    settings: Mapping[str, Field[Any]] = {},
    **more: Any,
) -> Question[Any]:
    """The question of one view.

    Args:
        paper: the file of its words, beside this one and without suffix.
        key: its table there, and its name.
        recompute: its function.
        layout: the controls in groups, without what every view shows; all settings in one where None.
        settings: keyword of `recompute` → the field behind it, of what the table does not name.
        more: further attributes of the question.
    """
    room = f"papers/{paper}"
    declared = {keyword: any_kind(field) for keyword, field in tables_of(room)[key].get("settings", {}).items()}
    fields = {**declared, **settings}

    def groups(get: Reader) -> Groups:
        named = {"Question": tuple(fields)} if layout is None else layout(get) if callable(layout) else layout
        items = {name: [fields[one] if isinstance(one, str) else one for one in of] for name, of in named.items()}
        return items | {"Show": [*items.get("Show", ()), Expert(IMAGE)]}

    return Question(key=key, settings=fields, answer=recompute, layout=groups, **words(room, key), **more)
