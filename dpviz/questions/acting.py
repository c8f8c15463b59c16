"""Settings that act on an answer now: fields, sliders among them, values in words, and what stands below sliders."""

from collections.abc import Collection
from typing import TypedDict

from dpviz.fields import AnyField, Number
from dpviz.questions import AnyQuestion, units
from dpviz.questions.layout import Reader, fields_of, in_sight, moved_of
from dpviz.questions.mechanism import STEPS


def acting(question: AnyQuestion, get: Reader) -> list[AnyField]:
    """The fields that act on the answer now, in the order of their controls."""
    own = {field.key for field in question.fields}
    shown = [field for items in question.groups(get).values() for field in fields_of(items)]
    return list({field.key: field for field in shown if field.key in own}.values())


def sliders(question: AnyQuestion, get: Reader, *, usual: bool = False) -> list[Number]:
    """The numbers with a slider that act on the answer now: those in sight at once first, then experts' ones.

    Args:
        usual: of experts' ones only those that are not at their defaults.
    """
    numbers = [field for field in acting(question, get) if isinstance(field, Number) and field.ticks]
    seen = _in_sight(question, get, ())
    if usual:
        kept = _in_sight(question, get, moved_of(question.fields, get))
        numbers = [field for field in numbers if field.key in kept]
    return sorted(numbers, key=lambda field: field.key not in seen)


def _in_sight(question: AnyQuestion, get: Reader, kept: Collection[str]) -> set[str]:
    """Keys of the fields that have a control in sight; what is named in `kept` stays."""
    return {field.key for items in question.groups(get).values() for field in fields_of(in_sight(items, kept)[0])}


def settings(question: AnyQuestion, get: Reader) -> str:
    """What acts on the answer now, in a line."""
    return " · ".join(f"{field.label}: {field.show(get(field))}" for field in acting(question, get))


class Below(TypedDict):
    """What stands below the controls of numbers and follows from values, by the keys of their fields.

    Attributes:
        captions: lines of words.
        pictures: small pictures between sliders and captions, as SVG.
    """

    captions: dict[str, str]
    pictures: dict[str, str]


def below(question: AnyQuestion, get: Reader) -> Below:
    """All of it at these values."""
    lines: Below = {"captions": {}, "pictures": {}}
    for control in (control for controls in question.groups(get).values() for control in controls):
        if control.caption is not None:
            lines["captions"][control.fields[0].key] = control.caption
        if control.picture is not None:
            lines["pictures"][control.fields[0].key] = control.picture
        if control.drawn_as == units.UNITS.key:
            lines["captions"] |= units.captions(get, with_steps=STEPS in control.fields)
    return lines
