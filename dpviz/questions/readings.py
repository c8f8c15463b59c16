"""Settings that are kept in other settings and read from them: what one page says of a run, every page says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dpviz.fields import AnyField, Number
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import kinds, units
from dpviz.questions.check import fields
from dpviz.questions.layout import Reader
from dpviz.questions.mechanism import RATE, SIGMA, STEPS

Sets = Iterable[tuple[AnyField, Any]]  # fields and their values


@dataclass(frozen=True)
class SharedReading:
    """One of them.

    Attributes:
        field: the setting.
        of: what says it too.
        read: its value; the field's own is asked for where nothing else says it.
        sets: what is kept where it is set. Its own field is among these for a value that others cannot say; it holds
            until one of them is set.
    """

    field: AnyField
    of: tuple[AnyField, ...]
    read: Callable[[Reader], Any]
    sets: Callable[[Any, Reader], Sets]


def _same(field: AnyField, kept: AnyField) -> SharedReading:
    """The same setting under another name."""
    return SharedReading(field, (kept,), lambda get: get(kept), lambda value, _: [(kept, value)])


def _at_least(field: Number, read: Callable[[Reader], float], get: Reader) -> float:
    """What is read, within the range of the form; a part of an example counts as a whole one."""
    return field.nearest(repr(_up(read(get)) if field.whole else read(get)))


def _up(value: float) -> float:
    return float(-(-value // 1.0))


def _sampler(get: Reader) -> str:
    """How the form calls the way in which the mechanism makes its batches."""
    kind = kinds.KINDS[get(kinds.KIND)]
    return kind.sampler if kind.sampler == "poisson" else kind.kind


def _set_sampler(sampler: str, get: Reader) -> Sets:
    if sampler not in fields.KINDS:
        return [(fields.SAMPLER, sampler)]
    adjacency = get(fields.ADJACENCY)
    replaced = sampler == "poisson" and adjacency == "replace"
    kind = "replace" if replaced else fields.KINDS[sampler].kind
    own = [] if replaced or adjacency == "add_remove" else [(fields.ADJACENCY, adjacency)]
    return [*kinds.follows(get(kinds.KIND), kind, get).items(), (kinds.KIND, kind), *own]


def _adjacency(get: Reader) -> str:
    """Replacement where the mechanism itself is one of replaced examples."""
    return "replace" if get(kinds.KIND) == "replace" else fields.ADJACENCY.default


def _set_adjacency(adjacency: str, get: Reader) -> Sets:
    kind = get(kinds.KIND)
    if adjacency == "replace" and kind == SampledGaussian.kind and get(fields.SAMPLER) == "poisson":
        return [(kinds.KIND, "replace")]
    added = [(kinds.KIND, SampledGaussian.kind)] if kind == "replace" and adjacency != "replace" else []
    return [*added, *([] if adjacency == "add_remove" else [(fields.ADJACENCY, adjacency)])]


SIZES = units.BATCH, RATE, kinds.BATCH_SIZE, kinds.BATCHES
LENGTHS = units.EPOCHS, STEPS, kinds.PASSES
READINGS: dict[str, SharedReading] = {
    one.field.key: one
    for one in (
        _same(fields.NOISE, SIGMA),
        _same(fields.ROWS, kinds.ROWS),
        *(_same(field, PARAMETERS[name]) for name, field in fields.FURTHER.items()),
        SharedReading(fields.SAMPLER, (kinds.KIND,), _sampler, _set_sampler),
        SharedReading(fields.ADJACENCY, (kinds.KIND,), _adjacency, _set_adjacency),
        SharedReading(
            fields.BATCH,
            SIZES,
            lambda get: _at_least(fields.BATCH, kinds.batch, get),
            lambda batch, get: kinds.with_batch(batch, get).items(),
        ),
        SharedReading(
            fields.EPOCHS,
            LENGTHS,
            lambda get: _at_least(fields.EPOCHS, kinds.epochs, get),
            lambda epochs, get: kinds.lasting(epochs, get).items(),
        ),
    )
}


def of(field: AnyField) -> set[str]:
    """The keys of all that a field says too."""
    return {key for key, one in READINGS.items() if field.key in {kept.key for kept in one.of}}


def beside(get: Reader, is_set: Callable[[AnyField], bool]) -> Reader:
    """A reader that reads these settings from the others; one that is set itself is as `get` has it."""

    def read(field: AnyField, /) -> Any:
        one = READINGS.get(field.key)
        return get(field) if one is None or is_set(field) else one.read(read)

    return read
