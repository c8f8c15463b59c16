"""What per-example clipping costs beside the same plain step, in the same run.

`test_step` gives absolute times; `test_ratio` times plain, private and private-with-32-pairs steps in turn, so that a
busy machine slows all three, and reports the medians of the ratios as extra information.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from dpviz.training.data import DATA_SETS
from dpviz.training.data.catalogue import load
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.vectors import shaped
from dpviz.training.networks.by_name import build

SETTINGS = [("mlp", 256), ("mlp", 1024), ("cnn", 64), ("cnn", 256), ("cnn", 1024)]
ROUNDS = 25
PAIRS = 32

Steps = dict[str, Callable[[], None]]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def steps(model: str, batch: int) -> Steps:
    """One SGD step each: plain, on clipped sums, and on clipped sums with the distances of disjoint pairs."""
    data, network = load("mnist-10k"), build(model, DATA_SETS["mnist-10k"], seed=0)
    x, y = data.train_x[:batch].clone(), data.train_y[:batch].clone()
    parameters: list[torch.Tensor] = list(network.parameters())
    engine = PerExample(network)

    def plain() -> None:
        gradients = torch.autograd.grad(F.cross_entropy(network(x), y), parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-1e-6)

    def private(pairs: int | None = None) -> None:
        sums = shaped(engine.clipped(x, y, max_grad_norm=1.0, pairs=pairs).total, engine.parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, sums, alpha=-1e-6 / batch)

    return {"plain": plain, "private": private, "pairs": lambda: private(PAIRS)}


@pytest.mark.parametrize("kind", ["plain", "private", "pairs"])
@pytest.mark.parametrize(("model", "batch"), SETTINGS)
def test_step(benchmark, model, batch, kind):
    benchmark.group = f"{model}, batch {batch}"
    benchmark.pedantic(steps(model, batch)[kind], rounds=ROUNDS, warmup_rounds=3)


@pytest.mark.parametrize(("model", "batch"), SETTINGS)
def test_ratio(benchmark, model, batch):
    functions = steps(model, batch)
    for function in functions.values():
        for _ in range(3):
            function()
    rounds = []
    for _ in range(ROUNDS):
        times = {}
        for kind, function in functions.items():
            start = time.thread_time()  # of the processor: a busy machine must not decide
            function()
            times[kind] = time.thread_time() - start
        rounds.append(times)
    found = {
        "private : plain": statistics.median(t["private"] / t["plain"] for t in rounds),
        "with pairs : plain": statistics.median(t["pairs"] / t["plain"] for t in rounds),
        "with pairs : private": statistics.median(t["pairs"] / t["private"] for t in rounds),
    }
    benchmark.group = f"{model}, batch {batch}"
    benchmark.extra_info |= found
    print(f"\n{model} {batch}: " + ", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    benchmark.pedantic(functions["private"], rounds=1)
