"""Training of a network of one's own: the noise, the accounting, what is refused, and the program of the docs."""

import math
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
)

import dpviz
from dpviz.mechanisms import SampledGaussian
from dpviz.training import PrivateTraining
from dpviz.training.data.views import Views
from dpviz.training.engine.per_example import clip_factors
from dpviz.training.randomness import randomness
from dpviz.training.samplers import poisson_indices
from dpviz.training.sampling import Batch
from tests.training.steps import OWN, clipped_by_hand, make_network, own_data, own_training, weights_of

N, DOC = OWN, Path(__file__).resolve().parents[2] / "docs" / "use" / "own-training.md"


def training(network=None, optimiser=torch.optim.SGD, data=None, **changed):
    network = make_network() if network is None else network
    return own_training(data, network, optimiser, **({"steps": 6, "max_grad_norm": 0.3} | changed)), network


@pytest.mark.parametrize(
    ("kind", "bound", "size"), [(torch.optim.Adam, 0.3, 30), (torch.optim.SGD, 4.0, N), (torch.optim.SGD, 0.3, 1)]
)
def test_steps_by_hand(kind, bound, size):
    """Poisson batch, clipped sum, N(0, (σC)²), over the expected batch; then PyTorch's own optimiser.

    An empty batch is a step of noise alone.
    """
    found, network = training(seed=7, optimiser=kind, max_grad_norm=bound, batch_size=size)
    reference = make_network()
    optimiser = kind(reference.parameters(), lr=0.1)
    random, (x, y), sizes = randomness(7, secure=False, device=torch.device("cpu")), own_data(), []
    for number, step in enumerate(found, start=1):
        chosen = poisson_indices(random.batches, N, size / N)
        batch = Batch(x[chosen], y[chosen], chosen.size, float(size), SampledGaussian(1.0, size / N))
        total = clipped_by_hand(reference, batch, bound) if chosen.size else torch.zeros(53)
        noise = torch.empty_like(total).normal_(0.0, 1.5 * bound, generator=random.noise)
        parts = ((total + noise) / size).split([p.numel() for p in reference.parameters()])
        for parameter, part in zip(reference.parameters(), parts, strict=True):
            parameter.grad = part.view_as(parameter)
        optimiser.step()
        sizes.append(chosen.size)
        assert (step.number, step.examples) == (number, chosen.size)
        assert math.isfinite(step.loss) == (chosen.size > 0)
    assert number == len(found) == found.done == 6
    assert (0 in sizes) == (size == 1)
    torch.testing.assert_close(weights_of(network), weights_of(reference), atol=1e-5, rtol=1e-4)


def test_views_are_drawn_from_the_training_s_own_stream_and_their_mean_is_clipped():
    draw = torch.Generator().manual_seed(2)
    x, y = torch.randn(8, 1, 6, 6, generator=draw), torch.randint(0, 3, (8,), generator=draw)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    reference = [p.detach().clone() for p in network.parameters()]
    found = PrivateTraining(
        network, (x, y), torch.optim.SGD(network.parameters(), lr=1.0), batch_size=8, steps=2, noise_multiplier=1e-6,
        max_grad_norm=0.5, views=3, flips=True, seed=7,
    )  # fmt: skip
    random = randomness(7, secure=False, device=torch.device("cpu"))
    views = Views(3, random.views, x.shape[1:], flips=True)
    for _ in found:
        chosen = poisson_indices(random.batches, 8, 1.0)
        shown = views(x[chosen]).flatten(1).unflatten(0, (8, 3))
        weight, bias = reference
        residual = torch.softmax(shown @ weight.T + bias, 2) - nn.functional.one_hot(y[chosen], 3)[:, None]
        rows = torch.cat([(residual[..., None] * shown[:, :, None]).mean(1).flatten(1), residual.mean(1)], 1)
        step = (clip_factors(rows.norm(dim=1), 0.5, rows.dtype)[:, None] * rows).sum(0) / 8
        reference = [weight - step[:108].view(3, 36), bias - step[108:]]
    for mine, theirs in zip(network.parameters(), reference, strict=True):
        torch.testing.assert_close(mine.detach(), theirs, atol=1e-5, rtol=1e-4)


def test_claims_grow_to_the_planned_one_and_never_pass_it():
    found, _ = training(noise_multiplier=None, target_epsilon=1.0, steps=None, epochs=2, delta=1e-4)
    epsilons = [step.claim.epsilon for step in found]
    assert len(epsilons) == 20
    assert epsilons == sorted(epsilons)
    assert 0.99 < epsilons[-1] == found.planned.epsilon <= 1.0
    known = {"noise_multiplier": found.settings.noise_multiplier, "sample_rate": 0.1, "delta": 1e-4}
    assert found.planned.epsilon == dpviz.epsilon("tight", steps=20, **known)
    assert any("did not use these data" in condition for condition in found.planned.conditions)
    assert list(found) == []


def test_conditions_of_plain_tensors_say_what_is_assumed_and_that_nobody_declared_it():
    found, _ = training()
    start, scaling = next(found).claim.conditions
    assert start.startswith("on condition that the initial parameters and optimiser state did not use these data")
    assert scaling.startswith("on condition that whatever was computed from these data before this training")
    assert "nobody declared it" in scaling
    assert not any("owner" in text for text in (start, scaling))


def test_early_in_a_long_plan_the_odometer_claims_less():
    found, _ = training(steps=2000)
    next(found)
    claim = found.claim
    assert claim.covers == "any_end"
    assert claim.epsilon == dpviz.epsilon("mixture", noise_multiplier=1.5, sample_rate=0.1, steps=1, delta=1e-5)
    assert claim.epsilon < found.planned.epsilon


def test_a_seed_makes_a_demonstration_and_without_one_noise_is_not_repeated():
    seeded = [training(seed=3)[0] for _ in range(2)]
    assert not seeded[0].claim.holds
    assert seeded[0].claim.demonstration
    ends = []
    for _ in range(2):
        found, network = training(steps=1)
        next(found)
        assert found.claim.holds
        ends.append(weights_of(network))
    assert not torch.equal(*ends)


def read_only(array):
    array.flags.writeable = False
    return array


ROWS, TARGETS = own_data()
PAIRS = [(x, int(y)) for x, y in zip(ROWS, TARGETS, strict=True)]
AS_GIVEN = {
    "dataset": lambda: {"data": PAIRS},
    "loader": lambda: {"data": DataLoader(PAIRS, batch_size=30), "batch_size": None},
    "shuffled loader": lambda: {"data": _loader(shuffle=True, drop_last=True), "batch_size": None},
    "sampler of all rows": lambda: {"data": _loader(SubsetRandomSampler(range(N))), "batch_size": None},
    "NumPy": lambda: {"data": (ROWS.double().numpy(), TARGETS.int().numpy()[::-1][::-1])},
    "read-only NumPy beside a tensor": lambda: {"data": [read_only(ROWS.numpy().astype(">f4")), TARGETS]},
}


@pytest.mark.parametrize("kind", AS_GIVEN)
def test_datasets_and_loaders_are_drawn_from_like_tensors(kind):
    ends = []
    for changed in ({}, AS_GIVEN[kind]()):
        steps, network = training(seed=5, steps=3, **changed)
        list(steps)
        ends.append(weights_of(network))
    torch.testing.assert_close(*ends)


@pytest.mark.parametrize("whole_batches", [False, True])
def test_rows_that_a_sampler_leaves_out_are_not_trained_on(whole_batches):
    """A held-out row is NaN: whoever reads it tells."""
    x, y = own_data()
    rows = list(range(0, N, 3))
    x[[row for row in range(N) if row not in rows]] = float("nan")
    sampler = SubsetRandomSampler(rows)
    batches = BatchSampler(sampler, 20, False)
    loader = DataLoader(
        TensorDataset(x, y), **({"batch_sampler": batches} if whole_batches else {"sampler": sampler, "batch_size": 20})
    )
    found, _ = training(data=loader, batch_size=None, steps=20)
    assert (found.examples, found.settings.batch_size) == (100, 20)
    assert all(math.isfinite(step.loss) for step in found if step.examples)


class _Evens(SequentialSampler):
    def __iter__(self):
        return iter(range(0, len(self.data_source), 2))


def _loader(sampler=None, **changed):
    given = {"batch_size": 30} | changed
    return DataLoader(TensorDataset(*own_data()), sampler=sampler, **given)


class _Batches(BatchSampler):
    pass


class _Endless(IterableDataset):
    def __iter__(self):
        yield from zip(*own_data(), strict=True)


def test_what_is_frozen_stays_and_the_rest_is_trained_like_alone():
    """A frozen backbone in the optimiser, which decays weights: as if the head stood alone behind its features."""
    ends = []
    for alone in (False, True):
        torch.manual_seed(0)
        backbone, head = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5).eval(), nn.Tanh()), nn.Linear(5, 3)
        backbone.requires_grad_(False)
        x, y = own_data()
        network = head if alone else nn.Sequential(backbone, head)
        before = {name: value.clone() for name, value in backbone.state_dict().items()}
        found, _ = training(
            network,
            lambda parameters, lr: torch.optim.AdamW(parameters, lr=lr, weight_decay=0.1),
            data=(backbone(x), y) if alone else (x, y),
            seed=2,
        )
        list(found)
        torch.testing.assert_close(backbone.state_dict(), before, atol=0, rtol=0)
        ends.append(weights_of(head))
    torch.testing.assert_close(*ends)


@pytest.mark.parametrize(("delta", "large"), [(1 / N, True), (0.02, True), (0.99 / N, False)])
def test_a_delta_that_is_not_below_one_over_n_is_told(delta, large):
    with pytest.warns(UserWarning, match="not below 1/N = 0.00333") if large else nullcontext():
        found, _ = training(delta=delta)
    assert large == any("not below 1/N" in condition for condition in found.planned.conditions)
    assert large == any("not below 1/N" in condition for condition in next(found).claim.conditions)


def test_what_is_measured_on_the_data_says_so():
    found, _ = training()
    step = next(found)
    assert re.fullmatch(r"Step\(number=1; not covered by ε: examples=\d+, loss=[\d.]+, clipped=[\d.]+\)", repr(step))
    for name in ("examples", "loss", "clipped"):
        (line,) = [line for line in type(step).__doc__.splitlines() if line.strip().startswith(f"{name}:")]
        assert "not covered by ε" in line


def test_the_program_of_the_docs_runs(tmp_path, monkeypatch, capsys):
    usual, program, frozen = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), flags=re.S)
    assert len(usual.strip().splitlines()) == 3
    draw = np.random.default_rng(0)
    age, hours = draw.uniform(18, 80, 500), draw.uniform(5, 60, 500)
    rows = np.stack([age, hours, age + hours > 90], axis=1)
    np.savetxt(tmp_path / "people.csv", rows, delimiter=",", fmt="%.1f", header="age,hours,much")
    monkeypatch.chdir(tmp_path)
    ran: dict[str, object] = {}
    exec(compile(program, "program", "exec"), ran)
    assert "step 20 of 25: PLD, ε ≤ " in capsys.readouterr().out
    assert 2.99 < ran["training"].claim.epsilon <= 3.0
    assert (tmp_path / "network.pt").is_file()
    published = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 4))
    torch.save(published.state_dict(), tmp_path / "published.pt")
    exec(compile(frozen, "program", "exec"), ran)
    tuned, shared = ran["training"], published.state_dict()
    assert tuned.parameters == 2 * (16 + 2) + 34
    torch.testing.assert_close(ran["backbone"][0].base.state_dict(), {k[2:]: shared[k] for k in ("0.weight", "0.bias")})
    assert float(ran["backbone"][0].up.weight.detach().norm()) > 0.0
    assert tuned.claim.epsilon > 3.0  # the first training on these rows is in it
