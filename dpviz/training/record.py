"""Per-example gradients of a batch as the engine returns them: norms, clipped sums, pairs, but no gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from dpviz import _validate
from dpviz.training.layers import Layer
from dpviz.training.products import Products, sum_of

Tensor = torch.Tensor

# The engine's norms are held to this relative error in single precision. Gradients are scaled by so much less, so
# that rounding never leaves one above the bound that the noise was sized for.
NORM_TOLERANCE = 1e-5


class PairProducts(NamedTuple):
    """⟨g_i, g_i⟩, ⟨g_j, g_j⟩ and ⟨g_i, g_j⟩ of p pairs; each float64 (p,)."""

    first: Tensor
    second: Tensor
    inner: Tensor

    def distances(self, first_factor: Tensor | float = 1.0, second_factor: Tensor | float = 1.0) -> Tensor:
        """‖a g_i − b g_j‖ for factors a, b: one number or one for each pair; float64 (p,)."""
        squared = first_factor**2 * self.first + second_factor**2 * self.second
        return (squared - 2.0 * first_factor * second_factor * self.inner).clamp(min=0.0).sqrt()


def clip_factors(norms: Tensor, max_grad_norm: float) -> Tensor:
    """min(1, C / norm) with C shrunk by `NORM_TOLERANCE`; 0 where the norm is not finite."""
    # C / ∞ is 0 already; NaN is left to be made 0.
    return (max_grad_norm * (1.0 - NORM_TOLERANCE) / norms).clamp_(max=1.0).nan_to_num_(nan=0.0)


def zero_sums(parameters: Sequence[nn.Parameter]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A vector of zeros (p,) for sums of gradients, and the same memory shaped as the parameters."""
    total = torch.zeros(sum(p.numel() for p in parameters), dtype=parameters[0].dtype, device=parameters[0].device)
    pieces = torch.split(total, [p.numel() for p in parameters])
    return total, tuple(piece.view(p.shape) for piece, p in zip(pieces, parameters, strict=True))


class Part(NamedTuple):
    """Per-example gradients of one layer, and where its parameters stand among the engine's."""

    layer: Layer
    positions: tuple[int, ...]
    products: Products


# About as many double-precision numbers of a pair's two gradients fit the cache closest to a core.
_PAIR_BLOCK = 1 << 16


class Chunk:
    """Gradients of consecutive examples, layer by layer.

    Attributes:
        start: Position of the first example in the batch.
        parts: What each layer that was reached holds.
        norms, losses, outputs: As in `GradientRecord`.
    """

    def __init__(self, start: int, parts: list[Part], losses: Tensor, outputs: Tensor) -> None:
        self.start = start
        self.parts = parts
        self.losses = losses
        self.outputs = outputs
        squares = [part.products.squared_norms() for part in parts]
        self.norms = sum_of(squares).sqrt_() if squares else torch.zeros_like(losses)
        self._drop_non_finite()

    def _drop_non_finite(self) -> None:
        """One NaN example would make the sum NaN even with weight 0.

        Looking whether there is one waits for the device, so on an accelerator the mask is always applied.
        """
        finite = torch.isfinite(self.norms)
        if self.norms.device.type != "cpu" or not bool(finite.all()):
            for part in self.parts:
                part.products.zero(~finite)

    def __len__(self) -> int:
        return self.norms.shape[0]

    def add_weighted_sum(self, weights: Tensor, sums: Sequence[Tensor]) -> None:
        """sums += Σ_i w_i g_i; where the norm is not finite the example counts as 0."""
        for layer, positions, products in self.parts:
            layer.add_weighted_sum(products, weights, [sums[position] for position in positions])

    def neighbours_apart(self, factors: Tensor) -> Tensor:
        """‖f_1 g_1 − f_2 g_2‖, ‖f_3 g_3 − f_4 g_4‖, … of the first examples, for `factors` (2p,): float64 (p,)."""
        weights = factors.clone()
        weights[1::2].neg_()
        squares = [part.products.combined(weights).squared_norms().double() for part in self.parts]
        return sum_of(squares).sqrt_() if squares else weights.new_zeros(len(weights) // 2, dtype=torch.float64)

    def pairs(self, rows: Tensor, other: Chunk, other_rows: Tensor) -> Tensor:
        """Products of g_i here with h_i of another chunk, or of this one: (3, p) in the order of `PairProducts`."""
        found = torch.zeros(3, rows.shape[0], dtype=torch.float64, device=self.norms.device)
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            block = max(1, _PAIR_BLOCK // mine.products.entries())
            for start in range(0, rows.shape[0], block):
                here = slice(start, start + block)
                found[:, here] += _pair_block(mine.products, rows[here], theirs.products, other_rows[here])
        return found


def _pair_block(mine: Products, rows: Tensor, theirs: Products, other_rows: Tensor) -> Tensor:
    first, second = mine.select(rows), theirs.select(other_rows)
    return torch.stack((first.squared_norms(), second.squared_norms(), first.inner(second)))


class GradientRecord:
    """Per-example gradients of one batch of b examples.

    Attributes:
        norms: ‖g_i‖, (b,); NaN or infinite where an example's gradient is.
        losses: Loss of each example, (b,).
        outputs: The network's outputs, (b, …); (0,) for an empty batch.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], chunks: Sequence[Chunk]) -> None:
        self._parameters = tuple(parameters)
        self._chunks = tuple(chunks)
        empty = self._parameters[0].new_zeros(0)
        self.norms = joined([chunk.norms for chunk in chunks], empty)
        self.losses = joined([chunk.losses for chunk in chunks], empty)
        self.outputs = joined([chunk.outputs for chunk in chunks], empty)

    def __len__(self) -> int:
        return self.norms.shape[0]

    @property
    def non_finite(self) -> Tensor:
        """How many examples have a gradient that is not finite, and so count as 0 in every sum; a scalar."""
        return (~torch.isfinite(self.norms)).sum()

    def weighted_sum(self, weights: Tensor) -> tuple[Tensor, ...]:
        """Σ_i w_i g_i for `weights` (b,), shaped as the engine's parameters and in their order."""
        if weights.shape != self.norms.shape:
            raise ValueError(f"Expected weights of shape {tuple(self.norms.shape)}, found {tuple(weights.shape)}.")
        _, sums = zero_sums(self._parameters)
        for chunk in self._chunks:
            chunk.add_weighted_sum(weights[chunk.start : chunk.start + len(chunk)], sums)
        return sums

    def clipped_sum(self, max_grad_norm: float) -> tuple[Tensor, ...]:
        """Σ_i g_i min(1, C / ‖g_i‖): one example changes it by at most C (Abadi et al. 2016, Algorithm 1)."""
        return self.weighted_sum(clip_factors(self.norms, checked_norm(max_grad_norm)))

    def pair_products(self, first: Any, second: Any) -> PairProducts:
        """Squared norms and inner products of the pairs (first_k, second_k) of positions in the batch.

        In double precision from the kept single-precision factors, so that a small distance is not lost in the
        difference of large norms.
        """
        i, j = checked_pairs(first, second, len(self))
        found = torch.zeros(3, i.shape[0], dtype=torch.float64, device=self.norms.device)
        starts = torch.tensor([chunk.start for chunk in self._chunks], dtype=torch.int64)
        home_i, home_j = (torch.searchsorted(starts, index, right=True) - 1 for index in (i, j))
        for a, b in sorted(set(zip(home_i.tolist(), home_j.tolist(), strict=True))):
            here = torch.nonzero((home_i == a) & (home_j == b)).flatten()
            mine, theirs = self._chunks[a], self._chunks[b]
            device = found.device
            rows, other = (i[here] - mine.start).to(device), (j[here] - theirs.start).to(device)
            found[:, here.to(device)] = mine.pairs(rows, theirs, other)
        return PairProducts(*found)

    def pair_inner(self, first: Any, second: Any) -> Tensor:
        """⟨g_i, g_j⟩ of the pairs, float64."""
        return self.pair_products(first, second).inner

    def pair_distances(self, first: Any, second: Any, max_grad_norm: float | None = None) -> Tensor:
        """‖g_i − g_j‖ of the pairs, float64; of the clipped gradients if `max_grad_norm` is given."""
        pairs = self.pair_products(first, second)
        if max_grad_norm is None:
            return pairs.distances()
        factors = clip_factors(self.norms, checked_norm(max_grad_norm)).double()
        i, j = (torch.as_tensor(index, dtype=torch.int64).to(factors.device) for index in (first, second))
        return pairs.distances(factors[i], factors[j])


def joined(parts: Sequence[Tensor], empty: Tensor) -> Tensor:
    return torch.cat(list(parts)) if len(parts) > 1 else parts[0] if parts else empty


def checked_norm(max_grad_norm: float) -> float:
    return _validate.scalar("max_grad_norm", _validate.positive("max_grad_norm", max_grad_norm))


def checked_pairs(first: Any, second: Any, examples: int) -> tuple[Tensor, Tensor]:
    """Two equally long lists of positions below `examples`, on the CPU."""
    pair = []
    for name, value in (("first", first), ("second", second)):
        index = torch.as_tensor(value)
        if index.numel() == 0:
            index = index.to(torch.int64)
        if index.ndim != 1 or index.dtype.is_floating_point or index.dtype == torch.bool:
            raise ValueError(
                f"Expected {name} as a list of whole numbers, found {index.dtype} of shape {tuple(index.shape)}."
            )
        if index.numel() and (int(index.min()) < 0 or int(index.max()) >= examples):
            outside = index[(index < 0) | (index >= examples)]
            raise ValueError(f"Expected {name}={int(outside[0])} in [0, {examples}), the positions of the batch.")
        pair.append(index.to("cpu", torch.int64))
    if pair[0].shape != pair[1].shape:
        raise ValueError(f"Expected as many first as second examples, found {len(pair[0])} and {len(pair[1])}.")
    return pair[0], pair[1]
