"""DP-SGD with a network, data, loss and optimiser of one's own: an iterator of steps that says what may be claimed.

training = PrivateTraining(network, (x, y), torch.optim.Adam(network.parameters()), epochs=10, target_epsilon=3.0)
for step in training:
    print(step.number, step.claim.epsilon)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from dpviz.accounting.claims import Claim
from dpviz.accounting.no_noise import no_noise_needed
from dpviz.accounting.odometer import OdometerAccountant
from dpviz.accounting.solve import solve
from dpviz.mechanisms import SampledGaussian
from dpviz.training.claims import claim_at, planned_claim
from dpviz.training.models import ELSEWHERE
from dpviz.training.per_example import Loss, PerExample, cross_entropy
from dpviz.training.plan import mechanism_at
from dpviz.training.preflight import SIZES, preflight
from dpviz.training.randomness import randomness
from dpviz.training.sampling import poisson_indices
from dpviz.training.settings import RunSettings, steps_per_epoch
from dpviz.training.views import Views

Tensor = torch.Tensor
OWN_DATA = "own:python"  # no description of that name says anything of them


@dataclass(frozen=True)
class Step:
    """One step that was taken.

    Attributes:
        number: Counted from 1.
        examples: How many the Poisson batch drew; may be 0, and the step counts all the same.
        loss: Their mean loss before the step, NaN for none. No ε covers it: see `PrivateTraining`.
        clipped: Share of them whose gradient was longer than C; not covered either.
        claim: What may be said of a training that ends here.
    """

    number: int
    examples: int
    loss: float
    clipped: float
    _training: PrivateTraining = field(repr=False, compare=False)

    @property
    def claim(self) -> Claim:
        return self._training.claim_after(self.number)


class PrivateTraining(Iterator[Step]):
    """Trains `network` in place, a step each time the next one is asked for, and none after the plan's last.

    A step draws each example with probability q = batch_size/N (a loader's own order is not used), clips each
    gradient to C, adds Gaussian noise to their sum, divides by batch_size, and lets the optimiser make of that what it
    will. The claim covers the parameters after any number of steps that is not chosen by what no ε covers: a loss or
    accuracy on the training data, or a second training with other settings.

    Args:
        network: In the mode it is trained in. What cannot be followed example by example is refused.
        data: (x, y), a dataset with a length, or a loader of one. N is taken as public.
        optimiser: Any of PyTorch over parameters of the network; one that asks for the loss again is refused.
        loss: From outputs (b, …) and targets to a loss for each example, (b,).
        epochs, steps: How long: one of both, fixed ahead.
        batch_size: Expected batch; None takes the loader's.
        target_epsilon, noise_multiplier: One of both: ε of the whole plan at `delta`, or σ.
        delta: δ, well below 1/N.
        max_grad_norm: C.
        views: How many shifted views stand in for each image of a step: gradients are averaged over them, and the mean
            is clipped. 1 for the example itself.
        flips: Whether half of the views are mirrored, left for right.
        seed: None for batches and noise from a secret seed. A number makes a demonstration that can be replayed: its
            claim then holds nothing.

    Attributes:
        settings: The plan as `RunSettings`, with σ, T and q's batch.
        examples: N.
        done: Steps taken.
        noise_source: In words.

    Raises:
        ValueError: for what cannot work or cannot be followed, with the way out; nothing was drawn then.
    """

    def __init__(
        self,
        network: nn.Module,
        data: Any,
        optimiser: torch.optim.Optimizer,
        *,
        loss: Loss = cross_entropy,
        epochs: int | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        target_epsilon: float | None = None,
        noise_multiplier: float | None = None,
        delta: float = 1e-5,
        max_grad_norm: float = 1.0,
        views: int = 1,
        flips: bool = False,
        seed: int | None = None,
    ) -> None:
        _one_of(epochs=epochs, steps=steps)
        _one_of(target_epsilon=target_epsilon, noise_multiplier=noise_multiplier)
        self._data, self._collate, loaded = _opened(data)
        self.examples = len(self._data)
        batch = batch_size if batch_size is not None else loaded
        if batch is None:
            raise ValueError("Expected batch_size to be a number, found None, and no loader that has one.")
        plan = RunSettings(
            model=ELSEWHERE.key, data=OWN_DATA,
            batch_size=batch, delta=delta, max_grad_norm=max_grad_norm, views=views,
            secure_noise=seed is None, seed=seed or 0,
            start_from="the network as it was", past_plan="stop",
        )  # fmt: skip
        plan.check(self.examples)
        if epochs is not None:
            steps = epochs * steps_per_epoch(self.examples, batch)
        plan = plan.with_(steps=steps)
        plan.check(self.examples)
        if target_epsilon is not None:
            noise_multiplier = _solved(plan, self.examples, target_epsilon)
        self.settings = plan.with_(noise_multiplier=noise_multiplier)
        self.settings.check(self.examples)
        self._optimiser = optimiser
        self._parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
        _refuse_others(optimiser, self._parameters)
        if len({(parameter.dtype, parameter.device) for parameter in self._parameters}) > 1:
            raise ValueError("Expected all trainable parameters of one type on one device, found several.")
        self._device = self._parameters[0].device
        preflight(network, loss, *self._taken(range(min(self.examples, max(SIZES)))))
        random = randomness(plan.seed, secure=seed is None, device=self._device)
        found = None if views == 1 else Views(views, random.views, flips=flips)
        self._engine = PerExample(network, loss, views=found)
        self._batches, self._noise, self.noise_source = random.batches, random.noise, random.description
        self._mechanism = mechanism_at(self.settings, 1, self.examples)
        self._nothing = self._taken(range(1))
        if found is not None:
            found(self._nothing[0][:0])  # refuses what is no image
        self.done = 0

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        """Steps of the plan."""
        return self.settings.steps

    def __next__(self) -> Step:
        if self.done >= self.settings.steps:
            raise StopIteration
        self.done += 1  # charged before anything is drawn, whatever comes of it
        chosen = poisson_indices(self._batches, self.examples, self._mechanism.sample_rate)
        x, y = self._taken(chosen.tolist()) if chosen.size else (part[:0] for part in self._nothing)
        bound = self.settings.max_grad_norm
        found = self._engine.clipped(x, y, max_grad_norm=bound)
        noise = torch.empty_like(found.total).normal_(
            0.0, self._mechanism.noise_multiplier * bound, generator=self._noise
        )
        mean = found.total.add_(noise).div_(self.settings.batch_size).to(self._parameters[0].dtype)
        parts = torch.split(mean, [parameter.numel() for parameter in self._parameters])
        for parameter, part in zip(self._parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        self._optimiser.step()
        self._optimiser.zero_grad()
        drawn, losses = chosen.size, found.losses
        clipped = (found.norms > bound).double().mean() if drawn else torch.tensor(math.nan)
        return Step(self.done, drawn, float(losses.mean()) if drawn else math.nan, float(clipped), self)

    @property
    def learning_rate(self) -> float:
        """The optimiser's, of its first group."""
        return float(self._optimiser.param_groups[0].get("lr", math.nan))

    @property
    def device(self) -> torch.device:
        """Where the network lies."""
        return self._device

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(parameter.numel() for parameter in self._parameters)

    @property
    def mechanism(self) -> SampledGaussian:
        """What each step is."""
        return self._mechanism

    @property
    def planned(self) -> Claim:
        """What may be claimed of the whole plan, known ahead."""
        return planned_claim(self.settings, self.examples)

    @property
    def claim(self) -> Claim:
        """What may be claimed of the network as it is now."""
        return self.claim_after(self.done)

    def claim_after(self, step: int) -> Claim:
        """What may be claimed of a training that ends after `step`."""
        charged = ((self._mechanism, step),) if step else ()
        odometer = float(OdometerAccountant().of_events(charged, self.settings.delta).epsilon) if step else math.inf
        return claim_at(self.settings, self.examples, charged=charged, odometer=odometer, step=step)

    def _taken(self, chosen: Any) -> tuple[Tensor, Tensor]:
        """Examples and targets at these positions, on the network's device."""
        found = self._data[list(chosen)] if self._collate is None else self._collate([self._data[i] for i in chosen])
        if not (isinstance(found, (tuple, list)) and len(found) == 2 and all(torch.is_tensor(part) for part in found)):
            raise ValueError("Expected each example as a pair of numbers: what the network reads, and the target.")
        x, y = found
        return x.to(self._device), y.to(self._device)


def _opened(data: Any) -> tuple[Any, Any, int | None]:
    """Examples by position, what makes a batch of them (None where they come as one), and a loader's batch size."""
    if isinstance(data, DataLoader):
        _opened(data.dataset)
        return data.dataset, data.collate_fn, data.batch_size
    if isinstance(data, (tuple, list)) and len(data) == 2 and all(torch.is_tensor(part) for part in data):
        return TensorDataset(*data), None, None
    if isinstance(data, IterableDataset) or not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise ValueError(
            f"Expected data as (x, y), a dataset with a length or a loader of one, found {type(data).__name__}: "
            "whether an example joins is drawn for each step, so every example must be reachable by its position."
        )
    return data, default_collate, None


def _solved(plan: RunSettings, examples: int, target_epsilon: float) -> float:
    """The least σ with which the whole plan costs `target_epsilon` by the tight accountant."""
    rate = plan.sample_rate(examples)
    sigma = solve(
        "noise_multiplier", target_epsilon=target_epsilon, method="tight", sample_rate=rate, steps=plan.steps,
        delta=plan.delta,
    )  # fmt: skip
    if sigma == 0.0:
        raise ValueError(no_noise_needed(plan.delta, rate, plan.steps))
    return sigma


def _one_of(**given: Any) -> None:
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError(f"Expected one of {' and '.join(given)}, found {' and '.join(named) or 'none'}.")


def _refuse_others(optimiser: torch.optim.Optimizer, trained: list[nn.Parameter]) -> None:
    held = {id(parameter) for group in optimiser.param_groups for parameter in group["params"]}
    if not held <= {id(parameter) for parameter in trained}:
        raise ValueError(
            "Expected the optimiser to hold trainable parameters of the network alone, found others: what no noise "
            "reaches would be trained too. Make it after the network, from network.parameters()."
        )
    if isinstance(optimiser, torch.optim.LBFGS):
        raise ValueError("Expected an optimiser that takes one gradient a step, found LBFGS, which asks for more.")
