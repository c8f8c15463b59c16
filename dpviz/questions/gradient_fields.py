"""Settings of the gradients that Bayesian accounting draws its distances from, and their controls."""

from collections.abc import Callable, Mapping

from dpviz.fields import Choice, Number, choice, number
from dpviz.questions import Compound, FieldControl, Item, Reader, experts, value_of
from dpviz.questions.gradients import File, Gradients, Law, Measured, Norms, Vectors
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
    return Compound({one.key: one for one in FIELDS}, lambda get: read(get, laws) if needed(get) else None, texts)


# What a source is made of → the fields that say it.
PARTS: dict[type[Gradients], dict[str, Choice | Number]] = {
    Vectors: {"pairing": PAIRING, "vectors": VECTORS, "dimensions": DIMENSIONS, "shape": SHAPE, "seed": SEED},
    Norms: {"family": SOURCE, "count": COUNT, "shape": SHAPE, "seed": SEED},
    Law: {"family": FAMILY, "shape": SHAPE},
    Measured: {"model": MODEL, "training_step": TRAINED, "examples": EXAMPLES, "seed": SEED},
    File: {},
}
NAMED: dict[str, type[Gradients]] = {"vectors": Vectors, "law": Law, "measured": Measured, "upload": File}


def read(get: Reader, laws: bool) -> Gradients:
    """The gradients that the fields ask for; nothing is drawn yet."""
    source = get(SOURCE)
    kind = NAMED.get(source, Norms) if laws or source != "law" else Norms
    values = {name: value_of(field, get) for name, field in PARTS[kind].items()} if kind is not File else {}
    if kind is Norms:
        values["family"] = get(FAMILY) if source == "law" else source
        values["shape"] = values["shape"] if values["family"] != "halfnormal" else 1.0
    return kind(**values)


def texts(gradients: Gradients | None) -> Mapping[str, str]:
    """The fields' texts that ask for this sample, by their keys in links."""
    if gradients is None:
        return {}
    source = origin(gradients)
    name = next((name for name, kind in NAMED.items() if type(source) is kind), "upload")
    written = {field.key: field.write(getattr(source, part)) for part, field in PARTS.get(type(source), {}).items()}
    return {SOURCE.key: name} | written


def controls(get: Reader, *, laws: bool = False, picture: str | None = None) -> tuple[Item, ...]:
    """The source and the settings that this source has; `picture` below the shape of a distribution."""
    source = get(SOURCE)
    shape = FieldControl((SHAPE,), picture=picture)
    if source == "law":
        drawn = () if laws else (COUNT, *experts(SEED))
        return SOURCE, *experts(FAMILY), *(() if get(FAMILY) == "halfnormal" else (shape,)), *drawn
    if source == "vectors":
        return SOURCE, SHAPE, *experts(FieldControl((VECTORS, DIMENSIONS)), FieldControl((PAIRING, SEED)))
    if source == "measured":
        return SOURCE, MODEL, TRAINED, *experts(FieldControl((EXAMPLES, SEED)))
    if source == "upload":
        return SOURCE, FieldControl(drawn_as="upload")
    return SOURCE, *(() if source == "halfnormal" else (shape,)), COUNT, *experts(SEED)
