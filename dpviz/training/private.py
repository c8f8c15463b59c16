"""DP-SGD with a network, data, loss and optimiser of one's own: an iterator of steps that says what may be claimed.

training = PrivateTraining(network, (x, y), torch.optim.Adam(network.parameters()), epochs=10, target_epsilon=3.0)
for step in training:
    print(step.number, step.claim.epsilon)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from dpviz.accounting.claims import Claim
from dpviz.mechanisms import merge_events
from dpviz.training.accounts.claims import claim_at, conditions, large_delta, odometer_reading, planned_claim
from dpviz.training.accounts.earlier import OWN_DATA, charge, earlier
from dpviz.training.accounts.live import check_run
from dpviz.training.accounts.origins import check_start, spent_before
from dpviz.training.data.examples import IndexedExamples
from dpviz.training.data.views import Views
from dpviz.training.defaults import least_noise
from dpviz.training.engine.binding import Binding
from dpviz.training.engine.passes import Loss
from dpviz.training.engine.per_example import PerExample, cross_entropy
from dpviz.training.methods.base import Info, State
from dpviz.training.methods.dp_sgd import DpSgd
from dpviz.training.models import ELSEWHERE
from dpviz.training.plan import mechanism_at, planned_events
from dpviz.training.randomness import randomness
from dpviz.training.samplers import SAMPLERS, Poisson, events, steps_per_epoch
from dpviz.training.sampling import Batch, drawn_by, usual_batch
from dpviz.training.settings import RunSettings
from dpviz.training.words import refusal


class _OwnOptimiser(DpSgd):
    """DP-SGD whose noisy mean gradient is handed to an optimiser of one's own; the state holds no parameters."""

    binding: Binding

    def descend(self, state: State, gradient: torch.Tensor, info: Info) -> State:
        self.binding.step(gradient)
        return state._replace(step=state.step + 1)


@dataclass(frozen=True, repr=False)
class Step:
    """One step that was taken. What is measured on its batch is not covered by ε: see `PrivateTraining`.

    Attributes:
        number: Counted from 1.
        examples: How many the batch drew, not covered by ε; may be 0, and the step counts all the same.
        loss: Their mean loss before the step, not covered by ε; NaN for none.
        clipped: Share of them whose gradient was longer than C, not covered by ε; NaN for none.
        claim: What may be said of a training that ends here.
    """

    number: int
    examples: int
    loss: float
    clipped: float
    _training: PrivateTraining = field(compare=False)

    def __repr__(self) -> str:
        measured = f"examples={self.examples}, loss={self.loss:.4g}, clipped={self.clipped:.3g}"
        return f"Step(number={self.number}; not covered by ε: {measured})"

    @property
    def claim(self) -> Claim:
        return self._training.claim_after(self.number)


class PrivateTraining(Iterator[Step]):
    """Trains `network` in place, a step each time the next one is asked for, and none after the plan's last.

    A step draws each example (or person: `persons`) with probability q = batch_size/N, or as `sampler` says (a loader's
    own order is not used), clips each gradient to C, adds Gaussian noise to their sum, divides by the expected batch,
    and lets the optimiser make of that what it will. The claim covers the parameters after any number of steps that is
    not chosen by what is not covered by ε: a loss or accuracy on the training data, or a second training with other
    settings.

    Trainings of one program on the same data (`earlier`) add up: the claim of each includes the whole plans of those
    that took their first step before. Trainings of other programs on the same people's data are not known here.

    Between two steps nothing else may change parameters, buffers or optimiser state (`binding`): the next step is
    refused, and what was changed after the last step has no claim. The learning rate and what else is a setting of the
    optimiser may be changed, by nothing that was measured on the training data.

    Args:
        network: In the mode it is trained in. What cannot run on one example at a time, or keeps something
            of examples, is refused; what certified clipping stands on is in `rounding`. Parameters that
            do not require gradients stay as they are.
        data: (x, y) of tensors or arrays, a dataset with a length, or a loader of one, whose rows are trained on
            and whose order is not used. N is taken as public.
        optimiser: Any of PyTorch over parameters of the network; one that asks for the loss again is refused.
        loss: From outputs (b, …) and targets to a loss for each example, (b,).
        epochs, steps: How long: one of both, fixed ahead.
        batch_size: Expected batch; None takes the loader's.
        target_epsilon, noise_multiplier: One of both: ε of this plan alone at `delta`, or σ.
        delta: δ, well below 1/N; a larger one warns, and the claim says what it leaves open.
        max_grad_norm: C.
        persons: Whose each row is, numbers or names (rows,): a person then joins a step with all their rows, the sum of
            their gradients is clipped to C, and ε is that of one person; N, batch_size and an epoch count persons. None
            where nobody has more than one row, or a row is what is to be protected.
        sampler: How batches are drawn, one of `samplers.SAMPLERS`: "poisson", "allocation" (one random batch of each
            epoch), "shuffled" (batches of one size, in a new order every epoch), "fixed" (so many at every step) or
            "order" (the same ones in every epoch, which everybody knows).
            Their neighbours differ: `accounts.claims.neighbours`.
        noise_decay, noise_band: λ or w of correlated noise, one of them, with sampler="order": as in `RunValues`.
        views: How many shifted views stand in for each image of a step: gradients are averaged over them, and the mean
            is clipped. 1 for the example itself.
        flips: Whether half of the views are mirrored, left for right.
        seed: None for batches and noise from a secret seed. A number makes a demonstration that can be replayed: its
            claim then holds nothing.
        disjoint_data: Whether nobody in these data is in those of earlier trainings of this program, though they look
            the same: nothing is added then, and the claim states it as a condition.

    Attributes:
        settings: The plan as `RunSettings`, with σ, T, q's batch, and what earlier trainings may have spent, which is
            final once the first step was asked for.
        examples: N, of persons their number.
        done: Steps taken.
        noise_source: In words.
        device: Where the network lies.
        mechanism: What the first step is, or is one of the steps of (`samplers.steps_of`); all others are, but where
            `noise_decay` makes later epochs differ.
        before_step: Called before each step; the step is not taken if it raises.

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
        persons: Any = None,
        sampler: str = Poisson.key,
        noise_decay: float = 0.0,
        noise_band: int = 1,
        views: int = 1,
        flips: bool = False,
        seed: int | None = None,
        disjoint_data: bool = False,
    ) -> None:
        _one_of(epochs=epochs, steps=steps)
        _one_of(target_epsilon=target_epsilon, noise_multiplier=noise_multiplier)
        self._binding, self._optimiser = Binding(network, optimiser), optimiser
        like = self._binding.trained[0]
        self.device = like.device
        self._data = IndexedExamples(data, like)
        self._persons = None if persons is None else self._data.persons(persons)
        self.examples = len(self._data if self._persons is None else self._persons)
        batch = batch_size if batch_size is not None else self._data.batch_size
        if batch is None:
            raise refusal("no_batch_size")
        plan = RunSettings(
            model=ELSEWHERE.key, data=OWN_DATA,
            batch_size=batch, delta=delta, max_grad_norm=max_grad_norm, views=views,
            unit="example" if persons is None else "person", sampler=sampler,
            noise_decay=noise_decay, noise_band=noise_band,
            secure_noise=seed is None, seed=seed or 0,
            start_from="the network as it was", past_plan="stop",
        )  # fmt: skip
        check_run(plan, self.examples)
        if epochs is not None:
            steps = epochs * steps_per_epoch(self.examples, batch)
        plan = plan.with_(steps=steps)
        check_run(plan, self.examples)
        if target_epsilon is not None:
            noise_multiplier = least_noise(plan, self.examples, target_epsilon)
        self.settings = plan.with_(noise_multiplier=noise_multiplier)
        check_run(self.settings, self.examples)
        self._first = self._data.at(range(1))
        random = randomness(plan.seed, secure=seed is None, device=self.device)
        self._sampler, self.noise_source = SAMPLERS[sampler](random.batches, self.examples), random.description
        shape = self._first[0].shape[1:]
        image_views = None if views == 1 else Views(views, random.views, shape, flips=flips)
        engine = PerExample(network, loss, views=image_views, usual_batch=usual_batch(batch, self.examples))
        engine.check(*self._first)
        self._method = _OwnOptimiser(engine, self.settings, examples=self.examples, noise=random.noise)
        self._method.binding = self._binding
        self._state = self._method.init(like.detach().new_zeros(0))
        self.mechanism = mechanism_at(self.settings, 1, self.examples)
        self._identity, self._disjoint = self._data.identity(), disjoint_data
        self.settings = self.settings.with_(origins=earlier(self._identity, disjoint=disjoint_data))
        check_start(self.settings)
        self._charged = False
        if delta * self.examples >= 1.0:
            warnings.warn(large_delta(delta, self.examples), stacklevel=2)
        self.done = 0
        self.before_step: Callable[[], None] = lambda: None

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        """Steps of the plan."""
        return self.settings.steps

    def __next__(self) -> Step:
        if self.done >= self.settings.steps:
            raise StopIteration
        self._binding.refuse_changes(self.done)
        self.before_step()
        self.charge_plan()
        self.done += 1  # charged before anything is drawn, whatever comes of it
        facts = drawn_by(type(self._sampler), self.examples, self.settings.batch_size)
        chosen = self._sampler.draw(self.settings.batch_size)
        x, y, real = self._rows(chosen)
        self._state, info = self._method.step(self._state, Batch(x, y, chosen.size, *facts, real))
        if not chosen.size or info.norms is None:
            return Step(self.done, 0, math.nan, math.nan, self)
        clipped = (info.norms > self.settings.max_grad_norm).double().mean()
        return Step(self.done, chosen.size, float(info.losses.mean()), float(clipped), self)

    def _rows(self, chosen: npt.NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Inputs and targets of the drawn examples, (b, …); of persons (b, K, …), and which places hold a row."""
        if not chosen.size:
            x, y = (part[:0] for part in self._first)
            return x, y, None
        if self._persons is None:
            return *self._data.at(chosen.tolist()), None
        places, real = self._persons.places[chosen], self._persons.real[chosen]
        x, y = (part.view(*places.shape, *part.shape[1:]) for part in self._data.at(places.flatten().tolist()))
        return x, y, real.to(self.device)

    def charge_plan(self) -> None:
        """Adds this plan to what was spent on its data in this program, once; the first step does it by itself."""
        if not self._charged:
            check_start(self.settings.with_(origins=earlier(self._identity, disjoint=self._disjoint)))
            self._charged = True
            replayable = not self.settings.secure_noise
            plan = planned_events(self.settings, self.examples)
            unit = self.settings.unit
            before = charge(self._identity, plan, unit=unit, replayable=replayable, disjoint=self._disjoint)
            self.settings = self.settings.with_(origins=before)

    @property
    def learning_rate(self) -> float:
        """The optimiser's, of its first group."""
        return float(self._optimiser.param_groups[0].get("lr", math.nan))

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(parameter.numel() for parameter in self._binding.trained)

    @property
    def planned(self) -> Claim:
        """What may be claimed of the whole plan, known ahead."""
        return planned_claim(self.settings, self.examples)

    @property
    def claim(self) -> Claim:
        """What may be claimed of the network as it is now: nothing where anything else has changed it since."""
        return self.claim_after(self.done)

    def claim_after(self, step: int) -> Claim:
        """What may be claimed of a training that ends after `step`; of the last one, of the network as it is now."""
        if step == self.done and (changed := self._binding.changed):
            return Claim.nothing(
                f"{changed} was changed after step {step} by something else than this training",
                self.settings.delta,
                conditions(self.settings, self.examples),
            )
        charged = events(self.mechanism, step) if step else ()
        together = merge_events((*spent_before(self.settings), *charged))
        odometer = odometer_reading(together, self.settings.delta) if step else math.inf
        return claim_at(self.settings, self.examples, charged=charged, odometer=odometer, step=step)


def _one_of(**given: Any) -> None:
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError(f"Expected one of {' and '.join(given)}, found {' and '.join(named) or 'none'}.")
