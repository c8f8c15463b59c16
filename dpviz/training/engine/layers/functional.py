"""Layers that are listed and have no form of their own: per-example gradients written out by `torch.func`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.func import functional_call, vjp, vmap

from dpviz.training.engine.layers.base import Layer
from dpviz.training.engine.products import Dense, Products

Tensor = torch.Tensor


class _Bare(nn.Module):
    """A module without its hooks, which ran where it was called, and without the engine's own `forward`."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = type(self.inner).forward(self.inner, x)
        return answer


class FunctionalLayer(Layer):
    """A module, with all that is inside it, as a function of one example and its parameters, run one at a time.

    The function is evaluated twice, so it must not draw random numbers or keep a state between calls.
    """

    def check(self, x: Tensor) -> None:
        """Any shape: it sees one example."""

    def stacked(self, ndim: int) -> bool:
        kernel = getattr(self.module, "kernel_size", None)
        return kernel is None or ndim == len(kernel) + 2

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        content = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        return vmap(lambda one: self._output(content, one))(x.contiguous()), ()

    def _output(self, content: dict[str, Tensor], one: Tensor) -> Tensor:
        inner = {f"inner.{name}": tensor for name, tensor in content.items()}
        answer: Tensor = functional_call(_Bare(self.module), inner, (one.unsqueeze(0),))
        return answer.squeeze(0)

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        trained = {name: p.detach() for name, p in self.module.named_parameters() if p.requires_grad}
        fixed = {name: p.detach() for name, p in self.module.named_parameters() if not p.requires_grad}
        fixed |= dict(self.module.named_buffers())

        def of_one(example: Tensor, towards: Tensor) -> tuple[Tensor | None, dict[str, Tensor]]:
            def output(parameters: dict[str, Tensor], one: Tensor) -> Tensor:
                return self._output(parameters | fixed, one)

            if wants_input:
                pull: Any = vjp(output, trained, example)[1]
                to_parameters, to_input = pull(towards)
                return to_input, to_parameters
            # Not towards the data, which may be whole numbers.
            pull = vjp(lambda parameters: output(parameters, example), trained)[1]
            return None, pull(towards)[0]

        places: Any = (0 if wants_input else None, 0)
        # PyTorch 2.13's group norm crashes on channels last, in which convolutions hand over, if only the parameters
        # are differentiated: back to the usual layout.
        to_input, gradients = vmap(of_one, out_dims=places)(x.contiguous(), gradient.contiguous())
        return to_input, Dense(*(gradients[name].flatten(1) for name in trained))
