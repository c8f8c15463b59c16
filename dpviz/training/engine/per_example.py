"""Per-example gradients of any network at little more than the cost of one plain backward pass.

Each trainable layer runs as one autograd function whose backward pass returns only the gradient towards the layer's
input and hands (input, output gradient) over; no weight gradient is ever formed by autograd, and none flows towards
the data. Norms, clipped sums and pair distances follow from those two (Bu, Wang, Zha, Karypis 2022, "book-keeping").

    >>> engine = PerExample(network)
    >>> record = engine.gradients(images, labels)
    >>> record.norms, record.clipped_sum(1.0), record.neighbours_apart()
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from dpviz import _validate
from dpviz.training.data.views import Views
from dpviz.training.engine.accepted import (
    full_precision,
    refuse_device,
    refuse_half,
    refuse_parameters,
    refuse_rounded_products,
)
from dpviz.training.engine.layers import FunctionalLayer, Layer, Parameters, layers_of
from dpviz.training.engine.layers.base import Buffers
from dpviz.training.engine.layers.linear import LinearLayer
from dpviz.training.engine.one_at_a_time import each
from dpviz.training.engine.products import Dense, Products
from dpviz.training.engine.record import (
    Chunk,
    GradientRecord,
    LayerGradients,
    checked_norm,
    clip_factors,
    joined,
    rounding_of_sums,
)
from dpviz.training.engine.rounding import BLOCK
from dpviz.training.engine.rowwise import treats_rows_alone
from dpviz.training.engine.vectors import BlockSums
from dpviz.training.sampling import loss_per_example

Tensor = torch.Tensor
Loss = Callable[[Tensor, Tensor], Tensor]

# Measured on CPUs: chunks of about 256 stay near the cache and bound the memory of patches and written-out gradients.
# The room above 256 keeps a Poisson batch that came out large from costing one more.
CHUNK_SIZE = 2 * BLOCK
# Networks of linear layers alone keep nothing beyond what a plain step keeps; they gain from larger products.
LINEAR_CHUNK_SIZE = 8 * BLOCK
# Most numbers that the gradients of a chunk's examples may take where they are written out: 128 MiB.
_MOST_WRITTEN = 1 << 25
# Chunks of a fixed size are multiples of this: vectorised functions then leave no rest, which they round otherwise.
ROWS = 32
# PyTorch loses the memory layout of a single one under vmap.
_LEAST = 2


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each example, (b,)."""
    return F.cross_entropy(outputs, labels, reduction="none")


# Losses that give each example its own from a whole batch; any other sees one example at a time.
LISTED_LOSSES: tuple[Loss, ...] = (cross_entropy, loss_per_example)


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

    Examples are independent by construction. A network of listed modules (`rowwise`) runs on whole batches; any other,
    and any loss that is not the project's own, runs one example at a time (`one_at_a_time`), where what would mix
    examples does not run. Parameters in less than single precision, or recomputed by a hook, are refused. What one
    example adds to a clipped sum is bounded in the numbers that are computed, not in exact arithmetic (`rounding`).

    Args:
        network: Read, never changed; one engine works on it at a time.
        loss: From outputs (b, …) and targets to a loss for each example, (b,).
        chunk_size: Most examples worked on at once, whole blocks of `rounding.BLOCK` if it is larger; bounds memory.
            None: `CHUNK_SIZE`, more if all layers are linear. Views count as examples.
        views: What stands in for each example in `clipped` and `gradients`: its loss and its gradient are then the
            means over its K views, and the mean is what is clipped. None for the example itself.
        usual_batch: Examples that a batch seldom exceeds (`sampling.usual_batch`): every chunk is then filled up to one
            size, which follows from this number alone. What is released needs it: an example's gradient must not
            depend on how many others there are, and matrix kernels do. None for chunks as they come.

    Attributes:
        parameters: The trainable parameters, in the network's order, which is the order of all sums.
        layers: The layers with a form of their own that hold some of them.
        fallback_layers: Names and types of the modules whose per-example gradients are written out.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: Loss = cross_entropy,
        *,
        chunk_size: int | None = None,
        views: Views | None = None,
        usual_batch: int | None = None,
    ) -> None:
        self.network = network
        self.loss = loss
        self.views = views
        self.parameters = tuple(p for p in network.parameters() if p.requires_grad)
        if not self.parameters:
            raise ValueError("Expected a network with trainable parameters, found none.")
        refuse_parameters(network)
        refuse_device(self.parameters[0].device)
        self._position = {id(parameter): at for at, parameter in enumerate(self.parameters)}
        self._buffers, self._block_sums = Buffers(), BlockSums(self.parameters)
        self._all_layers = tuple(layers_of(network))
        self._names = {id(p): name for name, p in network.named_parameters()}
        self._write_out(set())
        if chunk_size is not None:
            chunk_size = int(_validate.scalar("chunk_size", _validate.steps(chunk_size, "chunk_size", 1)))
        self._chunk_size, self._usual_batch = chunk_size, usual_batch
        self._batch_norms = [m for m in network.modules() if isinstance(m, nn.modules.batchnorm._NormBase)]
        self._outside: bool | None = None  # until an example has been seen

    def _write_out(self, outside: set[int]) -> None:
        """Sets which parameters go through layers' own forms, and which are written out: `outside`, shared and others.

        Args:
            outside: Identities of parameters that are used beyond their layer.
        """
        holders = Counter(id(p) for layer in self._all_layers for p in layer.parameters)
        self.layers = tuple(
            layer
            for layer in self._all_layers
            if layer.parameters and all(holders[id(p)] == 1 and id(p) not in outside for p in layer.parameters)
        )
        for layer in self.layers:
            layer.buffers = self._buffers
        formed = {id(p) for layer in self.layers for p in layer.parameters}
        self._written = tuple(p for p in self.parameters if id(p) not in formed)

    @property
    def fallback_layers(self) -> tuple[str, ...]:
        functional = {id(layer.module) for layer in self.layers if isinstance(layer, FunctionalLayer)}
        written = {id(p) for p in self._written}
        return tuple(
            f"{name or 'network'} ({type(module).__name__})"
            for name, module in self.network.named_modules()
            if id(module) in functional or any(id(p) in written for p in module.parameters(recurse=False))
        )

    @property
    def chunk_size(self) -> int:
        """Most examples worked on at once."""
        most = self._chunk_size
        if most is None:
            linear = all(isinstance(layer, LinearLayer) for layer in self.layers) and not self._written
            most = LINEAR_CHUNK_SIZE if linear else CHUNK_SIZE
        written = sum(p.numel() for p in self._written)
        return min(most, max(ROWS, _MOST_WRITTEN // written)) if written else most

    def gradients(self, x: Tensor, y: Tensor) -> GradientRecord:
        """Per-example gradients of a whole batch, to be asked again and again; keeps every chunk's factors.

        Args:
            x: Examples, (b, …); b may be 0.
            y: Targets, (b, …).
        """
        self._buffers.reuse = False
        return GradientRecord(self.parameters, list(self._chunks(x, y)))

    def check(self, x: Tensor, y: Tensor) -> None:
        """Refuses what cannot be followed, on the first of these examples; random numbers are left as they were."""
        x, y = x[:1], y[:1]
        if x.is_floating_point():
            x = x.nan_to_num(0.0, 0.0, 0.0)  # a broken example is the run's to tell
        with torch.random.fork_rng(devices=[x.device] if x.device.type == "cuda" else []):
            self.gradients(x, y)

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
        if self._usual_batch is not None:
            size = math.ceil(self._usual_batch / math.ceil(self._usual_batch / most))
            return ROWS * math.ceil(size / ROWS)
        step = most - most % BLOCK or most
        return max(2, step - step % 2) if even else step

    def _chunks(self, x: Tensor, y: Tensor, *, even: bool = False) -> Iterator[Chunk]:
        if x.shape[0] != y.shape[0]:
            raise ValueError(f"Expected a target for each of {x.shape[0]} examples, found {y.shape[0]}.")
        if any(_mixes_examples(norm) for norm in self._batch_norms):
            raise ValueError("Expected no norm over the batch: it mixes examples. Use group norm, or eval().")
        refuse_rounded_products(x.device)
        modules = {layer.module for layer in self._all_layers}
        alone = bool(self._written) or x.ndim < 2 or not treats_rows_alone(self.network, modules)
        if alone and self._outside is None and len(x):
            self._find_outside(x[:1], y[:1])
        step = self._step(even=even)
        for start in range(0, x.shape[0], step):
            end = start + step
            yield self._chunk(start, x[start:end], y[start:end], None if self._usual_batch is None else step, alone)

    def _find_outside(self, x: Tensor, y: Tensor) -> None:
        """Parameters used beyond their layer are written out; which these are depends on no example's numbers."""
        with torch.random.fork_rng(devices=[x.device] if x.device.type == "cuda" else []):
            run = self._run(_filled(x, _LEAST), _filled(y, _LEAST), alone=True)
        self._outside = bool(run.outside)
        if run.outside:
            self._write_out({id(p) for p in run.outside})

    def _chunk(self, start: int, x: Tensor, y: Tensor, rows: int | None, alone: bool) -> Chunk:
        """Of the examples from `start` on, filled up to `rows`."""
        self._buffers.rewind()
        size, views = x.shape[0], 1 if self.views is None else self.views.count
        if self.views is not None:
            x, y = self.views(x), y.repeat_interleave(views, dim=0)
        if alone:
            rows = max(rows or size, _LEAST)
        if rows is not None:
            x, y = _filled(x, rows * views), _filled(y, rows * views)
        run = self._run(x, y, alone=alone)
        if run.outside:
            names = ", ".join(repr(self._names[id(p)]) for p in run.outside)
            raise ValueError(
                f"Expected the network to use its parameters as in its first run, found {names} used anew."
            )
        parts = []
        for layer, products in run.products():
            grouped = products if views == 1 else products.grouped(views)
            positions = tuple(self._position[id(p)] for p in (layer.parameters if layer else self._written))
            whole = grouped if len(run.losses) == size * views else grouped.part(slice(0, size))
            parts.append(LayerGradients(layer or Parameters(), positions, whole))
        losses = run.losses.view(-1, views).mean(1) if views > 1 else run.losses
        return Chunk(start, parts, losses[:size], run.outputs[: size * views])

    def _run(self, x: Tensor, y: Tensor, *, alone: bool) -> _Run:
        run = _Run(self, x, y)
        with full_precision(x.device), torch.enable_grad():
            if alone:
                run.each()
            else:
                run.together()
            run.differentiate()
        return run


class _Run:
    """One forward and one backward pass.

    Attributes:
        losses, outputs: Of the examples, (b,) and (b, …).
        tape: What each layer hands over.
        own: The parameters that are written out, each example's its own, (b, …).
        outside: Parameters that were used beyond their layer.
    """

    def __init__(self, engine: PerExample, x: Tensor, y: Tensor) -> None:
        self.engine, self.x, self.y = engine, x.detach(), y
        # Inputs of the first layer need no gradient; this keeps the graph alive without one towards the data.
        self._token = torch.zeros(len(x), device=x.device, requires_grad=True)
        self.anchor = self._token
        self.tape: dict[Layer, Products] = {}
        self.own = {engine._names[id(p)]: p.detach().expand(len(x), *p.shape).requires_grad_() for p in engine._written}
        self._own_gradients: list[Tensor | None] = []
        self.outside: list[nn.Parameter] = []

    def together(self) -> None:
        """On the whole batch; the network is of listed modules."""
        network, loss = self.engine.network, self.engine.loss
        with self._tapped(alone=False):
            self.outputs = network(self.x)
        if any(loss is listed for listed in LISTED_LOSSES):
            self.losses = loss(self.outputs, self.y)
        else:
            self.losses, _ = each(network, lambda o, t: (self._loss(o.unsqueeze(0), t), o), self.outputs, self.y)

    def each(self) -> None:
        """One example at a time."""
        network = self.engine.network

        def of_one(x: Tensor, y: Tensor, anchor: Tensor, own: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
            self.anchor = anchor
            outputs = functional_call(network, own, (x.unsqueeze(0),)) if own else network(x.unsqueeze(0))
            if not isinstance(outputs, Tensor):
                raise ValueError(f"Expected the network to return one tensor, found {type(outputs).__name__}.")
            return self._loss(outputs, y), outputs.squeeze(0) if outputs.shape[:1] == (1,) else outputs

        with self._tapped(alone=True):
            self.losses, self.outputs = each(network, of_one, self.x, self.y, self._token, self.own)
        self.anchor = self._token

    def _loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        losses = self.engine.loss(outputs, y.unsqueeze(0))
        if losses.shape != (1,):
            raise ValueError(
                f"Expected a loss for each example, of shape (1,) for one alone, found shape {tuple(losses.shape)}: "
                "leave out means and sums over examples (reduction='none')."
            )
        return losses.squeeze(0)

    def differentiate(self) -> None:
        if not self.losses.requires_grad:
            raise ValueError("Expected the loss to depend on a trainable layer of the network; it does not.")
        engine = self.engine
        formed = [p for layer in engine.layers for p in layer.parameters]
        towards = (self._token, *self.own.values(), *formed)
        total = self.losses.sum() / (1 if engine.views is None else engine.views.count)
        gradients: Sequence[Tensor | None] = torch.autograd.grad(total, towards, allow_unused=True)[1:]
        self._own_gradients = list(gradients[: len(self.own)])
        pairs = zip(formed, gradients[len(self.own) :], strict=True)
        self.outside = [parameter for parameter, gradient in pairs if gradient is not None]
        self.losses, self.outputs = self.losses.detach(), self.outputs.detach()

    def products(self) -> Iterator[tuple[Layer | None, Products]]:
        """Of each layer that was reached; of the parameters that are written out, with None, if any."""
        yield from ((layer, self.tape[layer]) for layer in self.engine.layers if layer in self.tape)
        if any(gradient is not None for gradient in self._own_gradients):
            pairs = zip(self._own_gradients, self.own.values(), strict=True)
            yield None, Dense(*((torch.zeros_like(p) if g is None else g).reshape(len(p), -1) for g, p in pairs))

    @contextmanager
    def _tapped(self, *, alone: bool) -> Iterator[None]:
        """For the forward pass alone, each layer's `forward` goes through `_Tap`, that of a frozen one is checked."""
        layers = self.engine.layers if alone else self.engine._all_layers
        replaced = [(vars(layer.module), vars(layer.module).get("forward")) for layer in layers]
        for layer in layers:
            vars(layer.module)["forward"] = self._of_one(layer) if alone else self._of_all(layer)
        try:
            yield
        finally:
            for attributes, before in replaced:
                if before is None:
                    del attributes["forward"]
                else:
                    attributes["forward"] = before

    def _of_all(self, layer: Layer) -> Callable[[Tensor], Tensor]:
        original, examples = layer.module.forward, len(self.x)

        def forward(x: Tensor) -> Tensor:
            if x.ndim == 0 or x.shape[0] != examples:
                raise ValueError(
                    f"Expected the input of layer {layer.name!r} to keep the {examples} examples as its first "
                    f"dimension, found shape {tuple(x.shape)}."
                )
            layer.check(x)
            if not layer.parameters:
                whole: Tensor = original(x)
                return whole
            y: Tensor = _Tap.apply(x, self.anchor, layer, self, False)  # type: ignore[no-untyped-call]
            refuse_half(layer.name, x)
            refuse_half(layer.name, y)
            return y

        return forward

    def _of_one(self, layer: Layer) -> Callable[..., Tensor]:
        original, own = layer.module.forward, tuple(layer.module.parameters())

        def forward(x: Tensor, *others: object, **named: object) -> Tensor:
            if others or named:
                raise ValueError(f"Expected layer {layer.name!r} to be called with one tensor, found more arguments.")
            replaced = any(mine is not now for mine, now in zip(own, layer.module.parameters(), strict=True))
            if replaced or not vars(layer.module).keys().isdisjoint(("weight", "bias")):
                whole: Tensor = original(x)  # somebody calls it with weights of their own
                return whole
            y: Tensor = _Batched.apply(x, self.anchor, layer, self)  # type: ignore[no-untyped-call]
            refuse_half(layer.name, x)
            refuse_half(layer.name, y)
            return y

        return forward


class _Tap(torch.autograd.Function):
    """A layer that hands over its per-example products on the way back; `stacked` inputs are (b, n, …)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, layer: Layer, run: _Run, stacked: bool) -> Tensor:
        shape = x.shape[:2]
        if stacked:
            x = x.flatten(0, 1)
        y, kept = layer.forward(x)
        ctx.save_for_backward(x, *kept)
        ctx.layer, ctx.run, ctx.shape = layer, run, shape if stacked else None
        if stacked or y._is_view():  # not a view: what comes next may write into it
            y = torch.ops.aten._unsafe_view(y, (*shape, *y.shape[1:]) if stacked else y.shape)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None, None]:
        x, *kept = ctx.saved_tensors
        layer, run = ctx.layer, ctx.run
        if ctx.shape:
            gradient = gradient.flatten(0, 1)
        # Detached, or the products would keep the whole graph alive.
        to_input, products = layer.backward(x.detach(), tuple(kept), gradient, wants_input=ctx.needs_input_grad[0])
        if ctx.shape:
            to_input = None if to_input is None else to_input.reshape(*ctx.shape, *to_input.shape[1:])
            products = products if ctx.shape[1] == 1 else products.grouped(ctx.shape[1])
        run.tape[layer] = run.tape[layer].merge(products) if layer in run.tape else products
        return to_input, None, None, None, None


class _Batched(torch.autograd.Function):
    """`_Tap` under vmap: the layer runs once, for all examples."""

    @staticmethod
    def forward(x: Tensor, anchor: Tensor, layer: Layer, run: _Run) -> Tensor:
        raise ValueError(f"Expected layer {layer.name!r} to run in the forward pass alone, and without torch.func.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Nothing: this function only runs by its rule."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, anchor: Tensor, layer: Layer, run: _Run) -> tuple[Tensor, int]:
        b = info.batch_size
        x = x.expand(b, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y: Tensor = _Tap.apply(x, anchor, layer, run, layer.stacked(x.ndim - 1))  # type: ignore[no-untyped-call]
        return y, 0


def _filled(tensor: Tensor, rows: int) -> Tensor:
    """`tensor` (b, …) with its first row again after the last one, up to so many."""
    missing = rows - len(tensor)
    return torch.cat((tensor, tensor[:1].expand(missing, *tensor.shape[1:]))) if missing else tensor


def _mixes_examples(norm: nn.modules.batchnorm._NormBase) -> bool:
    """Batch norm on batch statistics, or any norm that writes running statistics from the batch."""
    if isinstance(norm, nn.modules.batchnorm._BatchNorm):
        return norm.training or norm.running_mean is None
    return norm.training and norm.track_running_stats


def _checked_pairs(pairs: int, examples: int) -> int:
    count = int(_validate.scalar("pairs", _validate.steps(pairs, "pairs")))
    if 2 * count > examples:
        raise ValueError(f"Expected pairs={count} <= {examples // 2}, the disjoint pairs of {examples} examples.")
    return count
