"""A whole private step ÷ a plain one, of dpviz, of Opacus where it is installed, and of plain `torch.func`.

    PYTHONPATH=. python benchmarks/compare_steps.py [rounds]

A step is what a program of one's own does: draw a Poisson batch, read its rows, gradients, clip, noise, optimiser.
dpviz's is `next(PrivateTraining(...))`, with all that it checks. All engines take one step in turn, round after round,
so that a busy machine slows all of them alike; the table shows medians of each round's ratio to the plain step, in
processor time of one thread. The memory is what three steps add to a process of their own at their peak (VmHWM less
VmRSS before; Linux only), in MiB.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from benchmarks import step_memory
from benchmarks.gpu import NETWORKS
from dpviz.training import PrivateTraining
from dpviz.training.data.catalogue import load

Step = Callable[[], object]

BATCHES = {"MLP": (64, 256, 1024), "CNN": (64, 256, 1024), "residual net": (64, 256), "attention": (64, 256)}
SIGMA, BOUND = 1.0, 1.0
# Engines that take a hundred times as long as a plain step take part in the first rounds alone.
SLOW, SLOW_ROUNDS = 8.0, 4


class Program:
    """What all engines start from: one network, an optimiser, and the shipped digits in batches of `batch`."""

    def __init__(self, name: str, batch: int) -> None:
        torch.manual_seed(0)
        data = load("mnist-10k")
        self.x, self.y, self.batch = data.train_x.contiguous(), data.train_y, batch
        self.network = NETWORKS[name]()
        self.optimiser = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)

    def draw(self) -> tuple[Tensor, Tensor]:
        (chosen,) = torch.nonzero(torch.rand(len(self.y)) < self.batch / len(self.y), as_tuple=True)
        return self.x[chosen], self.y[chosen]


def plain(program: Program) -> Step:
    def step() -> None:
        x, y = program.draw()
        program.optimiser.zero_grad()
        F.cross_entropy(program.network(x), y).backward()
        program.optimiser.step()

    return step


def ours(program: Program) -> Step:
    training = PrivateTraining(
        program.network, (program.x, program.y), program.optimiser, steps=100_000, batch_size=program.batch,
        noise_multiplier=SIGMA, max_grad_norm=BOUND, disjoint_data=True,
    )  # fmt: skip
    return lambda: next(training)


def by_vmap(program: Program) -> Step:
    """Per-example gradients as PyTorch's own tutorial takes them, clipped without a certificate."""
    network, named = program.network, dict(program.network.named_parameters())

    def loss(own: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(network, own, (x.unsqueeze(0),)), y.unsqueeze(0))

    gradients = vmap(grad(loss), in_dims=(None, 0, 0), randomness="different")

    def step() -> None:
        x, y = program.draw()
        # The fused kernel of attention has no rule for examples on a CPU.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            found = gradients({name: part.detach() for name, part in named.items()}, x, y)
        norms = torch.stack([part.flatten(1).norm(dim=1) for part in found.values()]).norm(dim=0)
        factors = (BOUND / norms).clamp(max=1.0)
        for name, parameter in named.items():
            total = torch.tensordot(factors, found[name], dims=1)
            parameter.grad = (total + SIGMA * BOUND * torch.randn_like(total)) / program.batch
        program.optimiser.step()

    return step


def opacus(program: Program, *, ghost: bool) -> Step:
    """Opacus: per-example gradients from hooks, or ghost clipping with two backward passes."""
    from opacus import GradSampleModule
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer
    from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
    from opacus.validators import ModuleValidator

    network: nn.Module = ModuleValidator.fix(program.network)  # its own attention, where it needs that
    inner = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    options = {"noise_multiplier": SIGMA, "max_grad_norm": BOUND, "expected_batch_size": program.batch}
    loss: Callable[..., object]
    if ghost:
        wrapped = GradSampleModuleFastGradientClipping(network, max_grad_norm=BOUND, use_ghost_clipping=True)
        optimiser = DPOptimizerFastGradientClipping(inner, **options)
        loss = DPLossFastGradientClipping(wrapped, optimiser, nn.CrossEntropyLoss())
    else:
        wrapped, optimiser, loss = GradSampleModule(network), DPOptimizer(inner, **options), F.cross_entropy

    def step() -> None:
        x, y = program.draw()
        optimiser.zero_grad()
        loss(wrapped(x), y).backward()
        optimiser.step()

    return step


ENGINES: dict[str, Callable[[Program], Step]] = {"plain": plain, "dpviz": ours, "torch.func": by_vmap}
if find_spec("opacus") is not None:
    ENGINES |= {
        "Opacus hooks": lambda program: opacus(program, ghost=False),
        "Opacus ghost": lambda program: opacus(program, ghost=True),
    }


def interleaved(name: str, batch: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of each engine's steps, round by round; slow engines have fewer."""
    steps = {engine: make(Program(name, batch)) for engine, make in ENGINES.items()}
    for step in (*steps.values(), *steps.values()):
        step()
    took: dict[str, list[float]] = {engine: [] for engine in steps}
    for number in range(rounds):
        for engine, step in steps.items():
            if number >= SLOW_ROUNDS and took[engine][0] > SLOW * took["plain"][0]:
                continue
            began = time.thread_time()
            step()
            took[engine].append(time.thread_time() - began)
    return took


def main(rounds: int) -> None:
    _, *engines = ENGINES
    print(f"| one step, median of {rounds} | plain, ms | " + " | ".join(f"{one} ÷ plain" for one in engines) + " |")
    print("| --- |" + " --: |" * len(ENGINES), flush=True)
    for name, batches in BATCHES.items():
        for batch in batches:
            took = interleaved(name, batch, rounds)
            ratios = (statistics.median(a / b for a, b in zip(took[e], took["plain"], strict=False)) for e in engines)
            cells = [f"{1000.0 * statistics.median(took['plain']):.2f}", *(f"{ratio:.2f}" for ratio in ratios)]
            print(f"| {name}, batch {batch} | " + " | ".join(cells) + " |", flush=True)
    print("\n| MiB that steps add | " + " | ".join(ENGINES) + " |\n| --- |" + " --: |" * len(ENGINES), flush=True)
    for name, batches in BATCHES.items():
        cells = [step_memory.added(__file__, engine, name, str(batches[-1])) for engine in ENGINES]
        print(f"| {name}, batch {batches[-1]} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")  # Opacus's, on hooks and on its own random numbers
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["memory"]:
        engine, name, batch = sys.argv[2:]
        step_memory.print_added(ENGINES[engine](Program(name, int(batch))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
