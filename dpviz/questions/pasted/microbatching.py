"""The cost of TF Privacy's microbatches: where the mean of several gradients is clipped, C moves the sum by 2C.

A statement “with microbatching” therefore counts σ half. Whether a training clips each example's gradient or that of a
microbatch cannot be seen from a statement, so that both ε are named.
"""

import math
from collections.abc import Iterator

from dpviz import library as dpviz
from dpviz.accounting.methods import Tight
from dpviz.fields import numbers
from dpviz.mechanisms import Event
from dpviz.questions.pasted.bindings import Bindings

SWITCH = "used_microbatching"
STATEMENT = "compute_dp_sgd_privacy_statement"  # its default is “with microbatching”
POSITION = 5  # of the switch among its arguments


def lines_with(bindings: Bindings) -> Iterator[int]:
    """Lines that say “with microbatching”, or may: by the switch, or by a statement's call that leaves it out."""
    yield from (reading.line for reading in bindings.readings(SWITCH) if reading.value is not False)
    for call in bindings.calls.get(STATEMENT, ()):
        if len(call.args) <= POSITION and all(word.arg != SWITCH for word in call.keywords):
            yield call.lineno


def words(
    *,
    sigma: float | None,
    epochs: float | None,
    delta: float | None,
    sampler: str,
    rate: float | None,
) -> str:
    """Both ε of a training, where they can be computed, in words that continue a sentence.

    Args:
        sigma: σ as the text has it.
        epochs, delta, sampler, rate: of the training; a sampler other than "poisson" is read as whole passes.
    """
    start = "with microbatching the mean of several gradients is clipped, and σ counts half"
    if not (sigma and epochs and delta and (rate or sampler != "poisson")):
        return start
    half, whole = (_epsilon(_steps(each, epochs, sampler, rate), delta) for each in (sigma / 2.0, sigma))
    batches = "Poisson batches" if sampler == "poisson" else "each example once in an epoch"
    return f"{start}: ε ≤ {half} for {batches}; without it, ε ≤ {whole}"


def _steps(sigma: float, epochs: float, sampler: str, rate: float | None) -> Event:
    if sampler == "poisson" and rate:
        return dpviz.SampledGaussian(sigma, rate), math.ceil(epochs / rate)
    return dpviz.FixedPartition(sigma), math.ceil(epochs)


def _epsilon(event: Event, delta: float) -> str:
    mechanism, steps = event
    return numbers.epsilon(dpviz.epsilon(Tight.name, mechanism=mechanism, steps=steps, delta=delta), digits=4, up=True)
