"""DP-SGD: clip, sum, add noise, divide by the expected batch size, descend (Abadi et al. 2016, Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.mechanisms import SampledGaussian
from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.descent import descend

if TYPE_CHECKING:
    from torch import Tensor

    from dpviz.training.sampling import PoissonBatch


class DpSgd(Method):
    """Private descent; by the settings with momentum or as Adam."""

    key, label = "dp_sgd", "DP-SGD"
    words = "DP-SGD clips each example's gradient and adds noise."
    reads = Method.reads | {"optimiser", "momentum", "views"}

    def step(self, state: State, batch: PoissonBatch) -> tuple[State, Info]:
        found = self.clipped_sum(batch)
        noise = self.noise_like(found.total, state.noise_multiplier * self.settings.max_grad_norm)
        signal_length = found.total.norm() if self.watch else None
        gradient = found.total.add_(noise).div_(batch.expected)
        prior = self.prior_gradient(state.parameters)
        if prior is not None:
            gradient.add_(prior)
        info = Info(
            mechanism=SampledGaussian(state.noise_multiplier, batch.sample_rate),
            batch_size=batch.size,
            expected=batch.expected,
            losses=found.losses,
            norms=found.norms,
            distances=found.distances,
            step_size=self.learning_rate(self.settings, state.step + 1),
            signal=signal_length,
            noise=noise.norm() if self.watch else None,
        )
        return self.descend(state, gradient, info), info

    def descend(self, state: State, gradient: Tensor, info: Info) -> State:
        """What is made of the noisy mean gradient (p,): post-processing, whatever it is."""
        return descend(state, gradient, info.step_size, self.settings)
