"""The Python script of an answer: `dpviz.ask` with what differs from the defaults."""

from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from dpviz.fields import AnyField, Flag, Number, Several
from dpviz.questions import AnyAnswer, AnyQuestion, Compound
from dpviz.questions.gradients import File
from dpviz.questions.layout import Reader, of_texts
from dpviz.questions.source import origin

SCRIPT = '''"""{title}

Needs dpviz[ask].
"""

{imports}

answer = dpviz.ask(
    {arguments}
)
print(answer.headline)
points = answer.data()  # all points of the chart, as numbers
figure = answer.figure()  # of Plotly
figure.show()
'''


def script(question: AnyQuestion, answer: AnyAnswer) -> str:
    """Source text; running it leaves `answer`, with this headline and these points, and shows the chart.

    Raises:
        ValueError: a value was given that no script can write.
    """
    given = {keyword: origin(value) for keyword, value in answer.given.items()}
    texts: dict[str, dict[str, str]] = {}
    for keyword, value in given.items():
        with suppress(ValueError):
            texts[keyword] = question.texts({keyword: value})
    get = of_texts({key: text for part in texts.values() for key, text in part.items()})
    whole = [k for k, one in question.settings.items() if isinstance(one, Compound) and not _said(one, given[k], get)]
    field_texts = {key: text for k, part in texts.items() if k not in whole for key, text in part.items()}
    if question.opens is not None and not (field_texts or whole):  # a call without settings asks at the published one
        field_texts = {one.key: one.write(one.default) for one in question.fields if one.key in question.opens.values}
    imports = ["import dpviz", *(f"from {type(given[k]).__module__} import {type(given[k]).__name__}" for k in whole)]
    arguments = [
        f'"{question.key}",',
        *(
            f"{name}={_literal(one, field_texts[one.key])},"
            for name, one in question.named().items()
            if one.key in field_texts
        ),
        *(_whole(k, given[k]) for k in whole),
    ]
    return SCRIPT.format(title=question.title, imports="\n".join(imports), arguments="\n    ".join(arguments))


def _said(setting: Compound, value: Any, get: Reader) -> bool:
    """Whether fields say a value: what they ask for is measured alike. Which file it is, no field says."""
    try:
        asked = setting.read(get)
    except ValueError:
        return False
    same: bool = getattr(asked, "measured", asked) == getattr(value, "measured", value)
    return same and not isinstance(value, File)


def _literal(field: AnyField, text: str) -> str:
    """A field's text as a call gives it."""
    if isinstance(field, Number) and text != field.top:
        return text
    return repr(field.parse(text) if isinstance(field, Flag | Several) else text)


def _whole(keyword: str, value: Any) -> str:
    """The argument of a value that no field says."""
    parts = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else [value]
    if not is_dataclass(value) or {type(part) for part in parts} - {str, int, float, bool, type(None)}:
        raise ValueError(f"No script can write {keyword}={value!r:.60}: it exists only in this program.")
    return f"{keyword}={value!r}," + "  # name: the path of your file" * isinstance(value, File)
