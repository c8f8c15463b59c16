"""Training that protects persons: whole persons are drawn, and the sum of a person's gradients is clipped once."""

import csv

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dpviz.mechanisms import SampledGaussian
from dpviz.training import PrivateTraining
from dpviz.training.accounts.claims import assumptions, neighbours
from dpviz.training.data.catalogue import load
from dpviz.training.data.own.describe import NotADataSet, described
from dpviz.training.data.own.read import read
from dpviz.training.defaults import units_of
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.rounding import certified_bound
from dpviz.training.loop import FreeRun, run
from dpviz.training.sampling import Batches, Persons, loss_per_example
from dpviz.training.settings import RunSettings
from tests.own_sets import TABLE, table

BOUND = 0.4
OWNERS = np.random.default_rng(2).integers(0, 60, 150)  # 1 to 7 rows each, in mixed order
RUN = RunSettings(
    data="visits", model="mlp", unit="person", batch_size=100, steps=12, noise_multiplier=1.0, device="cpu", threads=1
)


def network(kind="linear"):
    torch.manual_seed(0)
    if kind == "conv":
        convolution = nn.Conv2d(1, 3, 3, padding=1)
        return nn.Sequential(nn.Unflatten(1, (1, 2, 3)), convolution, nn.Tanh(), nn.Flatten(), nn.Linear(18, 3))
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def rows(scale=3.0):
    draw = torch.Generator().manual_seed(1)
    return scale * torch.randn(150, 6, generator=draw), torch.randint(0, 3, (150,), generator=draw)


def gradients_of_persons(network, x, y):
    """Of each person the sum over their rows, one at a time, float64 (persons, p)."""
    network, sums = network.double(), []
    for person in np.unique(OWNERS):
        own = torch.from_numpy(np.flatnonzero(person == OWNERS))
        loss = F.cross_entropy(network(x[own].double()), y[own], reduction="sum")
        sums.append(torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(network.parameters()))]))
    return torch.stack(sums)


def everyone(persons, x, y):
    return x[persons.places], y[persons.places], persons.real


@pytest.mark.parametrize("usual", [None, 20])
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_a_step_clips_the_sum_of_each_person_s_gradients(kind, usual):
    x, y = rows()
    persons = Persons(OWNERS)
    xs, ys, real = everyone(persons, x, y)
    engine = PerExample(network(kind), loss_per_example, usual_batch=usual)
    step = engine.clipped(xs, ys, max_grad_norm=BOUND, real=real)
    slow = gradients_of_persons(network(kind), x, y)
    norms = slow.norm(dim=1)
    shares = (certified_bound(BOUND, torch.float32) / norms).clamp(max=1.0)
    assert int((norms > BOUND).sum()) > 0
    torch.testing.assert_close(step.norms.double(), norms, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(step.total.double(), (shares[:, None] * slow).sum(0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_no_person_moves_the_sum_by_more_than_the_clipping_threshold(kind):
    x, y = rows(scale=30.0)
    persons = Persons(OWNERS)
    engine = PerExample(network(kind), loss_per_example, usual_batch=40)
    whole = engine.clipped(*everyone(persons, x, y)[:2], max_grad_norm=BOUND, real=persons.real).total.double()
    moved = []
    for person in range(len(persons)):
        others = torch.arange(len(persons)) != person
        places, real = persons.places[others], persons.real[others]
        total = engine.clipped(x[places], y[places], max_grad_norm=BOUND, real=real).total.double()
        moved.append(float((whole - total).norm()))
    assert 0.9 * BOUND < max(moved) <= BOUND


def test_nobody_s_gradient_depends_on_another_s_rows():
    x, y = rows()
    persons = Persons(OWNERS)
    alone = PerExample(network(), loss_per_example, usual_batch=40)
    xs, ys, real = everyone(persons, x, y)
    before = alone.clipped(xs, ys, max_grad_norm=BOUND, real=real).norms
    x[persons.places[30, 0]] = torch.nan
    others = torch.arange(len(persons)) != 30
    after = alone.clipped(x[persons.places], ys, max_grad_norm=BOUND, real=real)
    assert not torch.isfinite(after.norms[30])
    assert torch.equal(after.norms[others], before[others])
    assert torch.isfinite(after.total).all()


@pytest.mark.parametrize("pad", [False, True])
def test_whole_persons_are_drawn_each_with_the_same_probability(pad):
    x = torch.arange(150.0)[:, None]
    persons = Persons(OWNERS)
    batches = Batches(x, torch.arange(150), np.random.default_rng(3), pad=pad, persons=persons)
    times, draws = np.zeros(60), 400
    together = 0
    for _ in range(draws):
        batch = batches.draw(15)
        drawn = batch.y[batch.real].numpy()
        assert batch.unit_noise == SampledGaussian(1.0, 15 / len(persons))
        assert len(set(drawn.tolist())) == len(drawn)
        owners = set(OWNERS[drawn].tolist())
        assert len(owners) == batch.size
        assert sorted(drawn.tolist()) == np.flatnonzero(np.isin(OWNERS, list(owners))).tolist()
        times[list(owners)] += 1
        together += {OWNERS[0], OWNERS[1]} <= owners
    here = np.unique(OWNERS)
    rate = 15 / len(here)
    deviation = np.sqrt(draws * rate * (1 - rate))
    assert np.abs(times[here] - draws * rate).max() < 4.5 * deviation
    assert OWNERS[0] != OWNERS[1]
    assert abs(together - draws * rate**2) < 4.5 * np.sqrt(draws) * rate


@pytest.mark.filterwarnings("ignore:δ = .* is not below 1/N")
def test_one_person_is_at_most_one_clipped_gradient_of_what_a_training_releases(monkeypatch):
    """The only person with a gradient has four rows; without noise the network moves by nearly C/B."""
    monkeypatch.setattr(torch.Tensor, "normal_", lambda self, *_, **__: self.zero_())
    x = torch.zeros(12, 2)
    x[[0, 3, 5, 8], 0] = 4.0
    owners = ["Ann", "Bob", "Cid", "Ann", "Dee", "Ann", "Bob", "Eve", "Ann", "Fay", "Gil", "Hal"]
    net = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(net.weight)
    training = PrivateTraining(
        net, (x, torch.zeros(12, dtype=torch.int64)), torch.optim.SGD(net.parameters(), lr=1.0), persons=owners,
        batch_size=8, steps=1, noise_multiplier=1.0, max_grad_norm=BOUND, seed=0, disjoint_data=True,
    )  # fmt: skip
    assert training.examples == 8
    next(training)
    assert 0.99 * BOUND / 8 < float(net.weight.detach().norm()) <= BOUND / 8


def test_a_run_says_whom_it_protects():
    events = []
    summary = run(RUN, events.append, FreeRun())
    assert units_of(RUN) == events[0]["examples"] == len(np.unique(load("visits").persons)) == 2000
    assert events[0]["settings"]["unit"] == events[0]["claim"]["unit"] == summary["claim"]["unit"] == "person"
    assert summary["mechanisms"] == [[1.0, 100 / 2000, 12]]
    assert neighbours(RUN) in assumptions(RUN)[0]
    assert "person" in neighbours(RUN)


@pytest.mark.parametrize(
    "changed",
    [
        {"data": "abalone"}, {"bayesian": True}, {"method": "dp_sgld", "prior_std": 1.0}, {"method": "sgd"},
        {"target_measure": "private", "target_accuracy": 0.9}, {"policy": "adaptive_noise"}, {"unit": "family"},
    ],
)  # fmt: skip
def test_what_counts_single_rows_is_refused_by_name(changed):
    with pytest.raises(ValueError, match="unit="):
        RUN.with_(**changed).check()


def test_costs_of_different_units_are_not_added_up():
    x, y = rows()
    made = [
        PrivateTraining(net, (x, y), torch.optim.SGD(net.parameters(), lr=0.1), persons=owners, **settings)
        for net, owners in ((network(), OWNERS), (network(), None))
        for settings in [{"batch_size": 10, "steps": 5, "noise_multiplier": 1.0, "delta": 1e-4}]
    ]
    next(made[0])
    assert made[0].claim.unit == "person"
    with pytest.raises(ValueError, match="unit"):
        next(made[1])
    assert made[1].done == 0


@pytest.mark.parametrize("owners", [OWNERS[:-1], OWNERS[:, None], OWNERS + 0.5])
def test_each_row_has_one_person(owners):
    net = network()
    with pytest.raises(ValueError, match="persons"):
        PrivateTraining(
            net, rows(), torch.optim.SGD(net.parameters(), lr=0.1), persons=owners, batch_size=10, steps=5,
            noise_multiplier=1.0,
        )  # fmt: skip


PARTS = """person = "cup"

[train]
file = "tea.csv"
examples = 60
persons = 20

[test]
file = "tea.csv"
examples = 60
"""


def with_persons(folder, description=None, empty=False):
    split = TABLE.index("[split]")
    described = TABLE[:split] + PARTS + "\n" + TABLE[TABLE.index("[columns") :]
    path = table(folder, (described if description is None else description))
    lines = list(csv.reader((folder / "tea.csv").read_text().splitlines()))
    owners = ["cup", *(f"c{at % 20}" for at in range(60))]
    owners[-1] = "" if empty else owners[-1]
    (folder / "tea.csv").write_text(
        "\n".join(",".join([*line, who]) for line, who in zip(lines, owners, strict=True)) + "\n"
    )
    return path


def test_own_data_name_their_persons_in_a_column(tmp_path, monkeypatch):
    data = described(with_persons(tmp_path))
    assert np.bincount(read(data).persons).tolist() == [3] * 20
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    own = RUN.with_(data="own:tea", model="logistic", batch_size=5, steps=3)
    events = []
    run(own, events.append, FreeRun())
    assert events[0]["examples"] == units_of(own) == 20
    table(tmp_path)
    with pytest.raises(ValueError, match="unit='example'"):
        run(own, events.append, FreeRun())


def test_own_data_are_held_against_the_persons_that_they_declare(tmp_path):
    path = with_persons(tmp_path)
    path.write_text(path.read_text().replace("persons = 20", "persons = 21"))
    with pytest.raises(NotADataSet, match="21 persons"):
        read(described(path))
    with pytest.raises(NotADataSet, match="empty cell"):
        read(described(with_persons(tmp_path, empty=True)))
    with pytest.raises(NotADataSet, match="split by rows"):
        described(with_persons(tmp_path, TABLE.replace("label =", 'person = "cup"\nlabel =', 1)))
