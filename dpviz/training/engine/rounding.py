"""Rounding error of a clipped sum, bounded beforehand: why no example adds more than C.

u is the unit roundoff of the network's precision, and a sum of n rounded terms, in any order, is off by at most
γ_n Σ|terms| with γ_n = n u / (1 − n u) (Higham 2002, "Accuracy and Stability of Numerical Algorithms", §§3.1, 4.2).

Norms. Every form of per-example gradients (`products`) returns norms with an upper end. What is released are
the gradients as they are summed, so a form whose terms may cancel within one example (a layer used at several
positions, a token that occurs twice) is either written out first, and its norm is that of the written vector, or kept
and summed in double precision. An example is scaled by min(1, C' / upper end).

Sums. Blocks of m = `BLOCK` examples are summed in the network's precision, blocks are added in double precision. With
m' = m + 3, three more for scaling, the product and writing the block, no term passes through more than m' roundings and
all of them through m'²/2 (the deepest order of summation adds one after the other), so by Cauchy–Schwarz a block is off
by at most γ_{m'} m'/√2 C'. Batches come in random order, and so the batch without an example can be had from the batch
with it by putting the last example in its place: all blocks but two stay as they are and their rounding cancels. Up to
`MOST_ROWS` examples the total is rounded once to the network's precision, by at most u MOST_ROWS C'; more are handed
over in double precision, to be rounded after the noise. Two batches that differ in one example therefore have clipped
sums at most

    C' (1 + 4 γ_{m'} m'/√2 + 2 u MOST_ROWS + 32 u)

apart, where 32 u stands for the rounding of scale factors, of written-out differences and of sums in double precision.
C' = `certified_bound` makes that C.

What this stands on: an example's gradient has the same digits whatever other examples there are, since a network may
turn the last digit into another gradient. On a CPU chunks of a private training have one fixed size, a multiple of
`per_example.ROWS` (of half of it where a first pass shows that vectorised functions leave no rest), and layers are at
least `layers.NARROW` wide inside a product, because kernels round by the number of rows, and narrow ones by a row's
place; gradients of single examples are products of their own, formed for the examples alone and not for what fills a
chunk. `tests/training/test_independence.py` finds all digits equal; other
processors' kernels and a network's own narrow operations are not covered by it, nor are GPUs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

# Larger blocks are faster and round more: 160 cost 0.5 % of C.
BLOCK = 160
MOST_ROWS = 4096
# Longer rows are added up in pieces, so that the bound on their norm does not grow with the layer.
_PIECE = 1024


def unit_roundoff(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps / 2.0


@lru_cache(maxsize=1024)
def gamma(terms: int, dtype: torch.dtype) -> float:
    """γ_n: the relative rounding of a sum of so many terms of one sign, in any order."""
    rounded = terms * unit_roundoff(dtype)
    return rounded / (1.0 - rounded)


@lru_cache(maxsize=1024)
def sum_allowance(dtype: torch.dtype) -> float:
    """By how much more than C', in parts of it, two clipped sums may differ through their rounding."""
    unit = unit_roundoff(dtype)
    deepest = BLOCK + 3
    return 4.0 * gamma(deepest, dtype) * deepest / math.sqrt(2.0) + 2.0 * MOST_ROWS * unit + 32.0 * unit


def certified_bound(max_grad_norm: float, dtype: torch.dtype) -> float:
    """C': the length to clip to so that one example changes the computed sum by at most C; 0.995 C in float32."""
    return max_grad_norm / (1.0 + sum_allowance(dtype))


class Lengths(NamedTuple):
    """Norms of b gradients and how much too small they may be.

    Attributes:
        norms: As computed, (b,).
        relative: The exact norms of the stored numbers are at most (1 + relative) times as large.
    """

    norms: Tensor
    relative: float

    def joined(self, *others: Lengths) -> Lengths:
        """Of the gradients as one vector; float64."""
        every = (self, *others)
        norms = self.norms.double()
        for other in others:
            norms = torch.hypot(norms, other.norms.double())
        return Lengths(norms, max(part.relative for part in every) + len(every) * 1e-15)


def lengths(rows: Tensor) -> Lengths:
    """‖row‖ of `rows` (b, n)."""
    n = rows.shape[1]
    whole = n - n % _PIECE if n > _PIECE else 0
    if whole:
        pieces = torch.linalg.vector_norm(rows[:, :whole].unfold(1, _PIECE, _PIECE), dim=2)
        if whole < n:
            pieces = torch.cat((pieces, torch.linalg.vector_norm(rows[:, whole:], dim=1, keepdim=True)), dim=1)
        norms = torch.linalg.vector_norm(pieces.double(), dim=1).to(rows.dtype)
    else:
        norms = torch.linalg.vector_norm(rows, dim=1)
    floor, relative = _limits(n, rows.dtype)
    return Lengths(norms.clamp_(min=floor), relative)


@lru_cache(maxsize=1024)
def _limits(n: int, dtype: torch.dtype) -> tuple[float, float]:
    """Of the norms of n numbers: the least that is told, and by how much too small they may be."""
    limits = torch.finfo(dtype)
    # Squares below `tiny` may be lost: above this floor they are less than u of the sum.
    floor = math.sqrt(4.0 * n * limits.tiny / limits.eps)
    # Of the squares γ_n, so of the norms half of it; 4 for roots and casts, the last term for sums of pieces.
    return floor, gamma(min(n, _PIECE) // 2 + 5, dtype) + n // _PIECE * 2.0**-52
