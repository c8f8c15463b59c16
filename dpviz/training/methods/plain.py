"""Training without privacy, on the same Poisson batches: what the private methods are measured against."""

from __future__ import annotations

import torch

from dpviz.training.flat import flatten
from dpviz.training.methods.base import Info, Method, State
from dpviz.training.methods.descent import descend
from dpviz.training.plan import learning_rate
from dpviz.training.sampling import Batch


class PlainSgd(Method):
    """Neither clipping nor noise; momentum or Adam by the settings."""

    def step(self, state: State, batch: Batch) -> tuple[State, Info]:
        size = learning_rate(self.settings, state.step + 1)
        if batch.x.shape[0]:
            losses = self.engine.loss(self.engine.network(batch.x), batch.y)
            gradient = flatten(torch.autograd.grad(losses.sum() / batch.expected, self.engine.parameters))
            losses = losses.detach()
        else:
            losses, gradient = batch.x.new_zeros(0), torch.zeros_like(state.parameters)
        prior = self.prior_gradient(state.parameters)
        if prior is not None:
            gradient = gradient + prior
        info = Info(None, batch.size, batch.expected, losses, None, None, size)
        return descend(state, gradient, size, self.settings), info
