"""Any other layer: its per-example gradients written out by `torch.func`, slower and larger, but exact."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.func import functional_call, vjp, vmap

from dpviz.training.layers.base import Layer
from dpviz.training.products import Dense, Products

Tensor = torch.Tensor


class FunctionalLayer(Layer):
    """A module, with all that is inside it, as a function of one tensor and its parameters.

    The function is evaluated twice, so it must not draw random numbers or keep a state between calls.
    """

    def __init__(self, name: str, module: nn.Module) -> None:
        super().__init__(name, module)
        self._original = module.forward

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        self._refuse_random_layers()
        y: Any = self._original(x)
        if not isinstance(y, Tensor):
            raise ValueError(
                f"Expected layer {self.name!r} ({type(self.module).__name__}) to return one tensor, found "
                f"{type(y).__name__}: such a layer has no per-example gradients here."
            )
        return y, ()

    def backward(
        self, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor, *, wants_input: bool
    ) -> tuple[Tensor | None, Products]:
        trained = {name: p.detach() for name, p in self.module.named_parameters() if p.requires_grad}
        fixed = {name: p.detach() for name, p in self.module.named_parameters() if not p.requires_grad}
        fixed |= dict(self.module.named_buffers())

        def of_one(example: Tensor, towards: Tensor) -> tuple[Tensor | None, dict[str, Tensor]]:
            def output(parameters: dict[str, Tensor], one: Tensor) -> Tensor:
                whole: Tensor = functional_call(self.module, (parameters, fixed), (one.unsqueeze(0),))
                return whole.squeeze(0)

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
        to_input, found = vmap(of_one, out_dims=places)(x.contiguous(), gradient.contiguous())
        return to_input, Dense([found[name].flatten(1) for name in trained])

    def _refuse_random_layers(self) -> None:
        for inner in self.module.modules():
            if isinstance(inner, nn.modules.dropout._DropoutNd) and inner.training and inner.p > 0:
                raise ValueError(
                    f"Expected no dropout inside layer {self.name!r} ({type(self.module).__name__}): its per-example "
                    "gradients are found by running it again. Move the dropout out, or set its rate to 0."
                )
