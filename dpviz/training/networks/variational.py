"""A network whose weights are drawn from a Gaussian: what variational inference trains."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils import parameters_to_vector

START_STD = 0.03  # of every weight before the first step


class Variational(nn.Module):
    """`network` with weights m + exp(ρ)·η, all independent: a mean-field Gaussian, reparametrised.

    η is kept, not drawn in `forward`: all examples of a step see the same weights, however often the engine runs them.

    Args:
        network: Where its trainable parameters are is where the means start; taken over, and changed no more.

    Attributes:
        mean, log_std: m and ρ, (p,) each: the trainable parameters.
        draw: η, (p,); 0 for the network at its mean.
    """

    draw: Tensor

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._weights = {name: weight.shape for name, weight in network.named_parameters() if weight.requires_grad}
        start = parameters_to_vector(p for p in network.parameters() if p.requires_grad).detach()
        self.network = network.requires_grad_(False)
        self.mean = nn.Parameter(start)
        self.log_std = nn.Parameter(torch.full_like(start, math.log(START_STD)))
        self.register_buffer("draw", torch.ones_like(start))

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.mean, self.log_std, x)

    def output(self, mean: Tensor, log_std: Tensor, x: Tensor) -> Tensor:
        """The network's output at m = `mean`, ρ = `log_std` and this draw."""
        drawn = mean + log_std.exp() * self.draw
        parts = torch.split(drawn, [shape.numel() for shape in self._weights.values()])
        weights = {name: part.view(shape) for part, (name, shape) in zip(parts, self._weights.items(), strict=True)}
        answer: Any = functional_call(self.network, weights, (x,))
        whole: Tensor = answer
        return whole
