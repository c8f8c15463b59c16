"""The settings of *Check a program*, which a pasted text fills."""

import math

from dpviz.fields import choice, number, several
from dpviz.fields.declared import field
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import MECHANISMS, Mechanism
from dpviz.questions.budget.blocks import Blocks
from dpviz.questions.guarantee.words import SAMPLERS

BATCH, EPOCHS, NOISE, CLAIM = number("kbatch"), number("kepochs"), number("ksigma"), number("kclaim")
ADJACENCY, ROWS, UNSETTLED = choice("kadj"), number("kpersons"), several("kopen")
LEAST, PARTS, LOADER = number("kleast"), number("kparts"), choice("kloader")
COUNTED = field(Blocks, "kcounted", default=())

# Every mechanism whose noise is a claim's σ, by how it makes batches.
KINDS: dict[str, type[Mechanism]] = {}
for _kind in MECHANISMS:
    if _kind.noise == "noise_multiplier":
        KINDS.setdefault(_kind.sampler if _kind.sampler == "poisson" else _kind.kind, _kind)
SAMPLER = choice(
    "ksampler",
    options={key: f"{(text := SAMPLERS.get(key, kind.title))[:1].upper()}{text[1:]}" for key, kind in KINDS.items()}
    | {"unsaid": "Not said"},
)
# What some of them need beside σ, N, batch and epochs.
FURTHER = {name: number("k" + PARAMETERS[name].key) for name in ("largest_batch", "decay", "band")}


def steps_of(size: int, batch: int, epochs: float) -> int:
    """Steps taken, rounded up: fewer would be reported as less loss."""
    return whole_steps(epochs * size / batch)


def whole_steps(steps: float) -> int:
    """So many steps, rounded up but for the last digits of a product."""
    return max(1, math.ceil(steps * (1.0 - 1e-12)))


def loader_batches(size: float, batch: float, loader: str) -> tuple[float, float]:
    """The fewest and the most batches that an epoch may have; `loader` is one of `LOADER`."""
    exact = size / batch
    fewest, most = max(1.0, math.floor(exact)), float(math.ceil(exact))
    return {"exact": (exact, exact), "loader": (most, most), "dropped": (fewest, fewest)}.get(loader, (fewest, most))
