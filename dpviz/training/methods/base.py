"""The interface of training methods: their words, what their steps release, `init(parameters) → state` and `step`.

Pages read these files too, and load no PyTorch: they import it for types alone, and call tensors' own methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dpviz import _validate
from dpviz.mechanisms import Mechanism
from dpviz.training.samplers import SAMPLERS, correlated

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from dpviz.training.engine.per_example import Clipped, PerExample
    from dpviz.training.sampling import Batch
    from dpviz.training.values import RunValues


class Info(NamedTuple):
    """What one step did. Tensors stay on the device: reading them is left to whoever wants to wait.

    Attributes:
        mechanism: What the step released, or is one of the steps of, from its own noise and batch; None if it is not
            private, or where its epoch is charged already.
        batch_size, expected: Real and expected number of examples.
        losses: Of each example, (b,); padding beyond `batch_size`.
        norms: Gradient norms, (b,), likewise; None where they are not known.
        distances: Of disjoint pairs of clipped gradients, float64 (p,); None if not asked for.
        step_size: Learning rate, in units of C where the method descends by clipped gradients.
        signal, noise: Lengths of the sum before the noise and of the noise on the sum; None unless asked for.
        followed: Lengths of the clipped gradients of the followed examples, float64 (followed,); None without any.
    """

    mechanism: Mechanism | None
    batch_size: int
    expected: float
    losses: Tensor
    norms: Tensor | None
    distances: Tensor | None
    step_size: float
    signal: Tensor | None = None
    noise: Tensor | None = None
    followed: Tensor | None = None


class State(NamedTuple):
    """Of any method.

    Attributes:
        parameters: θ, (p,): the network's own memory, written in place.
        momentum: (p,).
        second: Adam's second moment, (p,); the friction of a thermostat, (1,); (0,) for the others.
        step: Steps taken.
        noise_multiplier: σ of the coming steps; a policy may replace it. Langevin methods do not read it.
        earlier: What later steps take back shares of, the latest first, (p,) each: z_{t−1} where c_k = λ^k, the noise
            of the last w − 1 steps where it is banded.
    """

    parameters: Tensor
    momentum: Tensor
    second: Tensor
    step: int
    noise_multiplier: float
    earlier: tuple[Tensor, ...] = ()


class Method(ABC):
    """One way to train.

    Class attributes say what pages and accounts ask before a run:
        key, label: Its name in settings and links; on pages.
        words: A sentence for the form.
        private: Whether its steps add noise to clipped sums.
        posterior: Whether its parameters are samples of the posterior, whose predictions are averaged.
        needs_prior: Whether `prior_std` must be given.
        partly: Whether it can train the last layer alone.
        rate_in_c: Whether its learning rate is in units of C: the mean of clipped gradients is divided by C.
        reads: Settings that act, of those that do not for every method; the form shows their controls.
        usual: Settings that train well with it, where those of model and data do not.

    Args:
        engine: Per-example gradients of the network whose parameters `init` gets.
        settings: Step sizes, C and the like.
        examples: N.
        noise: Where noise comes from, on the device of the parameters.

    Attributes:
        watch: Whether steps should measure `Info.signal` and `Info.noise` (slow motion).
        pairs: Disjoint pairs whose distances each step measures; 0 for none.
        measured: Examples whose clipped norms each step reports as distances; 0 for none.
    """

    key: ClassVar[str]
    label: ClassVar[str]
    words: ClassVar[str]
    private: ClassVar[bool] = True
    posterior: ClassVar[bool] = False
    needs_prior: ClassVar[bool] = False
    partly: ClassVar[bool] = True
    rate_in_c: ClassVar[bool] = False
    reads: ClassVar[frozenset[str]] = frozenset({"noise_multiplier", "policy", "learning_rate_end"})
    usual: ClassVar[Mapping[str, float]] = {}

    @classmethod
    def learning_rate(cls, settings: RunValues, step: int) -> float:
        """Step size of `step`, counted from 1: a line that ends at `learning_rate_end` of the first."""
        done = min((step - 1) / max(settings.steps - 1, 1), 1.0)
        return settings.learning_rate * (1.0 - done * (1.0 - settings.learning_rate_end))

    @classmethod
    def mechanism(cls, settings: RunValues, step: int, examples: int) -> Mechanism | None:
        """What `step` of N examples releases, or is one of the steps of; None for a method without privacy."""
        batch_size = settings.batch_size
        settings.sample_rate(examples)  # refuses a batch that is larger than the data
        sampler = SAMPLERS[settings.sampler]
        mechanism = sampler.mechanism(settings.noise_multiplier, examples=examples, batch_size=batch_size)
        return correlated(mechanism, step, decay=settings.noise_decay, band=settings.noise_band)

    @classmethod
    def nodes(cls, settings: RunValues) -> tuple[int, ...]:
        """Where each step has another σ: steps whose σ a table of accountants holds. Empty where all are equal."""
        return ()

    @classmethod
    def prepare(cls, network: nn.Module) -> nn.Module:
        """The network whose parameters are trained, made of the model's."""
        return network

    def __init__(self, engine: PerExample, settings: RunValues, *, examples: int, noise: torch.Generator) -> None:
        self.engine, self.settings, self.examples, self.generator = engine, settings, examples, noise
        self.watch = False
        by_norm = settings.bayesian_distances == "norms"
        self.pairs = settings.pairs if settings.bayesian and not by_norm else 0
        self.measured = 2 * settings.pairs if settings.bayesian and by_norm else 0

    def init(self, parameters: Tensor) -> State:
        """The state before the first step; `parameters` is kept and written into."""
        _validate.noise_multiplier(self.settings.noise_multiplier)
        momentum, second = (parameters.new_zeros(parameters.shape if kept else 0) for kept in (True, self.adam()))
        return State(parameters, momentum, second, 0, self.settings.noise_multiplier)

    def adam(self) -> bool:
        """Whether the state holds a second moment."""
        return self.settings.optimiser == "adam"

    @abstractmethod
    def step(self, state: State, batch: Batch) -> tuple[State, Info]:
        """One step on one batch, which may be empty: the noise is added and counted all the same."""

    def draws(self) -> Iterator[None]:
        """Where predictions are averages over a distribution of weights: the network at one draw after another."""
        yield from ()

    def weights(self, parameters: Tensor) -> dict[str, Tensor]:
        """What a run leaves behind: "parameters" of the model's own network, and what else is known of them."""
        return {"parameters": parameters}

    def clipped_sum(self, batch: Batch) -> Clipped:
        """Σ clipped g_i: one example, or one person with all their rows, changes it by at most C."""
        # The batch comes in random order: neighbours are disjoint random pairs.
        pairs = min(self.pairs, batch.size // 2) or None
        clipped = self.engine.clipped(
            batch.x, batch.y, max_grad_norm=self.settings.max_grad_norm, pairs=pairs, real=batch.real
        )
        if self.measured and batch.size:
            clipped = clipped._replace(distances=clipped.changes[: min(self.measured, batch.size)])
        return clipped

    def report(
        self,
        batch: Batch,
        clipped: Clipped,
        noise: Tensor,
        *,
        mechanism: Mechanism,
        step_size: float,
        scale: float = 1.0,
    ) -> Info:
        """What a step that released `mechanism` did; asked before `noise`, times `scale`, is on the sum."""
        return Info(
            mechanism=mechanism,
            batch_size=batch.size,
            expected=batch.expected,
            losses=clipped.losses,
            norms=clipped.norms,
            distances=clipped.distances,
            step_size=step_size,
            signal=clipped.total.norm() if self.watch else None,
            noise=noise.norm() * scale if self.watch else None,
        )

    def noise_like(self, vector: Tensor, std: float) -> Tensor:
        """N(0, std²) in every entry."""
        return vector.new_empty(vector.shape).normal_(0.0, std, generator=self.generator)

    def prior_gradient(self, parameters: Tensor) -> Tensor | None:
        """∇(−log p(θ))/N of a Gaussian prior; None without one. It knows no data, so it costs no privacy."""
        if self.settings.prior_std == 0.0:
            return None
        return parameters / (self.settings.prior_std**2 * self.examples)
