"""A run's network, method, accounts and record, as the loop drives them step by step."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dpviz.accounting.adaptive.filter import BudgetExceeded
from dpviz.accounting.adaptive.released import release
from dpviz.mechanisms import Mechanism
from dpviz.training.accelerator import chosen_device, device_name
from dpviz.training.accounts.counting import Counting
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.accounts.stepwise import encoded_events
from dpviz.training.covered import UNPROTECTED
from dpviz.training.data.catalogue import TrainingData
from dpviz.training.data.views import Views
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.evaluation import EVERY, Posterior, Schedule, correct_predictions, evaluated, finite, outputs
from dpviz.training.events import Event
from dpviz.training.methods import METHODS, Info
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import build, freeze
from dpviz.training.plan import mechanism_at
from dpviz.training.randomness import randomness
from dpviz.training.samplers import SAMPLERS
from dpviz.training.sampling import Batches, Persons, loss_per_example, usual_batch
from dpviz.training.settings import RunSettings
from dpviz.training.step_buffer import StepBuffer
from dpviz.training.summary import accuracy_of, below_majority, closing, opening
from dpviz.training.unmoved import FirstGradients
from dpviz.training.weights import save, start_parameters

# Numbers are read from an accelerator once in so many steps; reading them makes the host wait.
CHECK_EVERY = 10
EMIT_EVERY = 0.05  # seconds between two events about steps
# Training examples that are looked at in every evaluation, the first ones.
_PART = 1000


class Ended(Exception):
    """Why the run is over: `state` and `reason` as in the summary, and in words."""

    def __init__(self, reason: str, why: str) -> None:
        states = {"stopped": "stopped", "not finite": "failed", "error": "failed", "memory": "failed"}
        self.state, self.reason = states.get(reason, "done"), reason
        super().__init__(why)


class Session:
    """A run under way.

    Attributes:
        step: Steps taken.
        accounts: What they cost; None for plain training.
        counting: Private counts, and the policy that follows them; None for plain training.
        posterior: Predictions, averaged over samples that were taken.
        random: Where batches, views, counts and noise come from.
        continued: What is to be said of a run that goes on from a checkpoint (`checkpoint`); empty for others.
    """

    def __init__(
        self,
        settings: RunSettings,
        data: TrainingData,
        emit: Callable[[Event], None],
        *,
        weights_to: str | Path | None = None,
    ) -> None:
        self.settings, self.data, self._emit = settings, data, emit
        self._weights_to = weights_to
        self._began = time.monotonic()
        if settings.threads:
            torch.set_num_threads(settings.threads)
        self.device = chosen_device(settings.device)
        persons = Persons(data.persons) if settings.by_person and data.persons is not None else None
        self.examples = data.units(settings)
        self.step = 0
        random = randomness(settings.seed, secure=settings.secure_noise, device=self.device)
        self._noise_source = random.description
        network = build(settings.model, data, seed=random.start).to(self.device)
        start = flatten_parameters(network)
        if settings.start_from is not None:
            start.copy_(start_parameters(settings.start_from, settings.model, start.numel()))
        self._kept = start[: freeze(network)] if settings.trained == "last" else start.new_zeros(0)
        self.network = METHODS[settings.method].prepare(network)
        self.parameters = flatten_parameters(self.network)
        self._x, self._y = data.train_x.to(self.device), data.train_y.to(self.device)
        self._test = (data.test_x.to(self.device), data.test_y.to(self.device))
        self._part = (self._x[:_PART], self._y[:_PART])
        several = settings.views > 1
        views = Views(settings.views, random.views, data.shape, flips=data.flips) if several else None
        # On an accelerator batches come in fixed sizes.
        fixed = settings.private and self.device.type == "cpu"
        self.engine = PerExample(
            self.network, loss_per_example, chunk_size=settings.chunk_size, views=views,
            usual_batch=usual_batch(settings.batch_size, self.examples, SAMPLERS[settings.sampler]) if fixed else None,
        )  # fmt: skip
        self.method = METHODS[settings.method](self.engine, settings, examples=self.examples, noise=random.noise)
        if settings.private:
            self.engine.check(self._x, self._y)
        self.state = self.method.init(self.parameters)
        self.batches = Batches(self._x, self._y, random.batches, persons=persons, sampler=SAMPLERS[settings.sampler])
        self.accounts = LiveAccounts(settings, examples=self.examples) if settings.private else None
        self.counting = Counting(settings, self.examples) if settings.private else None
        self.random, self.continued = random, ""
        # Which are followed depends on N alone. Their gradients are measured apart, in chunks of their own.
        rows = torch.linspace(0, self.examples - 1, min(settings.followed, self.examples), dtype=torch.float64).long()
        rows = rows.to(self.device)
        self._followed = (self._x[rows], self._y[rows]) if settings.private and settings.followed else None
        self._measures = PerExample(self.network, loss_per_example, chunk_size=settings.chunk_size)
        self._buffer = StepBuffer(
            self.accounts, max_grad_norm=settings.max_grad_norm, histogram_every=settings.histogram_every
        )
        self._gradients = FirstGradients(settings.max_grad_norm)
        self.posterior = Posterior()
        by_test = settings.target_accuracy is not None and settings.target_measure == "test"
        # Where a run ends by its accuracy must not depend on how fast the machine is.
        self._schedule = Schedule(EVERY if by_test and settings.evaluation_every is None else settings.evaluation_every)
        self._evaluation: dict[str, Any] = {}
        self._evaluated_at = -1
        self._majority = float(torch.bincount(self.data.test_y).max()) / len(self.data.test_y)

    def emit(self, kind: str, **content: Any) -> None:
        self._emit({"kind": kind, "step": self.step, "time": time.monotonic() - self._began, **content})

    def start(self) -> None:
        """Tell what is about to happen, with an evaluation of the untrained network."""
        settings = self.settings
        self.emit(
            "started",
            settings=settings.to_json(),
            examples=self.examples,
            test_examples=len(self.data.test_y),
            classes=self.data.classes,
            majority=self._majority,
            **opening(settings.with_(device=self.device.type), self.examples),
            device=device_name(self.device),
            threads=torch.get_num_threads(),
            parameters=self.parameters.numel(),
            data=f"{self.data.title}: {self.data.note}",
            **({"data_mark": self.data.mark} if self.data.mark else {}),
            model=MODELS[settings.model].title,
            noise_source=self._noise_source,
            fallback_layers=list(self.engine.fallback_layers),
            unprotected=UNPROTECTED,
        )
        if self.continued:
            covered = 0 if self.accounts is None else self.accounts.spent.covered
            self.emit("continued", text=self.continued, mechanisms=self._charged(), covered=covered)
        self._evaluate()
        self._buffer.rest()

    def advance(self, *, watch: bool = False) -> None:
        """One step, and what is due after it; to `watch` it is to measure its noise, and to be an event of its own.

        Raises:
            Ended: when the run is over.
        """
        if self.step >= self.settings.last_step:
            raise Ended("plan", f"All {self.step} planned steps are done.")
        began = time.monotonic()
        self._past_plan()
        batch_size, mechanism = self._coming()
        self._reserve(mechanism)
        self.method.watch = watch
        lengths = self._lengths()
        self.state, info = self.method.step(self.state, self.batches.draw(batch_size))
        info = info._replace(followed=lengths)
        self.step += 1
        self._look(info)
        self._buffer.add(self.step, info)  # charged with what it released, also where that is not what was reserved
        if info.mechanism != mechanism:
            raise RuntimeError(f"Step {self.step} released {info.mechanism} where {mechanism} was reserved.")
        if self.device.type == "cpu" or watch or self._buffer.waiting >= CHECK_EVERY:
            self._check_losses()
        self._schedule.stepped(time.monotonic() - began)
        self._after_step(batch_size)
        if watch or self._buffer.age >= EMIT_EVERY:
            self.flush()

    def _lengths(self) -> Tensor | None:
        """Of the clipped gradients of the followed examples at the weights of now, float64; at least the true ones."""
        if self._followed is None:
            return None
        return self._measures.clipped(*self._followed, max_grad_norm=self.settings.max_grad_norm).changes

    def _look(self, info: Info) -> None:
        """Tell where nothing is learnt."""
        if info.norms is None or not info.batch_size:
            return
        if notice := self._gradients.seen(self.step, info.norms[: info.batch_size]):
            self.emit("notice", text=notice)

    def _past_plan(self) -> None:
        """Past the plan the Bayesian costs, which hold for T steps in all, are computed anew for more."""
        done, plan = self.step, self.settings.steps
        if done == 0 or done % plan or self.settings.past_plan != "replan":
            return
        total = min(done + plan, self.settings.last_step)
        self._check_losses()
        self.flush()
        text = f"The plan is extended: {total} steps are planned from here on."
        if self.accounts is not None and self.accounts.bayesian is not None:
            self.accounts.bayesian.replan(total)
            text += (
                " The Bayesian costs of all steps were computed again for the new plan. Their bound holds for a plan "
                "that is fixed in advance, not for one that was extended because of intermediate results."
            )
        self.emit("replanned", total_steps=total, text=text)

    def _coming(self) -> tuple[int, Mechanism | None]:
        """Expected batch size of the coming step and what it will release, by the policy's present setting."""
        if self.counting is None:
            return self.settings.batch_size, None
        sigma, batch_size = self.counting.setting
        self.state = self.state._replace(noise_multiplier=sigma)
        coming = self.settings.with_(noise_multiplier=sigma, batch_size=batch_size)
        return batch_size, mechanism_at(coming, self.step + 1, self.examples)

    def _reserve(self, mechanism: Mechanism | None) -> None:
        """Take the coming step from the budget, before it happens; without room the run ends."""
        if self.accounts is None or mechanism is None:
            return
        try:
            self.accounts.reserve(mechanism)
        except BudgetExceeded as refused:
            raise Ended("budget", f"The budget ε = {refused.target_epsilon:.6g} does not allow another step.") from None

    def _check_losses(self) -> None:
        """End the run if no loss of a batch is finite; waits for all steps on the device."""
        if (broken := self._buffer.read()) is not None:
            raise Ended(
                "not finite",
                f"No loss in the batch of step {broken} is finite: the training diverged, or the data hold numbers "
                "that are not finite. Lower the learning rate.",
            )

    def _after_step(self, batch_size: int) -> None:
        past = self.step - self.settings.burn_in
        due = past > 0 and (past % self.settings.sample_every == 0 or self.step == self.settings.last_step)
        if self.method.posterior and due:
            self.posterior.add(outputs(self.network, self._test[0]))
        if self._schedule.due(self.step):
            self._evaluate()
            self._check_target()
        if self.counting is not None and self.counting.due(batch_size):
            self._count()
        self._buffer.rest()

    def _evaluate(self) -> None:
        self._check_losses()
        began = time.monotonic()
        self._evaluation = evaluated(self.network, self._test, self._part)
        drawn = Posterior()
        for _ in self.method.draws():
            drawn.add(outputs(self.network, self._test[0]))
        posterior = drawn if drawn.samples else self.posterior
        self._evaluation["posterior_accuracy"] = posterior.accuracy(self._test[1])
        self._evaluation["samples"] = posterior.samples
        self._evaluated_at = self.step
        self._schedule.evaluated(time.monotonic() - began)
        self.flush()
        self.emit("evaluation", **self._evaluation)

    def _check_target(self) -> None:
        target = self.settings.target_accuracy
        if target is None or self.settings.target_measure != "test":
            return
        accuracy = self._evaluation["posterior_accuracy"] or self._evaluation["test_accuracy"]
        if accuracy >= target:
            raise Ended("target", f"Accuracy {accuracy:.4f} on public test data reached the target {target:.6g}.")

    def _count(self) -> None:
        """A private count, charged, and what the policy makes of it."""
        assert self.counting is not None
        assert self.accounts is not None
        self._check_losses()  # its ε is of all steps before it
        self.flush()
        try:
            mechanism, account = self.counting.mechanism, self.accounts
            look = partial(correct_predictions, self.network, self._x, self._y)
            count = release(look, mechanism=mechanism, account=account, random=self.random.batches)
        except BudgetExceeded:
            not_counted = "Correct predictions were not counted, because the budget does not allow it."
            self.emit("note", text=not_counted)
            return
        seen = self.counting.observe(count, self.accounts.budget)
        text = seen.pop("text")
        self.emit("count", **seen, epsilon=self.accounts.epsilons())
        if text:
            self.emit("note", text=text)
        if self.counting.stopped:
            raise Ended(
                "goal",
                f"A private count of correct training predictions, {seen['accuracy']:.4f} of all, reached the target "
                f"{self.settings.target_accuracy:.6g}.",
            )

    def flush(self) -> None:
        """Tell about the steps that were read; it waits for no device."""
        if (content := self._buffer.take()) is not None:
            self.emit("step", **content)

    def finish(self, ended: Ended) -> dict[str, Any]:
        """The last event, with everything that waits before it; returns the summary."""
        try:
            self._check_losses()
        except Ended as broken:
            ended = broken
        self.flush()
        if ended.state != "failed" and self._evaluated_at != self.step:
            self._evaluate()
        summary = closing(
            self.settings.with_(device=self.device.type),
            self.accounts,
            examples=self.examples,
            state=ended.state,
            reason=ended.reason,
            steps=self.step,
            seconds=time.monotonic() - self._began,
        )
        for name in ("test_accuracy", "test_loss", "train_accuracy", "posterior_accuracy"):
            summary[name] = finite(self._evaluation.get(name))
        summary["majority"] = self._majority
        summary["weights"], problem = self._save()
        warning = below_majority(accuracy_of(summary), self._majority)
        summary["text"] = " ".join(filter(None, (str(ended), warning, problem)))
        self.emit(ended.state, **summary)
        return summary

    def charge(self) -> None:
        """Everything that was charged is recorded when this returns: parameters may leave the process."""
        self._check_losses()
        self.flush()
        if self.accounts is not None:
            self.emit("charged", through=self.step, mechanisms=self._charged())

    def _charged(self) -> list[list[Any]]:
        return [] if self.accounts is None else encoded_events(self.accounts.events)

    def _save(self) -> tuple[str | None, str]:
        """Where the parameters are now, or why not: a full disk costs the file, not the run."""
        if self._weights_to is None:
            return None, ""
        weights = self.method.weights(self.parameters)
        weights["parameters"] = torch.cat([self._kept, weights["parameters"]])
        try:
            self.charge()
            save(self._weights_to, weights, model=self.settings.model, data=self.settings.data)
        except (OSError, RuntimeError) as error:
            return None, f"The parameters could not be saved: {error}."
        return str(self._weights_to), ""
