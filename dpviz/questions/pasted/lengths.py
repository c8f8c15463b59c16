"""The length of a training, as a text says it: products of counts, in steps or in epochs, and whether they agree.

>>> rounds = Length("epochs", (Reading(100.0, 1), Reading(5.0, 2)))
>>> rounds.count, rounds.words
(500.0, '100 × 5 epochs')
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dpviz.questions.pasted.bindings import Reading

STEPS, EPOCHS = "steps", "epochs"
NEARLY = 1e-9  # by which two equal counts may differ


@dataclass(frozen=True)
class Length:
    """One reading of a length: counts that multiply.

    Attributes:
        unit: STEPS or EPOCHS.
        counts: each with its line; a value that is None was not read.
        passes: whether a loop over a loader is seen, so that an epoch is one pass of it.
    """

    unit: str
    counts: tuple[Reading, ...]
    passes: bool = False

    @property
    def count(self) -> float | None:
        """The product; None where one count was not read or is not above 0."""
        values = [float(value) for value, _ in self.counts if value is not None and not isinstance(value, bool)]
        product = math.prod(values) if len(values) == len(self.counts) else 0.0
        return product if all(value > 0.0 for value in values) and 0.0 < product < math.inf else None

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(sorted({line for _, line in self.counts}))

    @property
    def words(self) -> str:
        values = (f"{value:.12g}" for value, _ in self.counts if value is not None and (value != 1.0 or self.single))
        return f"{' × '.join(values) or '1'} {self.unit}"

    @property
    def single(self) -> bool:
        return len(self.counts) == 1

    def epochs(self, batches: float) -> float:
        """The count in epochs of so many batches."""
        count = self.count or 0.0
        return count if self.unit == EPOCHS else count / batches


@dataclass(frozen=True)
class Span:
    """What one place of a text says of the length: one reading, or several where each is possible."""

    either: tuple[Length, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(sorted({line for length in self.either for line in length.lines}))


def agreed(spans: Sequence[Span], batches: float | None) -> tuple[Length, ...]:
    """The readings that all places allow; empty where there is none, or a count was not read.

    Where some places give steps and others epochs, and those of one unit agree, both units are possible readings.

    Args:
        batches: N ÷ batch, where it is known: so that steps and epochs can be compared.
    """
    if not spans or any(length.count is None for span in spans for length in span.either):
        return ()
    if common := _common(spans, batches):
        return common
    units = [[span for span in spans if {length.unit for length in span.either} == {unit}] for unit in (STEPS, EPOCHS)]
    parts = [_common(part, batches) for part in units]
    whole = sum(map(len, units)) == len(spans) and all(parts)
    return _distinct(length for part in parts for length in part) if whole else ()


def _common(spans: Sequence[Span], batches: float | None) -> tuple[Length, ...]:
    readings = (length for span in spans for length in span.either)
    return _distinct(
        length for length in readings if all(any(_same(length, other, batches) for other in s.either) for s in spans)
    )


def _same(one: Length, other: Length, batches: float | None) -> bool:
    """Whether two lengths are equal, or steps are whole or started batches of epochs."""
    a, b = one.count or 0.0, other.count or 0.0
    if one.unit == other.unit:
        return abs(a - b) <= NEARLY * max(a, b)
    if batches is None:
        return False
    steps, epochs = (a, b) if one.unit == STEPS else (b, a)
    fewest, most = epochs * max(1, math.floor(batches)), epochs * math.ceil(batches)
    return math.floor(fewest * (1.0 - NEARLY)) <= steps <= math.ceil(most * (1.0 + NEARLY))


def _distinct(lengths: Iterable[Length]) -> tuple[Length, ...]:
    """Each count of each unit once."""
    first: dict[tuple[str, str], Length] = {}
    for length in lengths:
        first.setdefault((length.unit, f"{length.count:.12g}"), length)
    return tuple(first.values())


def all_spans(readings: Mapping[str, Sequence[Reading]], loops: Sequence[Span]) -> tuple[Span, ...]:
    """The lengths that names and loops give.

    Counts of one kind in another multiply: epochs × steps_per_epoch, rounds × local_epochs. A name whose value is one
    count of a product in loops says nothing else.

    Args:
        readings: quantity → its values with their lines.
        loops: what loops give.
    """
    factors = {count for span in loops for length in span.either if not length.single for count in length.counts}
    named = {
        key: [reading for reading in readings.get(key, ()) if reading not in factors]
        for key in ("kepochs", "steps", "per_epoch", "rounds", "local_epochs", "local_steps")
    }
    spans = [_with_steps(span, named["per_epoch"]) for span in loops]
    each = [(reading,) for reading in named["kepochs"]]
    if named["per_epoch"] and each:
        spans += [Span((Length(STEPS, counts),)) for counts in product(named["kepochs"], named["per_epoch"])]
    else:
        spans += [Span((Length(EPOCHS, counts),)) for counts in each]
    spans += [Span((Length(STEPS, (reading,)),)) for reading in named["steps"]]
    spans += _of_rounds(named, readings.get("clients", ()))
    return tuple(dict.fromkeys(spans))


def _with_steps(span: Span, per_epoch: Sequence[Reading]) -> Span:
    """A loop over epochs whose steps are not seen, with so many in each as a name says."""
    if len(per_epoch) != 1 or any(length.unit == STEPS or length.passes for length in span.either):
        return span
    return Span(tuple(Length(STEPS, (*length.counts, per_epoch[0])) for length in span.either))


def _of_rounds(named: Mapping[str, Sequence[Reading]], clients: Sequence[Reading]) -> list[Span]:
    """Rounds: each is a step where clients are drawn for it, else as long as what is done in it, where that is said."""
    inner = [(EPOCHS, reading) for reading in named["local_epochs"]] + [(STEPS, r) for r in named["local_steps"]]
    if clients:
        return [Span((Length(STEPS, (reading,)),)) for reading in named["rounds"]]
    if not named["rounds"]:
        return [Span((Length(unit, (reading, Reading(None, reading.line))),)) for unit, reading in inner]
    if not inner:
        return [Span((Length(EPOCHS, (one,)), Length(STEPS, (one,)))) for one in named["rounds"]]
    return [Span((Length(unit, (one, reading)),)) for one in named["rounds"] for unit, reading in inner]
