"""When to count correct training predictions in private, and what the policy makes of it (Lécuyer 2021, §5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.accounting.filter import Filter
from dpviz.accounting.mechanism import SampledGaussian
from dpviz.accounting.policies import AdaptiveBatch, AdaptiveNoise, FineTuning, Fixed, Policy, Setting
from dpviz.training.settings import RunSettings, steps_per_epoch

# The paper lowers the budget of a step only while the filter would let pass more epochs than this.
_MARGIN_EPOCHS = 50
_COUNT_EVERY = 10


def make_policy(settings: RunSettings, examples: int) -> Policy:
    """The policy of the settings in its first state; "fixed" counts only where a private target asks for it."""
    start = Setting(settings.noise_multiplier, settings.batch_size)
    goal = 0.0
    if settings.target_accuracy is not None and settings.target_measure == "private":
        goal = settings.target_accuracy * examples
    noise, every = settings.count_noise, settings.count_every
    if settings.policy == "adaptive_noise":
        return AdaptiveNoise(start, every=every or _COUNT_EVERY, count_noise=noise)
    if settings.policy == "adaptive_batch":
        return AdaptiveBatch(start, every=every or _COUNT_EVERY, count_noise=noise)
    if settings.policy == "fine_tuning":
        return FineTuning(start, every=every or 1, count_noise=noise, goal=goal)
    return Fixed(start, every=(every or _COUNT_EVERY) if goal else 0, count_noise=noise)


class Counting:
    """Follows epochs, takes noisy counts and keeps the policy.

    Attributes:
        setting: σ and expected batch size of the coming step.
        mechanism: What one count costs.
        stopped: Whether the goal was reached.
    """

    def __init__(self, settings: RunSettings, examples: int, random: np.random.Generator) -> None:
        self._policy = make_policy(settings, examples)
        self._examples, self._random = examples, random
        self._goal = settings.target_accuracy if settings.target_measure == "private" else None
        self._epoch = self._steps = 0
        self.stopped = False

    @property
    def setting(self) -> Setting:
        return self._policy.setting

    @property
    def mechanism(self) -> SampledGaussian:
        return self._policy.count_mechanism

    def due(self, batch_size: int) -> bool:
        """Told after each step; whether an epoch ended after which a count is due."""
        self._steps += 1
        if self._steps < steps_per_epoch(self._examples, batch_size):
            return False
        self._steps, self._epoch = 0, self._epoch + 1
        return self._policy.every > 0 and self._epoch % self._policy.every == 0

    def observe(self, correct: int, budget: Filter | None) -> dict[str, Any]:
        """A noisy count of `correct` predictions, and the policy's answer to it, as an event's content."""
        noise = self._policy.count_noise * float(self._random.standard_normal())
        count = correct + noise
        before, rose = self._policy, self._policy.rose(count)
        self._policy = before.observe(count, may_lower=self._may_lower(budget))
        accuracy = count / self._examples
        self.stopped = self._policy.stopped or (self._goal is not None and accuracy >= self._goal)
        sigma, batch_size = self._policy.setting
        return {
            "count": count,
            "accuracy": accuracy,
            "rose": rose,
            "mechanism": [self.mechanism.noise_multiplier, self.mechanism.sample_rate, 1],
            "noise_multiplier": sigma,
            "batch_size": batch_size,
        }

    def _may_lower(self, budget: Filter | None) -> bool:
        if budget is None:
            return True
        sigma, batch_size = self.setting
        epoch = steps_per_epoch(self._examples, batch_size)
        return budget.allows(SampledGaussian(sigma, batch_size / self._examples), _MARGIN_EPOCHS * epoch + 1)
