"""Gradient distances and losses of a trained network on examples that it was trained on, and on examples it was not.

    >>> found = leakage_of_run(settings, weights="weights/run.pt", examples=2000, seed=0)
    >>> compare_distances(found.train_distances, found.test_distances).welch_p
    >>> threshold_attack(found.train_losses, found.test_losses, random=np.random.default_rng(0)).accuracy

What is measured here is measured on the training data itself, without noise: no ε covers it. The statistics are in
`dpviz.gradients.leakage`.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.gradients.leakage import Leakage
from dpviz.training.data.catalogue import TrainingData, load
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.measured import DIGITS, MEASURING, Training, chunks, network_at, single_thread
from dpviz.training.models import MODELS, SMALL
from dpviz.training.networks.by_name import build, prepared
from dpviz.training.progress import task
from dpviz.training.sampling import loss_per_example
from dpviz.training.settings import RunSettings
from dpviz.training.weights import start_parameters

LEAST_EXAMPLES = 8

# First words of the seeds, so that members and non-members are drawn independently.
_MEMBERS, _OTHERS = 11, 12


def leakage_of_run(
    settings: RunSettings | dict[str, Any], *, weights: str | Path, examples: int = 2_000, seed: int = 0
) -> Leakage:
    """Of the network that a run left behind, on the data it was trained on.

    Args:
        settings: The run's, as `RunSettings` or as its record holds them.
        weights: File that the run saved its parameters to.
        examples: How many training and how many test examples, even, >= `LEAST_EXAMPLES`.
        seed: Decides which, and how they are paired.

    Raises:
        ValueError: if the file does not hold the parameters of this network.
        DataUnavailable: if the data is no longer here.
    """
    asked = settings if isinstance(settings, RunSettings) else RunSettings.from_json(settings)
    data = load(asked.data, asked.data_folder)
    with single_thread():
        chosen = prepared(asked.model, chosen_examples(data, examples, seed))
        network = build(asked.model, chosen, seed=0)
        parameters = flatten_parameters(network)
        parameters.copy_(start_parameters(weights, asked.model, parameters.numel(), data=asked.data))
        return leakage_of_network(network, chosen, f"{MODELS[asked.model].title} on {data.title}")


def leakage_of_small_network(
    model: str = "mlp", *, training_step: int = 1_000, examples: int = 2_000, seed: int = 0
) -> Leakage:
    """Of a small network trained here without clipping or noise on the shipped digits (`measured`).

    Args:
        model: A name of `models.SMALL`.
        training_step: Steps of plain SGD before the measurement; few see only a part of the digits, thousands fit them
            all.
        examples, seed: As in `leakage_of_run`; the seed also decides the network's start and its batches.

    Raises:
        ValueError: for an unknown model or a step that is not whole, or beyond `measured.LAST_STEP`.
    """
    training = Training.checked(model, training_step, seed)
    chosen = chosen_examples(load(DIGITS.key), examples, training.seed)
    with single_thread():
        words = f"{SMALL[model].title} on {chosen.title} after {training.step:,} plain training steps"
        return leakage_of_network(network_at(training), chosen, words)


def measure(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same as JSON values, for a record; distances and losses to seven digits.

    Args:
        settings: "model", "training_step" and "examples".
        seed: As in `leakage_of_small_network`.
    """
    measured = asdict(leakage_of_small_network(**settings, seed=seed))
    return {
        name: [float(f"{one:.7g}") for one in value] if isinstance(value, np.ndarray) else value
        for name, value in measured.items()
    }


def chosen_examples(data: TrainingData, examples: int, seed: int) -> TrainingData:
    """As many training as test examples, drawn uniformly without replacement."""
    asked = _validate.whole(LEAST_EXAMPLES, examples=examples)
    if asked % 2:
        raise ValueError(f"Expected examples={asked} to be even, to make up pairs.")
    size = min(asked, len(data.train_y), len(data.test_y))
    size -= size % 2

    def draw(word: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch.from_numpy(np.random.default_rng([word, seed]).choice(len(y), size, replace=False))
        return x[rows], y[rows]

    train_x, train_y = draw(_MEMBERS, data.train_x, data.train_y)
    test_x, test_y = draw(_OTHERS, data.test_x, data.test_y)
    return data._replace(train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y)


def leakage_of_network(network: nn.Module, data: TrainingData, words: str) -> Leakage:
    network.eval()
    engine = PerExample(network, loss_per_example)
    with task(*MEASURING, len(data.train_y) + len(data.test_y)):
        train, test = _of(engine, data.train_x, data.train_y), _of(engine, data.test_x, data.test_y)
    return Leakage(
        train_distances=train.distances, test_distances=test.distances,
        train_losses=train.losses, test_losses=test.losses,
        examples=train.losses.size, excluded_pairs=train.not_finite + test.not_finite,
        train_accuracy=train.accuracy, test_accuracy=test.accuracy, description=words,
    )  # fmt: skip


class _Side(NamedTuple):
    distances: Array
    losses: Array
    not_finite: int
    accuracy: float


def _of(engine: PerExample, x: Tensor, y: Tensor) -> _Side:
    distances, losses, right = [], [], 0
    for labels, record in chunks(engine, x, y, engine.chunk_size):
        finite = torch.isfinite(record.norms)
        distances.append(torch.where(finite[::2] & finite[1::2], record.neighbours_apart(), torch.nan))
        losses.append(record.losses.double())
        right += int((record.outputs.argmax(1) == labels).sum())
    apart = torch.cat(distances).numpy()
    loss = torch.nan_to_num(torch.cat(losses), nan=torch.inf, posinf=torch.inf).numpy()
    finite_pairs = apart[np.isfinite(apart)]
    for array in (finite_pairs, loss):
        array.setflags(write=False)
    return _Side(finite_pairs, loss, len(apart) - len(finite_pairs), right / len(y))
