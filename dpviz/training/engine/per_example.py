"""Per-example gradients of any network at little more than the cost of one plain backward pass.

Each layer hands over, on the way back, what its gradients are made of (`passes`, `layers`), kept in whichever form is
smallest (`products`). Norms, clipped sums and pair distances follow from that; the gradients themselves are not needed.

    >>> engine = PerExample(network)
    >>> step = engine.clipped(images, labels, max_grad_norm=1.0, pairs=8)
    >>> step.total, step.norms, step.distances
    >>> engine.gradients(images, labels).neighbours_apart()
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dpviz import _validate
from dpviz.training.data.views import Views
from dpviz.training.engine.accepted import (
    full_precision,
    refuse_batch_norms,
    refuse_class_targets,
    refuse_parameters,
    refuse_rounded_products,
    refuse_sparse,
)
from dpviz.training.engine.inputs import Inputs, each, tensors
from dpviz.training.engine.layers import Buffers, Layer, VariationalLayer, layers_of
from dpviz.training.engine.passes import ElementwiseSizes, Loss, Output, Pass, is_rowwise, tensor_of
from dpviz.training.engine.products import Products
from dpviz.training.engine.rounding import BLOCK, Lengths, certified_bound
from dpviz.training.engine.vectors import BlockSums
from dpviz.training.sampling import loss_per_example
from dpviz.training.words import refusal

# Measured on CPUs: so many stay near the cache, and take less memory than a plain step of 256 with their patches and
# written-out gradients; twice as many take three times the memory, and a tenth longer in a residual net.
CHUNK_SIZE = BLOCK
# Networks of linear layers alone keep nothing beyond what a plain step keeps; they gain from larger products.
LINEAR_CHUNK_SIZE = 8 * BLOCK
# Most numbers that the gradients of a chunk's examples may take where they are written out: 128 MiB.
_MOST_WRITTEN = 1 << 25
# Chunks of a fixed size are multiples of this: vectorised functions then leave no rest, which they round otherwise.
# They take 32 numbers at once: half as many rows will do where every example has a multiple of 4 everywhere.
ROWS, FEWER_ROWS, _EVEN = 32, 16, 4
# PyTorch loses the memory layout of a single one under vmap.
_LEAST = 2


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each example, (b,)."""
    refuse_class_targets(outputs, labels)
    classes = labels if labels.is_floating_point() else labels.long()
    return F.cross_entropy(outputs, classes, reduction="none")


_ROWWISE_LOSSES: tuple[Loss, ...] = (cross_entropy, loss_per_example)


def clip_factors(lengths: Tensor, max_grad_norm: float, dtype: torch.dtype) -> Tensor:
    """min(1, C' / length) in `dtype` for upper ends (b,) of norms; 0 where one is not finite.

    C' is C less what rounding may add to a sum (`rounding.certified_bound`).
    """
    # C / ∞ is 0 already; NaN is left to be made 0.
    factors = (certified_bound(max_grad_norm, dtype) / lengths).clamp_(max=1.0).nan_to_num_(nan=0.0)
    return factors.to(dtype)


def rounding_of_sums(max_grad_norm: float, dtype: torch.dtype) -> float:
    """How much longer than two clipped gradients' difference that of two sums may be."""
    return max_grad_norm - certified_bound(max_grad_norm, dtype)


class _Part(NamedTuple):
    """Per-example gradients of one layer, or of what is written out, and where its parameters stand among all."""

    layer: Layer[Any] | None
    positions: tuple[int, ...]
    products: Products


class _Chunk:
    """Gradients of consecutive examples, layer by layer.

    Attributes:
        parts: What each layer that was reached holds.
        norms, lengths, losses, outputs: As in `GradientRecord`.
    """

    def __init__(self, parts: list[_Part], losses: Tensor, outputs: Tensor) -> None:
        self.parts, self.losses, self.outputs = parts, losses, outputs
        exact = _joined([part.products.lengths() for part in parts], losses)
        self.norms = exact.norms.to(losses.dtype)
        self.lengths = exact.norms.mul_(1.0 + exact.relative)
        # One NaN example would make the sum NaN even with weight 0. Looking whether there is one waits for the device,
        # so on an accelerator the mask is always applied.
        finite = torch.isfinite(self.norms)
        if self.norms.device.type != "cpu" or not bool(finite.all()):
            self.lengths = torch.where(finite, self.lengths, torch.inf)
            for part in parts:
                part.products.zero(~finite)

    def __len__(self) -> int:
        return len(self.norms)

    def add_weighted_sum(self, weights: Tensor, sums: BlockSums) -> None:
        """Σ_i w_i g_i, block by block; where the norm is not finite the example counts as 0."""
        for start in range(0, len(self), BLOCK):
            rows, into = slice(start, start + BLOCK), sums.next()
            missing = set(range(len(into)))
            for layer, positions, products in self.parts:
                places = [into[position] for position in positions]
                part = products if len(self) <= BLOCK else products.part(rows)
                totals = part.weighted_sum(weights[rows], places)
                for place, total in zip(places, layer.arrange(totals) if layer else totals, strict=True):
                    if total is not place:
                        place.copy_(total.reshape(place.shape))
                missing.difference_update(positions)
            for position in missing:
                into[position].zero_()

    def differences(self, factors: Tensor) -> Lengths:
        """‖f_1 g_1 − f_2 g_2‖, ‖f_3 g_3 − f_4 g_4‖, … for `factors` (2p,), in whose precision differences are taken."""
        weights = factors.clone()
        weights[1::2].neg_()
        return _joined([part.products.combined(weights).lengths() for part in self.parts], weights[::2])


def _joined(parts: Sequence[Lengths], like: Tensor) -> Lengths:
    """Over all layers, float64; zeros for as many examples as `like` where no layer was reached."""
    if not parts:
        return Lengths(torch.zeros_like(like, dtype=torch.float64), 0.0)
    return parts[0].joined(*parts[1:])


class GradientRecord:
    """Per-example gradients of one batch of b examples.

    Attributes:
        norms: ‖g_i‖, (b,); NaN or infinite where an example's gradient is.
        lengths: Upper ends of the norms, float64 (b,); infinite where a norm is not finite.
        losses: Loss of each example, (b,): the mean over its views or a person's rows.
        outputs: The network's outputs, (b, …), of K views or places (bK, …), an example's together; (0,) for an empty
            batch.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], chunks: Sequence[_Chunk]) -> None:
        self._parameters, self._chunks = parameters, chunks
        empty = parameters[0].new_zeros(0)
        self.norms = torch.cat([chunk.norms for chunk in chunks] or [empty])
        self.lengths = torch.cat([chunk.lengths for chunk in chunks] or [empty.double()])
        self.losses = torch.cat([chunk.losses for chunk in chunks] or [empty])
        self.outputs = torch.cat([chunk.outputs for chunk in chunks] or [empty])

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Σ_i w_i g_i for `weights` (b,), (p,) in the order of the engine's parameters."""
        if weights.shape != self.norms.shape:
            raise refusal("weights", wanted=tuple(self.norms.shape), shape=tuple(weights.shape))
        sums, sizes = BlockSums(self._parameters), [len(chunk) for chunk in self._chunks]
        for chunk, own in zip(self._chunks, torch.split(weights, sizes), strict=True):
            chunk.add_weighted_sum(own, sums)
        return sums.take(len(weights))

    def neighbours_apart(self) -> Tensor:
        """‖g_1 − g_2‖, ‖g_3 − g_4‖, …, float64.

        The difference is taken in double precision from the kept numbers, so that a small distance is not lost. No
        pair may be torn: chunks hold an even number of examples, or there is one.
        """
        ones = (torch.ones_like(chunk.lengths[: len(chunk) // 2 * 2]) for chunk in self._chunks)
        distances = [chunk.differences(pairs).norms for chunk, pairs in zip(self._chunks, ones, strict=True)]
        return torch.cat([*distances, self.lengths[:0]])


class Clipped(NamedTuple):
    """What one private step needs of a batch, before the noise.

    Attributes:
        total: Σ_i clipped g_i as one vector (p,), in the order of the engine's parameters; the caller's to write into.
            In double precision for more than `rounding.MOST_ROWS` examples, to be rounded after the noise.
        norms, lengths, losses: As in `GradientRecord`.
        distances: By how much the sum changes at most when one of a pair takes the other's place, float64: distances
            of clipped gradients with what rounding may add; None if none were asked for.
        max_grad_norm: C.
    """

    total: Tensor
    norms: Tensor
    lengths: Tensor
    losses: Tensor
    distances: Tensor | None
    max_grad_norm: float

    @property
    def changes(self) -> Tensor:
        """By how much each example changes the sum at most, float64 (b,): its clipped length and what rounding adds."""
        added = rounding_of_sums(self.max_grad_norm, self.norms.dtype)
        # What is not finite counts as nothing.
        return torch.where(torch.isfinite(self.lengths), self.lengths + added, 0.0).clamp(max=self.max_grad_norm)


class PerExample:
    """The engine for one network and one loss.

    Examples are independent by construction: a network runs one example at a time, where what would mix examples does
    not run, but for chains of the usual layers (`passes`). Parameters in less than single precision, or
    recomputed by a hook, are refused. What one example adds to a clipped sum is bounded in the numbers that are
    computed, not in exact arithmetic (`rounding`).

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
        output: What the loss reads of what the network returns.

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
        output: Output = tensor_of,
    ) -> None:
        refuse_parameters(network)
        refuse_sparse(network)
        self.network, self.loss, self.views, self.output = network, loss, views, output
        self.parameters = tuple(p for p in network.parameters() if p.requires_grad)
        self._position = {id(parameter): at for at, parameter in enumerate(self.parameters)}
        self._names = {id(p): name for name, p in network.named_parameters()}
        self._buffers, self._block_sums = Buffers(), BlockSums(self.parameters)
        self._chunk_size = None if chunk_size is None else _validate.whole(1, chunk_size=chunk_size)
        self._usual_batch = usual_batch
        self._seen = False  # whether an example has shown how parameters are used, and elementwise operations
        self._rows = ROWS  # whose multiples chunks of a fixed size are
        self._write_out(set())

    def _write_out(self, outside: set[int]) -> None:
        """Sets which parameters go through layers' own forms, and which are written out: `outside`, shared and others.

        Args:
            outside: Identities of parameters that are used beyond their layer.
        """
        layers = [layer for layer in layers_of(self.network) if layer.parameters]
        holders = Counter(id(p) for layer in layers for p in layer.parameters)
        self.layers = tuple(
            layer for layer in layers if all(holders[id(p)] == 1 and id(p) not in outside for p in layer.parameters)
        )
        for layer in self.layers:
            layer.buffers = self._buffers
        formed = {id(p) for layer in self.layers for p in layer.parameters}
        self._written = {self._names[id(p)]: p for p in self.parameters if id(p) not in formed}

    @property
    def fallback_layers(self) -> tuple[str, ...]:
        functional = {id(layer.module) for layer in self.layers if isinstance(layer, VariationalLayer)}
        written = {id(p) for p in self._written.values()}
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
            linear = all(isinstance(layer.module, nn.Linear) for layer in self.layers) and not self._written
            most = LINEAR_CHUNK_SIZE if linear else CHUNK_SIZE
        written = sum(p.numel() for p in self._written.values())
        return min(most, max(self._rows, _MOST_WRITTEN // written)) if written else most

    def gradients(self, x: Inputs, y: Tensor) -> GradientRecord:
        """Per-example gradients of a whole batch, to be asked again and again; keeps every chunk's factors.

        Args:
            x: Examples, (b, …), or several inputs of each (`inputs`); b may be 0.
            y: Targets, (b, …).
        """
        self._buffers.reuse = False
        return GradientRecord(self.parameters, list(self._chunks(x, y)))

    def check(self, x: Inputs, y: Tensor) -> Tensor:
        """Refuses what cannot be followed, on the first of these examples without its views; its outputs, (1, …).

        Random numbers are left as they were.
        """
        y = y[:1]
        x = each(lambda part: _finite(part[:1]), x)  # a broken example is the run's to tell
        with _random_numbers_kept(y.device):
            return PerExample(self.network, self.loss, output=self.output).gradients(x, y).outputs

    def clipped(
        self, x: Inputs, y: Tensor, *, max_grad_norm: float, pairs: int | None = None, real: Tensor | None = None
    ) -> Clipped:
        """The clipped sum of a batch chunk by chunk, so that memory does not grow with it.

        Args:
            x, y: As in `gradients`.
            max_grad_norm: C; no example adds a vector longer than this (Abadi et al. 2016, Alg. 1; `rounding`).
            pairs: How many pairs of neighbours, (0, 1), (2, 3), …, the distances are wanted of: disjoint random pairs
                where the batch comes in random order. Chunks then hold whole pairs, so at least 2 examples.
            real: Where a person counts as one example, whose gradient is the sum over their rows: which of K places
                hold a row, (b, K); x and y are then (b, K, …), and no place holds another person's. Not with views.
        """
        bound, dtype = _validate.number(max_grad_norm=max_grad_norm), self.parameters[0].dtype
        left = 2 * _validate.whole(0, pairs=pairs or 0)
        if left > len(y):
            raise refusal("pairs", pairs=pairs, most=len(y) // 2, examples=len(y))
        self._buffers.reuse = True
        blocks = self._block_sums
        blocks.clear()
        kept, apart = [], [self.parameters[0].new_zeros(0, dtype=torch.float64)]
        for chunk in self._chunks(x, y, even=left > 0, real=real):
            factors = clip_factors(chunk.lengths, bound, dtype)
            chunk.add_weighted_sum(factors, blocks)
            if left:
                exact = chunk.differences(factors[:left])
                upper = exact.norms.mul_(1.0 + exact.relative)
                apart.append(upper.add_(rounding_of_sums(bound, dtype)))  # as the sum shows them
                left -= min(left, len(chunk))
            chunk.parts.clear()
            kept.append(chunk)
        seen = GradientRecord(self.parameters, kept)
        total = blocks.take(len(seen.norms))
        distances = None if pairs is None else torch.cat(apart)
        return Clipped(total, seen.norms, seen.lengths, seen.losses, distances, bound)

    def _step(self, rows: int, *, even: bool) -> int:
        """Size of the chunks that a batch is cut into; the last may be smaller. Each example takes so many `rows`.

        Never by the number of examples: with one example fewer the others must come to lie in the same blocks.
        """
        most = max(1, self.chunk_size // rows)
        if self._usual_batch is not None:
            most = max(self._rows, most - most % self._rows)
            size = math.ceil(self._usual_batch / math.ceil(self._usual_batch / most))
            return self._rows * math.ceil(size / self._rows)
        step = most - most % BLOCK or most
        return max(2, step - step % 2) if even else step

    def _chunks(self, x: Inputs, y: Tensor, *, even: bool = False, real: Tensor | None = None) -> Iterator[_Chunk]:
        for part in tensors(x):
            if len(part) != len(y):
                raise refusal("targets", examples=len(part), targets=len(y))
        refuse_rounded_products(y.device)
        if not self._seen and len(y):
            first = slice(1) if real is None else (0, slice(1))
            self._see(each(lambda part: part[first], x), y[first])
        views = 1 if self.views is None else self.views.count
        step = self._step(views if real is None else real.shape[1], even=even)
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            places = None if real is None else real[rows]
            own = each(itemgetter(rows), x)
            yield self._chunk(own, y[rows], None if self._usual_batch is None else step, places)

    def _see(self, x: Inputs, y: Tensor) -> None:
        """Parameters used beyond their layer are written out, and `_rows` is set: by no example's numbers."""
        with _random_numbers_kept(y.device), ElementwiseSizes() as elementwise:
            run = self._pass(_filled(x, _LEAST), _filled(y, _LEAST), rows=1)
        self._seen = True
        if all(size % (_EVEN * _LEAST) == 0 for size in elementwise.sizes):
            self._rows = FEWER_ROWS
        if run.outside:
            self._write_out({id(p) for p in run.outside})

    def _chunk(self, x: Inputs, y: Tensor, rows: int | None, real: Tensor | None) -> _Chunk:
        """Of these examples, filled up to `rows`."""
        self._buffers.rewind()
        size, several, weights = len(y), 1, None
        rows = max(rows or size, _LEAST)
        if real is not None:
            several, x, y = real.shape[1], each(lambda part: part.flatten(0, 1), x), y.flatten(0, 1)
            weights = _filled(real.flatten().to(self.parameters[0].dtype), rows * several)
        elif self.views is not None:
            several = self.views.count
            x, y = self.views(x), y.repeat_interleave(several, dim=0)
            weights = self.parameters[0].new_full((rows * several,), 1.0 / several)
        run = self._pass(_filled(x, rows * several), _filled(y, rows * several), weights, rows=size * several)
        if run.outside:
            raise refusal("used anew", names=", ".join(repr(self._names[id(p)]) for p in run.outside))
        parts = []
        for layer, products in run.products:
            grouped = products if several == 1 else products.grouped(several)
            own = layer.parameters if layer else self._written.values()
            parts.append(_Part(layer, tuple(self._position[id(p)] for p in own), grouped))
        losses = run.losses[: size * several].view(size, several)
        if real is None:
            losses = losses[:, 0] if several == 1 else losses.mean(1)
        else:
            losses = (losses * real).sum(1) / real.sum(1).clamp(min=1)
        return _Chunk(parts, losses, run.outputs[: size * several])

    def _pass(self, x: Inputs, y: Tensor, weights: Tensor | None = None, *, rows: int) -> Pass:
        loss_together = self.loss in _ROWWISE_LOSSES
        alone = isinstance(x, Tensor) and loss_together and not self._written
        together = alone and is_rowwise(self.network, x.ndim)
        if not together:
            refuse_batch_norms(self.network)
        with full_precision(y.device):
            return Pass(
                self.network,
                self.loss,
                self.layers,
                self._written,
                x,
                y,
                weights,
                rows=rows,
                output=self.output,
                together=together,
                loss_together=loss_together,
            )


def _random_numbers_kept(device: torch.device) -> AbstractContextManager[None]:
    """PyTorch's global generators as they were, afterwards."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def _filled(x: Inputs, rows: int) -> Inputs:
    """`x` (b, …) with its first row again after the last one, up to so many."""

    def filled(part: Tensor) -> Tensor:
        missing = rows - len(part)
        return torch.cat((part, part[:1].expand(missing, *part.shape[1:]))) if missing else part

    return each(filled, x)


def _finite(part: Tensor) -> Tensor:
    return part.nan_to_num(0.0, 0.0, 0.0) if part.is_floating_point() else part
