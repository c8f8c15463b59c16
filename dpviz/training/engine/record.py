"""Per-example gradients of a batch as the engine returns them: norms, clipped sums, distances, but no gradient."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import nn

from dpviz import _validate
from dpviz.training.engine.layers import Parameters
from dpviz.training.engine.products import Products
from dpviz.training.engine.rounding import BLOCK, Lengths, certified_bound
from dpviz.training.engine.vectors import BlockSums

Tensor = torch.Tensor


def clip_factors(lengths: Tensor, max_grad_norm: float, dtype: torch.dtype) -> Tensor:
    """min(1, C' / length) in `dtype` for upper ends (b,) of norms; 0 where one is not finite.

    C' is C less what rounding may add to a sum (`rounding.certified_bound`).
    """
    # C / ∞ is 0 already; NaN is left to be made 0.
    factors = (certified_bound(max_grad_norm, dtype) / lengths).clamp_(max=1.0).nan_to_num_(nan=0.0)
    return factors.to(dtype)


class LayerGradients(NamedTuple):
    """Per-example gradients of one layer, and where its parameters stand among the engine's."""

    layer: Parameters
    positions: tuple[int, ...]
    products: Products


class Chunk:
    """Gradients of consecutive examples, layer by layer.

    Attributes:
        start: Position of the first example in the batch.
        parts: What each layer that was reached holds.
        lengths: Upper ends of the norms, float64.
        norms, losses, outputs: As in `GradientRecord`.
    """

    def __init__(self, start: int, parts: list[LayerGradients], losses: Tensor, outputs: Tensor) -> None:
        self.start = start
        self.parts = parts
        self.losses = losses
        self.outputs = outputs
        exact = _joined([part.products.lengths() for part in parts], losses)
        self.norms = exact.norms.to(losses.dtype)
        self.lengths = exact.norms.mul_(1.0 + exact.relative)
        self._drop_non_finite()

    def _drop_non_finite(self) -> None:
        """One NaN example would make the sum NaN even with weight 0.

        Looking whether there is one waits for the device, so on an accelerator the mask is always applied.
        """
        finite = torch.isfinite(self.norms)
        if self.norms.device.type != "cpu" or not bool(finite.all()):
            self.lengths = torch.where(finite, self.lengths, torch.inf)
            for part in self.parts:
                part.products.zero(~finite)

    def __len__(self) -> int:
        return self.norms.shape[0]

    def add_weighted_sum(self, weights: Tensor, sums: BlockSums) -> None:
        """Σ_i w_i g_i, block by block; where the norm is not finite the example counts as 0."""
        reached = {position for part in self.parts for position in part.positions}
        for start in range(0, len(self), BLOCK):
            rows, into = slice(start, start + BLOCK), sums.next()
            own = weights[rows]
            for layer, positions, products in self.parts:
                block = products if len(self) <= BLOCK else products.part(rows)
                layer.write_weighted_sum(block, own, [into[position] for position in positions])
            for position, target in enumerate(into):
                if position not in reached:
                    target.zero_()

    def neighbours_apart(self, factors: Tensor, max_grad_norm: float) -> Tensor:
        """Upper ends of ‖f_1 g_1 − f_2 g_2‖, ‖f_3 g_3 − f_4 g_4‖, … as the sum shows them, float64 (p,).

        Args:
            factors: Of the first examples, (2p,).
            max_grad_norm: C that they clip to; the rounding of a sum counts with its share of it.
        """
        distances = self.differences(factors)
        return distances.norms.mul_(1.0 + distances.relative).add_(rounding_of_sums(max_grad_norm, factors.dtype))

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


def rounding_of_sums(max_grad_norm: float, dtype: torch.dtype) -> float:
    """How much longer than two clipped gradients' difference that of two sums may be."""
    return max_grad_norm - certified_bound(max_grad_norm, dtype)


class GradientRecord:
    """Per-example gradients of one batch of b examples.

    Attributes:
        norms: ‖g_i‖, (b,); NaN or infinite where an example's gradient is.
        lengths: Upper ends of the norms, float64 (b,); infinite where a norm is not finite.
        losses: Loss of each example, (b,).
        outputs: The network's outputs, (b, …), of K views (bK, …), an example's together; (0,) for an empty batch.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], chunks: Sequence[Chunk]) -> None:
        self._parameters = tuple(parameters)
        self._chunks = tuple(chunks)
        empty = self._parameters[0].new_zeros(0)
        self.norms = joined([chunk.norms for chunk in chunks], empty)
        self.lengths = joined([chunk.lengths for chunk in chunks], empty.double())
        self.losses = joined([chunk.losses for chunk in chunks], empty)
        self.outputs = joined([chunk.outputs for chunk in chunks], empty)

    def __len__(self) -> int:
        return self.norms.shape[0]

    @property
    def non_finite(self) -> Tensor:
        """How many examples have a gradient that is not finite, and so count as 0 in every sum; a scalar."""
        return (~torch.isfinite(self.norms)).sum()

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        """Σ_i w_i g_i for `weights` (b,), shaped as the engine's parameters and in their order (`BlockSums.total`)."""
        if weights.shape != self.norms.shape:
            raise ValueError(f"Expected weights of shape {tuple(self.norms.shape)}, found {tuple(weights.shape)}.")
        sums = BlockSums(self._parameters)
        for chunk in self._chunks:
            chunk.add_weighted_sum(weights[chunk.start : chunk.start + len(chunk)], sums)
        return sums.take(len(self))[1]

    def clipped_sum(self, max_grad_norm: float) -> tuple[Tensor, ...]:
        """Σ_i g_i min(1, C' / ‖g_i‖): one example changes it by at most C (Abadi et al. 2016, Alg. 1; `rounding`)."""
        return self.weighted_sum(self._factors(max_grad_norm))

    def _factors(self, max_grad_norm: float) -> Tensor:
        return clip_factors(self.lengths, checked_norm(max_grad_norm), self._parameters[0].dtype)

    def neighbours_apart(self, max_grad_norm: float | None = None) -> Tensor:
        """‖g_1 − g_2‖, ‖g_3 − g_4‖, …, float64; of the clipped gradients if `max_grad_norm` is given.

        The difference is taken in double precision from the kept numbers, so that a small distance is not lost. No
        pair may be torn: chunks hold an even number of examples, or there is one.
        """
        factors = torch.ones_like(self.lengths) if max_grad_norm is None else self._factors(max_grad_norm).double()
        distances = [
            chunk.differences(factors[chunk.start : chunk.start + len(chunk) // 2 * 2]).norms for chunk in self._chunks
        ]
        return joined(distances, self.lengths[:0])


def joined(parts: Sequence[Tensor], empty: Tensor) -> Tensor:
    return torch.cat(list(parts)) if len(parts) > 1 else parts[0] if parts else empty


@lru_cache(maxsize=64)
def checked_norm(max_grad_norm: float) -> float:
    return _validate.scalar("max_grad_norm", _validate.positive("max_grad_norm", max_grad_norm))
