"""The value of each setting of a training run: numbers and names that JSON can hold, and the runs that it starts from.

>>> RunValues.from_json(RunValues().to_json()) == RunValues()
True
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.mechanisms import Event
from dpviz.training.samplers import read
from dpviz.training.samplers import stored as as_stored

# In the place of a run's id: earlier trainings of the same program, which need not have made the weights, and steps of
# the run itself that its checkpoint does not hold.
SAME_DATA, OTHER_DATA, LOST = "program: same data", "program: other data", "run: lost steps"
OWN_DATA = "own:python"  # of a program of somebody: no description of that name says anything of them


# Method → what its runs did before it could be chosen, where a stored run does not say.
_UNSAID = {"dp_sgld": {"langevin_noise": "algorithm1"}}
# Stored beside the values: what one learning rate is a step of. A run without it is from before the rate of these
# methods was in units of C: it multiplied the mean of clipped gradients itself, C included.
_RATE_UNIT, _RATE_IN_C = "rate_unit", "C"
_ONCE_WITHOUT_UNIT = frozenset({"dp_sgd", "dpvi"})


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A run that the weights come from.

    Attributes:
        run, name: Its id, and what people call it.
        data: What it was trained on, as in `RunSettings`.
        unit: Whose data its mechanisms protect, as in `RunSettings`.
        mechanisms: All that it may have spent, its whole plan wherever it ended, each as in `samplers.stored`.
        epsilon, delta: What it claims for its own data, earlier runs on them included; epsilon None for nothing.
        unbounded: Why `mechanisms` do not bound what it learned; empty where they do.
        replayable: Whether its noise came from a seed that is kept.
    """

    run: str
    name: str
    data: str
    mechanisms: tuple[tuple[Any, ...], ...] = ()
    epsilon: float | None = None
    delta: float = 1e-5
    unbounded: str = ""
    replayable: bool = False
    unit: str = "example"

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(read(one) for one in self.mechanisms)

    @property
    def demonstrations(self) -> bool:
        """Whether it stands for earlier demonstrations of the same program: no ε covers them, and none is added."""
        return self.run == SAME_DATA and self.replayable

    def to_json(self) -> dict[str, Any]:
        """JSON values; `from_json` gives the same origin back."""
        return dataclasses.asdict(self) | {"mechanisms": [list(one) for one in self.mechanisms]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """From `to_json`.

        Raises:
            ValueError: for what is no origin.
        """
        try:
            mechanisms = tuple(tuple(as_stored(*read(one))) for one in stored["mechanisms"])
            return cls(**{**stored, "mechanisms": mechanisms})
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError(f"Expected origins as runs with their mechanisms, found {error}.") from None


@dataclass(frozen=True, kw_only=True)
class RunValues:
    """Everything that decides a run: its settings with their types and defaults.

    What each is stands in its entry of `dpviz/fields/train.toml`, which pages show, and `help(RunSettings)` too; what a
    call has beside that, or what no page offers, stands with its type here.
    """

    data: Annotated[
        str, 'A key of `dpviz.training.data.DATA_SETS`, or "own:NAME" for what NAME.toml describes (`data.own`).'
    ] = "mnist-10k"
    data_folder: Annotated[str | None, "Folder of the user's with the files, None for DPVIZ_DATA or the cache."] = None
    model: Annotated[str, "Or what `PrivateTraining` trains."] = "cnn"
    method: Annotated[str, "Each says which of these settings it `reads`."] = "dp_sgd"
    policy: str = "fixed"
    optimiser: Annotated[str, "Of methods that leave the choice."] = "sgd"
    learning_rate: Annotated[float, "Where it is of the gradient itself, as in Li et al. 2019, Algorithm 1."] = 0.5
    learning_rate_end: float = 0.2
    momentum: float = 0.9
    step_exponent: Annotated[float, "p of η_t = η₁ t^(−p): 1/3, or 0 for a fixed step."] = 1.0 / 3.0
    langevin_noise: str = "sgld"
    friction: float = 0.1
    prior_std: Annotated[
        float, "Of the Langevin methods and DPVI, and as the ridge of the Bayesian logistic regression; 0 for none."
    ] = 0.0
    max_grad_norm: float = 0.1
    noise_multiplier: Annotated[float, "Of the Langevin methods it follows from the step size."] = 2.0
    views: int = 1
    unit: str = "example"
    sampler: str = "poisson"
    noise_decay: float = 0.0
    noise_band: int = 1
    batch_size: int = 1024
    steps: int = 150
    past_plan: str = "stop"
    most_steps: Annotated[int, "0 for `steps`."] = 0
    delta: float = 1e-5
    delta_mu: Annotated[float | None, "None for δ."] = None
    bayesian: Annotated[bool, "Here yes or no."] = False
    bayesian_distances: Annotated[str, "Pairs are no bound under sampling (`dpviz.training.accounts.bayesian`)."] = (
        "norms"
    )
    pairs: int = 32
    definition: int = 2
    followed: int = 0
    estimator_failure: Annotated[float, "γ, the probability that any Bayesian ε of the run is too low."] = 1e-15
    filter_epsilon: Annotated[
        float | None,
        "Under an adaptive policy None is the ε of its baseline (`accounts.live.promised`).",
    ] = None
    target_accuracy: float | None = None
    target_measure: str = "test"
    count_every: int = 1
    count_noise: float = 100.0
    margin_epochs: int = 2
    burn_in: int = 0
    sample_every: Annotated[int, "Steps between two posterior samples."] = 10
    evaluation_every: Annotated[int | None, "A target on test data is looked for every 10 steps then."] = None
    histogram_every: Annotated[int, "Steps between gradient-norm histograms; 0 for none."] = 5
    seed: int = 0
    secure_noise: bool = True
    start_from: Annotated[
        str | None, "Here a file with parameters (what `run` wrote to `weights_to`), None for random ones."
    ] = None
    origins: Annotated[
        tuple[Origin, ...], "The runs that those parameters come from, the latest first; empty where that is not known."
    ] = ()
    trained: str = "all"
    device: str = "auto"
    chunk_size: Annotated[int | None, "None lets dpviz choose (`engine.per_example.CHUNK_SIZE`)."] = None
    threads: Annotated[int, "CPU threads; 0 leaves PyTorch's number."] = 0

    @property
    def adaptive(self) -> bool:
        """Whether private counts decide about mechanisms, not only about when to stop."""
        return POLICIES[self.policy].adaptive

    @property
    def by_person(self) -> bool:
        """Whether a person with all their rows is what ε protects."""
        return self.unit == "person"

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
        origins = [origin.to_json() for origin in self.origins]
        return dataclasses.asdict(self) | {"origins": origins, _RATE_UNIT: _RATE_IN_C}

    @classmethod
    def from_json(cls, stored: dict[str, Any] | str) -> Self:
        """From `to_json`, or its text. Missing keys take their default, but a Bayesian run that does not say which
        distances it measured is from before there was a choice: pairs; one that names no definition: 1; and so is an
        adaptive one that names no margin: 50 epochs. One that does not say where its noise came from is from before it
        was secret: seeded. A dp_sgld one that does not say how much noise its steps add is from before there was a
        choice: that of Algorithm 1. One that does not say what its learning rate is a step of has the rate of its
        time, which is read in units of C.

        Raises:
            ValueError: for a key that does not exist, named.
        """
        values = json.loads(stored) if isinstance(stored, str) else dict(stored)
        if (unit := values.pop(_RATE_UNIT, None)) not in (None, _RATE_IN_C):
            raise ValueError(f"Expected {_RATE_UNIT}={unit!r} to be {_RATE_IN_C!r}.")
        names = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - names)
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
        values = _UNSAID.get(values.get("method", ""), {}) | values
        values["origins"] = tuple(Origin.from_json(origin) for origin in values.get("origins") or ())
        settings = cls(**values)
        return settings if unit or "learning_rate" not in values else settings._rate_in_units_of_c()

    def _rate_in_units_of_c(self) -> Self:
        """These settings, whose rate was of the mean itself: a step of the same length. Fifteen digits, as 12 × 0.1 is
        to be 1.2.
        """
        if self.method not in _ONCE_WITHOUT_UNIT or self.optimiser != "sgd":
            return self
        return self.with_(learning_rate=float(f"{self.learning_rate * self.max_grad_norm:.15g}"))

    def sample_rate(self, examples: int) -> float:
        """q for a training set of `examples`.

        Raises:
            ValueError: if the expected batch is larger than the data.
        """
        if self.batch_size > examples:
            raise ValueError(f"Expected batch_size={self.batch_size} <= {examples}, the number of training examples.")
        return self.batch_size / examples
