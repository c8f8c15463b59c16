"""What a whole private step costs beside the same plain step, in the same run: batch, step, accounts, numbers read.

    python benchmarks/compare_methods.py [rounds]

All methods take one step in turn, round after round, so that a busy machine slows all of them; the table shows medians
of each round's ratio to the plain step.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from dpviz.training.accounting import LiveAccounts
from dpviz.training.catalogue import load
from dpviz.training.flat import flatten_parameters
from dpviz.training.methods import METHODS
from dpviz.training.networks import build
from dpviz.training.per_example import PerExample
from dpviz.training.sampling import Batches, loss_per_example
from dpviz.training.settings import RunSettings
from dpviz.training.stretch import Stretch

SETTINGS = (("mlp", 256), ("mlp", 1024), ("cnn", 64), ("cnn", 256), ("cnn", 1024))
COLUMNS: dict[str, dict[str, object]] = {
    "sgd": {"method": "sgd"},
    "dp_sgd": {"method": "dp_sgd"},
    "dp_sgd + 32 pairs": {"method": "dp_sgd", "bayesian": True, "delta_mu": 1e-5},
    "dp_sgld": {"method": "dp_sgld", "learning_rate": 0.01},
    "dp_sghmc": {"method": "dp_sghmc", "learning_rate": 0.01, "step_exponent": 0.0},
}


def stepper(settings: RunSettings) -> Callable[[], None]:
    """One step as the loop takes it."""
    data = load(settings.data)
    network = build(settings.model, data, seed=0)
    parameters = flatten_parameters(network)
    examples = len(data.train_y)
    engine = PerExample(network, loss_per_example)
    method = METHODS[settings.method](engine, settings, examples=examples, noise=torch.Generator().manual_seed(0))
    batches = Batches(data.train_x, data.train_y, np.random.default_rng(0))
    accounts = LiveAccounts(settings, examples=examples) if settings.private else None
    stretch = Stretch(accounts, max_grad_norm=settings.max_grad_norm, histogram_every=5)
    state = method.init(parameters)
    done = 0

    def step() -> None:
        nonlocal state, done
        state, info = method.step(state, batches.draw(settings.batch_size))
        done += 1
        stretch.add(done, info)
        stretch.settle(0.0)
        stretch.take()

    return step


def accounts_alone(settings: RunSettings, rounds: int) -> float:
    """Milliseconds that charging and reading all accounts takes a step."""
    from dpviz.training.plan import mechanism_at

    accounts = LiveAccounts(settings, examples=10_000)
    distances = np.random.default_rng(0).uniform(0.0, 2 * settings.max_grad_norm, settings.pairs)
    took = []
    for step in range(1, rounds + 1):
        mechanism = mechanism_at(settings, step, 10_000)
        start = time.perf_counter()
        accounts.step(mechanism, distances)
        accounts.epsilons()
        took.append(time.perf_counter() - start)
    return 1e3 * statistics.median(took)


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    print(f"{'model, batch':16s} {'plain, ms':>10s}  " + "  ".join(f"{name:>18s}" for name in list(COLUMNS)[1:]))
    for model, batch in SETTINGS:
        base = RunSettings(model=model, batch_size=batch, steps=10 * rounds + 100)
        steps = {name: stepper(base.with_(**changed)) for name, changed in COLUMNS.items()}
        for step in steps.values():
            step()
        took: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(rounds):
            for name, step in steps.items():
                start = time.perf_counter()
                step()
                took[name].append(time.perf_counter() - start)
        plain = took.pop("sgd")
        ratios = [statistics.median(a / b for a, b in zip(times, plain, strict=True)) for times in took.values()]
        shown = "  ".join(f"{ratio:18.2f}" for ratio in ratios)
        print(f"{model + ', ' + str(batch):16s} {1e3 * statistics.median(plain):10.2f}  {shown}", flush=True)
    for name, changed in list(COLUMNS.items())[1:]:
        print(f"accounts of {name}: {accounts_alone(RunSettings(steps=1000).with_(**changed), 100):.2f} ms a step")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
