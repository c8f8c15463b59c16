"""Evidence of one quantity in a text: its values, each with its lines, and the lines that were not understood."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from dpviz.fields import AnyField, Number
from dpviz.questions import DELTA, SIZE, TRIED
from dpviz.questions.check.fields import ADJACENCY, BATCH, CLAIM, EPOCHS, NOISE, ROWS, SAMPLER, UNSETTLED
from dpviz.questions.pasted.bindings import Reading
from dpviz.questions.pasted.quantities import WORDS

FIELDS: Mapping[str, AnyField] = {
    one.key: one for one in (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM, SAMPLER, ADJACENCY, ROWS, TRIED)
}
LABELS, ENTER = {**WORDS["names_of"], **WORDS["labels"]}, WORDS["enter"]


@dataclass(frozen=True)
class Evidence:
    """All that the code says of one quantity.

    Attributes:
        key: its field's key, or one of `UNSETTLED`.
        values: value as the field writes it → the lines that give it.
        unread: lines that may give another value.
        words: a sentence in the place of the usual one. The values are then all possible, and counted.
    """

    key: str
    values: Mapping[str, tuple[int, ...]]
    unread: tuple[int, ...] = ()
    words: str = ""

    @property
    def settled(self) -> bool:
        """Whether the text gives one value and no other line may change it."""
        return bool(self.words) or (len(self.values) == 1 and not self.unread and not self.problem)

    @property
    def sentence(self) -> str:
        """The values with their lines, then what would settle them."""
        if self.words:
            return self.words
        field = FIELDS.get(self.key)
        label = LABELS.get(self.key) or UNSETTLED.options[self.key]
        if self.key in ENTER and self.unread and self.key != "clip":
            what = f" ({'; '.join(self.values)})" if self.values else ""
            return f"{label}: {lines_text(self.unread)}{what}. {ENTER[self.key]}"
        parts = [f"{field.show(field.parse(text)) if self.settled and field else text} ({lines_text(lines)})"
                 for text, lines in self.values.items()]  # fmt: skip
        if self.settled:
            return f"{label} = {parts[0]}"
        wrong = [problem for text in self.values if (problem := self._impossible(text))]
        parts += [f"{lines_text(self.unread)} not read"] if self.unread else []
        enter = ENTER.get(
            self.key, "Enter the value of the training that the claim is about." if parts else "Enter it."
        )
        return " ".join([f"{label}: {', '.join(parts) or 'not in the text'}.", *wrong, enter])

    @property
    def problem(self) -> str:
        """Why the field refuses a value; empty where it takes all."""
        return next((problem for text in self.values if (problem := self._impossible(text))), "")

    def _impossible(self, text: str) -> str:
        """Why the field refuses a value; empty where it does not."""
        try:
            if (field := FIELDS.get(self.key)) is not None:
                field.parse(text)
        except ValueError as problem:
            return str(problem)
        return ""


def gathered(key: str, readings: list[Reading]) -> Evidence:
    """The values of one quantity with their lines."""
    values: dict[str, list[int]] = {}
    unread = []
    field = FIELDS.get(key)
    for reading in sorted(readings, key=lambda one: one.line):
        if reading.value is None or isinstance(reading.value, bool):
            unread.append(reading.line)
            continue
        try:
            text = field.write(field.accept(reading.value)) if isinstance(field, Number) else f"{reading.value:.12g}"
        except ValueError:
            text = f"{reading.value:.12g}"
        values.setdefault(text, []).append(reading.line)
    return Evidence(
        key, {text: tuple(sorted(set(lines))) for text, lines in values.items()}, tuple(sorted(set(unread)))
    )


def chosen(key: str, choices: Iterable[tuple[str, int]]) -> Evidence:
    """Choices with their lines; an empty one is a line that was not read."""
    lines: dict[str, tuple[int, ...]] = {}
    for choice, line in sorted(set(choices)):
        lines[choice] = (*lines.get(choice, ()), line)
    unread = lines.pop("", ())
    return Evidence(key, lines, unread)


def single(readings: list[Reading]) -> float | None:
    """The one positive value; None where there are none, several, or unread lines."""
    values = {reading.value for reading in readings}
    value = next(iter(values)) if len(values) == 1 else None
    return value if value is not None and value > 0 else None


def lines_text(lines: Collection[int]) -> str:
    """ "line 3", "lines 3, 5"."""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
