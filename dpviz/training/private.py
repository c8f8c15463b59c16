"""DP-SGD with the user's own network, data, loss and optimiser: an iterator of steps that says what may be claimed.

training = PrivateTraining(network, (x, y), torch.optim.Adam(network.parameters()), epochs=10, target_epsilon=3.0)
for step in training:
    print(step.number, step.claim.epsilon)
"""

from __future__ import annotations

import math
import os
import secrets
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from dpviz._other_names import says_right_names
from dpviz.accounting.claims import Claim, rounded_up
from dpviz.mechanisms import Mechanism, merge_events
from dpviz.training.accelerator import sent
from dpviz.training.accounts.claims import claim_at, conditions, large_delta, odometer_reading, planned_claim
from dpviz.training.accounts.earlier import charge, charge_again, earlier
from dpviz.training.accounts.live import Spent, check_run
from dpviz.training.accounts.origins import check_start, lost, spent_before, with_lost
from dpviz.training.attempts import Charged
from dpviz.training.checkpoint import can_be_saved, charged_again, packed, same_settings, unpacked
from dpviz.training.data.examples import IndexedExamples
from dpviz.training.data.views import Views
from dpviz.training.defaults import least_noise
from dpviz.training.engine.binding import Binding
from dpviz.training.engine.inputs import Inputs, each, tensors
from dpviz.training.engine.passes import Loss, Output, tensor_of
from dpviz.training.engine.per_example import PerExample, cross_entropy
from dpviz.training.losses import per_example, refuse_labels
from dpviz.training.methods.base import Info, State
from dpviz.training.methods.dp_sgd import DpSgd
from dpviz.training.models import ELSEWHERE
from dpviz.training.plan import mechanism_at, planned_events
from dpviz.training.randomness import States, randomness
from dpviz.training.samplers import SAMPLERS, Poisson, events, steps_per_epoch
from dpviz.training.sampling import Batch, drawn_by, usual_batch
from dpviz.training.settings import RunSettings
from dpviz.training.unmoved import FirstGradients
from dpviz.training.values import OWN_DATA
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

    Whoever asks for what was measured waits for the device; the step itself does not.

    Attributes:
        number: Counted from 1.
        examples: How many the batch drew, not covered by ε; may be 0, and the step counts all the same.
        loss: Their mean loss before the step, not covered by ε; NaN for none.
        clipped: Share of them whose gradient was longer than C, not covered by ε; NaN for none.
        claim: What may be said of a training that ends here.
    """

    number: int
    examples: int
    _losses: torch.Tensor = field(compare=False)
    _norms: torch.Tensor = field(compare=False)
    _training: PrivateTraining = field(compare=False)

    def __repr__(self) -> str:
        measured = f"examples={self.examples}, loss={self.loss:.4g}, clipped={self.clipped:.3g}"
        return f"Step(number={self.number}; not covered by ε: {measured})"

    @property
    def loss(self) -> float:
        return float(self._losses.mean())

    @property
    def clipped(self) -> float:
        return float((self._norms > self._training.settings.max_grad_norm).double().mean())

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

    Nothing else may change parameters, buffers or optimiser state, between two steps or within one (`binding`): a step
    that finds them changed releases nothing, and what was changed after the last step has no claim. On a GPU up to ten
    steps are taken before a change is found; none of them ever has a claim. The learning rate and what else is a
    setting of the optimiser may be changed between steps, by nothing that was measured on the training data. Only the
    process that made a training takes its steps, one at a time: a copy of the process would draw the same noise again.

    Args:
        network: In the mode it is trained in. What cannot run on one example at a time, or keeps something
            of examples, is refused; what certified clipping stands on is in `rounding`. Parameters that
            do not require gradients stay as they are.
        data: (x, y) of tensors or arrays, ((x1, x2), y) of several inputs, a dataset with a length, or a loader of
            one, whose rows are trained on and whose order is not used; rows may be dictionaries, whose parts the
            network takes by name (`data.structure.TARGETS`: the target's). N is taken as public.
        optimiser: Any of PyTorch over parameters of the network; one that asks for the loss again is refused.
        loss: From outputs (b, …) and targets to a loss for each example, (b,). One of PyTorch's that averages over the
            batch is taken in its form for each example, and a warning says so.
        output: What the loss reads of what the network returns, where that is neither a tensor nor something with
            logits.
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
        chunk_size: Most rows (each view, each row of a person) whose gradients are computed at once, in microbatches of
            one size, a multiple of 16 or 32: bounds memory, changes neither batch nor noise. None lets dpviz choose.
        seed: None for batches and noise from a secret seed. A number makes a demonstration that can be replayed: its
            claim then holds nothing.
        disjoint_data: Whether nobody in these data is in those of earlier trainings of this program, though they look
            the same: nothing is added then, and the claim states it as a condition.

    Attributes, which cannot be set:
        settings: The plan as `RunSettings`, with σ, T, q's batch, and what earlier trainings may have spent, which is
            final once the first step was asked for.
        examples: N, of persons their number.
        done: Steps taken.
        loaded: How many of them were taken before `load_state_dict`.
        noise_source: In words.
        device: Where the network lies.
        mechanism: What the first step is, or is one of the steps of (`samplers.steps_of`); all others are, but where
            `noise_decay` makes later epochs differ.

    Raises:
        ValueError: for what cannot work or cannot be followed, with the way out; nothing was drawn then.
    """

    __slots__ = (
        "__weakref__", "_before_step", "_binding", "_charged", "_classes", "_data", "_device", "_disjoint", "_done",
        "_drawn_by", "_ended", "_examples", "_first", "_gradients", "_identity", "_loaded", "_loss", "_mark",
        "_mechanism", "_method", "_noise_source", "_optimiser", "_persons", "_process", "_random", "_sampler",
        "_settings", "_state", "_stepping", "_taken",
    )  # fmt: skip

    @says_right_names()
    def __init__(
        self,
        network: nn.Module,
        data: Any,
        optimiser: torch.optim.Optimizer,
        *,
        loss: Loss = cross_entropy,
        output: Output = tensor_of,
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
        chunk_size: int | None = None,
        seed: int | None = None,
        disjoint_data: bool = False,
    ) -> None:
        _one_of(epochs=epochs, steps=steps)
        _one_of(target_epsilon=target_epsilon, noise_multiplier=noise_multiplier)
        self._binding, self._optimiser = Binding(network, optimiser), optimiser
        like = self._binding.trained[0]
        self._device = like.device
        self._data = IndexedExamples(data, like)
        self._persons = None if persons is None else self._data.persons(persons)
        self._data.refuse_repeats(persons)
        self._examples = len(self._data if self._persons is None else self._persons)
        batch = batch_size if batch_size is not None else self._data.batch_size
        if batch is None:
            raise refusal("no_batch_size")
        plan = RunSettings(
            model=ELSEWHERE.key, data=OWN_DATA,
            batch_size=batch, delta=delta, max_grad_norm=max_grad_norm, views=views,
            unit="example" if persons is None else "person", sampler=sampler,
            noise_decay=noise_decay, noise_band=noise_band, chunk_size=chunk_size,
            secure_noise=seed is None, seed=seed or 0,
            start_from="the network as it was", past_plan="stop",
            device="cpu" if self._device.type == "cpu" else "cuda",
        )  # fmt: skip
        check_run(plan, self._examples)
        if epochs is not None:
            steps = epochs * steps_per_epoch(self._examples, batch)
        plan = plan.with_(steps=steps)
        check_run(plan, self._examples)
        if target_epsilon is not None:
            noise_multiplier = least_noise(plan, self._examples, target_epsilon)
        self._settings = plan.with_(noise_multiplier=noise_multiplier)
        check_run(self._settings, self._examples)
        self._first = self._data.at(range(1))
        random = randomness(plan.seed, secure=seed is None, device=self._device)
        self._sampler, self._noise_source = SAMPLERS[sampler](random.batches, self._examples), random.description
        self._random = random
        image_views = None if views == 1 else self._views(views, random.views, flips)
        self._loss, notice = per_example(loss)
        if notice:
            warnings.warn(notice, stacklevel=2)
        engine = PerExample(
            network, self._loss, chunk_size=chunk_size, views=image_views,
            usual_batch=usual_batch(batch, self._examples, SAMPLERS[sampler]), output=output,
        )  # fmt: skip
        outputs = engine.check(*self._first)
        self._classes = outputs.shape[1] if outputs.ndim > 1 else 1
        if (targets := self._data.targets) is not None:
            refuse_labels(self._loss, targets, self._classes)
        self._method = _OwnOptimiser(engine, self._settings, examples=self._examples, noise=random.noise)
        self._method.binding = self._binding
        self._state = self._method.init(like.detach().new_zeros(0))
        self._mechanism = mechanism_at(self._settings, 1, self._examples)
        self._drawn_by = drawn_by(SAMPLERS[sampler], self._examples, batch)
        self._identity, self._disjoint = self._data.identity(), disjoint_data
        self._settings = self._settings.with_(origins=earlier(self._identity, disjoint=disjoint_data))
        check_start(self._settings)
        self._charged = False
        if delta * self._examples >= 1.0:
            warnings.warn(large_delta(delta, self._examples), stacklevel=2)
        self._done = self._taken = self._loaded = 0
        self._gradients = FirstGradients(max_grad_norm)
        self._ended = False
        self._before_step: Callable[[], None] | None = None
        self._process, self._stepping = os.getpid(), threading.Lock()
        self._mark = secrets.token_hex(16)  # the same of all states of this training

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        """Steps of the plan."""
        return self._settings.steps

    def __next__(self) -> Step:
        with self._alone():
            return self._next()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise refusal("other process")
        if not self._stepping.acquire(blocking=False):
            raise refusal("step under way")
        try:
            yield
        finally:
            self._stepping.release()

    def _next(self) -> Step:
        if self._done >= self._settings.steps:
            self._binding.settle()
            raise StopIteration
        if self._ended:
            raise refusal("failed step", step=self._done)
        self._binding.begin(self._taken)
        if self._before_step is not None:
            self._before_step()
        self.charge_plan()
        self._done += 1  # charged before anything is drawn, whatever comes of it
        # Noise that takes back parts of earlier noise cannot do without a step's.
        self._ended = self._settings.noise_decay > 0.0 or self._settings.noise_band > 1
        chosen = self._sampler.draw(self._settings.batch_size)
        x, y, real = self._rows(chosen)
        self._state, info = self._method.step(self._state, Batch(x, y, chosen.size, *self._drawn_by, real))
        self._taken, self._ended = self._done, False
        if self._before_step is not None:  # a step is recorded once it is known that nothing was changed before it
            self._binding.settle()
        norms = info.losses[:0] if info.norms is None else info.norms
        if chosen.size and (notice := self._gradients.seen(self._taken, norms)):
            warnings.warn(notice, stacklevel=4)
        return Step(self._done, chosen.size, info.losses, norms, self)

    def _views(self, views: int, random: np.random.Generator, flips: bool) -> Views:
        if not isinstance(self._first[0], torch.Tensor):
            raise refusal("views_of_inputs")
        return Views(views, random, self._first[0].shape[1:], flips=flips)

    def _rows(self, chosen: npt.NDArray[np.int64]) -> tuple[Inputs, torch.Tensor, torch.Tensor | None]:
        """Inputs and targets of the drawn examples, (b, …); of persons (b, K, …), and which places hold a row."""
        if not chosen.size:
            x, y = self._first
            return each(lambda part: part[:0], x), y[:0], None
        if self._persons is None:
            return *self._read(chosen), None
        places, real = self._persons.places[chosen], self._persons.real[chosen]
        x, y = self._read(places.flatten().numpy())

        def by_person(part: torch.Tensor) -> torch.Tensor:
            return part.view(*places.shape, *part.shape[1:])

        return each(by_person, x), by_person(y), sent(real, self._device)

    def _read(self, positions: npt.NDArray[np.int64]) -> tuple[Inputs, torch.Tensor]:
        """Inputs and targets of these rows, whose labels are looked at where they could not be before."""
        if self._data.targets is not None:
            return self._data.of_step(positions)
        return self._data.of_step(positions, lambda targets: refuse_labels(self._loss, targets, self._classes))

    def charge_plan(self) -> None:
        """Adds this plan to what was spent on its data in this program, once; the first step does it by itself."""
        if not self._charged:
            check_start(self._settings.with_(origins=earlier(self._identity, disjoint=self._disjoint)))
            self._charged = True
            replayable = not self._settings.secure_noise
            again = lost(self._settings)
            plan = (*planned_events(self._settings, self._examples), *again)
            unit = self._settings.unit
            before = charge(self._identity, plan, unit=unit, replayable=replayable, disjoint=self._disjoint)
            self._settings = with_lost(self._settings.with_(origins=before), again)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """All that is needed to go on after the last step, network and optimiser included, for `torch.save`.

        A file with it is a release of the parameters, which the claim covers as it does every step's. It holds no
        secret generator: who goes on draws from a new one.

        Returns:
            "checkpoint": a file of `dpviz.training.checkpoint`, uint8 (bytes,).

        Raises:
            ValueError: where anything else changed network or optimiser, or noise is correlated and secret.
        """
        with self._alone():
            if not can_be_saved(self._settings):
                raise refusal(
                    "checkpoint_of_correlated", decay=self._settings.noise_decay, band=self._settings.noise_band
                )
            self._binding.check(self._taken)
            states, public = self._random.states(), self._random.replayable or self._sampler.public
            saved = packed(
                {
                    "training": self._mark,
                    "settings": self._settings.to_json(),
                    "examples": self._examples,
                    "shapes": self._shapes(),
                    "step": self._done,
                    "taken": self._taken,
                    "descents": self._state.step,
                    "earlier": list(self._state.earlier),
                    "states": None if states is None else list(states),
                    "dealt": [torch.from_numpy(one) for one in self._sampler.dealt] if public else None,
                    **self._binding.state_dict(),
                }
            )
            return {"checkpoint": torch.frombuffer(bytearray(saved), dtype=torch.uint8)}

    def load_state_dict(self, state: Mapping[str, torch.Tensor], *, taken: int | Sequence[int] | None = None) -> None:
        """Go on after the step that `state_dict` was asked for, in a new process, or back to it in this one.

        Steps beyond it that were taken before cost what they cost, and are taken again: the claim covers both. If the
        state is of an interrupted program, the data must be those that it trained on.

        Args:
            state: From `state_dict` of this training, or of one with the same plan, before this one's first step.
            taken: The last step that the interrupted program took, of which anything may have been seen; of each
                program, where several went on from this state: the claim is of those that are named. None for one
                program of which nobody knows: all steps of its plan count as taken. This training's own steps are known
                to it.

        Raises:
            ValueError: for a damaged state, or that of another plan, other data or another network.
        """
        with self._alone():
            content = unpacked(state["checkpoint"].cpu().numpy().tobytes())
            try:
                self._load(content, taken)
            except (KeyError, TypeError, IndexError, AttributeError, RuntimeError) as error:
                raise refusal("checkpoint_damaged", why=f"{type(error).__name__}: {error}") from None

    def _load(self, content: dict[str, Any], taken: int | Sequence[int] | None) -> None:
        self._binding.settle()
        then, step, own = RunSettings.from_json(content["settings"]), content["step"], content["training"] == self._mark
        if self._before_step is not None:
            raise refusal("checkpoint_of_recorded")
        if self._done and not own:
            raise refusal("checkpoint_of_training", step=self._done)
        same_settings(then.with_(origins=()), self._settings.with_(origins=()))
        for what, value in (("examples", self._examples), ("shapes", self._shapes())):
            if content[what] != value:
                raise refusal("checkpoint_of_data", what=what, value=value, other=content[what])
        named = [len(self)] if taken is None else [taken] if isinstance(taken, int) else list(taken)
        again = [] if own else [*lost(then)]
        for through in [self._done] if own else named:
            if not own and not step <= through <= len(self):
                raise refusal("checkpoint_taken", taken=through, step=step, steps=len(self))
            before = Spent(events(self._mechanism, step) if step else (), step, 0)
            charged = Charged(through, (*lost(then), *(events(self._mechanism, through) if through else ())))
            again += charged_again(then, self._examples, step, before, charged, dealt=content["dealt"] is not None)[1]
        self._settings = with_lost(self._settings, tuple(again))
        if self._charged:
            charge_again(self._identity, merge_events(again), unit=self._settings.unit)
        self.charge_plan()
        self._binding.load_state_dict(content, content["taken"])
        kept = tuple(part.to(self._device) for part in content["earlier"])
        self._state = self._state._replace(step=content["descents"], earlier=kept)
        self._done, self._taken, self._loaded = step, content["taken"], step
        if content["states"] is not None:
            self._random.go_on(States(*content["states"]))
        self._sampler.dealt = [one.numpy() for one in content["dealt"] or ()]

    def _shapes(self) -> list[list[int]]:
        """Of the first example's inputs and target."""
        x, y = self._first
        return [list(part.shape) for part in (*tensors(x), y)]

    def charge_ahead(self, charge: Callable[[], None]) -> None:
        """Calls `charge` before each step, which is not taken where it raises; for one record, before the first step.

        Raises:
            ValueError: for a second one, or after the first step.
        """
        if self._before_step is not None or self._done != self._loaded:
            raise ValueError("Expected a training without a record before its first step, found one under way.")
        self._before_step = charge

    def __repr__(self) -> str:
        claim, at = (
            (self.claim, f"step {self._done} of {len(self)}") if self._done else (self.planned, f"{len(self)} steps")
        )
        bound = (
            f"ε ≤ {rounded_up(claim.epsilon, 4):.4g} at δ = {claim.delta:.3g}, {claim.name}"
            if claim.holds
            else claim.reason
        )
        return f"PrivateTraining({at}; {bound})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "A training cannot be copied or pickled: the copy would draw the same noise, or take steps that the claim "
            "of the other does not count. Save network.state_dict()."
        )

    @property
    def settings(self) -> RunSettings:
        return self._settings

    @property
    def examples(self) -> int:
        return self._examples

    @property
    def done(self) -> int:
        return self._done

    @property
    def loaded(self) -> int:
        return self._loaded

    @property
    def noise_source(self) -> str:
        return self._noise_source

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def mechanism(self) -> Mechanism:
        return self._mechanism

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
        return planned_claim(self._settings, self._examples)

    @property
    def claim(self) -> Claim:
        """What may be claimed of the network as it is now: nothing where anything else has changed it since.

        Parameters that an earlier step left may be loaded again: the claim is then that of all steps taken, because
        the later ones may have decided which.
        """
        return self.claim_after(self._done)

    def claim_after(self, step: int) -> Claim:
        """What may be claimed of a training that ends after `step`; of the last one, of the network as it is now."""
        spoilt = self._binding.spoilt
        after = self._taken if spoilt is None else spoilt
        uncertain = step >= self._taken or (spoilt is not None and step > spoilt)
        if uncertain and (changed := self._binding.changed):
            return Claim.nothing(
                f"{changed} was changed after step {after} by something else than this training",
                self._settings.delta,
                conditions(self._settings, self._examples),
            )
        charged = events(self._mechanism, step) if step else ()
        together = merge_events((*spent_before(self._settings), *charged))
        odometer = odometer_reading(together, self._settings.delta) if step else math.inf
        return claim_at(self._settings, self._examples, charged=charged, odometer=odometer, step=step)


def _one_of(**given: Any) -> None:
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError(f"Expected one of {' and '.join(given)}, found {' and '.join(named) or 'none'}.")
