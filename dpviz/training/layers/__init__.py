"""The layers of a network as the per-example engine sees them."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from dpviz.training.accepted import refuse_recomputed
from dpviz.training.layers.base import Layer
from dpviz.training.layers.conv import Conv2dLayer
from dpviz.training.layers.embedding import EmbeddingLayer
from dpviz.training.layers.functional import FunctionalLayer
from dpviz.training.layers.linear import LinearLayer
from dpviz.training.layers.norm import GroupNormLayer, LayerNormLayer

__all__ = ["FunctionalLayer", "Layer", "trainable_layers"]


def trainable_layers(network: nn.Module, name: str = "") -> Iterator[Layer]:
    """The modules of `network` that hold trainable parameters, outermost first, each parameter in one of them.

    A module with parameters of its own that is no known layer is taken whole, with what is inside it.
    """
    if not any(p.requires_grad for p in network.parameters()):
        return
    known = _known(name, network)
    if known is not None:
        refuse_recomputed(name, network)
        yield known
    elif any(p.requires_grad for p in network.parameters(recurse=False)):
        yield FunctionalLayer(name, network)
    else:
        for child_name, child in network.named_children():
            yield from trainable_layers(child, f"{name}.{child_name}" if name else child_name)


def _known(name: str, module: nn.Module) -> Layer | None:
    # Exact types: a subclass may compute something else.
    kind = type(module)
    if kind is nn.Linear:
        return LinearLayer(name, module)
    if isinstance(module, nn.Conv2d) and kind is nn.Conv2d and Conv2dLayer.covers(module):
        return Conv2dLayer(name, module)
    if kind is nn.GroupNorm:
        return GroupNormLayer(name, module)
    if kind is nn.LayerNorm:
        return LayerNormLayer(name, module)
    if isinstance(module, nn.Embedding) and kind is nn.Embedding and EmbeddingLayer.covers(module):
        return EmbeddingLayer(name, module)
    return None
