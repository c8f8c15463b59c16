"""Accuracy on Adult of one posterior sample, of a Langevin chain, or of both in a row: an experiment's measure."""

from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.langevin.posterior_sample import PosteriorSample, logistic_spread
from dpviz.accounting.langevin.published_bounds import langevin_step_size
from dpviz.training.data import DATA_SETS
from dpviz.training.engine.per_example import Clipped, PerExample
from dpviz.training.methods import METHODS
from dpviz.training.posterior_sample import SHORTER, LogisticPosterior, signed, unit_rows, with_one
from dpviz.training.progress import advance, task
from dpviz.training.sampling import Batches
from dpviz.training.settings import RunSettings

SAMPLE_EVERY = 100
NEVER = 1e9  # a norm that no gradient here exceeds


class LogisticEngine:
    """Clipped gradient sums at θ (p,), which a method writes in place: `PerExample` for this one model, and faster.

    The x of a batch are signed rows, each of another person; its y are not read.
    """

    def __init__(self, parameters: Tensor) -> None:
        self.parameters = parameters

    def clipped(self, x: Tensor, y: Tensor, *, max_grad_norm: float, pairs: Any = None, real: None = None) -> Clipped:
        """Σ g_i min(1, C/‖g_i‖) with g_i = −σ(−v_i·θ) v_i."""
        against = -(x @ self.parameters)
        wrong, lengths = against.sigmoid(), x.norm(dim=1)
        weights, norms = (SHORTER * max_grad_norm / lengths).minimum(wrong), wrong * lengths
        losses = against.logaddexp(against.new_zeros(()))
        return Clipped(-(weights @ x), norms, norms.double(), losses, None, max_grad_norm)


class SignedRows(NamedTuple):
    """Signed rows (n, p) of training and of test."""

    train: Array
    test: Array


@remembered
def rows(unit: bool) -> SignedRows:
    """Adult with a column of ones; each row of norm 1 if `unit`."""
    x, y, test_x, test_y, _ = DATA_SETS["adult"].read()
    scaled = unit_rows if unit else with_one
    return SignedRows(signed(scaled(x), y), signed(scaled(test_x), test_y))


@remembered
def posterior(power: float, radius: float, prior_std: float) -> LogisticPosterior:
    return LogisticPosterior(rows(unit=True).train, power=power, radius=radius, prior_std=prior_std)


def accuracy(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """One trial: "test_accuracy", and of a sample its "power", of steps their "first_step"."""
    return {"sample": _sample, "chain": _chain, "hybrid": _hybrid}[settings["method"]](settings, seed)


def _drawn(settings: dict[str, Any], epsilon: float, seed: int) -> tuple[Array, float]:
    """An exact posterior sample for ε, one example replaced, and its ρ."""
    spread = logistic_spread(feature_norm=1.0, parameter_norm=settings["radius"])
    power = PosteriorSample(spread).power(epsilon)
    random = np.random.default_rng((seed, 1))
    return posterior(power, settings["radius"], settings["prior_std"]).draw(random), power


def _sample(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    theta, power = _drawn(settings, settings["epsilon"], seed)
    return {"test_accuracy": _right(rows(unit=True).test @ theta > 0.0), "power": power}


def _chain(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    data = rows(unit=False)
    right = _langevin(data, np.zeros(data.train.shape[1]), settings, settings["first_step"], 1 / 3, seed)
    return {"test_accuracy": right}


_PLAN = ("clip", "delta", "steps", "batch_size")


def _hybrid(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    half = settings["epsilon"] / 2.0
    theta, power = _drawn(settings, half, seed)
    data, wang = rows(unit=True), settings["rule"] == "wang"
    plan = {"n": len(data.train), "epsilon": half, **{name: settings[name] for name in _PLAN}}
    if wang:  # their theorem is about neighbours of which one example is replaced
        first = langevin_step_size("wang", **plan)
    else:
        first = langevin_step_size("theorem3", adjacency="replace_one", conversion="improved", **plan)
    right = _langevin(data, theta, settings, float(first), 0.0 if wang else 1 / 3, seed)
    return {"test_accuracy": right, "power": power, "first_step": float(first)}


def _langevin(
    data: SignedRows, start: Array, settings: dict[str, Any], first_step: float, exponent: float, seed: int
) -> float:
    """Accuracy of the mean prediction of the second half of a chain's samples."""
    torch.set_num_threads(1)
    theta, train, test = torch.tensor(start), torch.from_numpy(data.train), torch.from_numpy(data.test)
    clip, steps, examples = settings["clip"] or NEVER, settings["steps"], len(train)
    asked = RunSettings(
        data="adult", method="dp_sgld", learning_rate=first_step, step_exponent=exponent, max_grad_norm=clip,
        batch_size=settings["batch_size"], steps=steps, prior_std=settings["prior_std"],
        langevin_noise="algorithm1",  # as the paper prints it, whose figure this repeats
    )  # fmt: skip
    noise = torch.Generator().manual_seed(seed)
    engine = cast(PerExample, LogisticEngine(theta))
    method = METHODS["dp_sgld"](engine, asked, examples=examples, noise=noise)
    state = method.init(theta)
    batches = Batches(train, torch.zeros(examples, dtype=torch.int64), np.random.default_rng((seed, 2)))
    total = torch.zeros(len(test), dtype=torch.float64)
    with task("sampling", "steps", steps):
        for step in range(1, steps + 1):
            state, _ = method.step(state, batches.draw(asked.batch_size))
            if step % SAMPLE_EVERY == 0:
                advance(SAMPLE_EVERY)
                if 2 * step > steps:
                    total += (test @ theta).sigmoid() - 0.5
    return _right((total > 0.0).numpy())


def _right(answers: Any) -> float:
    return round(float(np.mean(answers)), 6)
