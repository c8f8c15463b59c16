"""The schedule of private counts of correct predictions, and the policy that reads them (Lécuyer 2021, §5)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.adaptive.policies import POLICIES, Policy, Setting
from dpviz.accounting.adaptive.released import Released, released_before
from dpviz.mechanisms import Event, SampledGaussian, merge_events
from dpviz.training.plan import planned_events
from dpviz.training.samplers import steps_per_epoch
from dpviz.training.settings import RunSettings


def make_policy(settings: RunSettings, examples: int) -> Policy:
    """The policy of the settings in its first state."""
    goal = 0.0
    if settings.target_accuracy is not None and settings.target_measure == "private":
        goal = settings.target_accuracy * examples
    return POLICIES[settings.policy].begin(
        Setting(settings.noise_multiplier, settings.batch_size),
        every=settings.count_every,
        count_noise=settings.count_noise,
        goal=goal,
    )


def planned_counts(settings: RunSettings, examples: int) -> int:
    """Private counts that will have been taken after `settings.steps` steps, if no policy changes the batch size."""
    every = make_policy(settings, examples).every if settings.private else 0
    epochs = settings.steps // steps_per_epoch(examples, settings.batch_size)
    return epochs // every if every else 0


def baseline(settings: RunSettings, examples: int) -> tuple[Event, ...]:
    """All T steps and their private counts, if no policy changes anything."""
    counts = planned_counts(settings, examples)
    return merge_events(
        (*planned_events(settings, examples), *([(SampledGaussian(settings.count_noise), counts)] if counts else []))
    )


class Counted(NamedTuple):
    """What released counts have made of a policy, for a process that goes on with its run.

    Attributes:
        noise_multiplier, batch_size: Of the coming steps.
        reference: The last count, None before the first one.
        policy_stopped, stopped, blocked: Whether the policy wants to stop, the goal was reached, and the margin blocks.
        epoch, steps: Epochs that ended, and steps since.
    """

    noise_multiplier: float
    batch_size: int
    reference: float | None
    policy_stopped: bool
    stopped: bool
    blocked: bool
    epoch: int
    steps: int


class Counting:
    """Follows epochs and keeps the policy, which sees released counts and nothing else.

    Attributes:
        setting: σ and expected batch size of the coming step.
        mechanism: What one count costs.
        stopped: Whether the goal was reached.
    """

    def __init__(self, settings: RunSettings, examples: int) -> None:
        self._policy = make_policy(settings, examples)
        self._examples, self._margin = examples, settings.margin_epochs
        self._goal = settings.target_accuracy if settings.target_measure == "private" else None
        self._epoch = self._steps = 0
        self._blocked = self.stopped = False

    @property
    def setting(self) -> Setting:
        return self._policy.setting

    @property
    def mechanism(self) -> SampledGaussian:
        return self._policy.count_mechanism

    @property
    def counted(self) -> Counted:
        """All that another process needs to go on."""
        policy, reference = self._policy, self._policy.reference
        value = None if reference is None else reference.value
        return Counted(*policy.setting, value, policy.stopped, self.stopped, self._blocked, self._epoch, self._steps)

    def go_on(self, counted: Counted, charged: Iterable[Event]) -> None:
        """Follow what the same run was when it was interrupted; `charged` holds its counts.

        Raises:
            ValueError: where it does not hold the last count.
        """
        reference = counted.reference
        self._policy = replace(
            self._policy,
            setting=Setting(counted.noise_multiplier, counted.batch_size),
            reference=None if reference is None else released_before(reference, self.mechanism, charged),
            stopped=counted.policy_stopped,
        )
        self.stopped, self._blocked = counted.stopped, counted.blocked
        self._epoch, self._steps = counted.epoch, counted.steps

    def due(self, batch_size: int) -> bool:
        """Told after each step; whether an epoch ended after which a count is due."""
        self._steps += 1
        if self._steps < steps_per_epoch(self._examples, batch_size):
            return False
        self._steps, self._epoch = 0, self._epoch + 1
        return self._policy.every > 0 and self._epoch % self._policy.every == 0

    def observe(self, count: Released, budget: Filter | None) -> dict[str, Any]:
        """The policy's answer to a count, as an event's content; `budget` is what is left for the coming steps.

        "text" says in words, for a note, that the margin begins to block the policy; "" where it does not.
        """
        before, may_lower = self._policy, self._may_lower(budget)
        self._policy = before.observe(count, may_lower=may_lower)
        accuracy = count.value / self._examples
        self.stopped = self._policy.stopped or (self._goal is not None and accuracy >= self._goal)
        sigma, batch_size = self._policy.setting
        was_blocked, self._blocked = self._blocked, before.blocked(count, may_lower=may_lower)
        margin = (
            f"The count rose, but the policy changes nothing: the remaining budget allows at most {self._margin} "
            "epochs, the margin in the settings."
        )
        return {
            "count": count.value,
            "accuracy": accuracy,
            "rose": before.rose(count),
            "blocked": self._blocked,
            "text": margin if self._blocked and not was_blocked else "",
            "mechanism": [count.mechanism.noise_multiplier, count.mechanism.sample_rate, 1],
            "noise_multiplier": sigma,
            "batch_size": batch_size,
        }

    def _may_lower(self, budget: Filter | None) -> bool:
        """The paper's rule: only while the filter would let pass more than so many epochs at the present setting."""
        if budget is None:
            return True
        sigma, batch_size = self.setting
        epoch = steps_per_epoch(self._examples, batch_size)
        return budget.allows(SampledGaussian(sigma, batch_size / self._examples), self._margin * epoch + 1)
