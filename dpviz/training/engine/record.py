"""Per-example gradients of a batch as the engine returns them: norms, clipped sums, pairs, but no gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import nn

from dpviz import _validate
from dpviz.training.engine.block_sums import BlockSums
from dpviz.training.engine.layers import Parameters
from dpviz.training.engine.products import Products
from dpviz.training.engine.rounding import BLOCK, Lengths, certified_bound

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


# About as many double-precision numbers of a pair's two gradients fit the cache closest to a core.
_PAIR_BLOCK = 1 << 16


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
        found = _joined([part.products.lengths() for part in parts], losses)
        self.norms = found.norms.to(losses.dtype)
        self.lengths = found.norms.mul_(1.0 + found.relative)
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
        weights = factors.clone()
        weights[1::2].neg_()
        like = weights[: len(weights) // 2]
        found = _joined([part.products.combined(weights).lengths() for part in self.parts], like)
        return found.norms.mul_(1.0 + found.relative).add_(rounding_of_sums(max_grad_norm, factors.dtype))

    def apart(self, rows: Tensor, other: Chunk, other_rows: Tensor, factors: Tensor) -> Tensor:
        """‖a g_i − b h_i‖ of g_i here and h_i of another chunk, or of this one, for factors (2, p); float64 (p,)."""
        weights = factors.new_tensor((1.0, -1.0))[:, None] * factors

        def difference(mine: Products, theirs: Products, here: slice) -> Tensor:
            first = mine.select(rows[here]).scaled(weights[0, here])
            return first.merge(theirs.select(other_rows[here]).scaled(weights[1, here])).lengths().norms.square()

        return self._by_pair(other, len(rows), difference).sqrt_()

    def inner(self, rows: Tensor, other: Chunk, other_rows: Tensor) -> Tensor:
        """⟨g_i, h_i⟩ of g_i here and h_i of another chunk, or of this one; float64 (p,)."""

        def product(mine: Products, theirs: Products, here: slice) -> Tensor:
            return mine.select(rows[here]).inner(theirs.select(other_rows[here]))

        return self._by_pair(other, len(rows), product)

    def _by_pair(self, other: Chunk, pairs: int, found: Callable[[Products, Products, slice], Tensor]) -> Tensor:
        """The sum over layers of what `found` says of a slice of the pairs; float64 (pairs,)."""
        total = torch.zeros(pairs, dtype=torch.float64, device=self.norms.device)
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            block = max(1, _PAIR_BLOCK // mine.products.entries())
            for start in range(0, pairs, block):
                here = slice(start, start + block)
                total[here] += found(mine.products, theirs.products, here)
        return total


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

    def pair_inner(self, first: Any, second: Any) -> Tensor:
        """⟨g_i, g_j⟩ of the pairs (first_k, second_k) of positions in the batch, float64."""
        return self._by_chunks(first, second, lambda mine, rows, theirs, others, _: mine.inner(rows, theirs, others))

    def pair_distances(self, first: Any, second: Any, max_grad_norm: float | None = None) -> Tensor:
        """‖g_i − g_j‖ of the pairs, float64; of the clipped gradients if `max_grad_norm` is given.

        The difference is taken in double precision from the kept numbers, so that a small distance is not lost.
        """
        factors = torch.ones_like(self.lengths) if max_grad_norm is None else self._factors(max_grad_norm).double()

        def apart(mine: Chunk, rows: Tensor, theirs: Chunk, others: Tensor, pairs: Tensor) -> Tensor:
            return mine.apart(rows, theirs, others, factors[pairs])

        return self._by_chunks(first, second, apart)

    def _by_chunks(self, first: Any, second: Any, of_pairs: Callable[..., Tensor]) -> Tensor:
        """What `of_pairs` says of pairs whose examples lie in the same two chunks, for all pairs; float64."""
        i, j = checked_pairs(first, second, len(self))
        found = torch.zeros(i.shape[0], dtype=torch.float64, device=self.norms.device)
        starts = torch.tensor([chunk.start for chunk in self._chunks], dtype=torch.int64)
        home_i, home_j = (torch.searchsorted(starts, index, right=True) - 1 for index in (i, j))
        for a, b in sorted(set(zip(home_i.tolist(), home_j.tolist(), strict=True))):
            here = torch.nonzero((home_i == a) & (home_j == b)).flatten()
            mine, theirs = self._chunks[a], self._chunks[b]
            device = found.device
            pairs = torch.stack((i[here], j[here])).to(device)
            rows, others = pairs[0] - mine.start, pairs[1] - theirs.start
            found[here.to(device)] = of_pairs(mine, rows, theirs, others, pairs)
        return found


def joined(parts: Sequence[Tensor], empty: Tensor) -> Tensor:
    return torch.cat(list(parts)) if len(parts) > 1 else parts[0] if parts else empty


@lru_cache(maxsize=64)
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
