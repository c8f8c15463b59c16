"""Training as in the MNIST notebook of Triastcyn & Faltings 2020 (App. B.1): the mean gradient of a batch is clipped.

Each step clips the mean of a batch as a whole to length C, adds noise σC to each of its coordinates, and updates a
random share of the weights. Distances for Bayesian DP are those of 8 means that leave one example out each, clipped
alike and compared on the updated weights: all 28 pairs, which are not independent.
"""

from itertools import combinations
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dpviz._arrays import Array
from dpviz.accounting.bayesian.accountant import bayesian_cost
from dpviz.training.data.catalogue import load
from dpviz.training.engine.per_example import PerExample
from dpviz.training.evaluation import outputs
from dpviz.training.measured import DIGITS, single_thread
from dpviz.training.networks.by_name import build
from dpviz.training.progress import advance, task

LEFT_OUT = 8
_NOTHING_CLIPPED = 1e9  # a length that no gradient of these networks reaches
_BATCHES, _STEPS = 1, 3  # first words of the seeds of batches, and of weights and noise


def measure(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train once, and account for each step by the authors' procedure.

    Args:
        settings: "model", "batch_size", "learning_rate", "max_grad_norm": C of the mean; "noise_multiplier": σ;
            "share": of the weights that a step updates; "steps": T; "steps_per_epoch"; "orders": λ;
            "estimator_failure": γ; "examples": N of the accounted sampling rate.
        seed: Of the network, batches, weights and noise.

    Returns:
        Each list has one entry per epoch: "costs": Σ ĉ_t(λ, T) of all steps so far, (epochs, orders); "distances": of
        the last step's pairs ÷ C, (epochs, 28); "moved": the most by which any single example of a batch moved the
        mean ÷ C, an upper end. "clipped": share of steps whose mean was longer than C. "test_accuracy".
    """
    with single_thread():
        return _WholeMeanRun(settings, seed).measured()


class _WholeMeanRun:
    """One training."""

    def __init__(self, settings: dict[str, Any], seed: int) -> None:
        self.settings, self.seed, self.data = settings, seed, load(DIGITS.key)
        self.network = build(settings["model"], DIGITS, seed=seed)
        self.parameters: list[nn.Parameter] = list(self.network.parameters())
        self.engine = PerExample(self.network)
        self.threshold, self.batch = float(settings["max_grad_norm"]), int(settings["batch_size"])

    def measured(self) -> dict[str, Any]:
        """All steps, with a line of the account after each epoch."""
        steps, epoch = self.settings["steps"], self.settings["steps_per_epoch"]
        cost = np.zeros(len(self.settings["orders"]))
        costs, distances, moved, most, clipped = [], [], [], 0.0, 0
        with task("training", "steps", steps):
            for step in range(1, steps + 1):
                apart, farthest, over = self._step(step)
                cost += self._cost(apart)
                most, clipped = max(most, farthest), clipped + over
                if step % epoch == 0:
                    costs.append([float(f"{each:.8g}") for each in cost])
                    distances.append([float(f"{each:.8g}") for each in apart / self.threshold])
                    moved.append(rounded_up(most / self.threshold, 5))
                    most = 0.0
                advance()
        right = outputs(self.network, self.data.test_x).argmax(dim=1) == self.data.test_y
        return {
            "costs": costs,
            "distances": distances,
            "moved": moved,
            "clipped": round(clipped / steps, 4),
            "test_accuracy": round(float(right.double().mean()), 6),
        }

    def _step(self, step: int) -> tuple[Array, float, bool]:
        """One step: distances of the pairs, by how much any example moved the mean at most, whether it was clipped."""
        draw = np.random.default_rng([_BATCHES, self.seed, step])
        rows = torch.from_numpy(draw.choice(len(self.data.train_y), self.batch, replace=False))
        x, y = self.data.train_x[rows], self.data.train_y[rows]
        summed = self.engine.clipped(x, y, max_grad_norm=_NOTHING_CLIPPED)
        mean = summed.total.double() / self.batch
        chance = torch.Generator().manual_seed(int(np.random.default_rng([_STEPS, self.seed, step]).integers(2**62)))
        updated = torch.rand(len(mean), generator=chance) < self.settings["share"]
        left_out = torch.stack([summed.total.double() - self._gradient(x[i], y[i]) for i in range(LEFT_OUT)])
        means = torch.stack([self._clipped(one / (self.batch - 1)) for one in left_out])[:, updated]
        apart = [float((means[i] - means[j]).norm()) for i, j in combinations(range(LEFT_OUT), 2)]
        noise = self.settings["noise_multiplier"] * self.threshold * torch.randn(len(mean), generator=chance)
        self._move(torch.where(updated, self._clipped(mean) + noise, 0.0))
        farthest = (float(summed.lengths.max()) + float(mean.norm())) / (self.batch - 1)
        return np.array(apart), farthest, float(mean.norm()) > self.threshold

    def _gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """Of one example, as one vector."""
        loss = F.cross_entropy(self.network(x[None]), y[None])
        return nn.utils.parameters_to_vector(torch.autograd.grad(loss, self.parameters)).double()

    def _clipped(self, mean: Tensor) -> Tensor:
        return mean / max(1.0, float(mean.norm()) / self.threshold)

    def _move(self, direction: Tensor) -> None:
        """One step of gradient descent along a released mean."""
        with torch.no_grad():
            moved = nn.utils.parameters_to_vector(self.parameters) - self.settings["learning_rate"] * direction.float()
            nn.utils.vector_to_parameters(moved, self.parameters)

    def _cost(self, apart: Array) -> Array:
        """ĉ_t(λ, T) of one step, (orders,)."""
        settings = self.settings
        return bayesian_cost(
            apart,
            noise_std=settings["noise_multiplier"] * self.threshold,
            sample_rate=self.batch / settings["examples"],
            total_steps=settings["steps"],
            orders=settings["orders"],
            estimator_failure=settings["estimator_failure"],
        )


def rounded_up(value: float, digits: int) -> float:
    """At least the value, to so many digits."""
    return float(f"{value * (1.0 + 10.0 ** (1 - digits)):.{digits}g}")
