"""What a piece of training code says of its privacy: every value with its lines, and what the code does not settle.

>>> code = read("compute_dp_sgd_privacy(n=60000, batch_size=256, noise_multiplier=1.1, epochs=60, delta=1e-5)")
>>> code.sentences[1], code.sentences[5]
('batch = 256 (line 1)', 'claimed ε: not in the code. Enter it.')
>>> code.unsettled
('kclaim', 'clip')
"""

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpviz.fields import Field, Number
from dpviz.questions import DELTA, SIZE
from dpviz.questions.papers.bindings import Bindings, Reading, name_of
from dpviz.questions.papers.check import ADJACENCY, BATCH, CLAIM, EPOCHS, NOISE, SAMPLER, UNSETTLED, steps_of
from dpviz.questions.papers.trainings import Trainings, walked

LONGEST = 20_000  # characters
WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
NAMES, DERIVED, CHANGES = (
    {key: re.compile(words) for key, words in WORDS[table].items()} for table in ("names", "derived", "changes")
)
FIELDS: Mapping[str, Field[Any]] = {
    one.key: one for one in (SIZE, BATCH, NOISE, EPOCHS, DELTA, CLAIM, SAMPLER, ADJACENCY)
}
LABELS, ENTER = WORDS["labels"], WORDS["enter"]
POISSON, POISSON_NOT = ({None, *WORDS["samplers"][key]} for key in ("poisson", "but_not_with"))


@dataclass(frozen=True)
class Evidence:
    """All that the code says of one quantity.

    Attributes:
        key: its field's key, or one of `UNSETTLED`.
        values: value as the field writes it → the lines that give it.
        unread: lines that may give another value.
    """

    key: str
    values: Mapping[str, tuple[int, ...]]
    unread: tuple[int, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the code gives one value and no other line may change it."""
        return len(self.values) == 1 and not self.unread and not self._impossible(next(iter(self.values)))

    @property
    def sentence(self) -> str:
        """The values with their lines, then what would settle them."""
        field = FIELDS.get(self.key)
        label = LABELS.get(self.key) or UNSETTLED.options[self.key]
        if self.key in ENTER and self.unread and self.key != "clip":
            return f"{label}: {lines_text(self.unread)}. {ENTER[self.key]}"
        parts = [f"{field.show(field.parse(text)) if self.settled and field else text} ({lines_text(lines)})"
                 for text, lines in self.values.items()]  # fmt: skip
        if self.settled:
            return f"{label} = {parts[0]}"
        wrong = [problem for text in self.values if (problem := self._impossible(text))]
        parts += [f"{lines_text(self.unread)} not read"] if self.unread else []
        enter = ENTER.get(
            self.key, "Enter the value of the training that the claim is about." if parts else "Enter it."
        )
        return " ".join([f"{label}: {', '.join(parts) or 'not in the code'}.", *wrong, enter])

    def _impossible(self, text: str) -> str:
        """Why the field refuses a value; empty where it does not."""
        try:
            if (field := FIELDS.get(self.key)) is not None:
                field.parse(text)
        except ValueError as problem:
            return str(problem)
        return ""


@dataclass(frozen=True)
class Code:
    """The evidence of a program, a quantity each."""

    evidence: tuple[Evidence, ...]

    @property
    def sentences(self) -> list[str]:
        return [each.sentence for each in self.evidence]

    @cached_property
    def unsettled(self) -> tuple[str, ...]:
        """What blocks a verdict, as keys of `UNSETTLED`."""
        return tuple(each.key for each in self.evidence if each.key in UNSETTLED.options and not each.settled)

    def texts(self, entered: Collection[str] = ()) -> dict[str, str]:
        """Texts of the fields: of what is settled, and of what is not.

        Args:
            entered: keys of fields whose values a person gave; they stand where the code gives none.
        """
        texts = {e.key: next(iter(e.values)) for e in self.evidence if e.settled and e.key in FIELDS}
        absent = {e.key for e in self.evidence if not e.values and not e.unread and e.key in entered}
        for choice in (SAMPLER, ADJACENCY):
            if choice.key not in absent:
                texts.setdefault(choice.key, "unsaid")
        return texts | {UNSETTLED.key: UNSETTLED.write(tuple(key for key in self.unsettled if key not in absent))}


def read(text: str) -> Code:
    """The evidence of a piece of Python.

    Raises:
        ValueError: it is too long, or no Python, or says nothing of these quantities.
    """
    text = python(text)
    try:
        code = Code(tuple(_evidence(Bindings(ast.parse(text)))))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        where = f" in line {problem.lineno}" if isinstance(problem, SyntaxError) else ""
        raise ValueError(f"This is not valid Python{where}: paste complete lines of code.") from None
    if not any(each.values for each in code.evidence):
        raise ValueError(
            "No number of a private training is in this code. Names such as batch_size, noise_multiplier, epochs and "
            "delta are read, as keywords, variables or keys with plain numbers."
        )
    return code


def python(text: str) -> str:
    """The text without a notebook's own lines; ValueError where it is too long."""
    if len(text) > LONGEST:
        raise ValueError(
            f"This text has {len(text):,} characters; paste at most {LONGEST:,}: the part that sets up the training."
        )
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in text.splitlines())


def all_readings(bindings: Bindings, trainings: Trainings) -> dict[str, list[Reading]]:
    """Every reading of each quantity of `NAMES`; σ also from a standard deviation, which counts in C."""
    readings = {key: _readings(bindings, key) for key in NAMES}
    readings[EPOCHS.key] += trainings.epochs
    readings["steps"] += trainings.steps
    clip, batch = single(readings["clip"]), single(readings[BATCH.key])
    for key, share in (("sum_std", 1.0), ("mean_std", batch)):
        for value, line in readings.pop(key):
            scaled = value is not None and clip and share
            readings[NOISE.key].append(Reading(value * share / clip if scaled else None, line))  # type: ignore[operator]
    return readings


def _evidence(bindings: Bindings) -> Iterable[Evidence]:
    trainings = Trainings(bindings)
    readings = all_readings(bindings, trainings)
    _batch_from_rate(readings)
    _epochs_from_steps(readings)
    for key in (SIZE.key, BATCH.key, NOISE.key, EPOCHS.key, DELTA.key, CLAIM.key, "clip"):
        yield gathered(key, readings[key])
    yield sampler(bindings)
    yield neighbours(bindings)
    for key, lines in {**trainings.several, "unread": tuple(sorted(bindings.opaque))}.items():
        if lines:
            yield Evidence(key, {}, lines)


def _readings(bindings: Bindings, key: str) -> list[Reading]:
    names, changes, derived = NAMES[key], CHANGES.get(key), DERIVED.get(key)
    readings = [
        reading if derived is None or not derived.fullmatch(name) else Reading(None, reading.line)
        for name in bindings if names.fullmatch(name) for reading in bindings.readings(name)
    ]  # fmt: skip
    return readings + [
        Reading(None, call.lineno)
        for name, calls in bindings.calls.items()
        for call in calls
        if (changes is not None and changes.search(name) and not _gives(bindings, call, names))
        or (
            key == NOISE.key
            and name.startswith("make_private")
            and all(w.arg not in (None, "noise_multiplier") for w in call.keywords)
        )
        or (key == SIZE.key and name == "dataloader" and any(isinstance(n, ast.Slice) for n in ast.walk(call)))
    ]


def _gives(bindings: Bindings, call: ast.Call, names: re.Pattern[str]) -> bool:
    """Whether a call names the quantity itself, with a value that is read."""
    values = [word.value for word in call.keywords if word.arg is not None and names.fullmatch(word.arg.lower())]
    return any(reading.value is not None for value in values for reading in bindings.evaluate(value))


def single(readings: list[Reading]) -> float | None:
    """The one positive value; None where there are none, several, or unread lines."""
    values = {reading.value for reading in readings}
    value = next(iter(values)) if len(values) == 1 else None
    return value if value is not None and value > 0 else None


def _batch_from_rate(readings: dict[str, list[Reading]]) -> None:
    """A sampling rate is a batch where N is settled; one that cannot be compared leaves the batch open."""
    size = single(readings[SIZE.key])
    batches = {reading.value for reading in readings[BATCH.key]}
    for rate in readings["rate"]:
        batch = None if size is None or rate.value is None else round(rate.value * size)
        same = batch is not None and size is not None and abs(rate.value * size - batch) <= 1e-9 * batch  # type: ignore[operator]
        if not same or batch not in batches:
            readings[BATCH.key].append(Reading(batch if same else None, rate.line))


def _epochs_from_steps(readings: dict[str, list[Reading]]) -> None:
    """Steps are epochs where N and batch are settled; those that cannot be compared leave the epochs open."""
    size, batch = single(readings[SIZE.key]), single(readings[BATCH.key])
    epochs = [reading.value for reading in readings[EPOCHS.key] if reading.value is not None]
    for steps in readings["steps"]:
        if size is None or batch is None or steps.value is None:
            readings[EPOCHS.key].append(Reading(None, steps.line))
        elif not any(_same_steps(size, batch, each, steps.value) for each in epochs):
            readings[EPOCHS.key].append(Reading(steps.value * batch / size, steps.line))


def _same_steps(size: float, batch: float, epochs: float, steps: float) -> bool:
    try:
        return steps_of(int(size), int(batch), epochs) == steps
    except (OverflowError, ZeroDivisionError):
        return False


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


def sampler(bindings: Bindings) -> Evidence:
    """Poisson sampling where a call says so, or is Opacus's, whose default it is; shuffled where it is off.

    Without any of these calls, a loader's `shuffle` decides.
    """
    choices = [
        ("" if not isinstance(reading.value, bool) else "poisson" if reading.value else "shuffled", reading.line)
        for reading in bindings.readings("poisson_sampling")
    ]
    for name, calls in bindings.calls.items():
        for call in calls:
            if name.startswith("make_private"):
                if not any(word.arg == "poisson_sampling" for word in call.keywords):
                    choices.append(("poisson", call.lineno))
                choices += [("", line) for line in _other_loaders(bindings, call)]
            elif name in POISSON or CHANGES[SAMPLER.key].search(name):
                plain = name in POISSON and not {word.arg for word in call.keywords} & POISSON_NOT
                choices.append(("poisson" if plain else "", call.lineno))
    if not choices:
        orders = {True: "shuffled", False: "partition"}
        switches = bindings.readings("shuffle")
        choices = [(orders[value] if isinstance(value, bool) else "", line) for value, line in switches]
        if not choices and any("keras" in name for name in bindings.calls):  # its `fit` shuffles unless told otherwise
            choices = [("shuffled", call.lineno) for call in bindings.calls.get("fit", ())]
    return _choice(SAMPLER.key, choices)


def neighbours(bindings: Bindings) -> Evidence:
    """Which data sets must look alike."""
    relations = WORDS["neighbours"]
    named = [n for n in bindings.nodes if isinstance(n, ast.Name | ast.Attribute) and name_of(n) in relations]
    return _choice(ADJACENCY.key, [(relations[name_of(node)], node.lineno) for node in named])


def _other_loaders(bindings: Bindings, call: ast.Call) -> list[int]:
    """Lines whose steps do not go through the Poisson loader, the last of what make_private returns."""
    statement = bindings.parents.get(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    private = {name_of(t.elts[-1]) for t in targets if isinstance(t, ast.Tuple) and t.elts}
    for item in (n for n in bindings.nodes if isinstance(n, ast.withitem) and n.optional_vars is not None):
        words = item.context_expr.keywords if isinstance(item.context_expr, ast.Call) else []
        split = name_of(item.context_expr) == "batchmemorymanager" and item.optional_vars is not None
        if split and any(word.arg == "data_loader" and name_of(word.value) in private for word in words):
            private.add(name_of(item.optional_vars))  # type: ignore[arg-type]
    loops = [
        n for n in bindings.nodes if isinstance(n, ast.For) and isinstance(walked(n.iter), ast.Name | ast.Attribute)
    ]
    trains = [n for n in loops if any(isinstance(p, ast.Call) and name_of(p) == "backward" for p in ast.walk(n))]
    thrown = [call.lineno] if any(name.startswith("_") for name in private) else []
    return thrown + [n.lineno for n in trains if private and name_of(walked(n.iter)) not in private]


def _choice(key: str, choices: Iterable[tuple[str, int]]) -> Evidence:
    """Choices with their lines; an empty one is a line that was not read."""
    lines: dict[str, tuple[int, ...]] = {}
    for choice, line in sorted(choices):
        lines[choice] = (*lines.get(choice, ()), line)
    unread = lines.pop("", ())
    return Evidence(key, lines, unread)


def lines_text(lines: Collection[int]) -> str:
    """ "line 3", "lines 3, 5"."""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
