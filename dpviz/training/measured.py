"""Gradients of a real network on real digits, for charts of what Bayesian accounting gains from them.

    >>> sample = measure("mlp", training_step=100, examples=2000, seed=0)
    >>> sample.threshold(0.5), sample.distances(1.0)

The network is trained plainly, without clipping or noise, by stochastic gradient descent at a constant step size on
batches drawn uniformly without replacement from the shipped digits. Everything follows from the seed: the same
arguments give the same numbers on the same machine, and a longer training passes through the shorter one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dpviz import _validate
from dpviz._remember import remembered
from dpviz.gradients.sample import GradientSample, pairs_from_distances
from dpviz.training.data import DATA_SETS
from dpviz.training.data.catalogue import load
from dpviz.training.engine.per_example import CHUNK_SIZE, GradientRecord, PerExample
from dpviz.training.models import SMALL
from dpviz.training.networks.by_name import build
from dpviz.training.progress import advance, resumed, task

DIGITS = DATA_SETS["mnist-10k"]
BATCH_SIZE = 64
LEARNING_RATE = 0.1
LAST_STEP = 20_000


# Parameters are kept at these steps, so that a training step is reached from the last one before it.
_KEPT_STEPS = (10, 100, *range(1_000, LAST_STEP + 1, 1_000))

# What is told of the measurement (`progress`).
MEASURING = ("measuring gradients", "examples")

# First words of the seeds, so that initialisation, batches and the measured examples are drawn independently.
_BATCHES, _EXAMPLES = 1, 2


def measure(
    model: str = "mlp",
    *,
    training_step: int = 100,
    examples: int = 2_000,
    seed: int = 0,
) -> GradientSample:
    """Per-example gradients of a small network at one moment of its training.

    The same arguments are answered from memory, and training is resumed from kept steps, so that a slider over
    `training_step` can go back and forth.

    Args:
        model: A name of `models.SMALL`: "logistic", "mlp" or "cnn".
        training_step: Steps of plain training before the gradients are taken; 0 is the untrained network.
        examples: How many different training digits to measure, even, drawn uniformly: consecutive ones make up
            the examples / 2 disjoint pairs.
        seed: Decides the start of the network, the batches and the digits.

    Returns:
        All norms, and norms and distances of the disjoint pairs. No noise was added: the numbers tell about the digits.

    Raises:
        ValueError: for an unknown model, a step that is not whole or beyond `LAST_STEP`, or more examples than digits.
    """
    training = Training.checked(model, training_step, seed)
    count = _whole("examples", examples, 4, DIGITS.examples)
    if count % 2:
        raise ValueError(f"Expected examples={examples} to be even, to make up pairs.")
    return _measured(training, count)


class Training(NamedTuple):
    """Plain training of a small network up to a step."""

    model: str
    step: int
    seed: int

    @classmethod
    def checked(cls, model: str, step: int, seed: int) -> Self:
        return cls(
            _validate.choice("model", model, tuple(SMALL)),
            _whole("training_step", step, 0, LAST_STEP),
            _whole("seed", seed, 0, 2**63 - 1),
        )


@remembered
def _measured(training: Training, examples: int) -> GradientSample:
    with single_thread():
        network, data = network_at(training), load(DIGITS.key)
        draw = np.random.default_rng([_EXAMPLES, training.seed])
        chosen = torch.from_numpy(draw.choice(len(data.train_y), examples, replace=False))
        x, y = data.train_x[chosen], data.train_y[chosen]
        with task(*MEASURING, examples):
            records = [record for _, record in chunks(PerExample(network), x, y, CHUNK_SIZE)]
    norms = torch.cat([record.norms.double() for record in records]).numpy()
    distances = torch.cat([record.neighbours_apart() for record in records]).numpy()
    model, step, seed = training
    description = (
        f"Gradients of {SMALL[model].title} ({DIGITS.parameters[model]:,} parameters) on handwritten digits after "
        f"{step:,} plain training steps (SGD, batch {BATCH_SIZE}, step size {LEARNING_RATE:g}, seed {seed}): "
        f"{examples:,} of the {DIGITS.examples:,} training digits of MNIST, included subset, in {examples // 2:,} "
        "disjoint pairs. They are measured on the training data without noise: the measurement is not private itself."
    )
    pairs = pairs_from_distances(norms[::2], norms[1::2], distances)
    sample = GradientSample(norms=norms, description=description, independent=True, pairs=pairs)
    sample.norms.setflags(write=False)  # shared by every caller with the same arguments
    return sample


def chunks(engine: PerExample, x: Tensor, y: Tensor, size: int) -> Iterator[tuple[Tensor, GradientRecord]]:
    """Labels and gradients of so many examples at a time, so that memory does not grow with them; no pair is torn."""
    for part_x, part_y in zip(torch.split(x, size), torch.split(y, size), strict=True):
        yield part_y, engine.gradients(part_x, part_y)
        advance(len(part_y))


def network_at(training: Training) -> nn.Module:
    network = build(training.model, DIGITS, seed=training.seed)
    with task("training the network", "steps", training.step):
        parameters = _parameters_at(training)
    nn.utils.vector_to_parameters(parameters.clone(), network.parameters())
    return network


@remembered
def _parameters_at(training: Training) -> Tensor:
    """All parameters after its steps in one vector (at most 0.4 MB); shared, not to be written into."""
    network, data = build(training.model, DIGITS, seed=training.seed), load(DIGITS.key)
    start = max((kept for kept in _KEPT_STEPS if kept < training.step), default=0)
    if start:
        nn.utils.vector_to_parameters(_parameters_at(training._replace(step=start)).clone(), network.parameters())
    resumed(start)
    parameters: list[Tensor] = list(network.parameters())
    for step in range(start, training.step):
        # Each step draws from a generator of its own, so that training resumed at a step goes on as it would have.
        draw = np.random.default_rng([_BATCHES, training.seed, step])
        batch = torch.from_numpy(draw.choice(len(data.train_y), BATCH_SIZE, replace=False))
        loss = F.cross_entropy(network(data.train_x[batch]), data.train_y[batch])
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-LEARNING_RATE)
        advance()
    return nn.utils.parameters_to_vector(network.parameters()).detach()


@contextmanager
def single_thread() -> Iterator[None]:
    """One torch thread inside, as many as before outside: small networks lose more to waiting than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ValueError(f"Expected {name}={value!r} to be a whole number in [{least}, {most}].")
    return int(value)
