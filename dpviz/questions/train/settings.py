"""The run that a plan's settings describe, and the settings that describe a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any

from dpviz._remember import remembered
from dpviz.accounting.adaptive.policies import POLICIES, Fixed, Policy
from dpviz.accounting.methods import Tight
from dpviz.questions import Compound, Setting
from dpviz.questions.layout import Reader, Values, of_texts
from dpviz.questions.train.facts import unsuited
from dpviz.questions.train.solving import solved_noise
from dpviz.training.accounts.counting import planned_counts
from dpviz.training.accounts.live import check_run
from dpviz.training.accounts.origins import names, spent_before
from dpviz.training.data.own.place import data_of
from dpviz.training.defaults import recommended, units_of
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.models.base import image
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import InOrder, Poisson, equal_steps
from dpviz.training.settings import FIELDS, RunSettings

if TYPE_CHECKING:
    from dpviz.runs.claims import StartFrom


def _start(get: Reader) -> StartFrom | None:
    """Read only where a start is chosen: what looks at runs is not there wherever questions are."""
    run, data, model = (get(FIELDS[name]) for name in ("start_from", "data", "model"))
    if not run:
        return None
    from dpviz.questions.train.start import start

    return start(run, data, model)


# What a plan asks for, by the names of `RunSettings`.
SETTINGS: dict[str, Setting] = FIELDS | {
    "start_from": Compound(
        {"start_from": FIELDS["start_from"]},
        _start,
        lambda start: {FIELDS["start_from"].key: start.origins[0].run} if start else {},
    )
}
ValueOf = Callable[[str], Any]  # of a setting, by its name
CORRELATION = {"noise_decay", "noise_band"}
_RUN = {field.name for field in fields_of(RunSettings)}
# Settings that not all methods and models read.
_SOME_READ = frozenset().union(*(m.reads for m in METHODS.values()), *(m.reads for m in MODELS.values()))


def acting(of: ValueOf) -> frozenset[str]:
    """Names of the settings that act beside the others, which `of` tells by name; a run has the rest at its default."""
    method, model, data = METHODS[of("method")], MODELS[of("model")], data_of(of("data"))
    reads = method.reads | model.reads
    persons = "unit" in reads and data.persons > 0
    of_persons = persons and of("unit") == "person"
    by_coins = "sampler" not in reads or of("sampler") == Poisson.key
    examples_by_coins = by_coins and not of_persons
    reads -= {"views"} if of_persons else set()
    reads -= set() if examples_by_coins else {"policy"}
    policy = POLICIES[of("policy")] if "policy" in reads else Fixed
    only = {
        "trained": method.partly and model.last_inputs is not None,
        "views": "views" in reads and model.features is None and image(data.shape),
        "momentum": "momentum" in reads and ("optimiser" not in reads or of("optimiser") == "sgd"),
        "margin_epochs": policy.saves,
        "most_steps": of("past_plan") == "replan",
        "chunk_size": method.private,
        "followed": "followed" in reads and examples_by_coins and of("views") == 1 and of("unit") == "example",
    }
    only |= _of_noise(of, reads, by_coins=by_coins)
    only |= _of_promise(of, private=method.private, persons=persons, by_coins=by_coins)
    only |= _of_measurements(of, policy, possible=method.private and examples_by_coins)
    return frozenset(name for name in FIELDS if only.get(name, name in reads or name not in _SOME_READ))


def _of_noise(of: ValueOf, reads: frozenset[str], *, by_coins: bool) -> dict[str, bool]:
    """Which settings of the noise act: σ itself or a target that it is solved for, and how steps share noise."""
    chosen = "noise_multiplier" in reads
    solved = chosen and of("noise_by") == "target"
    return {
        "noise_by": chosen,
        "noise_multiplier": chosen and not solved,
        "target_epsilon": solved,
        "solver": solved and by_coins,
    } | dict.fromkeys(CORRELATION, reads >= CORRELATION and of("sampler") == InOrder.key)


def _of_promise(of: ValueOf, *, private: bool, persons: bool, by_coins: bool) -> dict[str, bool]:
    """Which settings of what a run promises act; `persons`: whether it can protect all rows of a person together."""
    return {
        # Whom ε covers is a promise: where it cannot be kept, it is refused in words, and can be changed there.
        "unit": persons or (private and of("unit") == "person"),
        "delta": private,
        "max_grad_norm": private,
        "filter_epsilon": private and by_coins,
    }


def _of_measurements(of: ValueOf, policy: type[Policy], *, possible: bool) -> dict[str, bool]:
    """Which settings act of what a run measures on its private data: distances of gradients, and private counts."""
    bayesian = possible and of("bayesian") not in ("0", False)
    counts = possible and (policy.adaptive or of("target_measure") == "private")
    return {
        "bayesian": possible,
        "target_measure": possible and not policy.ends,
        "count_noise": counts,
        "count_every": counts,
    } | dict.fromkeys(("bayesian_distances", "pairs", "definition", "delta_mu"), bayesian)


def run_settings(values: Values) -> RunSettings:
    """The run, its noise solved for where a target ε was chosen.

    Args:
        values: Of all `SETTINGS`, by name.

    Raises:
        ValueError: where the settings cannot work, naming the setting first ("Expected batch_size=…").
    """
    if wrong := unsuited(values["data"], values["model"]):
        raise ValueError(f"Expected model={values['model']!r} to read the data: {wrong}")
    act = acting(values.__getitem__)
    start: StartFrom | None = values["start_from"]
    settings = RunSettings(**{name: values[name] for name in act & _RUN - {"bayesian", "start_from", "trained"}})
    settings = settings.with_(start_from=start.weights, origins=start.origins) if start else settings
    if start and "trained" in act:
        settings = settings.with_(trained=values["trained"])
    policy = POLICIES[settings.policy]
    if policy.ends:
        settings = settings.with_(target_measure="private")
        if settings.target_accuracy is None:
            raise ValueError(
                f"Expected target_accuracy with policy={settings.policy!r}, which ends when it is reached: take "
                "0.93, for example."
            )
    # Auto: where it costs little. Where every step has a noise of its own, it takes more than a tenth of a step's time.
    wanted = not settings.changing if values["bayesian"] == "auto" else values["bayesian"]
    settings = settings.with_(bayesian="bayesian" in act and wanted and not no_bayesian(settings))
    settings.check()
    if "target_epsilon" in act:
        solver = values["solver"] if "solver" in act else Tight.name
        settings = _solved(settings, values["target_epsilon"], solver)
    check_run(settings, units_of(settings))
    return settings


def no_bayesian(settings: RunSettings) -> str:
    """Why there can be no Bayesian ε beside these settings, in words; empty where there can."""
    if earlier := names(settings):
        return f"it needs the gradients of every step, but those of {earlier} were not kept"
    if settings.delta_mu is None and settings.delta <= settings.estimator_failure:
        return f"its bound fails with probability γ = {settings.estimator_failure:g}, and δ_μ = δ is not above that"
    return ""


def _solved(settings: RunSettings, target: float, solver: str) -> RunSettings:
    """With the least noise for `target`, what was spent on the same data before included.

    Under an adaptive policy the target is also what the run promises. Such a run may go on past its T steps with what
    it saved; a fixed plan that does pays for all it may take.
    """
    examples = units_of(settings)
    steps = settings.steps if settings.adaptive else settings.last_step
    counts = planned_counts(settings.with_(steps=steps), examples)
    mechanism, times = equal_steps(mechanism_at(settings, 1, examples), steps)
    sigma = solved_noise(
        target,
        solver,
        mechanism,
        times,
        settings.delta,
        counts=counts,
        count_noise=settings.count_noise if counts else 0.0,
        before=spent_before(settings),
        named=names(settings),
        batch_size=settings.batch_size,
        adaptive=settings.adaptive,
    )
    settings = settings.with_(noise_multiplier=sigma)
    if settings.adaptive and settings.filter_epsilon is None:
        settings = settings.with_(filter_epsilon=target)
    return settings


def texts_of(settings: RunSettings, slow: float = 0.0) -> dict[str, str]:
    """The plan that describes these settings, as texts of fields by their keys; σ is by hand."""
    start = settings.origins[0].run if settings.origins else ""
    values = {**vars(settings), "noise_by": "sigma", "start_from": start, "slow": slow}
    texts = {}
    for name, field in FIELDS.items():
        with suppress(KeyError, ValueError):  # what pages do not offer
            texts[field.key] = field.write(field.accept(values[name]))
    get = of_texts(texts)
    act = acting(lambda name: get(FIELDS[name]))
    return {field.key: texts[field.key] for name, field in FIELDS.items() if name in act and field.key in texts}


def usual(data: str, model: str, method: str) -> dict[str, Any]:
    """Batch, steps, learning rate and C that train well, by name: what a page takes when one of these three changes."""
    settings = _recommended(data, model)
    named = ("batch_size", "steps", "learning_rate", "max_grad_norm")
    return {**{name: getattr(settings, name) for name in named}, **METHODS[method].usual}


@remembered
def _recommended(data: str, model: str) -> RunSettings:
    return recommended(data, model, target_epsilon=FIELDS["target_epsilon"].default)
