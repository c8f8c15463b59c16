"""What a step asks of an accelerator: without one, on the meta device, whose tensors have shapes but no numbers."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dpviz.training.data.catalogue import load
from dpviz.training.engine.binding import Binding
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.snapshot import LARGE
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import build, prepared
from dpviz.training.sampling import Batches, Persons, loss_per_example
from dpviz.training.session import CHECK_EVERY, Session
from dpviz.training.settings import RunSettings
from tests.training.steps import make

EXAMPLES, EXPECTED = 600, 64


class Calls(TorchDispatchMode):
    """Every operation on the device with the shapes of its tensors."""

    def __init__(self, device):
        super().__init__()
        self.device, self.found = device, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        answer = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, answer)) if isinstance(leaf, torch.Tensor)]
        if any(tensor.device.type == self.device for tensor in tensors):
            self.found.append((str(func), tuple(tuple(tensor.shape) for tensor in tensors)))
        return answer


@pytest.mark.one_of(3)
@pytest.mark.parametrize("model", ["logistic", "mlp", "cnn", "resnet"])
@pytest.mark.parametrize("name", METHODS)
def test_a_step_reads_nothing_and_is_the_same_operations_for_every_batch(name, model):
    reads_nothing(name, model)


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_a_step_of_persons_reads_nothing(model):
    reads_nothing("dp_sgd", model, Persons(np.arange(EXAMPLES) % 400), bayesian=False, unit="person")


def reads_nothing(name, model, persons=None, **changed):
    x = torch.empty(EXAMPLES, 1, 28, 28, device="meta")
    y = torch.empty(EXAMPLES, dtype=torch.int64, device="meta")
    changed = {"bayesian": METHODS[name].private, "prior_std": 1.0} | changed
    method, state, _ = make(
        name, MODELS[model].make((1, 28, 28), 10).to("meta"), device="meta", batch_size=EXPECTED, pairs=16,
        bayesian_distances="norms" if METHODS[name].posterior else "pairs",
        optimiser="adam" if "optimiser" in METHODS[name].reads else "sgd", **changed,
    )  # fmt: skip
    batches, sizes, operations = Batches(x, y, np.random.default_rng(0), persons=persons), [], []
    for _ in range(4):
        with Calls("meta") as calls:
            batch = batches.draw(EXPECTED)
            state, info = method.step(state, batch)
        sizes.append(batch.size)
        operations.append(calls.found)
    assert len(set(sizes)) > 1
    assert len(operations[0]) > 20
    # The first step may take memory that the others use again.
    assert operations[1] == operations[2] == operations[3]
    assert (info.distances is None) != changed["bayesian"]


def test_a_meta_tensor_cannot_be_read():
    """What the test above relies on."""
    for read in (torch.Tensor.item, torch.Tensor.tolist, bool, torch.nonzero, torch.Tensor.cpu):
        with pytest.raises((RuntimeError, NotImplementedError)):
            read(torch.ones(1, device="meta"))


def test_a_check_of_many_tensors_waits_for_the_device_twice(monkeypatch):
    """Once for the comparison and once for the numbers that are kept of a step, of 42 parameters with Adam's state."""
    reads = []

    def read(kind, answer):
        return lambda tensor: (reads.append(kind) if tensor.device.type == "meta" else None, answer(tensor))[1]

    monkeypatch.setattr(torch.Tensor, "__bool__", read("bool", lambda tensor: False))
    monkeypatch.setattr(torch.Tensor, "cpu", read("cpu", lambda tensor: torch.zeros(tensor.shape, dtype=tensor.dtype)))
    network = nn.Sequential(*(nn.Linear(9, 9) for _ in range(20)), nn.Linear(9, LARGE)).to("meta")
    binding = Binding(network, torch.optim.Adam(network.parameters()))
    for after in range(3):
        binding.begin(after)
        reads.clear()
        binding.step(torch.empty(sum(parameter.numel() for parameter in network.parameters()), device="meta"))
        assert sorted(reads) == ["bool", "cpu"]


@pytest.mark.gpu
def test_a_gpu_is_waited_for_once_in_ten_steps():
    settings = RunSettings(
        model="mlp", batch_size=256, steps=100, bayesian=True, evaluation_every=0, histogram_every=0, device="cuda",
        learning_rate=1.0,
    )  # fmt: skip
    session = Session(settings, prepared("mlp", load("mnist-10k")), lambda event: None)
    session.start()
    for _ in range(CHECK_EVERY):
        session.advance()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2 * CHECK_EVERY):
                session.advance()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert sum("synchroniz" in str(warning.message) for warning in seen) <= 2


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_a_cuda_graph_of_the_clipped_sum_answers_for_new_batches(model):
    data = load("mnist-10k")
    network = build(model, data, seed=0).cuda()
    engine = PerExample(network, loss_per_example)
    x, y = data.train_x[:64].cuda(), data.train_y[:64].cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            engine.clipped(x, y, max_grad_norm=0.1, pairs=8)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = engine.clipped(x, y, max_grad_norm=0.1, pairs=8)
    for start in (64, 128):
        x.copy_(data.train_x[start : start + 64])
        y.copy_(data.train_y[start : start + 64])
        graph.replay()
        again = tuple(part.clone() for part in (found.total, found.norms, found.losses, found.distances))
        wanted = engine.clipped(x.clone(), y.clone(), max_grad_norm=0.1, pairs=8)
        torch.testing.assert_close(again, (wanted.total, wanted.norms, wanted.losses, wanted.distances))
