"""DP-SGD: clip, sum, add noise, divide by the expected batch size, descend (Abadi et al. 2016, Algorithm 1).

The learning rate η is in units of C: the optimiser follows the noisy mean divided by C, to which each example adds a
vector of length one at most (De et al. 2022, §2). A step is then as long whatever C is, while most gradients are
clipped; the rate that multiplies the mean itself, as most papers state it, is η/C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.mechanisms import BandedNoise
from dpviz.training.methods.base import Info, Method, State
from dpviz.training.samplers import correlated

if TYPE_CHECKING:
    from torch import Tensor

    from dpviz.training.sampling import Batch
    from dpviz.training.values import RunValues

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # β₁, β₂ and ε of Adam


def descend(state: State, gradient: Tensor, step_size: float, settings: RunValues, *, unit: float = 1.0) -> State:
    """θ moved against `gradient` (p,) ÷ `unit`, in place; post-processing of the gradient, so it costs nothing."""
    done = state.step + 1
    if settings.optimiser == "adam":
        # Kingma & Ba 2015, Algorithm 1.
        state.momentum.mul_(FIRST).add_(gradient, alpha=1.0 - FIRST)
        state.second.mul_(SECOND).addcmul_(gradient, gradient, value=1.0 - SECOND)
        scale = (state.second / (1.0 - SECOND**done)).sqrt_().add_(SMALL * unit)
        state.parameters.addcdiv_(state.momentum, scale, value=-step_size / (1.0 - FIRST**done))
    else:
        state.momentum.mul_(settings.momentum).add_(gradient)
        state.parameters.add_(state.momentum, alpha=-step_size / unit)
    return state._replace(step=done)


class DpSgd(Method):
    """Private descent; by the settings with momentum or as Adam."""

    key, label = "dp_sgd", "DP-SGD"
    words = "DP-SGD clips each example's gradient and adds noise."
    rate_in_c = True
    reads = Method.reads | {"optimiser", "momentum", "views", "unit", "sampler", "noise_decay", "noise_band"}
    reads |= {"followed"}

    def step(self, state: State, batch: Batch) -> tuple[State, Info]:
        clipped = self.clipped_sum(batch)
        fresh = self.noise_like(clipped.total, state.noise_multiplier * self.settings.max_grad_norm)
        noise, state = self.correlated(fresh, state)
        step_size = self.learning_rate(self.settings, state.step + 1)
        decay, band = self.settings.noise_decay, self.settings.noise_band
        mechanism = correlated(batch.mechanism(state.noise_multiplier), state.step + 1, decay=decay, band=band)
        info = self.report(batch, clipped, noise, mechanism=mechanism, step_size=step_size)
        gradient = clipped.total.add_(noise).div_(batch.expected)
        prior = self.prior_gradient(state.parameters)
        if prior is not None:
            gradient.add_(prior)
        return self.descend(state, gradient, info), info

    def correlated(self, fresh: Tensor, state: State) -> tuple[Tensor, State]:
        """Row t of C⁻¹Z (`dpviz.mechanisms.correlated`) from `fresh` z_t and what was kept, and the next state."""
        decay, band = self.settings.noise_decay, self.settings.noise_band
        shares = BandedNoise(1.0, band, band).column(band)[1:].tolist() if band > 1 else [decay] if decay else []
        noise = fresh.clone() if shares else fresh
        for share, past in zip(shares, state.earlier, strict=False):
            noise.sub_(past, alpha=share)
        kept = noise if band > 1 else fresh
        return noise, state._replace(earlier=(kept, *state.earlier)[: len(shares)])

    def descend(self, state: State, gradient: Tensor, info: Info) -> State:
        """What is made of the noisy mean gradient (p,): post-processing, whatever it is."""
        return descend(state, gradient, info.step_size, self.settings, unit=self.settings.max_grad_norm)
