"""Leakage measurements against plain autograd, and on networks that must and must not leak."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dpviz.gradients.leakage import compare_distances, threshold_attack
from dpviz.training import leakage
from dpviz.training.data.catalogue import TrainingData, load
from dpviz.training.leakage import leakage_of_run, leakage_of_small_network
from dpviz.training.loop import FreeRun, run
from dpviz.training.measured import Training, network_at
from dpviz.training.networks.by_name import build
from dpviz.training.settings import RunSettings
from tests.training.small import ABALONE
from tests.training.steps import gradients_by_hand

SMALL = ABALONE.with_(model="mlp", learning_rate=0.1, evaluation_every=0)


def trained(folder: Path, settings: RunSettings) -> tuple[Path, dict]:
    path = folder / "weights.pt"
    return path, run(settings, lambda event: None, FreeRun(), weights_to=path)


def toy(examples: int, features: int, seed: int) -> TrainingData:
    """Labels that have nothing to do with the features: whatever is learnt of them is learnt by heart."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(2 * examples, features, generator=random)
    y = torch.randint(0, 2, (2 * examples,), generator=random)
    return TrainingData("toy", "toy", "", x[:examples], y[:examples], x[examples:], y[examples:], 2)


def fitted(data: TrainingData, steps: int) -> torch.nn.Module:
    network = build("mlp", data, seed=0)
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        F.cross_entropy(network(data.train_x), data.train_y).backward()
        optimiser.step()
    return network


def test_numbers_are_those_of_plain_autograd(tmp_path: Path) -> None:
    settings = SMALL.with_(steps=3, noise_multiplier=1.0)
    path, _ = trained(tmp_path, settings)
    found = leakage_of_run(settings, weights=path, examples=12, seed=4)
    data = load("abalone")
    network = build("mlp", data, seed=99)
    torch.nn.utils.vector_to_parameters(torch.load(path, weights_only=True)["parameters"], network.parameters())
    for word, x, y, distances, losses in (
        (leakage._MEMBERS, data.train_x, data.train_y, found.train_distances, found.train_losses),
        (leakage._OTHERS, data.test_x, data.test_y, found.test_distances, found.test_losses),
    ):
        chosen = np.random.default_rng([word, 4]).choice(len(y), 12, replace=False)
        gradients = gradients_by_hand(network, x[chosen], y[chosen]).double().numpy()
        by_hand = F.cross_entropy(network(x[chosen]), y[chosen], reduction="none").detach().numpy()
        np.testing.assert_allclose(distances, np.linalg.norm(gradients[::2] - gradients[1::2], axis=1), rtol=1e-4)
        np.testing.assert_allclose(losses, by_hand, rtol=1e-5)


def test_an_overfitted_network_is_caught() -> None:
    data = toy(200, 30, seed=1)
    found = leakage.leakage_of_network(fitted(data, 300), leakage.chosen_examples(data, 200, 0), "toy")
    assert found.train_accuracy > 0.95
    attack = threshold_attack(found.train_losses, found.test_losses, random=np.random.default_rng(0))
    assert attack.low > 0.6
    both = compare_distances(found.train_distances, found.test_distances)
    assert both.welch_p < 1e-6
    assert both.train_mean < both.test_mean


def test_small_network_is_the_measured_one() -> None:
    found = leakage_of_small_network("logistic", training_step=2, examples=40, seed=3)
    network = network_at(Training("logistic", 2, 3))
    data = load("mnist-10k")
    chosen = torch.from_numpy(np.random.default_rng([leakage._OTHERS, 3]).choice(len(data.test_y), 40, replace=False))
    losses = F.cross_entropy(network(data.test_x[chosen]), data.test_y[chosen], reduction="none")
    np.testing.assert_allclose(found.test_losses, losses.detach().numpy(), rtol=1e-5)
    assert "2 plain training steps" in found.description
    arrays = [value for value in vars(found).values() if isinstance(value, np.ndarray)]
    assert arrays
    assert not any(array.flags.writeable for array in arrays)
    everything = leakage.chosen_examples(toy(30, 3, seed=0), 100, 0)
    assert len(torch.unique(everything.train_x, dim=0)) == len(everything.test_y) == 30


def test_a_diverged_network_is_measured_as_far_as_it_can_be() -> None:
    data = toy(20, 3, seed=0)
    network = build("logistic", data, seed=0)
    data.train_x[0] = torch.inf
    found = leakage.leakage_of_network(network, data, "toy")
    assert found.excluded_pairs == 1
    assert found.train_distances.shape == (9,)
    assert np.isinf(found.train_losses).sum() == 1
    assert not np.isnan(found.train_losses).any()


def test_weights_of_something_else(tmp_path: Path) -> None:
    path, _ = trained(tmp_path, SMALL.with_(steps=1))
    stored = torch.load(path, weights_only=True)
    torch.save(stored | {"parameters": stored["parameters"][:-1]}, tmp_path / "short.pt")
    for changed, name, words in (
        ({"model": "logistic"}, "weights.pt", "model 'logistic', found 'mlp'"),
        ({}, "short.pt", "parameters of this model, found"),
    ):
        with pytest.raises(ValueError, match=words):
            leakage_of_run(SMALL.with_(**changed), weights=tmp_path / name, examples=8)
