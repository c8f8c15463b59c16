"""DP-AdamBC: Adam whose second moment is corrected for the noise (Tang, Shpilevskiy and Lécuyer 2024, Algorithm 1).

Each entry of the noisy mean gradient has the noise's variance Φ = (σC/B)² on top. With Φ left in, Adam's denominator is
nearly the same everywhere and its steps are those of DP-SGD; so Φ is taken off: max(v̂ − Φ, γ'). Here off each square,
which leaves the same v̂ − Φ while σ and B stay, and the right one where a policy changes them. Steps are the same
whatever C is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.dp_sgd import FIRST, SECOND, SMALL, DpSgd

if TYPE_CHECKING:
    from torch import Tensor

FLOOR = 0.1  # γ' ÷ Φ: three standard deviations of v̂ where there is noise alone


class DpAdam(DpSgd):
    """DP-SGD's clipped and noisy gradient, Adam's step with the corrected second moment."""

    key, label = "dp_adam", "DP-Adam, bias-corrected"
    words = "DP-Adam subtracts the noise's share from Adam's second moment."
    reads = Method.reads | {"views", "unit", "sampler", "followed"}
    rate_in_c = False  # Adam's steps have the length of the rate
    usual: ClassVar = {"learning_rate": 0.003}

    def adam(self) -> bool:
        return True

    def descend(self, state: State, gradient: Tensor, info: Info) -> State:
        done, variance = state.step + 1, (state.noise_multiplier * self.settings.max_grad_norm / info.expected) ** 2
        state.momentum.mul_(FIRST).add_(gradient, alpha=1.0 - FIRST)
        state.second.mul_(SECOND).addcmul_(gradient, gradient, value=1.0 - SECOND).sub_((1.0 - SECOND) * variance)
        scale = (
            (state.second / (1.0 - SECOND**done))
            .clamp_(min=max(FLOOR * variance, (SMALL * self.settings.max_grad_norm) ** 2))
            .sqrt_()
        )
        state.parameters.addcdiv_(state.momentum, scale, value=-info.step_size / (1.0 - FIRST**done))
        return state._replace(step=done)
