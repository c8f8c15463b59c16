"""Planned mechanisms of a run's settings, step by step, before any training; free of torch, so that pages can ask.

>>> from dpviz.training.settings import RunSettings
>>> planned_events(RunSettings(steps=3, noise_multiplier=2.0, batch_size=1000), 10_000)
((SampledGaussian(noise_multiplier=2.0, sample_rate=0.1), 3),)
"""

from dpviz.mechanisms import Event, Mechanism, merge_events
from dpviz.training.methods import METHODS
from dpviz.training.samplers import events
from dpviz.training.settings import RunSettings


def learning_rate(settings: RunSettings, step: int) -> float:
    """Step size of `step`, counted from 1, by its method."""
    return METHODS[settings.method].learning_rate(settings, step)


def mechanism_at(settings: RunSettings, step: int, examples: int) -> Mechanism:
    """What `step` is planned to release, or is one of the steps of, its policy's changes aside.

    Raises:
        ValueError: for a method without privacy.
    """
    mechanism = METHODS[settings.method].mechanism(settings, step, examples)
    if mechanism is None:
        raise ValueError(f"Expected a private method, found method={settings.method!r}: its steps have no noise.")
    return mechanism


def planned_events(settings: RunSettings, examples: int) -> tuple[Event, ...]:
    """All T steps of the plan, or the epochs that they begin, equal ones together; () for a method without privacy."""
    if not settings.private:
        return ()
    if not settings.changing:
        return events(mechanism_at(settings, 1, examples), settings.steps)
    return merge_events((mechanism_at(settings, step, examples), 1) for step in range(1, settings.steps + 1))
