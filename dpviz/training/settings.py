"""What a training run is asked to do: its values, their fields on pages, and which of them work together.

>>> settings = RunSettings()
>>> RunSettings.from_json(settings.to_json()) == settings
True
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from dpviz import _validate
from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.accounting.methods import PROVERS, Moments, Renyi, Tight
from dpviz.fields.declared import any_kind, entries, field
from dpviz.fields.field import Choice, Field, Number
from dpviz.training.accounts.origins import check_origins, check_start
from dpviz.training.data import DATA_SETS
from dpviz.training.data.own.place import Titles, is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS, RECORDED
from dpviz.training.models.base import image
from dpviz.training.samplers import SAMPLERS, InOrder, Poisson
from dpviz.training.values import RunValues
from dpviz.training.words import refusal


@dataclass(frozen=True)
class Id(Field[str]):
    """A run's id; empty for none."""

    def parse(self, text: str) -> str:
        if not re.fullmatch(r"[0-9a-zA-Z-]{0,64}", text):
            raise ValueError(f"{self.label}: “{text[:40]}” is no run's id.")
        return text

    def write(self, value: str) -> str:
        return value


# What the tables cannot list.
_GIVEN: dict[str, dict[str, Any]] = {
    "data": {"options": Titles()},
    "model": {"options": {key: model.title for key, model in MODELS.items()}},
    "method": {
        "options": {key: method.label for key, method in METHODS.items()},
        "help": " ".join(method.words for method in METHODS.values()),
    },
    "sampler": {
        "options": {key: sampler.label for key, sampler in SAMPLERS.items()},
        "help": " ".join(sampler.words for sampler in SAMPLERS.values()),
    },
    "policy": {"options": {key: policy.label for key, policy in POLICIES.items()}},
    "solver": {"default": Tight.name, "options": {each.name: PROVERS[each.name] for each in (Tight, Renyi, Moments)}},
}
GROUPS = {key.removeprefix("t_"): entry["group"] for key, entry in entries().items() if "group" in entry}
FIELDS: dict[str, Field[Any]] = {
    name: field(Id, "t_start_from") if name == "start_from" else any_kind(f"t_{name}", **_GIVEN.get(name, {}))
    for name in GROUPS
}

MOST_CHANGING = 30_000  # steps with a noise of their own: some ten seconds of accounting


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunValues):
    """Everything that decides a run, with what its method and model say of it.

    The defaults reach 93 % on the shipped digits at ε = 3 in a minute.
    """

    @property
    def private(self) -> bool:
        """Whether its steps have noise."""
        return METHODS[self.method].private

    @property
    def changing(self) -> bool:
        """Whether each step is planned with a noise of its own."""
        return bool(METHODS[self.method].nodes(self))

    def reads(self, name: str) -> bool:
        """Whether the method or the model of this run reads the setting `name`, which not all do."""
        return name in METHODS[self.method].reads | RECORDED[self.model].reads

    def check(self) -> None:
        """Refuse settings that cannot work whatever N is, before anything is loaded (with N: `live.check_run`).

        Raises:
            ValueError: naming the setting, its value and the way out.
        """
        _check_each(self)
        _check_together(self)
        check_origins(self)
        if self.private:
            check_start(self)


# Settings whose range is that of their field.
_RANGED = tuple(
    field.name
    for field in dataclasses.fields(RunSettings)
    if field.name in FIELDS and field.name not in ("data", "model", "start_from", "step_exponent", "prior_std")
)


def _check_each(settings: RunSettings) -> None:
    """Each setting by itself, in the range that its field declares."""
    if not is_own(settings.data):
        _validate.choice("data", settings.data, tuple(DATA_SETS))
    _validate.choice("model", settings.model, tuple(RECORDED))
    for name in _RANGED:
        _check_range(name, getattr(settings, name))
    for name in ("step_exponent", "prior_std"):  # pages offer fewer
        _validate.scalar(name, _validate.non_negative(name, getattr(settings, name)))
    for name, least in (("sample_every", 1), ("histogram_every", 0), ("threads", 0)):
        _validate.scalar(name, _validate.steps(getattr(settings, name), name, minimum=least))
    _validate.estimator_failure(settings.estimator_failure)


def _check_range(name: str, value: object) -> None:
    field = FIELDS[name]
    if isinstance(field, Number):
        if value is None and field.top:
            return
        number = _validate.scalar(name, _validate.any_number(name, value))
        try:
            field.check(number)
        except ValueError:
            kind = "a whole number " if field.whole else ""
            raise ValueError(f"Expected {name}={number:.12g} to be {kind}{field.legal}; try {field.example}.") from None
    elif isinstance(field, Choice) and not field.means:
        _validate.choice(name, value, tuple(field.options))
    else:
        allowed = tuple(field.means.values()) if isinstance(field, Choice) else (True, False)
        if not any(type(value) is type(one) and value == one for one in allowed):
            raise ValueError(f"Expected {name}={value!r} to be {' or '.join(map(str, allowed))}.")


def _check_together(settings: RunSettings) -> None:
    method, policy, model = METHODS[settings.method], POLICIES[settings.policy], RECORDED[settings.model]
    shape = () if is_own(settings.data) else DATA_SETS[settings.data].shape
    with_views, without_prior = settings.views > 1, settings.prior_std == 0.0
    not_independent = settings.noise_decay > 0.0 or settings.noise_band > 1
    broken = {
        "most_steps": settings.past_plan == "replan" and settings.most_steps <= settings.steps,
        "changing": settings.changing and settings.last_step > MOST_CHANGING,
        "prior_of_model": without_prior and "prior_std" in model.reads,
        "prior_of_method": without_prior and method.needs_prior,
        "policy": settings.private and settings.policy != Fixed.key and not settings.reads("policy"),
        "views_of_method": with_views and not settings.reads("views"),
        "views_of_model": with_views and model.features is not None,
        "views_of_data": with_views and shape and not image(shape),
        "trained": settings.trained != RunSettings.trained and not method.partly,
        "burn_in": settings.reads("burn_in") and settings.burn_in >= settings.steps,
        "sampler_of_method": settings.sampler != Poisson.key and not settings.reads("sampler"),
        "sampler_with": settings.sampler != Poisson.key
        and (
            settings.bayesian
            or settings.filter_epsilon is not None
            or settings.policy != Fixed.key
            or settings.target_measure != "test"
        ),
        "correlated_of_method": not_independent and not settings.reads("noise_decay"),
        "correlated_order": not_independent and settings.sampler != InOrder.key,
        "correlated_both": settings.noise_decay > 0.0 and settings.noise_band > 1,
        "unit_of_method": settings.by_person and not settings.reads("unit"),
        "unit_of_data": settings.by_person and not is_own(settings.data) and not DATA_SETS[settings.data].persons,
        "unit_with": settings.by_person
        and (settings.bayesian or with_views or settings.policy != Fixed.key or settings.target_measure != "test"),
    }
    readers = {
        name: " or ".join(repr(key) for key, kind in METHODS.items() if name in kind.reads)
        for name in ("policy", "views", "unit", "sampler", "noise_decay")
    }
    for rule, is_broken in broken.items():
        if is_broken:
            raise refusal(rule, s=settings, most=MOST_CHANGING, **readers)
    plain = {"policy": Fixed.key, "filter_epsilon": None, "bayesian": False, "target_measure": "test"}
    for name, off in () if settings.private else plain.items():
        if getattr(settings, name) != off:
            raise refusal("off_without_noise", name=name, value=getattr(settings, name), off=off)
    by_test = settings.target_accuracy is not None and settings.target_measure == "test"
    if policy.ends and by_test:
        raise refusal("ends", s=settings)
    if settings.bayesian:
        _validate.delta_beyond_failure(settings.bayesian_delta, settings.estimator_failure, 1)
