"""Settings that train well at a given ε, by data set and model: what a page offers first.

>>> recommended("mnist-10k", "cnn", target_epsilon=3.0).noise_multiplier < 2.0
True
"""

import math
from typing import Any

from dpviz import _validate
from dpviz.accounting.no_noise import no_noise_needed
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.solve import solve
from dpviz.training.data import DATA_SETS
from dpviz.training.data.base import DataUnavailable
from dpviz.training.data.own.place import data_of, find, is_own
from dpviz.training.models import MODELS
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import equal_steps
from dpviz.training.settings import RunSettings
from dpviz.training.words import refusal

_LARGE, _LOW_EPSILON = 50_000, 2.0


def units_of(settings: RunSettings) -> int:
    """N, what batches are drawn from: the training set's examples, or its persons where they are protected.

    Raises:
        ValueError: as `examples_of`, and where the data name no persons.
    """
    examples = examples_of(settings.data)
    if not settings.by_person:
        return examples
    if not (persons := data_of(settings.data).persons):
        raise refusal("unit_of_data", data=settings.data)
    return persons


def examples_of(data: str) -> int:
    """The size of the training set, as known or as the description of one's own data declares it.

    Raises:
        ValueError: for another name, or where a data set of one's own is not on this machine or cannot be used.
    """
    if is_own(data):
        try:
            return find(data).examples
        except DataUnavailable as problem:
            raise ValueError(f"Expected data={data!r} to be described here: {problem}") from None
    return DATA_SETS[_validate.choice("data", data, tuple(DATA_SETS))].examples


def recommended(data: str, model: str, *, target_epsilon: float, delta: float = 1e-5) -> RunSettings:
    """DP-SGD for `model` on `data` whose plan costs at most `target_epsilon` by the tight accountant.

    Args:
        data: A key of `dpviz.training.data.DATA_SETS`, or "own:NAME".
        model: A key of `models.MODELS`.
        target_epsilon: ε > 0 of the whole plan at `delta`.
        delta: δ.

    Raises:
        ValueError: for a name that does not exist, an ε that no noise reaches, or a δ at which none is needed.
    """
    settings = RunSettings(data=data, model=model, delta=delta)
    if model in MODELS:  # else `check` names those that there are
        settings = settings.with_(**MODELS[model].usual)
    settings.check()
    examples, chosen = examples_of(data), MODELS[model]
    changed: dict[str, Any] = {}
    if examples >= _LARGE:
        changed |= chosen.large
    elif target_epsilon < _LOW_EPSILON:
        changed |= chosen.low_epsilon
    if not is_own(data):
        changed |= chosen.tables if len(DATA_SETS[data].shape) == 1 else {}
        changed |= DATA_SETS[data].usual
    if is_own(data):  # some twelve batches to an epoch, as of Abalone
        changed["batch_size"] = min(1024, 2 ** int(math.log2(max(1, examples // 12))))
    settings = settings.with_(**changed)
    return settings.with_(noise_multiplier=least_noise(settings, examples, target_epsilon))


def least_noise(plan: RunSettings, examples: int, target_epsilon: float) -> float:
    """The least σ with which the whole plan costs `target_epsilon` by the tight accountant.

    Raises:
        ValueError: for an ε that no noise reaches, or a δ at which none is needed.
    """
    mechanism, steps = equal_steps(mechanism_at(plan, 1, examples), plan.last_step)
    sigma = solve(
        "noise_multiplier", target_epsilon=target_epsilon, method=Tight.name, mechanism=mechanism,
        steps=steps, delta=plan.delta,
    )  # fmt: skip
    if sigma == 0.0:
        raise ValueError(no_noise_needed(plan.delta, plan.sample_rate(examples), plan.steps))
    return sigma
