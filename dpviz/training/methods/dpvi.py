"""DPVI: doubly stochastic variational inference by private steps (Jälkö, Dikmen and Honkela 2017, Algorithm 1).

The posterior of the weights is approximated by independent Gaussians with means m and standard deviations exp(ρ). One
step draws η ~ N(0, I) and descends

    −ELBO/N = (1/N) Σ_i −ln p(y_i | m + exp(ρ) η) + KL(N(m, exp(2ρ)) ‖ N(0, τ²))/N.

Only the sum knows data: each example's gradient towards (m, ρ) is clipped as one vector of 2p numbers, and noise is
added to all of them, so a step is DP-SGD's and every account of DP-SGD holds for it. η knows no data, and the second
term is added after the noise; the authors clip it with the first, which costs accuracy and spares no privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from dpviz.training.methods.base import Info, State
from dpviz.training.methods.dp_sgd import DpSgd

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dpviz.training.networks.variational import Variational
    from dpviz.training.sampling import Batch

PREDICTIONS = 16  # draws whose predictions an evaluation averages
_SEED = 1610  # of those draws, so that two evaluations differ by the posterior alone


class Dpvi(DpSgd):
    """DP-SGD on means and log standard deviations of the weights."""

    key, label = "dpvi", "DPVI, variational inference"
    words = "DPVI uses DP-SGD to learn a posterior: means and spreads of the weights. It is made for regressions."
    reads = (DpSgd.reads - {"views", "followed"}) | {"prior_std"}
    needs_prior = True
    partly = False
    usual: ClassVar = {"prior_std": 1.0}

    @classmethod
    def prepare(cls, network: nn.Module) -> nn.Module:
        from dpviz.training.networks.variational import Variational  # not above: pages read this file

        return Variational(network)

    @property
    def variational(self) -> Variational:
        return cast("Variational", self.engine.network)

    def init(self, parameters: Tensor) -> State:
        self.variational.draw.zero_()
        return super().init(parameters)

    def step(self, state: State, batch: Batch) -> tuple[State, Info]:
        self.variational.draw.normal_(generator=self.generator)
        try:
            return super().step(state, batch)
        finally:
            self.variational.draw.zero_()  # between steps the network is the one at the mean

    def prior_gradient(self, parameters: Tensor) -> Tensor:
        """∇ KL(N(m, s²) ‖ N(0, τ²))/N = (m/τ², s²/τ² − 1)/N."""
        mean, log_std = parameters.chunk(2)
        gradient = parameters.new_empty(parameters.shape)
        towards_mean, towards_log_std = gradient.chunk(2)
        towards_mean.copy_(mean).div_(self.settings.prior_std**2)
        towards_log_std.copy_(log_std).mul_(2.0).exp_().div_(self.settings.prior_std**2).sub_(1.0)
        return gradient.div_(self.examples)

    def draws(self) -> Iterator[None]:
        import torch  # not above: pages read this file

        draw = self.variational.draw
        random = torch.Generator(device=draw.device)
        random.manual_seed(_SEED)
        try:
            for _ in range(PREDICTIONS):
                draw.normal_(generator=random)
                yield
        finally:
            draw.zero_()

    def weights(self, parameters: Tensor) -> dict[str, Tensor]:
        mean, log_std = parameters.chunk(2)
        return {"parameters": mean, "log_std": log_std}
