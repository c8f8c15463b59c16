"""Training without privacy, on the same Poisson batches: what the private methods are measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.dp_sgd import descend

if TYPE_CHECKING:
    from dpviz.training.sampling import Batch
    from dpviz.training.values import RunValues


class PlainSgd(Method):
    """Neither clipping nor noise; momentum or Adam by the settings."""

    key, label, private = "sgd", "plain SGD, not private", False
    words = "Plain SGD is the baseline without privacy."
    reads = frozenset({"learning_rate_end", "optimiser", "momentum"})
    usual: ClassVar = {"learning_rate": 0.1}

    @classmethod
    def mechanism(cls, settings: RunValues, step: int, examples: int) -> None:
        return None

    def step(self, state: State, batch: Batch) -> tuple[State, Info]:
        import torch  # not above: pages read this file

        size = self.learning_rate(self.settings, state.step + 1)
        if batch.x.shape[0]:
            losses = self.engine.loss(self.engine.network(batch.x), batch.y)
            parts = torch.autograd.grad(losses.sum() / batch.expected, self.engine.parameters)
            gradient = torch.cat([part.flatten() for part in parts])
            losses = losses.detach()
        else:
            losses, gradient = batch.x.new_zeros(0), torch.zeros_like(state.parameters)
        prior = self.prior_gradient(state.parameters)
        if prior is not None:
            gradient = gradient + prior
        info = Info(None, batch.size, batch.expected, losses, None, None, size)
        return descend(state, gradient, size, self.settings), info
