"""The layers of a network as the per-example engine sees them."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from dpviz.training.engine.accepted import refuse_recomputed
from dpviz.training.engine.layers.base import Layer, Parameters
from dpviz.training.engine.layers.conv import Conv2dLayer
from dpviz.training.engine.layers.functional import FunctionalLayer
from dpviz.training.engine.layers.linear import EmbeddingLayer, LinearLayer
from dpviz.training.engine.layers.norm import GroupNormLayer, LayerNormLayer
from dpviz.training.networks.variational import Variational

__all__ = ["FunctionalLayer", "Layer", "Parameters", "layers_of"]

_FORMS: dict[type[nn.Module], type[Layer]] = {
    nn.Linear: LinearLayer,
    nn.GroupNorm: GroupNormLayer,
    nn.LayerNorm: LayerNormLayer,
    **dict.fromkeys(
        (
            nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
            nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.PReLU, Variational,
        ),
        FunctionalLayer,
    ),
}  # fmt: skip


def layers_of(network: nn.Module) -> Iterator[Layer]:
    """The modules with parameters, frozen ones too, that have a form, outermost first; each once."""
    inside: set[nn.Module] = set()
    for name, module in network.named_modules():
        form = None if module in inside or "forward" in vars(module) else _form(module)
        if form is None or not any(True for _ in module.parameters()):
            continue
        refuse_recomputed(name, module)
        if form is FunctionalLayer or "weight" in module._parameters:  # else something computes it
            inside.update(module.modules())
            yield form(name, module)


def _form(module: nn.Module) -> type[Layer] | None:
    # Exact types: a subclass may compute something else.
    kind = type(module)
    if isinstance(module, nn.Conv2d) and kind is nn.Conv2d and Conv2dLayer.covers(module):
        return Conv2dLayer
    if isinstance(module, nn.Embedding) and kind is nn.Embedding and EmbeddingLayer.covers(module):
        return EmbeddingLayer
    return _FORMS.get(kind)
