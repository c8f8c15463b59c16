"""Settings of a training run: values, fields on pages, and checks.

>>> settings = RunSettings()
>>> RunSettings.from_json(settings.to_json()) == settings
True
"""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
from dataclasses import dataclass
from typing import Any, get_type_hints

from dpviz import _validate
from dpviz.accounting.adaptive.policies import POLICIES
from dpviz.accounting.methods import PROVERS, Moments, Renyi, Tight
from dpviz.fields.declared import any_kind, attributes, entries, field
from dpviz.fields.field import AnyField, Choice, Field, Number
from dpviz.training.accounts.origins import check_origins, check_start
from dpviz.training.data import DATA_SETS
from dpviz.training.data.own.place import Titles, is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS, RECORDED
from dpviz.training.samplers import SAMPLERS
from dpviz.training.together import check_together
from dpviz.training.values import RunValues


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
# A page begins with the model that is offered first, and with what trains it well.
_FIRST = next(iter(MODELS.values()))
_DEFAULTS = {one.name: one.default for one in dataclasses.fields(RunValues)} | {"model": _FIRST.key, **_FIRST.usual}


def _given(name: str) -> dict[str, Any]:
    """Attributes of a field that stand elsewhere: a run's own default, where its entry has none to start a page at."""
    given = _GIVEN.get(name, {})
    if name not in _DEFAULTS or "default" in entries()[f"t_{name}"]:
        return given
    default = _DEFAULTS[name]
    meant = (option for option, value in attributes(f"t_{name}").get("means", {}).items() if value == default)
    return {"default": math.inf if default is None else next(meant, default)} | given


FIELDS: dict[str, AnyField] = {
    name: field(Id, "t_start_from") if name == "start_from" else any_kind(f"t_{name}", **_given(name))
    for name in GROUPS
}


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunValues):
    """Everything that decides a run, with what its method and model say of it.

        The defaults reach 93 % on the shipped digits at ε = 3 in a minute.

        Attributes:
    {attributes}
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
        check_together(self)
        check_origins(self)
        if self.private:
            check_start(self)


def _described() -> str:
    """An attribute of `RunSettings` a paragraph: what pages say of it, what it may be, and what its type adds."""
    paragraphs = []
    for name, kind in get_type_hints(RunValues, include_extras=True).items():
        field = FIELDS.get(name)
        parts = [field.help, _legal(field)] if field else []
        text = " ".join(filter(None, [*parts, *getattr(kind, "__metadata__", ())]))
        paragraphs.append(textwrap.fill(f"{name}: {text}", 120, initial_indent=8 * " ", subsequent_indent=12 * " "))
    return "\n".join(paragraphs)


def _legal(field: AnyField) -> str:
    if isinstance(field, Number):
        return f"{'A whole number' if field.whole else 'A number'} {_legal_in_calls(field)}."
    if isinstance(field, Choice) and not isinstance(field.options, Titles):  # one's own data are not listed
        return f"One of {', '.join(map(repr, field.means.values() if field.means else field.options))}."
    return ""


def _legal_in_calls(field: Number) -> str:
    """The range of a number; where pages offer a word, None stands for it."""
    return field.legal.replace(f", or {field.top}", ", or None") if field.top else field.legal


RunSettings.__doc__ = (RunSettings.__doc__ or "").replace("    {attributes}", _described())

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
            if field.whole and math.isinf(number):  # which a page's control says in place of None
                raise ValueError(name)
            field.check(number)
        except ValueError:
            kind = "a whole number " if field.whole else ""
            raise ValueError(
                f"Expected {name}={number:.12g} to be {kind}{_legal_in_calls(field)}; try {field.example}."
            ) from None
    elif isinstance(field, Choice) and not field.means:
        _validate.choice(name, value, tuple(field.options))
    else:
        allowed = tuple(field.means.values()) if isinstance(field, Choice) else (True, False)
        if not any(type(value) is type(one) and value == one for one in allowed):
            raise ValueError(f"Expected {name}={value!r} to be {' or '.join(map(str, allowed))}.")
