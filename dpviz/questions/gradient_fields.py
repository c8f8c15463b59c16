"""Which gradients Bayesian accounting learns distances from: the settings of a sample, and their controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpviz.fields.declared import choice, number
from dpviz.fields.field import Choice, Number
from dpviz.questions.gradients import File, Gradients, Law, Measured, Norms, Vectors
from dpviz.questions.layout import Expert, Item, Own, Reader, Row, experts
from dpviz.questions.question import Compound
from dpviz.questions.source import origin
from dpviz.training import models

SOURCE = choice("source")
FAMILY = choice("family")
SHAPE = number("shape")
VECTORS = number("vectors")
DIMENSIONS = number("dims")
PAIRING = choice("pairs")
COUNT = number("count")
SEED = number("seed")
MODEL = choice("model", options={key: model.short for key, model in models.SMALL.items()})
TRAINED = number("trained")
EXAMPLES = number("examples")

FIELDS = (SOURCE, FAMILY, SHAPE, VECTORS, DIMENSIONS, PAIRING, COUNT, SEED, MODEL, TRAINED, EXAMPLES)


def gradients_where(needed: Callable[[Reader], bool], *, laws: bool = False) -> Compound:
    """The setting, which is None where no gradients are needed; a sample of a known distribution unless `laws`."""
    return Compound(FIELDS, lambda get: read(get, laws) if needed(get) else None, texts)


def read(get: Reader, laws: bool) -> Gradients:
    """The gradients that the fields ask for; nothing is drawn yet."""
    source, seed = get(SOURCE), int(get(SEED))
    if source == "law":
        source = get(FAMILY)
        if laws:
            return Law(source, get(SHAPE))
    if source == "vectors":
        return Vectors(int(get(VECTORS)), int(get(DIMENSIONS)), get(SHAPE), get(PAIRING), seed)
    if source == "measured":
        return Measured(get(MODEL), int(get(TRAINED)), int(get(EXAMPLES)), seed)
    if source == "upload":
        return File()
    return Norms(source, int(get(COUNT)), get(SHAPE) if source != "halfnormal" else 1.0, seed)


def texts(gradients: Gradients | None) -> Mapping[str, str]:
    """The fields' texts that ask for this sample, by their keys in links."""
    if gradients is None:
        return {}
    source = origin(gradients)
    values: list[tuple[Choice | Number, str | float]] = [(SOURCE, "upload")]
    if isinstance(source, Vectors):
        drawn = [(VECTORS, source.vectors), (DIMENSIONS, source.dimensions), (SHAPE, source.shape), (SEED, source.seed)]
        values = [(SOURCE, "vectors"), (PAIRING, source.pairing), *drawn]
    elif isinstance(source, Norms):
        values = [(SOURCE, source.family), (COUNT, source.count), (SHAPE, source.shape), (SEED, source.seed)]
    elif isinstance(source, Law):
        values = [(SOURCE, "law"), (FAMILY, source.family), (SHAPE, source.shape)]
    elif isinstance(source, Measured):
        taken = [(TRAINED, source.training_step), (EXAMPLES, source.examples), (SEED, source.seed)]
        values = [(SOURCE, "measured"), (MODEL, source.model), *taken]
    return {field.key: field.write(value) for field, value in values}  # type: ignore[arg-type]


def controls(get: Reader, *, laws: bool = False) -> tuple[Item, ...]:
    """The source and the settings that this source has."""
    source = get(SOURCE)
    if source == "law":
        drawn = () if laws else (COUNT, Expert(SEED))
        return SOURCE, Expert(FAMILY), *(() if get(FAMILY) == "halfnormal" else (SHAPE,)), *drawn
    if source == "vectors":
        return SOURCE, SHAPE, *experts(Row((VECTORS, DIMENSIONS)), Row((PAIRING, SEED), (0.6, 0.4)))
    if source == "measured":
        return SOURCE, MODEL, TRAINED, Expert(Row((EXAMPLES, SEED)))
    if source == "upload":
        return SOURCE, Own("upload")
    return SOURCE, *(() if source == "halfnormal" else (SHAPE,)), COUNT, Expert(SEED)
