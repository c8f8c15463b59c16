"""Which mechanism a question is about, as one setting made of fields: its noise, and whose data it protects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpviz.fields.declared import choice, number
from dpviz.fields.field import Number
from dpviz.mechanisms import Laplace, Mechanism, PersonRows, ReplaceOneGaussian, SampledGaussian
from dpviz.questions import units
from dpviz.questions.layout import Expert, Item, Reader
from dpviz.questions.mechanism import RATE, SIGMA, SIZE
from dpviz.questions.question import Compound

SCALE = number("b")
ROWS = number("rows")


@dataclass(frozen=True)
class MechanismKind:
    """A mechanism that pages offer.

    Attributes:
        name: in the choice.
        make: the mechanism, from its fields and its sampling rate, by `NAMES`.
        fields: its noise, and what else it has beside the sampling rate.
        assumes: what it does, as a Markdown line.
    """

    name: str
    make: Callable[..., Mechanism]
    fields: tuple[Number, ...]
    assumes: str


KINDS = {
    "gaussian": MechanismKind(
        "Gaussian, add or remove one",
        SampledGaussian,
        (SIGMA,),
        "**Noise:** Gaussian, standard deviation σ × sensitivity, on the sum of clipped gradients, fresh each step.",
    ),
    "replace": MechanismKind(
        "Gaussian, replace one",
        ReplaceOneGaussian,
        (SIGMA,),
        "**Noise:** Gaussian, standard deviation σ × C, on the sum of gradients clipped to C, fresh at every step. "
        "Replacing an example moves that sum by up to 2C; σ counts C, as in training.",
    ),
    "person": MechanismKind(
        "Gaussian, a person with k rows",
        PersonRows,
        (SIGMA, ROWS),
        "**Noise:** Gaussian, standard deviation σ × C, on the sum of gradients clipped to C, fresh at every step. A "
        "person's k rows are drawn independently of one another, so that they move that sum by up to k × C.",
    ),
    "laplace": MechanismKind(
        "Laplace, add or remove one",
        Laplace,
        (SCALE,),
        "**Noise:** Laplace, scale b × C, on a sum of numbers between −C and C, fresh at every step. It is one number "
        "a step: gradients have many coordinates, and more noise is needed for those.",
    ),
}
KIND = choice("mech", options={key: kind.name for key, kind in KINDS.items()})


# What the library, and so whoever asks by name, calls the fields.
NAMES = {
    KIND.key: "mechanism", SIGMA.key: "noise_multiplier", SCALE.key: "scale", ROWS.key: "rows", RATE.key: "sample_rate",
}  # fmt: skip


def read(get: Reader) -> Mechanism:
    """The mechanism that the fields ask for."""
    kind = KINDS[get(KIND)]
    return kind.make(**{NAMES[field.key]: get(field) for field in (*kind.fields, RATE)})


def kind_of(mechanism: Mechanism) -> str | None:
    """Its key in the choice; None for one that no page offers."""
    return next((key for key, kind in KINDS.items() if type(mechanism) is kind.make), None)


def texts(mechanism: Mechanism) -> Mapping[str, str]:
    """The fields' texts that ask for it, by their keys in links.

    Raises:
        ValueError: no page offers it.
    """
    key = kind_of(mechanism)
    if key is None:
        raise ValueError(f"Expected a mechanism that pages offer, found {mechanism.text}: no link shows it.")
    fields = *KINDS[key].fields, RATE
    return {KIND.key: key} | {field.key: field.write(getattr(mechanism, NAMES[field.key])) for field in fields}


MECHANISM = Compound((KIND, SIGMA, SCALE, ROWS, RATE), read, texts, NAMES)


def controls(get: Reader) -> tuple[Item, ...]:
    """The mechanism with its own fields, q and T in either units, and δ."""
    return Expert(KIND), *KINDS[get(KIND)].fields, units.ALL, units.suggested(SIZE, get)
