"""Per-example gradients of any network at little more than the cost of one plain backward pass.

Each trainable layer runs as one autograd function whose backward pass returns only the gradient towards the layer's
input and hands (input, output gradient) over; no weight gradient is ever formed by autograd, and none flows towards
the data. Norms, clipped sums and pair distances follow from those two (Bu, Wang, Zha, Karypis 2022, "book-keeping").

    >>> engine = PerExample(network)
    >>> record = engine.gradients(images, labels)
    >>> record.norms, record.clipped_sum(1.0), record.pair_distances([0, 2], [1, 3])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable

from dpviz import _validate
from dpviz.training.accepted import refuse_half, refuse_parameters, refuse_rounded_products
from dpviz.training.block_sums import BlockSums
from dpviz.training.layers import FunctionalLayer, Layer, trainable_layers
from dpviz.training.layers.buffers import Buffers
from dpviz.training.layers.linear import LinearLayer
from dpviz.training.products import Products
from dpviz.training.record import (
    Chunk,
    GradientRecord,
    LayerGradients,
    checked_norm,
    clip_factors,
    joined,
    rounding_of_sums,
)
from dpviz.training.rounding import BLOCK
from dpviz.training.views import Views

Tensor = torch.Tensor
Loss = Callable[[Tensor, Tensor], Tensor]

# Measured on CPUs: chunks of about 256 stay near the cache and bound the memory of patches and written-out gradients.
# The room above 256 keeps a Poisson batch that came out large from costing one more.
CHUNK_SIZE = 2 * BLOCK
# Networks of linear layers alone keep nothing beyond what a plain step keeps; they gain from larger products.
LINEAR_CHUNK_SIZE = 8 * BLOCK


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each example, (b,)."""
    return F.cross_entropy(outputs, labels, reduction="none")


class Clipped(NamedTuple):
    """What one private step needs of a batch, before the noise.

    Attributes:
        total: Σ_i clipped g_i as one vector (p,), in the order of the engine's parameters; the caller's to write into.
            In double precision for more than `rounding.MOST_ROWS` examples, to be rounded after the noise.
        sums: The same memory, shaped as the parameters.
        norms, lengths, losses, outputs: As in `GradientRecord`.
        distances: By how much the sum changes at most when one of a pair takes the other's place, float64: distances
            of clipped gradients with what rounding may add; None if none were asked for.
        max_grad_norm: C.
    """

    total: Tensor
    sums: tuple[Tensor, ...]
    norms: Tensor
    lengths: Tensor
    losses: Tensor
    outputs: Tensor
    distances: Tensor | None
    max_grad_norm: float

    @property
    def changes(self) -> Tensor:
        """By how much each example changes the sum at most, float64 (b,): its clipped length and what rounding adds."""
        added = rounding_of_sums(self.max_grad_norm, self.norms.dtype)
        # What is not finite counts as nothing.
        return torch.where(torch.isfinite(self.lengths), self.lengths + added, 0.0).clamp(max=self.max_grad_norm)

    @property
    def non_finite(self) -> Tensor:
        """How many examples counted as 0 because their gradient is not finite; a scalar tensor."""
        return (~torch.isfinite(self.norms)).sum()


class PerExample:
    """The engine for one network and one loss.

    The network must treat examples, the first dimension of every layer's input, one by one: anything in its own
    `forward` that mixes them (a mean over the batch) cannot be seen from here and would break the privacy claim;
    `preflight` finds it, and what else is not followed, on a few examples. Batch norm in training mode, parameters in
    less than single precision, used outside their layer or recomputed by a hook, and layers that lose the first
    dimension are refused here. What one example adds to a clipped sum is bounded in the numbers that are computed, not
    in exact arithmetic (`rounding`).

    Args:
        network: Read, never changed; one engine works on it at a time.
        loss: From outputs (b, …) and targets to a loss for each example, (b,).
        chunk_size: Most examples worked on at once, whole blocks of `rounding.BLOCK` if it is larger; bounds memory.
            None: `CHUNK_SIZE`, more if all layers are linear. Views count as examples.
        views: What stands in for each example in `clipped` and `gradients`: its loss and its gradient are then the
            means over its K views, and the mean is what is clipped. None for the example itself.

    Attributes:
        parameters: The trainable parameters, in the network's order, which is the order of all sums.
        layers: The layers that hold them.
        fallback_layers: Names and types of the layers that have no fast form and go through `torch.func`.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: Loss = cross_entropy,
        *,
        chunk_size: int | None = None,
        views: Views | None = None,
    ) -> None:
        self.network = network
        self.loss = loss
        self.views = views
        self.parameters = tuple(p for p in network.parameters() if p.requires_grad)
        if not self.parameters:
            raise ValueError("Expected a network with trainable parameters, found none.")
        refuse_parameters(network)
        self.layers = _distinct(trainable_layers(network))
        if chunk_size is None:
            linear = all(isinstance(layer, LinearLayer) for layer in self.layers)
            chunk_size = LINEAR_CHUNK_SIZE if linear else CHUNK_SIZE
        self.chunk_size = int(_validate.scalar("chunk_size", _validate.steps(chunk_size, "chunk_size", 1)))
        self._buffers, self._block_sums = Buffers(), BlockSums(self.parameters)
        for layer in self.layers:
            layer.buffers = self._buffers
        self._batch_norms = [m for m in network.modules() if isinstance(m, nn.modules.batchnorm._NormBase)]
        self._position = {id(parameter): at for at, parameter in enumerate(self.parameters)}

    @property
    def fallback_layers(self) -> tuple[str, ...]:
        slow = (layer for layer in self.layers if isinstance(layer, FunctionalLayer))
        return tuple(f"{layer.name or 'network'} ({type(layer.module).__name__})" for layer in slow)

    def gradients(self, x: Tensor, y: Tensor) -> GradientRecord:
        """Per-example gradients of a whole batch, to be asked again and again; keeps every chunk's factors.

        Args:
            x: Examples, (b, …); b may be 0.
            y: Targets, (b, …).
        """
        self._buffers.reuse = False
        return GradientRecord(self.parameters, list(self._chunks(x, y)))

    def clipped(self, x: Tensor, y: Tensor, *, max_grad_norm: float, pairs: int | None = None) -> Clipped:
        """The clipped sum of a batch chunk by chunk, so that memory does not grow with it.

        Args:
            x, y: As in `gradients`.
            max_grad_norm: C; no example adds a vector longer than this.
            pairs: How many pairs of neighbours, (0, 1), (2, 3), …, the distances are wanted of: disjoint random pairs
                where the batch comes in random order. Chunks then hold whole pairs, so at least 2 examples.
        """
        bound, dtype = checked_norm(max_grad_norm), self.parameters[0].dtype
        left = 0 if pairs is None else 2 * _checked_pairs(pairs, x.shape[0])
        self._buffers.reuse = True
        blocks = self._block_sums
        blocks.clear()
        kept, apart = [], []
        for chunk in self._chunks(x, y, even=left > 0):
            factors = clip_factors(chunk.lengths, bound, dtype)
            chunk.add_weighted_sum(factors, blocks)
            if left:
                apart.append(chunk.neighbours_apart(factors[:left], bound))
                left -= min(left, len(chunk))
            chunk.parts.clear()
            kept.append(chunk)
        record = GradientRecord(self.parameters, kept)
        total, sums = blocks.take(len(record))
        distances = None
        if pairs is not None:
            distances = joined(apart, total.new_zeros(0, dtype=torch.float64))
        return Clipped(total, sums, record.norms, record.lengths, record.losses, record.outputs, distances, bound)

    def _step(self, *, even: bool) -> int:
        """Size of the chunks that a batch is cut into; the last may be smaller.

        Never by the number of examples: with one example fewer the others must come to lie in the same blocks.
        """
        most = self.chunk_size if self.views is None else max(1, self.chunk_size // self.views.count)
        step = most - most % BLOCK or most
        return max(2, step - step % 2) if even else step

    def _chunks(self, x: Tensor, y: Tensor, *, even: bool = False) -> Iterator[Chunk]:
        if x.shape[0] != y.shape[0]:
            raise ValueError(f"Expected a target for each of {x.shape[0]} examples, found {y.shape[0]}.")
        if any(_mixes_examples(norm) for norm in self._batch_norms):
            raise ValueError("Expected no norm over the batch: it mixes examples. Use group norm, or eval().")
        refuse_rounded_products(x.device)
        step = self._step(even=even)
        for start in range(0, x.shape[0], step):
            end = start + step
            yield self._chunk(start, x[start:end], y[start:end])

    def _chunk(self, start: int, x: Tensor, y: Tensor) -> Chunk:
        tape: dict[Layer, Products] = {}
        self._buffers.rewind()
        views = 1 if self.views is None else self.views.count
        if self.views is not None:
            x, y = self.views(x), y.repeat_interleave(views, dim=0)
        # Inputs of the first layer need no gradient; this keeps the graph alive without one towards the data.
        anchor = torch.zeros((), device=x.device, requires_grad=True)
        with torch.enable_grad(), self._tapped(tape, anchor, x.shape[0]):
            outputs = self.network(x.detach())
            losses = self.loss(outputs, y)
        if losses.shape != (x.shape[0],):
            raise ValueError(f"Expected a loss for each of {x.shape[0]} examples, found shape {tuple(losses.shape)}.")
        if views > 1:
            losses = losses.view(-1, views).mean(1)
        if not losses.requires_grad:
            raise ValueError("Expected the loss to depend on a trainable layer of the network; it does not.")
        outside = torch.autograd.grad(losses.sum(), (anchor, *self.parameters), allow_unused=True)[1:]
        if any(gradient is not None for gradient in outside):
            raise ValueError(
                "Expected every parameter to be used by its own layer only; one is used outside, where its per-example "
                "gradients cannot be followed. Wrap that computation in a module that holds the parameter."
            )
        parts = [
            LayerGradients(
                layer,
                tuple(self._position[id(p)] for p in layer.parameters),
                tape[layer] if views == 1 else tape[layer].grouped(views),
            )
            for layer in self.layers
            if layer in tape
        ]
        return Chunk(start, parts, losses.detach(), outputs.detach())

    @contextmanager
    def _tapped(self, tape: dict[Layer, Products], anchor: Tensor, examples: int) -> Iterator[None]:
        """For the forward pass alone, each trainable layer's `forward` goes through `_Tap`."""
        replaced = [(layer.module.__dict__, layer.module.__dict__.get("forward")) for layer in self.layers]
        for layer in self.layers:
            layer.module.__dict__["forward"] = _tapped_forward(layer, tape, anchor, examples)
        try:
            yield
        finally:
            for attributes, before in replaced:
                if before is None:
                    del attributes["forward"]
                else:
                    attributes["forward"] = before


class _Tap(torch.autograd.Function):
    """A layer that hands over its per-example products on the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, layer: Layer, tape: dict[Layer, Products]) -> Tensor:
        y, kept = layer.forward(x)
        ctx.save_for_backward(x, *kept)
        ctx.layer, ctx.tape = layer, tape
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None]:
        x, *kept = ctx.saved_tensors
        layer, tape = ctx.layer, ctx.tape
        # Detached, or the products would keep the whole graph alive.
        to_input, products = layer.backward(x.detach(), tuple(kept), gradient, wants_input=ctx.needs_input_grad[0])
        tape[layer] = tape[layer].merge(products) if layer in tape else products
        return to_input, None, None, None


def _tapped_forward(layer: Layer, tape: dict[Layer, Products], anchor: Tensor, examples: int) -> Callable[..., Tensor]:
    def forward(x: Tensor, *others: object, **named: object) -> Tensor:
        if others or named:
            raise ValueError(f"Expected layer {layer.name!r} to be called with one tensor, found more arguments.")
        if x.ndim == 0 or x.shape[0] != examples:
            raise ValueError(
                f"Expected the input of layer {layer.name!r} to keep the {examples} examples as its first dimension, "
                f"found shape {tuple(x.shape)}."
            )
        y: Tensor = _Tap.apply(x, anchor, layer, tape)  # type: ignore[no-untyped-call]
        refuse_half(layer.name, x)
        refuse_half(layer.name, y)
        return y

    return forward


def _mixes_examples(norm: nn.modules.batchnorm._NormBase) -> bool:
    """Batch norm on batch statistics, or any norm that writes running statistics from the batch."""
    if isinstance(norm, nn.modules.batchnorm._BatchNorm):
        return norm.training or norm.running_mean is None
    return norm.training and norm.track_running_stats


def _distinct(layers: Iterator[Layer]) -> tuple[Layer, ...]:
    """One layer a module, however often it is used; a parameter of two modules is refused."""
    found: list[Layer] = []
    owner: dict[int, Layer] = {}
    for layer in layers:
        if any(layer.module is known.module for known in found):
            continue
        for parameter in layer.parameters:
            if id(parameter) in owner:
                raise ValueError(
                    f"Expected each parameter in one layer, found {owner[id(parameter)].name!r} and {layer.name!r} "
                    "sharing one. Use one module in both places."
                )
            owner[id(parameter)] = layer
        found.append(layer)
    return tuple(found)


def _checked_pairs(pairs: int, examples: int) -> int:
    found = int(_validate.scalar("pairs", _validate.steps(pairs, "pairs")))
    if 2 * found > examples:
        raise ValueError(f"Expected pairs={found} <= {examples // 2}, the disjoint pairs of {examples} examples.")
    return found
