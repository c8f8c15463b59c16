"""The value of each setting of a training run: numbers and names that JSON can hold, and the runs that it starts from.

>>> RunValues.from_json(RunValues().to_json()) == RunValues()
True
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dpviz.accounting.adaptive.policies import POLICIES, Fixed
from dpviz.mechanisms import Event
from dpviz.training.samplers import read
from dpviz.training.samplers import stored as as_stored

# In the place of a run's id: earlier trainings of the same program, which need not have made the weights.
SAME_DATA, OTHER_DATA = "program: same data", "program: other data"


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
        unit: Whose data ε protects: "example", or "person", all of whose rows join a batch together and are clipped as
            one; N, C and batch_size then count persons. Of data that name persons.
        sampler: How batches are drawn, one of `dpviz.training.samplers.SAMPLERS`.
        noise_decay: λ in [0, 1): a step's noise is z_t − λ z_{t−1}, with sampler="order"; 0 for independent noise.
        noise_band: w: a step's noise takes back parts of the last w − 1 ones' (`BandedNoise`), likewise; 1 for none.
        batch_size: Expected number of examples in a batch; q = batch_size / N.
        steps: T, the plan, fixed ahead.
        past_plan: What happens at step T: "stop", or "replan": go on with another T steps, up to `most_steps`.
        most_steps: Where a re-planned run ends; 0 for `steps`.
        delta: δ of moments, Rényi and mixture odometer.
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
    unit: str = "example"
    sampler: str = "poisson"
    noise_decay: float = 0.0
    noise_band: int = 1
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
        values["origins"] = tuple(Origin.from_json(origin) for origin in values.get("origins") or ())
        return cls(**values)

    def sample_rate(self, examples: int) -> float:
        """q for a training set of `examples`.

        Raises:
            ValueError: if the expected batch is larger than the data.
        """
        if self.batch_size > examples:
            raise ValueError(f"Expected batch_size={self.batch_size} <= {examples}, the number of training examples.")
        return self.batch_size / examples
