"""What a training run is asked to do: one frozen value of numbers and names that JSON can hold.

>>> settings = RunSettings()
>>> RunSettings.from_json(settings.to_json()) == settings
True
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass
from typing import Any, Self

from dpviz import _validate
from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.accounting.methods import PROVERS
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields.declared import any_kind, entries, field
from dpviz.fields.field import Choice, Field, Number
from dpviz.training.accounts.origins import Origin, check_origins
from dpviz.training.data import DATA_SETS
from dpviz.training.data.own.place import Titles, is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS, RECORDED
from dpviz.training.models.base import image
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
class RunSettings:
    """Everything that decides a run; the defaults reach 93 % on the shipped digits at ε = 3 in a minute.

    Attributes:
        data: One of `dpviz.training.data.DATA_SETS`, or "own:NAME" for what NAME.toml describes
            (`dpviz.training.data.own`).
        data_folder: Folder of the user's with the files, None for DPVIZ_DATA or the cache.
        model: One of `dpviz.training.models.MODELS`, or what `PrivateTraining` trains.
        method: One of `dpviz.training.methods.METHODS`, each of which says which of these settings it `reads`.
        policy: One of `dpviz.accounting.adaptive.policies.POLICIES`.
        optimiser: "sgd" or "adam", of methods that leave the choice.
        learning_rate: Step size; of the Langevin methods the first step size η₁ of Li et al. 2019, Algorithm 1.
        learning_rate_end: Share of the step size that is left at the plan's end, reached in a line; 1 keeps it.
        momentum: Of SGD, in [0, 1).
        step_exponent: p of η_t = η₁ t^(−p) of the Langevin methods: 1/3, or 0 for a fixed step.
        friction: β of dp_sghmc and dp_sgnht, in (0, 1]; where dp_sgnht begins.
        prior_std: Standard deviation of the Gaussian prior on the parameters, of the Langevin methods and DPVI, and as
            the ridge of the Bayesian logistic regression; 0 for none.
        max_grad_norm: C, the longest gradient that one example may add.
        noise_multiplier: σ ÷ C; of the Langevin methods it follows from the step size.
        views: K, how many shifted (and mirrored) views stand in for each example of a step, of methods that read it;
            its gradient is their mean, clipped as one (`dpviz.training.data.views`). 1 for the example itself.
        batch_size: Expected number of examples in a Poisson batch; q = batch_size / N.
        steps: T, the plan, fixed ahead.
        past_plan: What happens at step T: "stop", or "replan": go on with another T steps, up to `most_steps`.
        most_steps: Where a re-planned run ends; 0 for `steps`.
        delta: δ of moments, Rényi and odometer.
        delta_mu: δ_μ of the Bayesian accountant; None for δ.
        bayesian: Whether to measure gradient distances and account for Bayesian DP.
        bayesian_distances: "norms": of clipped gradients, what one example more or less changes; "pairs": between two
            examples, as the paper's authors measure them, no bound under sampling (see `bayesian_account`).
        pairs: Disjoint pairs a step for it; of twice as many examples the norms.
        definition: Of Bayesian DP (Triastcyn & Faltings 2020): 2, the guarantee that the paper states, converted as
            Rényi is; 1, a tail, converted as moments are.
        estimator_failure: γ, the probability that any Bayesian ε of the run is too low.
        filter_epsilon: Budget: the run ends before a step that would exceed it (RDP filter). None for no budget, or
            under an adaptive policy for the ε of its baseline (`dpviz.training.accounts.live.promised`).
        target_accuracy: The run ends once this accuracy is measured; None to go on.
        target_measure: "test": on public test data; "private": by a private count on the training data, charged.
        count_every: Epochs between private counts; 0 takes the paper's: 10, and 1 for fine-tuning.
        count_noise: Standard deviation of a count's noise; its sensitivity is 1.
        margin_epochs: Adaptive noise and batch lower a step's budget only while the filter would let pass more epochs
            than this; the paper takes 50.
        burn_in: Steps before posterior samples are averaged, of the Langevin methods.
        sample_every: Steps between two posterior samples.
        evaluation_every: Steps between evaluations on test data; 0 for the end only. None for every 10 steps, or less
            often where evaluations would take more than a tenth of the time. A target on test data is looked for every
            10 steps then.
        histogram_every: Steps between gradient-norm histograms; 0 for none.
        seed: Of everything random but, with `secure_noise`, batches and noise.
        secure_noise: Batches and noise from a seed of the system's cryptographic source, which is not kept. Without it
            the run is a demonstration: whoever knows `seed` can replay its noise, and no ε protects its data.
        start_from: File with the parameters to start from (what `run` wrote to `weights_to`), None for random ones.
        origins: The runs that those parameters come from, the latest first; empty where that is not known.
        trained: "all" parameters, or the "last" layer's alone: the others stay as they start.
        device: "auto" takes a GPU if there is one.
        threads: CPU threads; 0 leaves PyTorch's number.
    """

    data: str = "mnist-10k"
    data_folder: str | None = None
    model: str = "cnn"
    method: str = "dp_sgd"
    policy: str = "fixed"
    optimiser: str = "sgd"
    learning_rate: float = 5.0
    learning_rate_end: float = 0.2
    momentum: float = 0.9
    step_exponent: float = 1.0 / 3.0
    friction: float = 0.1
    prior_std: float = 0.0
    max_grad_norm: float = 0.1
    noise_multiplier: float = 2.0
    views: int = 1
    batch_size: int = 1024
    steps: int = 150
    past_plan: str = "stop"
    most_steps: int = 0
    delta: float = 1e-5
    delta_mu: float | None = None
    bayesian: bool = False
    bayesian_distances: str = "norms"
    pairs: int = 32
    definition: int = 2
    estimator_failure: float = 1e-15
    filter_epsilon: float | None = None
    target_accuracy: float | None = None
    target_measure: str = "test"
    count_every: int = 1
    count_noise: float = 100.0
    margin_epochs: int = 2
    burn_in: int = 0
    sample_every: int = 10
    evaluation_every: int | None = None
    histogram_every: int = 5
    seed: int = 0
    secure_noise: bool = True
    start_from: str | None = None
    origins: tuple[Origin, ...] = ()
    trained: str = "all"
    device: str = "auto"
    threads: int = 0

    @property
    def private(self) -> bool:
        """Whether its steps have noise."""
        return METHODS[self.method].private

    @property
    def adaptive(self) -> bool:
        """Whether private counts decide about mechanisms, not only about when to stop."""
        return POLICIES[self.policy].adaptive

    @property
    def changing(self) -> bool:
        """Whether each step is planned with a noise of its own."""
        return bool(METHODS[self.method].nodes(self))

    def reads(self, name: str) -> bool:
        """Whether the method or the model of this run reads the setting `name`, which not all do."""
        return name in METHODS[self.method].reads | RECORDED[self.model].reads

    @property
    def bayesian_delta(self) -> float:
        """δ_μ."""
        return self.delta if self.delta_mu is None else self.delta_mu

    @property
    def last_step(self) -> int:
        """The step after which the run ends whatever happens."""
        return max(self.steps, self.most_steps) if self.past_plan == "replan" else self.steps

    def with_(self, **changed: Any) -> Self:
        """The same settings but for what is named."""
        return dataclasses.replace(self, **changed)

    def to_json(self) -> dict[str, Any]:
        """A dict of JSON values; `from_json` gives the same settings back."""
        return dataclasses.asdict(self) | {"origins": [origin.to_json() for origin in self.origins]}

    @classmethod
    def from_json(cls, stored: dict[str, Any] | str) -> Self:
        """From `to_json`, or its text. Missing keys take their default, but a Bayesian run that does not say which
        distances it measured is from before there was a choice: pairs; one that names no definition: 1; and so is an
        adaptive one that names no margin: 50 epochs. One that does not say where its noise came from is from before it
        was secret: seeded.

        Raises:
            ValueError: for a key that does not exist, named.
        """
        values = json.loads(stored) if isinstance(stored, str) else dict(stored)
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"Expected settings of a run, found unknown {', '.join(unknown)}.")
        if values.get("bayesian"):
            for name, then in (("bayesian_distances", "pairs"), ("definition", 1), ("delta_mu", 1e-10)):
                values.setdefault(name, then)
        elif "definition" not in values:
            values.pop("delta_mu", None)  # of its time, and read by nothing
        if POLICIES.get(values.get("policy", ""), Fixed).adaptive:
            values.setdefault("margin_epochs", 50)
        values.setdefault("secure_noise", False)
        values["origins"] = tuple(Origin.from_json(origin) for origin in values.get("origins") or ())
        return cls(**values)

    def sample_rate(self, examples: int, batch_size: int | None = None) -> float:
        """q for a training set of `examples`.

        Raises:
            ValueError: if the expected batch is larger than the data.
        """
        batch = self.batch_size if batch_size is None else batch_size
        if batch > examples:
            raise ValueError(f"Expected batch_size={batch} <= {examples}, the number of training examples.")
        return batch / examples

    def check(self) -> None:
        """Refuse settings that cannot work whatever N is, before anything is loaded (with N: `live.check_run`).

        Raises:
            ValueError: naming the setting, its value and the way out.
        """
        _check_each(self)
        _check_together(self)
        check_origins(self)


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
    }
    readers = {
        name: " or ".join(repr(key) for key, kind in METHODS.items() if name in kind.reads)
        for name in ("policy", "views")
    }
    for rule, is_broken in broken.items():
        if is_broken:
            raise refusal(rule, s=settings, most=MOST_CHANGING, **readers)
    plain = {"policy": Fixed.key, "filter_epsilon": None, "bayesian": False, "target_measure": "test"}
    for name, off in () if settings.private else plain.items():
        if getattr(settings, name) != off:
            raise ValueError(
                f"Expected {name}={getattr(settings, name)!r} with a private method: plain 'sgd' has no privacy "
                f"to account for. Take {name}={off!r}."
            )
    by_test = settings.target_accuracy is not None and settings.target_measure == "test"
    if policy.ends and by_test:
        raise refusal("ends", s=settings)
    if settings.bayesian:
        _validate.delta_beyond_failure(settings.bayesian_delta, settings.estimator_failure, 1)


def steps_per_epoch(examples: int, batch_size: int) -> int:
    """As many steps as expected batches fit into the data, rounded up."""
    return max(1, math.ceil(examples / batch_size))
