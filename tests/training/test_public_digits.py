"""Features of public digits: fixed, each example's own, exact, and worth more than pixels at the same ε."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dpviz.questions.guarantee.run import _pretraining
from dpviz.questions.guarantee.words import UNKNOWN, YES
from dpviz.questions.train.question import TRAIN
from dpviz.training import PrivateTraining
from dpviz.training.accounts.claims import assumed, planned_claim
from dpviz.training.data import DATA_SETS
from dpviz.training.data.catalogue import TrainingData, load
from dpviz.training.defaults import least_noise
from dpviz.training.loop import FreeRun, run
from dpviz.training.models import MODELS
from dpviz.training.networks import public_digits
from dpviz.training.networks.public_digits import FILE, LENGTH, MOST, MOST_OF_PIXEL, features, kept, layers, passed
from dpviz.training.settings import RunSettings
from tests.questions.asking import asked
from tools.make_public_digits import augment, larger, trained, whole

loop = importlib.import_module("dpviz.training.loop")
HEAD = {"batch_size": 300, "steps": 80, "learning_rate": 0.8, "learning_rate_end": 0.1, "max_grad_norm": 0.1}
RUN = RunSettings(model="public-digits", evaluation_every=0, secure_noise=False, threads=1, device="cpu", **HEAD)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dpviz"


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> TrainingData:
    """The first 3,000 digits to train and 1,000 to test, which `run` reads."""
    data = load("mnist-10k")
    part = data._replace(
        train_x=data.train_x[:3000], train_y=data.train_y[:3000], test_x=data.test_x[:1000], test_y=data.test_y[:1000]
    )
    monkeypatch.setattr(loop, "load", lambda name, folder: part)
    return part


def some(count: int) -> Tensor:
    return load("mnist-10k").train_x[:count]


def test_the_numbers_are_small_and_whole_and_their_sums_exact() -> None:
    assert resources.files(public_digits.__package__).joinpath(FILE).stat().st_size < 300_000  # type: ignore[attr-defined]
    largest = MOST_OF_PIXEL
    for layer in layers():
        assert torch.equal(layer.weight, layer.weight.round())
        assert torch.equal(layer.bias, layer.bias.round())
        assert float(layer.weight.abs().max()) == 127.0
        sums = layer.weight.abs().flatten(1).sum(1) * largest + layer.bias.abs()
        assert float(sums.max()) < 2**53
        largest = MOST


@pytest.mark.usefixtures("threads")
def test_features_are_each_example_s_own_whatever_the_batch_and_threads() -> None:
    images = some(130)
    torch.set_num_threads(2)
    together = features(images, keep=False)
    torch.set_num_threads(1)
    assert torch.equal(features(images.flip(0), keep=False), together.flip(0))
    for row in (0, 64, 129):
        assert torch.equal(features(images[row : row + 1], keep=False)[0], together[row])
    transposed = images.contiguous(memory_format=torch.channels_last)
    assert torch.equal(passed(transposed, layers()), passed(images, layers()))


def test_sums_in_another_order_give_the_same_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on another device: rows of windows times weights, added from the last to the first."""
    images = some(20)
    before = passed(images, layers())

    def backwards(x: Tensor, weight: Tensor, *, padding: int) -> Tensor:
        windows = nn.functional.unfold(x, weight.shape[2:], padding=padding).flip(1)  # (n, in·k·k, h·w)
        return (weight.flatten(1).flip(1) @ windows).view(len(x), -1, *x.shape[2:])

    monkeypatch.setattr(public_digits.F, "conv2d", backwards)
    assert torch.equal(passed(images, layers()), before)


def test_features_have_one_length_and_are_kept_by_what_made_them(cache: Path) -> None:
    images = some(5)
    assert not kept(images)
    found = features(images)
    assert kept(images)
    assert found.shape == (5, *MODELS["public-digits"].transformed((1, 28, 28)))
    torch.testing.assert_close(found.norm(dim=1), torch.full((5,), LENGTH), rtol=1e-3, atol=0.0)
    assert [path.parent.name for path in cache.rglob("*.npy")] == [f"public-digits-{public_digits.mark()}"]
    assert features(torch.zeros(2, 1, 16, 40), keep=False).shape == (2, 1024)
    for wrong in (torch.zeros(2, 3, 28, 28), torch.zeros(2, 1, 15, 28), torch.zeros(2, 28, 28)):
        with pytest.raises(ValueError, match="grey images"):
            features(wrong, keep=False)


def test_at_one_epsilon_they_are_worth_more_than_pixels_and_no_run_changes_them(few: TrainingData) -> None:
    plan = RUN.with_(noise_multiplier=least_noise(RUN, 3000, 3.0))
    before, numbers = features(few.test_x, keep=False), [layer.weight.clone() for layer in layers()]
    found: dict[str, list[float]] = {"public-digits": [], "logistic": []}
    claimed = set()
    for model, accuracies in found.items():
        for seed in range(3):
            summary = run(plan.with_(model=model, seed=seed), lambda event: None, FreeRun())
            accuracies.append(summary["test_accuracy"])
            claimed.add(summary["claim"]["with_secret_noise"]["epsilon"])
    assert len(claimed) == 1
    assert min(found["public-digits"]) > max(found["logistic"]) + 0.03
    assert torch.equal(features(few.test_x, keep=False), before)
    assert all(torch.equal(layer.weight, number) for layer, number in zip(layers(), numbers, strict=True))


def test_only_the_layer_on_them_is_trained_and_charged(few: TrainingData) -> None:
    events: list[dict[str, object]] = []
    run(RUN.with_(steps=1, noise_multiplier=2.0), events.append, FreeRun())
    (started,) = (event for event in events if event["kind"] == "started")
    assert started["parameters"] == 1024 * 10 + 10
    assert started["model"] == "linear on features of public digits"
    charged = planned_claim(RUN.with_(secure_noise=True), 10_000)
    assert charged.epsilon == planned_claim(RUN.with_(secure_noise=True, model="logistic"), 10_000).epsilon


def test_claim_and_card_name_the_public_data() -> None:
    (clause,) = assumed(RUN)
    assert "1,797 handwritten digits of 13 persons" in clause
    assert "no ε protects" in clause
    assert any("13 persons" in condition for condition in planned_claim(RUN, 10_000).shown.conditions)
    assert not assumed(RUN.with_(model="logistic"))
    for model, said in (("public-digits", True), ("logistic", False)):
        notes = " ".join(note.text for note in TRAIN.notes(asked(TRAIN, t_model=model)))
        assert (clause in notes) == said
    reply, own = _pretraining(RUN, own=False), _pretraining(RUN, own=True)
    assert (reply.answer, own.answer) == (YES, UNKNOWN)
    assert "13 persons" in reply.why
    assert "random weights" in reply.why
    assert "not known" in own.why


def test_no_data_set_that_is_offered_is_the_public_one() -> None:
    assert not any("optical" in f"{data.key} {data.title} {data.note}".lower() for data in DATA_SETS.values())


def test_a_program_s_own_training_takes_them() -> None:
    data = load("mnist-10k")
    x = features(data.train_x[:400], keep=False)
    head = nn.Linear(1024, 10)
    optimiser = torch.optim.SGD(head.parameters(), lr=4.0)
    training = PrivateTraining(
        head, (x, data.train_y[:400]), optimiser, batch_size=100, steps=30, noise_multiplier=1.0, max_grad_norm=0.1
    )
    for _ in training:
        pass
    test = features(data.test_x[:300], keep=False)
    assert float((head(test).argmax(1) == data.test_y[:300]).float().mean()) > 0.6


def test_the_script_makes_such_a_network() -> None:
    """Of digits that are invented: a bar in one of ten places; in whole numbers it is what it was."""
    labels = torch.arange(320) % 10
    digits = torch.zeros(320, 1, 8, 8)
    for row, label in enumerate(labels.tolist()):
        digits[row, 0, label % 5 + 1 : label % 5 + 3, :: 1 + label // 5] = 1.0
    made = trained(digits, labels, epochs=2)
    convolutions = whole(made, digits)
    found = passed((larger(digits) - 0.1307) / 0.3081, convolutions)
    with torch.no_grad():
        as_trained = made[:10]((larger(digits) - 0.1307) / 0.3081).double()
    near = nn.functional.cosine_similarity(found, as_trained)
    assert float(near.min()) > 0.99
    again = trained(digits, labels, epochs=2)
    assert np.array_equal(made[0].weight.detach(), again[0].weight.detach())  # type: ignore[arg-type]
    pictures = augment(larger(digits), torch.Generator().manual_seed(0))
    assert 0.0 <= float(pictures.min()) < float(pictures.max()) <= 1.0
