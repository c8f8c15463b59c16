"""What a step asks of an accelerator: without one, on the meta device, whose tensors have shapes but no numbers."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dpviz.training import accelerator, private
from dpviz.training.data import examples
from dpviz.training.data.catalogue import load
from dpviz.training.engine.binding import READ_EVERY, Binding
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.snapshot import LARGE
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import build, prepared
from dpviz.training.randomness import randomness
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


class Copies(TorchDispatchMode):
    """Copies from the host to a device: how many numbers were sent, and which copies the host waits for."""

    def __init__(self, device):
        super().__init__()
        self.device, self.sent, self.waiting = device, [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        answer = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and answer.device.type == self.device != args[0].device.type:
            self.sent.append(args[0].numel())
            if not (kwargs or {}).get("non_blocking"):
                self.waiting.append(tuple(args[0].shape))
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


@pytest.fixture
def reads(monkeypatch):
    """Numbers that were read from the meta device, by how: 1 where it is one number that is asked for, else zeros."""
    found = []

    def reading(name, answer):
        original = getattr(torch.Tensor, name)

        def read(tensor):
            if tensor.device.type != "meta":
                return original(tensor)
            found.append(name)
            return answer(torch.zeros(tensor.shape, dtype=tensor.dtype))

        monkeypatch.setattr(torch.Tensor, name, read)

    for name, answer in (
        ("__bool__", bool),
        ("__float__", lambda zeros: 1.0),
        ("tolist", lambda zeros: zeros.tolist()),
    ):
        reading(name, answer)
    reading("cpu", lambda zeros: zeros)
    return found


def test_a_check_of_many_tensors_waits_for_the_device_once_in_ten_steps(reads):
    """Of 42 parameters with Adam's state; a claim waits for the steps before it."""
    network = nn.Sequential(*(nn.Linear(9, 9) for _ in range(20)), nn.Linear(9, LARGE)).to("meta")
    binding = Binding(network, torch.optim.Adam(network.parameters()))

    def step(after):
        binding.begin(after)
        binding.step(torch.empty(sum(parameter.numel() for parameter in network.parameters()), device="meta"))

    step(0)
    assert binding.spoilt is None
    reads.clear()
    for after in range(1, 2 * READ_EVERY + 2):
        step(after)
    assert reads == ["tolist", "tolist"]
    assert binding.spoilt is None
    assert reads == ["tolist"] * 3


class Rows(torch.utils.data.Dataset):
    """Pictures and labels that are read one by one."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, position):
        return self.x[position], int(self.y[position])


@pytest.mark.parametrize("kind", ["kept on the device", "in memory", "rows", "persons", "views"])
def test_a_training_of_one_s_own_reads_once_in_ten_steps_and_its_copies_wait_for_nothing(kind, monkeypatch, reads):
    """The notice of the first ten steps is the other read. Claims, losses and clipped shares wait where one asks."""
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(EXAMPLES, 1, 28, 28, generator=draw), torch.randint(0, 10, (EXAMPLES,), generator=draw)
    monkeypatch.setattr(examples, "fits", lambda parts, device: kind == "kept on the device")
    drawn = randomness(0, secure=True, device=torch.device("cpu"))
    monkeypatch.setattr(private, "randomness", lambda *_, **__: drawn._replace(noise=None))
    network = MODELS["cnn"].make((1, 28, 28), 10).to("meta")
    training = private.PrivateTraining(
        network, Rows(x, y) if kind == "rows" else (x, y), torch.optim.Adam(network.parameters()), steps=30,
        batch_size=EXPECTED, noise_multiplier=1.0, persons=np.arange(EXAMPLES) % 400 if kind == "persons" else None,
        views=2 if kind == "views" else 1,
    )  # fmt: skip
    next(training)
    reads.clear()
    with Copies("meta") as copies:
        for _ in range(2 * READ_EVERY):
            last = next(training)
    assert sorted(reads) == ["__float__", "tolist", "tolist"]
    assert copies.waiting == []
    sizes = [size for size in copies.sent if size > 28 * 28]
    assert bool(sizes) == (kind != "kept on the device")
    assert last.claim.holds
    assert len(reads) > 3


def test_data_are_kept_on_a_gpu_that_has_room(monkeypatch):
    card, parts = torch.device("cuda", 0), [torch.zeros(100), torch.zeros(25, dtype=torch.int64)]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2400, 10_000))
    assert accelerator.fits(parts, card)
    assert not accelerator.fits([*parts, torch.zeros(1)], card)
    assert not accelerator.fits(parts, torch.device("cpu"))
    assert not accelerator.fits([torch.zeros(1, device="meta")], card)


def test_of_several_gpus_the_one_with_the_most_free_memory_is_taken_and_named(monkeypatch):
    free = {0: 5, 1: 9, 2: 7}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(free))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[device.index], 10))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Card")
    for wanted in ("auto", "cuda"):
        assert accelerator.chosen_device(wanted) == torch.device("cuda", 1)
    assert accelerator.device_name(torch.device("cuda", 1)) == "Card (cuda:1)"
    del free[1], free[2]
    assert accelerator.device_name(accelerator.chosen_device("auto")) == "Card"
    assert accelerator.chosen_device("cpu") == torch.device("cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("kept", [True, False])
def test_a_training_of_one_s_own_waits_for_a_gpu_twice_in_twenty_steps(kept, monkeypatch):
    monkeypatch.setattr(examples, "fits", lambda parts, device: kept)
    data = load("mnist-10k")
    network = MODELS["mlp"].make((1, 28, 28), 10).cuda()
    training = private.PrivateTraining(
        network, (data.train_x, data.train_y), torch.optim.Adam(network.parameters()), steps=60, batch_size=256,
        noise_multiplier=1.0,
    )  # fmt: skip
    for _ in range(READ_EVERY + 1):
        next(training)
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2 * READ_EVERY):
                next(training)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert sum("synchroniz" in str(warning.message) for warning in seen) <= 4  # two reads, each with what it waits for
    assert training.claim.holds
    network[-1].bias.data[0] += 1.0
    with pytest.raises(ValueError, match="changed a number"):
        list(training)
    assert training.done <= 3 * READ_EVERY + 2
    assert not training.claim.holds


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
