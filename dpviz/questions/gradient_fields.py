"""Which gradients Bayesian accounting learns distances from: the settings of a sample, and their controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpviz.fields.field import Choice, Number, even_ticks, log_ticks
from dpviz.questions.gradients import File, Gradients, Law, Measured, Norms, Vectors
from dpviz.questions.layout import Expert, Item, Own, Reader, Row, experts
from dpviz.questions.question import Compound
from dpviz.questions.source import origin
from dpviz.training import models

SOURCE = Choice(
    key="source",
    label="Gradients",
    default="law",
    tall=True,
    options={
        "law": "Weibull norms, known distribution",
        "vectors": "Weibull vectors, a sample",
        "weibull": "Weibull norms, a sample",
        "lognormal": "Log-normal norms, a sample",
        "halfnormal": "Half-normal norms, a sample",
        "measured": "Measured on MNIST digits",
        "upload": "My own file (CSV, NPY)",
    },
    help="Bayesian DP needs to know how far one example's gradient moves the sum. A known distribution of norms needs "
    "no sample. Vectors: pairs of gradients with Weibull coordinates (Triastcyn & Faltings 2020, §5.1). Norms: one "
    "number an example. Measured: a small network.",
)
FAMILY = Choice(
    key="family",
    label="Distribution of the norms",
    default="weibull",
    options={"weibull": "Weibull", "lognormal": "Log-normal", "halfnormal": "Half-normal"},
    help="The family that the norms are known to come from.",
)
SHAPE = Number(
    key="shape",
    label="Shape",
    default=0.5,
    low=0.05,
    high=20.0,
    ticks=even_ticks(0.2, 3.0, 0.05),
    ends=("heavier tail", "lighter tail"),
    example="0.5",
    help="Weibull shape (below 1: heavy tail), or the log-normal's standard deviation of ln d (there larger is "
    "heavier).",
)
VECTORS = Number(
    key="vectors",
    label="Vectors",
    default=400.0,
    low=4.0,
    high=100_000.0,
    whole=True,
    example="400",
    help="How many gradient vectors are drawn. The paper draws 50.",
)
DIMENSIONS = Number(
    key="dims",
    label="Dimensions",
    default=1000.0,
    low=1.0,
    high=1_000_000.0,
    whole=True,
    example="1000",
    help="Coordinates of each vector. The paper draws 1000.",
)
PAIRING = Choice(
    key="pairs",
    label="Pairs",
    default="disjoint",
    options={"disjoint": "Disjoint", "all": "All"},
    help="Disjoint pairs are independent, as the estimator assumes. All pairs share gradients: more distances, but "
    "the stated γ no longer holds.",
)
COUNT = Number(
    key="count",
    label="Samples",
    default=10_000.0,
    low=2.0,
    high=1_000_000.0,
    whole=True,
    ticks=tuple(float(round(t)) for t in log_ticks(10.0, 1e6, 4)),
    ends=("less sure", "more sure"),
    example="10000",
    help="How many norms are drawn. More samples make the estimate's safety margin smaller.",
)
SEED = Number(
    key="seed", label="Seed", default=0.0, low=0.0, high=2**32 - 1, whole=True, example="0", help="Of the random draw."
)
MODEL = Choice(
    key="model",
    label="Network",
    default="mlp",
    options={key: model.short for key, model in models.SMALL.items()},
    help="The network whose per-example gradients are measured.",
)
TRAINED = Number(
    key="trained",
    label="Training steps before",
    default=100.0,
    low=0.0,
    high=1000.0,
    whole=True,
    ticks=(0.0, 10.0, 30.0, 100.0, 300.0, 1000.0),
    ends=("untrained", "trained"),
    example="100",
    help="Plain training steps the network has taken when its gradients are measured.",
)
EXAMPLES = Number(
    key="examples",
    label="Examples",
    default=2000.0,
    low=4.0,
    high=10_000.0,
    whole=True,
    example="2000",
    help="Digits whose gradients are measured; two make one distance.",
)

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
    found = origin(gradients)
    values: list[tuple[Choice | Number, str | float]] = [(SOURCE, "upload")]
    if isinstance(found, Vectors):
        drawn = [(VECTORS, found.vectors), (DIMENSIONS, found.dimensions), (SHAPE, found.shape), (SEED, found.seed)]
        values = [(SOURCE, "vectors"), (PAIRING, found.pairing), *drawn]
    elif isinstance(found, Norms):
        values = [(SOURCE, found.family), (COUNT, found.count), (SHAPE, found.shape), (SEED, found.seed)]
    elif isinstance(found, Law):
        values = [(SOURCE, "law"), (FAMILY, found.family), (SHAPE, found.shape)]
    elif isinstance(found, Measured):
        taken = [(TRAINED, found.training_step), (EXAMPLES, found.examples), (SEED, found.seed)]
        values = [(SOURCE, "measured"), (MODEL, found.model), *taken]
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
