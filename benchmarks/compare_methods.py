"""What a whole private step costs beside the same plain step, in the same run, and beside Opacus where it is installed.

    PYTHONPATH=. python benchmarks/compare_methods.py [rounds]

A step is: draw a Poisson batch, gradients, clip, noise, update. All engines take one step in turn, on batches of the
same sizes, round after round, so that a busy machine slows all of them; the table shows medians of each round's ratio
to the plain step. Times are those of the processor for this thread, which at one thread are those of the clock on an
idle machine.

"plain" is the network as PyTorch runs it by default; "plain, last" the same with channels last, the layout in which
the private engine works on a CPU and in which max pooling is much faster. "ours + accounts" also charges all
accountants and reads them after the step, "ours + pairs" measures distances of 32 disjoint pairs of examples.

Memory is the peak of what steps add to a process of their own that has loaded data and network: VmHWM − VmRSS after
the kernel was told to forget the earlier peak (Linux only).
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks import step_memory
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.data.catalogue import load
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.methods import METHODS
from dpviz.training.networks.by_name import build
from dpviz.training.plan import mechanism_at
from dpviz.training.sampling import Batches, loss_per_example
from dpviz.training.settings import RunSettings
from dpviz.training.step_buffer import StepBuffer

Step = Callable[[], None]

SETTINGS = (("mlp", 256), ("mlp", 1024), ("cnn", 64), ("cnn", 256), ("cnn", 1024))
OURS: dict[str, dict[str, object]] = {
    "plain": {"method": "sgd"},
    "plain, last": {"method": "sgd"},
    "ours": {"method": "dp_sgd"},
    "ours + pairs": {"method": "dp_sgd", "bayesian": True, "delta_mu": 1e-5},
    "ours + accounts": {"method": "dp_sgd"},
    "dp_sgld": {"method": "dp_sgld", "learning_rate": 0.01},
}
OPACUS = ("Opacus hooks", "Opacus ghost")
# These may take a hundred times as long as a plain step.
OPACUS_ROUNDS = 4


def our_step(name: str, base: RunSettings) -> Step:
    """One step as the loop takes it, without evaluations and events; "accounts" with all that is read of it."""
    settings = base.with_(**OURS[name])
    data = load(settings.data)
    network = build(settings.model, data, seed=0)
    parameters = flatten_parameters(network)
    if name == "plain, last":
        for module in network.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_pre_hook(lambda _, x: (_last(x[0]),))
    examples = len(data.train_y)
    engine = PerExample(network, loss_per_example)
    method = METHODS[settings.method](engine, settings, examples=examples, noise=torch.Generator().manual_seed(0))
    batches = Batches(data.train_x, data.train_y, np.random.default_rng(0))
    step_buffer = None
    if name == "ours + accounts":
        accounts = LiveAccounts(settings, examples=examples)
        step_buffer = StepBuffer(accounts, max_grad_norm=settings.max_grad_norm, histogram_every=5)
    state = method.init(parameters)
    done = 0

    def step() -> None:
        nonlocal state, done
        state, info = method.step(state, batches.draw(settings.batch_size))
        done += 1
        if step_buffer is not None:
            step_buffer.add(done, info)
            step_buffer.read()
            step_buffer.take()

    return step


def _last(x: torch.Tensor) -> torch.Tensor:
    """With the strides of channels last even where one channel makes both layouts the same."""
    b, c, height, width = x.shape
    return x.permute(0, 2, 3, 1).contiguous().as_strided((b, c, height, width), (height * width * c, 1, width * c, c))


def opacus_step(name: str, settings: RunSettings) -> Step:
    """The same step by Opacus: per-example gradients from hooks, or ghost clipping with two backward passes."""
    from opacus import GradSampleModule
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer
    from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    data = load(settings.data)
    network = build(settings.model, data, seed=0)
    bound = settings.max_grad_norm
    inner = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=settings.momentum)
    options = {
        "noise_multiplier": settings.noise_multiplier,
        "max_grad_norm": bound,
        "expected_batch_size": settings.batch_size,
        "generator": torch.Generator().manual_seed(0),
    }
    loss: Callable[..., object]
    if name == "Opacus hooks":
        wrapped = GradSampleModule(network)
        optimiser, loss = DPOptimizer(inner, **options), F.cross_entropy
    else:
        wrapped = GradSampleModuleFastGradientClipping(network, max_grad_norm=bound, use_ghost_clipping=True)
        optimiser = DPOptimizerFastGradientClipping(inner, **options)
        loss = DPLossFastGradientClipping(wrapped, optimiser, torch.nn.CrossEntropyLoss())
    batches = Batches(data.train_x, data.train_y, np.random.default_rng(0))

    def step() -> None:
        batch = batches.draw(settings.batch_size)
        loss(wrapped(batch.x), batch.y).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def engines() -> Iterator[str]:
    yield from OURS
    if find_spec("opacus") is not None:
        yield from OPACUS


def stepper(name: str, model: str, batch: int) -> Step:
    base = RunSettings(model=model, batch_size=batch, steps=10_000)
    return our_step(name, base) if name in OURS else opacus_step(name, base)


def interleaved(model: str, batch: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of each engine's steps; engines that stop early have fewer."""
    steps = {name: stepper(name, model, batch) for name in engines()}
    for step in steps.values():
        step()
    took: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name, step in steps.items():
            if name in OPACUS and number >= OPACUS_ROUNDS:
                continue
            start = time.thread_time()
            step()
            took[name].append(time.thread_time() - start)
    return took


def accounts_alone(settings: RunSettings, rounds: int) -> float:
    """Milliseconds that charging and reading all accounts takes a step."""
    accounts = LiveAccounts(settings, examples=10_000)
    distances = np.random.default_rng(0).uniform(0.0, 2 * settings.max_grad_norm, settings.pairs)
    took = []
    for step in range(1, rounds + 1):
        mechanism = mechanism_at(settings, step, 10_000)
        start = time.thread_time()
        accounts.step(mechanism, distances)
        accounts.epsilons()
        took.append(time.thread_time() - start)
    return 1e3 * statistics.median(took)


def row(label: str, cells: list[str]) -> None:
    print(f"{label:16s}" + "".join(f"{cell:>16s}" for cell in cells), flush=True)


def main(rounds: int) -> None:
    names = list(engines())
    print(f"Whole steps, ratio to plain (median of {rounds} rounds, Opacus {min(rounds, OPACUS_ROUNDS)}); plain in ms")
    row("model, batch", names)
    for model, batch in SETTINGS:
        took = interleaved(model, batch, rounds)
        plain = took.pop("plain")
        ratios = [statistics.median(a / b for a, b in zip(times, plain, strict=False)) for times in took.values()]
        row(f"{model}, {batch}", [f"{1e3 * statistics.median(plain):.2f}", *(f"{ratio:.2f}" for ratio in ratios)])
    print("\nPeak memory that steps add, MiB")
    row("model, batch", names)
    for model, batch in (("mlp", 1024), ("cnn", 1024)):
        row(f"{model}, {batch}", [step_memory.added(__file__, name, model, str(batch)) for name in names])
    print()
    for name in ("ours", "ours + pairs", "dp_sgld"):
        spent = accounts_alone(RunSettings(steps=1000).with_(**OURS[name]), 100)
        print(f"accounts of {name}: {spent:.2f} ms a step")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Full backward hook")  # Opacus, on the first layer
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["memory"]:
        step_memory.print_added(stepper(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
