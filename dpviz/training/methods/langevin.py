"""Private Langevin dynamics: the noise that makes samples of a posterior also makes them private (Li et al. 2019).

DP-SGLD, with τ the expected batch size and L the clipping threshold:

    θ ← θ − η_t (∇(−log p(θ))/N + (1/τ) Σ_{i∈J} g̃_i) + N(0, (2η_t/N) I),    η_t = η₁ t^(−1/3) or η_t = η.

This noise samples the posterior (Welling & Teh 2011). Algorithm 1 of Li et al. prints N(0, (η_t/N) I), with which the
chain has about half of the posterior's variance; `langevin_noise="algorithm1"` repeats it.

DP-SGHMC with friction β:

    m ← (1 − β) m − η_t (∇(−log p(θ))/N + (1/τ) Σ_{i∈J} g̃_i) + N(0, (2βη_t/N) I),    θ ← θ + m.

DP-SGNHT, the thermostat of Ding et al. 2014, where the friction is ξ instead of β, with d parameters:

    m ← (1 − ξ) m − η_t (∇(−log p(θ))/N + (1/τ) Σ_{i∈J} g̃_i) + N(0, (2βη_t/N) I),    θ ← θ + m,
    ξ ← ξ + ‖m‖²/d − η_t/N,    ξ = β at first.

Each step releases Σ g̃_i with Gaussian noise, whose multiplier is the noise's standard deviation ÷ (η_t L/τ). Momentum
and friction are post-processing of what was released: ξ is made of momenta, and momenta of noisy gradients alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from dpviz.accounting.langevin.cost import NOISES
from dpviz.accounting.renyi.varying_noise import node_steps
from dpviz.mechanisms import SampledGaussian
from dpviz.training.methods.base import Info, Method, State

if TYPE_CHECKING:
    from torch import Tensor

    from dpviz.training.sampling import Batch
    from dpviz.training.values import RunValues


def noise_multiplier(noise_std: float, step_size: float, *, batch_size: float, max_grad_norm: float) -> float:
    """σ of the sampled Gaussian step that θ − (η/τ) Σ g̃_i + N(0, noise_std²) is: noise_std ÷ (ηL/τ)."""
    return noise_std * batch_size / (step_size * max_grad_norm)


class _Langevin(Method):
    posterior = True
    reads = frozenset({"step_exponent", "prior_std", "burn_in", "sample_every"})

    @classmethod
    def learning_rate(cls, settings: RunValues, step: int) -> float:
        """η₁ t^(−p) (Li et al. 2019, Theorems 3 and 4)."""
        return float(settings.learning_rate * step**-settings.step_exponent)

    @classmethod
    def noise_std(cls, settings: RunValues, step_size: float, examples: int) -> float:
        """Standard deviation of the noise that a step adds to each parameter: √(2η_t/N), or √(η_t/N) of Algorithm 1."""
        return math.sqrt(NOISES[settings.langevin_noise] * step_size / examples)

    @classmethod
    def mechanism(cls, settings: RunValues, step: int, examples: int) -> SampledGaussian:
        size = cls.learning_rate(settings, step)
        std = cls.noise_std(settings, size, examples)
        sigma = noise_multiplier(std, size, batch_size=settings.batch_size, max_grad_norm=settings.max_grad_norm)
        return SampledGaussian(sigma, settings.sample_rate(examples))

    @classmethod
    def nodes(cls, settings: RunValues) -> tuple[int, ...]:
        return node_steps(settings.step_exponent) if settings.step_exponent > 0.0 else ()

    def step(self, state: State, batch: Batch) -> tuple[State, Info]:
        size = self.learning_rate(self.settings, state.step + 1)
        std = self.noise_std(self.settings, size, self.examples)
        clipped = self.clipped_sum(batch)
        drift = clipped.total * (size / batch.expected)
        prior = self.prior_gradient(state.parameters)
        if prior is not None:
            drift.add_(prior, alpha=size)
        noise = self.noise_like(drift, std)
        bound, scale = self.settings.max_grad_norm, batch.expected / size
        sigma = noise_multiplier(std, size, batch_size=batch.expected, max_grad_norm=bound)
        info = self.report(batch, clipped, noise, mechanism=batch.mechanism(sigma), step_size=size, scale=scale)
        self._move(state, noise.sub(drift))
        return state._replace(step=state.step + 1), info

    def _move(self, state: State, change: Tensor) -> None:
        state.parameters.add_(change)


class DpSgld(_Langevin):
    """Stochastic gradient Langevin dynamics with clipped gradients."""

    key, label = "dp_sgld", "DP-SGLD"
    words = "DP-SGLD uses such steps to sample from the posterior: its noise follows from the step size."
    reads = _Langevin.reads | {"langevin_noise"}
    usual: ClassVar = {"learning_rate": 1.0, "max_grad_norm": 5.0, "steps": 60.0}


class DpSghmc(_Langevin):
    """Stochastic gradient Hamiltonian Monte Carlo with clipped gradients."""

    key, label = "dp_sghmc", "DP-SGHMC"
    words = "DP-SGHMC is DP-SGLD with momentum."
    reads = _Langevin.reads | {"friction"}
    usual: ClassVar = {"learning_rate": 0.1, "max_grad_norm": 5.0, "steps": 60.0}

    @classmethod
    def noise_std(cls, settings: RunValues, step_size: float, examples: int) -> float:
        """Of each momentum: √(2βη_t/N)."""
        return math.sqrt(2.0 * settings.friction * step_size / examples)

    def _move(self, state: State, change: Tensor) -> None:
        state.momentum.mul_(1.0 - self.settings.friction).add_(change)
        state.parameters.add_(state.momentum)


class DpSgnht(DpSghmc):
    """Stochastic gradient Nosé–Hoover thermostat with clipped gradients: SGHMC whose friction follows the momentum.

    Where batches add noise of their own, ‖m‖²/d exceeds η/N, the friction grows and takes the heat away.
    """

    key, label = "dp_sgnht", "DP-SGNHT"
    words = "DP-SGNHT is DP-SGHMC with a friction that adapts to the momentum (a thermostat)."

    def init(self, parameters: Tensor) -> State:
        """As every method; `second` holds the friction ξ."""
        return super().init(parameters)._replace(second=parameters.new_full((1,), self.settings.friction))

    def _move(self, state: State, change: Tensor) -> None:
        state.momentum.mul_(1.0 - state.second).add_(change)
        state.parameters.add_(state.momentum)
        size = self.learning_rate(self.settings, state.step + 1)
        state.second.add_(state.momentum.square().mean()).sub_(size / self.examples)
